/**
 * SELECT over plain topics: their records become rows of tables in an in-memory database, filled from the log as far as each statement
 * needs it. Columns: `_partition INTEGER, _offset BIGINT, _timestamp TIMESTAMP, _key BLOB, _value BLOB,
 * _headers STRUCT(key VARCHAR, value BLOB)[]` (a list, because header names may repeat and their order counts). `decode(_value)` is its text.
 *
 * Invariant: when `prepare` resolves, each topic's table holds exactly the records between the log start and the high watermark that
 * the topic had when it was called, or later ones too.
 */
import { limits } from "../base/limits.ts";
import { SqlError } from "../base/sql_error.ts";
import type { Catalog, TopicEntry } from "../catalog/catalog.ts";
import type { PartitionLog } from "../log/partition_log.ts";
import { batchSizeAt } from "../protocol/records/batch.ts";
import { decodeBatch } from "../protocol/records/decode.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { quoteIdentifier } from "../sql/types.ts";
import { encodeStream, stagedType } from "./arrow/stream.ts";
import type { Vector } from "./arrow/vectors.ts";
import { run } from "./engine_calls.ts";
import { compileTable } from "./row_schema.ts";

const columns = [
  { name: "_partition", type: "INTEGER" },
  { name: "_offset", type: "BIGINT" },
  { name: "_timestamp", type: "TIMESTAMP" },
  { name: "_key", type: "BLOB" },
  { name: "_value", type: "BLOB" },
  { name: "_headers", type: "STRUCT(key VARCHAR, value BLOB)[]" },
];

const schema = compileTable({ name: "plain topic", columns: columns.map((column) => ({ ...column, notNull: false })) });

/** Its tables are found behind those of the lake. */
const database = "_topics";

interface ScannedPartition {
  /** Offsets [start, next) are in the table. */
  start: number;
  next: number;
  /** Of the log when the first of them were read: compaction may have removed some since it grew. */
  cleanings: number;
}

interface Scan {
  topic: TopicEntry;
  partitions: ScannedPartition[];
  bytes: number;
  usedAt: number;
}

export class PlainTopics {
  private readonly catalog: Catalog;
  private readonly log: (topic: TopicEntry, partition: number) => PartitionLog;
  /** By the topic's name in lower case, as DuckDB finds names. */
  private readonly scans = new Map<string, Scan>();
  private bytes = 0;
  private uses = 0;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(catalog: Catalog, log: (topic: TopicEntry, partition: number) => PartitionLog) {
    this.catalog = catalog;
    this.log = log;
  }

  /** The engine was started anew: its in-memory tables are gone. */
  forgetAll(): void {
    this.scans.clear();
    this.bytes = 0;
  }

  /** The plain topics among names of tables: the exact name, or the only one that differs in case alone. */
  find(names: Iterable<string>): TopicEntry[] {
    const found = new Map<string, TopicEntry>();
    let byLowerCase: Map<string, TopicEntry[]> | undefined;
    for (const name of names) {
      let topic = this.catalog.topic(name);
      if (topic === undefined) {
        byLowerCase ??= this.lowerCaseNames();
        const candidates = byLowerCase.get(name.toLowerCase()) ?? [];
        if (candidates.length > 1)
          throw new SqlError(
            "42P09",
            `"${name}" could be any of the topics ${candidates.map((one) => one.name).join(", ")}: write the exact name in double quotes`,
          );
        topic = candidates[0];
      }
      if (topic === undefined || topic.table !== undefined) continue;
      const key = topic.name.toLowerCase();
      const table = this.tableLike(key);
      if (table !== undefined)
        throw new SqlError(
          "42P09",
          `topic "${topic.name}" differs only in case from table "${table}", which SQL would find instead`,
        );
      const other = found.get(key);
      if (other !== undefined && other.name !== topic.name)
        throw new SqlError(
          "42P09",
          `the topics ${other.name} and ${topic.name} differ only in case: one statement can read one of them`,
        );
      found.set(key, topic);
    }
    return [...found.values()];
  }

  private tableLike(lowerCase: string): string | undefined {
    for (const topic of this.catalog.topics())
      if (topic.table !== undefined && topic.table.schema === "main" && topic.name.toLowerCase() === lowerCase)
        return topic.name;
    return undefined;
  }

  private lowerCaseNames(): Map<string, TopicEntry[]> {
    const names = new Map<string, TopicEntry[]>();
    for (const topic of this.catalog.topics()) {
      if (topic.table !== undefined) continue;
      const key = topic.name.toLowerCase();
      const list = names.get(key);
      if (list === undefined) names.set(key, [topic]);
      else list.push(topic);
    }
    return names;
  }

  /** Fills the tables of these topics up to now. Throws SqlError 53400 when one is too large. */
  prepare(engine: SqlEngine, topics: readonly TopicEntry[]): Promise<void> {
    const done = this.turn.then(async () => {
      await this.dropDeleted(engine);
      for (const topic of topics) await this.catchUp(engine, topic, topics);
    });
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** Gives plain topics their tables, empty where none was asked for yet, so that lists of tables name them: `listedTopicsMax` at most. */
  list(engine: SqlEngine): Promise<void> {
    const done = this.turn.then(async () => {
      await this.dropDeleted(engine);
      const missing: TopicEntry[] = [];
      const tables = new Set<string>();
      for (const { name, table } of this.catalog.topics()) if (table?.schema === "main") tables.add(name.toLowerCase());
      for (const [key, topics] of this.lowerCaseNames()) {
        const [topic] = topics;
        // What SELECT could not name either is not listed.
        if (topic === undefined || topics.length > 1 || topic.internal) continue;
        if (!this.scans.has(key) && !tables.has(key)) missing.push(topic);
      }
      for (const topic of missing.slice(0, Math.max(0, limits.listedTopicsMax - this.scans.size))) {
        await run(engine, createText(topic));
        this.scans.set(topic.name.toLowerCase(), { topic, partitions: [], bytes: 0, usedAt: 0 });
      }
    });
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** Tables of topics that were deleted since are still there: `prepare` removes them. */
  get isStale(): boolean {
    for (const scan of this.scans.values()) if (this.catalog.topicById(scan.topic.id) === undefined) return true;
    return false;
  }

  private async dropDeleted(engine: SqlEngine): Promise<void> {
    for (const scan of [...this.scans.values()])
      if (this.catalog.topicById(scan.topic.id) === undefined) await this.drop(engine, scan);
  }

  private async drop(engine: SqlEngine, scan: Scan): Promise<void> {
    this.scans.delete(scan.topic.name.toLowerCase());
    this.bytes -= scan.bytes;
    await run(engine, `DROP TABLE IF EXISTS ${tableOf(scan.topic)}`);
  }

  private async catchUp(engine: SqlEngine, topic: TopicEntry, wanted: readonly TopicEntry[]): Promise<void> {
    const key = topic.name.toLowerCase();
    let scan = this.scans.get(key);
    if (scan !== undefined && (scan.topic.id !== topic.id || this.isCompacted(scan))) {
      await this.drop(engine, scan);
      scan = undefined;
    }
    if (scan === undefined) {
      scan = { topic, partitions: [], bytes: 0, usedAt: 0 };
      await run(engine, createText(topic));
      this.scans.set(key, scan);
    }
    scan.usedAt = ++this.uses;
    try {
      for (let partition = 0; partition < topic.partitions; partition++)
        await this.catchUpPartition(engine, scan, partition, wanted);
    } catch (error) {
      // What is half filled must not be taken for whole later.
      await this.drop(engine, scan).catch(() => undefined);
      throw error;
    }
  }

  /** Whether compaction removed records from a log since they were read: the table is filled anew. */
  private isCompacted({ topic, partitions }: Scan): boolean {
    return partitions.some((done, partition) => done.cleanings !== this.log(topic, partition).cleanings);
  }

  private async catchUpPartition(
    engine: SqlEngine,
    scan: Scan,
    partition: number,
    wanted: readonly TopicEntry[],
  ): Promise<void> {
    const log = this.log(scan.topic, partition);
    const start = log.logStartOffset;
    const end = log.highWatermark;
    const done = scan.partitions[partition] ?? { start, next: start, cleanings: log.cleanings };
    scan.partitions[partition] = done;
    if (start > done.start) {
      await run(engine, `DELETE FROM ${tableOf(scan.topic)} WHERE _partition = ${partition} AND _offset < ${start}`);
      done.start = start;
      done.next = Math.max(done.next, start);
    }
    while (done.next < end) {
      const { vectors, rows, next, bytes } = this.readRows(log, partition, done.next);
      await this.makeRoom(engine, scan, bytes, wanted);
      if (rows > 0)
        await engine.apply({
          inserts: [
            { schema: database, table: scan.topic.name, arrow: encodeStream(schema.arrowSchema, vectors, rows) },
          ],
          cursors: [],
        });
      scan.bytes += bytes;
      this.bytes += bytes;
      done.next = next;
    }
  }

  /** Forgets the topics that were asked for longest ago; refuses when the wanted ones alone are too large. */
  private async makeRoom(engine: SqlEngine, scan: Scan, bytes: number, wanted: readonly TopicEntry[]): Promise<void> {
    const needed = new Set(wanted.map((topic) => topic.id));
    while (this.bytes + bytes > limits.scanBytesMax) {
      const others = [...this.scans.values()].filter(
        (other) => other !== scan && other.bytes > 0 && !needed.has(other.topic.id),
      );
      if (others.length === 0)
        throw new SqlError(
          "53400",
          `topic "${scan.topic.name}" is larger than the ${limits.scanBytesMax / 1024 / 1024} MiB of records that SELECT can scan of plain topics (scanBytesMax); ` +
            "make it a table with CREATE TABLE to query any amount",
        );
      await this.drop(
        engine,
        others.reduce((oldest, other) => (other.usedAt < oldest.usedAt ? other : oldest)),
      );
    }
  }

  private readRows(
    log: PartitionLog,
    partition: number,
    from: number,
  ): { vectors: Vector[]; rows: number; next: number; bytes: number } {
    const parts = log.read(from, {
      maxBytes: limits.applierReadBytesMax,
      minOneBatch: true,
      isolation: "highWatermark",
    });
    const vectors: Vector[] = schema.record.map(({ column }) => column.newVector(1024));
    let next = from;
    let rows = 0;
    for (const part of parts)
      for (let at = 0; ; ) {
        const size = batchSizeAt(part, at);
        if (size === 0) break;
        const batch = decodeBatch(part.subarray(at, at + size), { checkCrc: false });
        at += size;
        next = batch.header.lastOffset + 1;
        if (batch.header.isControl) continue;
        for (let record = 0; record < batch.count; record++) {
          if (batch.offset(record) < from) continue;
          for (const { column, index } of schema.record) column.push(vectors[index]!, batch, record, partition);
          rows++;
        }
      }
    const bytes = vectors.reduce((sum, vector) => sum + vector.byteLength(), 0);
    // Nothing left to read although the watermark is ahead: removed in the meantime.
    return { vectors, rows, next: next === from ? log.highWatermark : next, bytes };
  }
}

function createText(topic: TopicEntry): string {
  const types = schema.arrow.map(({ name, type }) => `${quoteIdentifier(name)} ${stagedType(type)}`);
  return `CREATE OR REPLACE TABLE ${tableOf(topic)} (${types.join(", ")})`;
}

function tableOf(topic: TopicEntry): string {
  return `${database}.${quoteIdentifier(topic.name)}`;
}
