/**
 * The engine as it lives on its thread: one DuckDB with one database file attached as `rowlog`, and connections over it.
 *
 * Invariants: the database file and its log change only here. A checkpoint runs right after every start, before the first write, and
 * always empties the log with it: DuckDB-WASM cannot do that itself, and commits written behind an old checkpoint mark would be lost.
 */
import { SqlError } from "../base/sql_error.ts";
import type { Disk } from "../platform/disk.ts";
import { readBatch } from "./arrow/batch.ts";
import { readSchema } from "./arrow/schema.ts";
import { DatabaseFiles } from "./database_files.ts";
import { type DuckDbCalls, loadDuckDb } from "./duckdb_library.ts";
import { jsonFunctions, jsonMacros } from "./json/functions.ts";
import type { EngineSettings, EngineStatus, ProducedRecord } from "./messages.ts";
import { headerMacros, produceFunction, produceMacros } from "./produce_function.ts";
import { ScalarBridge } from "./scalar_bridge.ts";
import { quoteText } from "./types.ts";
import { type SqlValue, valueReader } from "./values.ts";

/** What SQL writes leave for the logs (src/tables/writes/outbox.ts), and which tables are more than the fold of their logs. */
const outboxTables = [
  `CREATE TABLE IF NOT EXISTS _rowlog.outbox (
    seq BIGINT NOT NULL, topic_id VARCHAR NOT NULL, partition INTEGER NOT NULL, from_offset BIGINT NOT NULL, batch BLOB NOT NULL)`,
  "CREATE TABLE IF NOT EXISTS _rowlog.outbox_producers (generation BIGINT NOT NULL, applied BIGINT NOT NULL, unapplied BIGINT NOT NULL)",
  `CREATE TABLE IF NOT EXISTS _rowlog.outbox_sequences (
    topic_id VARCHAR NOT NULL, partition INTEGER NOT NULL, producer BIGINT NOT NULL, next INTEGER NOT NULL,
    PRIMARY KEY (topic_id, partition, producer))`,
  // How many ALTER TABLEs of the catalog a table has had; none where it is not listed.
  "CREATE TABLE IF NOT EXISTS _rowlog.table_versions (topic_id VARCHAR NOT NULL PRIMARY KEY, version INTEGER NOT NULL)",
  "CREATE TABLE IF NOT EXISTS _rowlog.unfolded (topic_id VARCHAR NOT NULL PRIMARY KEY)",
];

/** Milliseconds that DuckDB works on a statement before it lets the thread look at its messages. */
const pollMs = 10;

export class EngineCore {
  readonly calls: DuckDbCalls;
  readonly files: DatabaseFiles;
  /** For the engine's own statements; our functions belong to it. */
  readonly own: number;
  /** For what the applier writes. */
  writer: number;
  /** Where produce() puts its records: set while a statement runs that may call it. */
  produced: ProducedRecord[] | undefined;
  /** What an operator should know about the start. */
  readonly notices: string[] = [];
  /** `headersWritten` of the files as the last checkpoint left it. */
  private checkpoints = 0;

  private constructor(calls: DuckDbCalls, files: DatabaseFiles) {
    this.calls = calls;
    this.files = files;
    this.own = calls.connect();
    this.writer = 0;
  }

  /** Throws SqlError 58030 when the database cannot be opened. */
  static async start(disk: Disk, settings: EngineSettings, fence?: Int32Array): Promise<EngineCore> {
    const files = new DatabaseFiles(disk, settings.path, fence);
    const bridge = new ScalarBridge();
    const calls = await loadDuckDb(settings.wasmPath, { ...files.runtime(), callScalarUDF: bridge.call });
    return EngineCore.open(calls, files, bridge, settings);
  }

  /** The part of `start` that needs no compiling; `calls` must run over the runtime functions of `files` and `bridge`. */
  static open(calls: DuckDbCalls, files: DatabaseFiles, bridge: ScalarBridge, settings: EngineSettings): EngineCore {
    files.attach(calls);
    calls.open({
      path: ":memory:",
      accessMode: 3,
      useDirectIO: true,
      arrowLosslessConversion: true,
      query: { queryPollingInterval: pollMs },
    });
    const core = new EngineCore(calls, files);
    try {
      core.configure(settings, bridge);
      core.renewWriter();
    } catch (error) {
      const why = files.takeFailure()?.message ?? (error instanceof Error ? error.message : String(error));
      throw new SqlError("58030", `cannot open the database ${settings.path}: ${why}`);
    }
    return core;
  }

  private configure(settings: EngineSettings, bridge: ScalarBridge): void {
    const { path, memoryBytesMax, compression = "none" } = settings;
    for (const statement of [
      "SET autoinstall_known_extensions = false",
      "SET autoload_known_extensions = false",
      "SET checkpoint_threshold = '1TB'",
      "SET temp_directory = ''",
      `SET memory_limit = '${Math.floor(memoryBytesMax / 1024)}KiB'`,
      // Trying all methods on each column takes half of the time in which rows are stored.
      ...(compression === "none" ? ["SET force_compression = 'uncompressed'"] : []),
    ])
      this.run(statement);
    // Before the database opens, since its log may hold tables whose checks call them; and with autoloading off, since making
    // one looks for a function of that name in the extensions that DuckDB knows.
    for (const scalar of [...jsonFunctions, produceFunction(() => this)]) bridge.register(this.calls, this.own, scalar);
    const notice = this.files.recover();
    if (notice !== undefined) this.notices.push(notice);
    for (const statement of [
      `ATTACH ${quoteText(path)} AS rowlog`,
      // Rows of plain topics that statements ask for: never on disk.
      "ATTACH ':memory:' AS _topics",
      "USE rowlog",
    ])
      this.run(statement);
    this.checkpoint();
    this.files.made();
    for (const statement of [
      "CREATE SCHEMA IF NOT EXISTS _rowlog",
      `CREATE TABLE IF NOT EXISTS _rowlog.cursors (
        topic_id VARCHAR NOT NULL, partition INTEGER NOT NULL, next_offset BIGINT NOT NULL, PRIMARY KEY (topic_id, partition))`,
      // Of tables with sequence_by: the sequence that the row of a deleted key had, as JSON.
      "CREATE TABLE IF NOT EXISTS _rowlog.deleted_sequences (topic_id VARCHAR NOT NULL, key VARCHAR NOT NULL, sequence VARCHAR NOT NULL)",
      // Of keyed tables with several partitions: where each key belongs.
      "CREATE TABLE IF NOT EXISTS _rowlog.key_homes (topic_id VARCHAR NOT NULL, key VARCHAR NOT NULL, partition INTEGER NOT NULL)",
      ...outboxTables,
      "CREATE TYPE IF NOT EXISTS json AS VARCHAR",
      ...jsonMacros,
      ...headerMacros,
      ...produceMacros,
      "SET enable_external_access = false",
      "SET lock_configuration = true",
    ])
      this.run(statement);
  }

  run(sql: string): void {
    this.calls.run(this.own, sql);
  }

  write(sql: string): void {
    this.calls.run(this.writer, sql);
  }

  renewWriter(): void {
    if (this.writer !== 0) this.calls.disconnect(this.writer);
    this.writer = this.connect();
  }

  /** Rows of a small statement as JavaScript values. */
  rows(sql: string, connection = this.own): SqlValue[][] {
    const [schema, ...messages] = this.calls.all(connection, sql);
    const fields = readSchema(schema!);
    const rows: SqlValue[][] = [];
    for (const message of messages) {
      const batch = readBatch(message, fields);
      const readers = batch.columns.map(valueReader);
      for (let row = 0; row < batch.rows; row++) rows.push(readers.map((read) => read(row)));
    }
    return rows;
  }

  /** A connection of its own for a statement of a user. */
  connect(): number {
    const connection = this.calls.connect();
    this.calls.run(connection, "SET search_path = 'rowlog.main,_topics.main'");
    return connection;
  }

  /**
   * Closes a connection. One whose statement did not come to its end must start another first: without that the module leaves
   * its transaction open for good, and no checkpoint is possible any more.
   */
  disconnect(connection: number, finished: boolean): void {
    if (!finished) {
      this.calls.cancel(connection);
      try {
        this.calls.run(connection, "ROLLBACK");
      } catch {
        // It says that no transaction is open: the statement's own has ended with it.
      }
    }
    this.calls.disconnect(connection);
  }

  /** Only while no statement is under way: DuckDB would wait for it, and nothing else runs on this thread. */
  checkpoint(): void {
    this.run("CHECKPOINT rowlog");
    this.files.emptyLog();
    this.checkpoints = this.files.headersWritten;
  }

  /** A statement of a user that made DuckDB write a checkpoint leaves the old log behind it: empty it at once. */
  keepLogShort(): void {
    if (this.checkpoints === this.files.headersWritten) return;
    this.files.emptyLog();
    this.checkpoints = this.files.headersWritten;
  }

  status(): EngineStatus {
    return {
      logBytes: this.files.logBytes(),
      memoryBytes: this.calls.module.HEAPU8.length,
      version: this.calls.version(),
    };
  }

  close(): void {
    this.checkpoint();
    this.files.closeAll();
  }
}
