/**
 * The tables of a node: which topics are tables, what is produced to them, and how their rows get into DuckDB.
 *
 * Invariant: the catalog is the truth. A table exists from the moment when its event is durable; DuckDB's table is made before that and
 * removed after, so what DuckDB has too much or too little after a crash is put right at the next start.
 */
import type { Clock, Timer } from "../base/clock.ts";
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import { SqlError } from "../base/sql_error.ts";
import type { Catalog, CatalogChange, TopicEntry } from "../catalog/catalog.ts";
import type { PartitionLog } from "../log/partition_log.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { Applier } from "./applier.ts";
import { ColumnSets } from "./column_sets.ts";
import { ingestThroughEngine } from "./computed.ts";
import { dropStatements, reconcile, withWayOut } from "./engine_tables.ts";
import { asLogged, type BatchToIngest, batchToLog, decodeForTable, refusal, viewBatch, viewPool } from "./ingest.ts";
import { changesOf } from "./keyed/change_batch.ts";
import { HomesOfTable } from "./keyed/homes_of_table.ts";
import { isRepeated, resolveForTable } from "./keyed/resolve_batch.ts";
import { PlainTopics } from "./plain_topics.ts";
import type { DecodedBatch } from "./row_decoder.ts";
import { Table } from "./table.ts";
import { type Entry, Gate } from "./writes/gate.ts";
import { Outbox } from "./writes/outbox.ts";
import { Writes } from "./writes/writes.ts";

/** A batch that passed its table's checks. */
export interface IngestedBatch {
  /** What is appended to the log: the produced bytes, or the rows as the table stores them. */
  batch: Uint8Array;
  /**
   * Tells the applier where the batch landed; called in offset order, right after the append. The answer to the producer waits for what
   * it returns.
   */
  appended(baseOffset: number, logAppendTimeMs: number): Promise<void> | undefined;
  /** Batches that are appended right before it, unless it is in the log already. */
  before?: readonly Pick<IngestedBatch, "batch" | "appended">[];
  /** Records that are nothing for the table and are not stored, by their reason. */
  skipped?: ReadonlyMap<string, number>;
}

export interface TablesOptions {
  catalog: Catalog;
  /** The log of a topic's partition. */
  log: (topic: TopicEntry, partition: number) => PartitionLog;
  /** Starts the SQL engine; called once, when there are tables or SQL is asked for. */
  startEngine: () => Promise<SqlEngine>;
  clock: Clock;
  logger: Logger;
}

export class Tables {
  readonly catalog: Catalog;
  /** Plain topics as SELECT sees them. */
  readonly plain: PlainTopics;
  /** What SQL writes. */
  readonly writes: Writes;
  readonly viewPool = viewPool;
  private readonly outbox: Outbox;
  private readonly options: TablesOptions;
  private readonly tables = new Map<string, Table>();
  private readonly applier: Applier;
  /** Of keyed tables, by topic id. */
  private readonly homes = new Map<string, HomesOfTable>();
  /** By topic id. */
  private readonly gates = new Map<string, Gate>();
  private engineStart: Promise<SqlEngine> | undefined;
  private running: SqlEngine | undefined;
  /** The applier has the tables; later ones are handed to it one by one. */
  private isApplying = false;
  /** DuckDB's tables are changed one at a time, in the catalog's order. */
  private changes: Promise<unknown> = Promise.resolve();
  /** Deleted tables, by their topic's id, whose rows are being removed. */
  private readonly forgetting = new Map<string, Promise<void>>();
  private readonly stopListening: () => void;
  private syncTimer: Timer | undefined;
  private closed = false;

  constructor(options: TablesOptions) {
    this.options = options;
    this.catalog = options.catalog;
    this.plain = new PlainTopics(options.catalog, options.log);
    this.outbox = new Outbox({
      ...options,
      passOver: ({ topic, partition, baseOffset, end }) =>
        this.applier.passOver(topic.name, partition, baseOffset!, end!),
    });
    this.writes = new Writes({
      ...options,
      outbox: this.outbox,
      engine: () => this.engine(),
      closeGate: (topic) => this.closeGates([topic]),
      homesOf: (table) => this.homesOf(table),
      ingest: async (topic, partition, batch) => {
        const { batch: bytes, before = [] } = await this.ingest(topic, partition, batch);
        if (before.length > 0)
          throw new KafkaError(
            "INVALID_RECORD",
            "a truncation event cannot come by produce(): TRUNCATE the table by SQL",
          );
        return bytes;
      },
    });
    this.applier = new Applier({
      passesOver: (header) => this.outbox.passesOver(header),
      target: {
        apply: async (request) => {
          const removal = this.outbox.removal();
          const statements = [...(request.statements ?? []), ...(removal?.statements ?? [])];
          await (await this.engine()).apply({ ...request, statements });
          removal?.done();
        },
        cursors: async () => (await this.engine()).cursors(),
      },
      clock: options.clock,
      logger: options.logger,
    });
    for (const topic of this.catalog.topics()) if (topic.table) this.tables.set(topic.name, this.newTable(topic));
    this.stopListening = this.catalog.onChange((change) => this.changed(change));
  }

  /** Starts the SQL engine when the lake has tables; does not wait for it. */
  start(): void {
    if (this.tables.size === 0 && !this.writes.mayHaveLeft) return;
    this.engine().catch((error: Error) =>
      this.options.logger.error("the SQL engine did not start", { reason: error.message }),
    );
  }

  /** The engine, started if need be, with every table in it. Throws SqlError. */
  engine(): Promise<SqlEngine> {
    if (this.closed) return Promise.reject(new SqlError("57P01", "the node is closing"));
    if (this.engineStart === undefined) {
      this.engineStart = this.startEngine();
      // A start that failed is tried again by whoever asks next.
      this.engineStart.catch(() => {
        this.engineStart = undefined;
      });
    }
    return this.engineStart;
  }

  private async startEngine(): Promise<SqlEngine> {
    const engine = this.running ?? (await this.options.startEngine().catch(withWayOut));
    this.running = engine;
    engine.onRestart(() => {
      for (const homes of this.homes.values()) homes.unstored();
      this.plain.forgetAll();
      this.applier.restarted();
    });
    await reconcile(engine, this.tables.values(), this.options.logger);
    await this.outbox.open(engine);
    const cursors = new Map(
      (await engine.cursors()).map((cursor) => [`${cursor.topicId} ${cursor.partition}`, cursor.nextOffset]),
    );
    for (const table of this.tables.values())
      this.applier.add(
        table,
        this.logsOf(table.topic),
        (partition) => cursors.get(`${table.topic.id} ${partition}`) ?? 0,
      );
    this.isApplying = true;
    this.applier.start();
    this.syncLater();
    return engine;
  }

  table(topic: string): Table | undefined {
    return this.tables.get(topic);
  }

  /** As SQL finds names: without a look at capitals. */
  find(topic: string): Table | undefined {
    const lower = topic.toLowerCase();
    for (const table of this.tables.values()) if (table.topic.name.toLowerCase() === lower) return table;
    return undefined;
  }

  get clock(): Clock {
    return this.options.clock;
  }

  all(): IterableIterator<Table> {
    return this.tables.values();
  }

  /** Lets a produced batch into its table; see Gate.enter. */
  enter(topic: TopicEntry): Entry | Promise<Entry> {
    return this.gate(topic).enter();
  }

  private gate(topic: TopicEntry): Gate {
    let gate = this.gates.get(topic.id);
    if (gate === undefined) {
      gate = new Gate(`table "${topic.name}"`, this.options.clock);
      this.gates.set(topic.id, gate);
    }
    return gate;
  }

  /**
   * Closes the tables' gates, in the order given (callers must agree on one: by topic name, unless they hold the only write), and waits until
   * all that is in their logs is in DuckDB. The result opens them again. Throws SqlError 55P03 when that takes too long.
   */
  async closeGates(topics: readonly TopicEntry[]): Promise<() => void> {
    const opens: (() => void)[] = [];
    const open = () => {
      for (const one of opens) one();
    };
    try {
      for (const topic of topics) opens.push(await this.gate(topic).close());
      for (const topic of topics) await this.drained(topic);
      return open;
    } catch (error) {
      open();
      throw error;
    }
  }

  /** Runs `fn` while no batch is on its way into the table's log, and DuckDB has all that is in it. Not from within an `enter`. */
  async exclusive<T>(topic: TopicEntry, fn: () => Promise<T>): Promise<T> {
    const open = await this.closeGates([topic]);
    try {
      return await fn();
    } finally {
      open();
    }
  }

  /** Resolves when DuckDB has all that is in the table's logs now, batches included that are not durable yet. */
  async drained(topic: TopicEntry): Promise<void> {
    await this.engine();
    await this.applier.drained(topic.name);
  }

  /** Checks a batch against the table of its topic. Throws RecordErrors: nothing of the batch may be stored. */
  ingest(topic: TopicEntry, partition: number, batch: BatchToIngest): IngestedBatch | Promise<IngestedBatch> {
    const table = this.tables.get(topic.name);
    if (table === undefined || table.topic.id !== topic.id)
      throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `table "${topic.name}" was just deleted`);
    const homes = table.homes?.matter ? table.homes : undefined;
    if (homes && !homes.ready)
      return this.loadHomes(table).then(() => this.ingest(topic, partition, batch), asStorageError);
    const view = viewBatch(batch);
    const decoded = decodeForTable(table, partition, view);
    const changes = changesOf(decoded);
    if (changes?.needsTable) return this.ingestWithTable(table, partition, view, changes.skipped);
    const accept = (rows: DecodedBatch) => this.accepted(table, partition, batch, view, rows);
    if (decoded.missing === undefined && !table.needsEngine) {
      const accepted = accept(decoded);
      view.release();
      return accepted;
    }
    return this.engine()
      .then((engine) => ingestThroughEngine(engine, table, partition, view, decoded))
      .then(accept);
  }

  private accepted(
    table: Table,
    partition: number,
    batch: BatchToIngest,
    view: RecordBatchView,
    decoded: DecodedBatch,
  ): IngestedBatch {
    const { topic, homes } = table;
    if (homes?.matter) this.placeKeys(table, partition, decoded);
    const { compressionType, compressionLevel } = this.options.log(topic, partition).config;
    const bytes = batchToLog(batch, view, decoded, compressionType, compressionLevel);
    const rows = bytes === batch.bytes ? decoded : asLogged(table, partition, bytes, decoded);
    const skipped = changesOf(decoded)?.skipped;
    return {
      batch: bytes,
      appended: (baseOffset, logAppendTimeMs) => {
        const chunk = table.appendedChunk(rows, baseOffset, logAppendTimeMs);
        return this.applier.enqueue(topic.name, partition, chunk);
      },
      ...(skipped ? { skipped } : {}),
    };
  }

  /** Throws RecordErrors when a key belongs to another partition. */
  private placeKeys(table: Table, partition: number, decoded: DecodedBatch): void {
    const changes = changesOf(decoded)!;
    const { count, faults } = table.homes!.strangers(changes, partition);
    if (count > 0) throw refusal(table, changes.records, count, faults);
    table.homes!.settleBatch(changes, partition);
  }

  private async loadHomes(table: Table): Promise<void> {
    const engine = await this.engine();
    await table.homes!.load(engine, table.definition, () => this.drained(table.topic));
  }

  /** Which partitions the keys of a keyed table belong to, for who writes to it with its gate closed. */
  async homesOf(table: Table): Promise<HomesOfTable | undefined> {
    if (table.homes?.matter && !table.homes.ready) await this.loadHomes(table);
    return table.homes;
  }

  /** A batch that means something only together with what the table holds; the partition's later batches wait for it. */
  private async ingestWithTable(
    table: Table,
    partition: number,
    view: RecordBatchView,
    skipped: ReadonlyMap<string, number> | undefined,
  ): Promise<IngestedBatch> {
    const resolved = await this.engine()
      .then(async (engine) => {
        await this.drained(table.topic);
        return await resolveForTable(engine, table, partition, view);
      })
      .catch(asStorageError);
    const accepted = this.accepted(table, partition, resolved.batch, resolved.view, resolved.decoded);
    const before = isRepeated(this.options.log(table.topic, partition), view.header)
      ? []
      : resolved.before.map(({ batch, decoded }) => ({
          batch,
          appended: (baseOffset: number, logAppendTimeMs: number) =>
            this.applier.enqueue(
              table.topic.name,
              partition,
              table.appendedChunk(decoded, baseOffset, logAppendTimeMs),
            ),
        }));
    return { ...accepted, before, ...(skipped ? { skipped } : {}) };
  }

  /** Why SQL over the tables has to wait, if it has: they are in DuckDB, which takes seconds to start. */
  notReady(): string[] {
    return this.tables.size > 0 && this.running === undefined ? ["the SQL engine is starting"] : [];
  }

  /** For each table: acknowledged records that are not in DuckDB yet. */
  lags(): { topic: string; records: number }[] {
    return [...this.tables.keys()].map((topic) => ({ topic, records: this.applier.lag(topic) }));
  }

  /** Resolves when everything that is durable now is in DuckDB; `needs`: tables without which that is no success. */
  async barrier(needs?: (table: Table) => boolean): Promise<void> {
    if (this.tables.size === 0) return;
    await this.engine();
    await this.applier.barrier(needs);
  }

  /** The log of this partition must be kept from this offset on: what is below is in DuckDB and on disk. */
  retainFrom(topic: string, partition: number): number {
    const table = this.tables.get(topic);
    if (table === undefined) return Number.POSITIVE_INFINITY;
    return this.isApplying ? this.applier.retainFrom(topic, partition) : 0;
  }

  /**
   * Before a client deletes records: resolves when what is below this offset is in DuckDB and on disk, since the log is all that a power
   * cut leaves of rows that are not. Throws KAFKA_STORAGE_ERROR when the table cannot get there.
   */
  async beforeDelete(topic: string, partition: number, offset: number): Promise<void> {
    const table = this.tables.get(topic);
    if (table === undefined || this.retainFrom(topic, partition) >= offset) return;
    try {
      await this.barrier((other) => other === table);
      await this.sync();
    } catch (error) {
      const message = `table "${topic}" does not have these records yet: ${(error as Error).message}`;
      throw new KafkaError("KAFKA_STORAGE_ERROR", message);
    }
    if (this.retainFrom(topic, partition) < offset)
      throw new KafkaError("KAFKA_STORAGE_ERROR", `table "${topic}" does not have these records yet; try again`);
  }

  /** Makes what was applied durable, so that retention may go on. */
  async sync(): Promise<void> {
    if (this.running === undefined) return;
    const mark = this.applier.mark();
    // With the cursors that passed them: the log may then remove what is in the outbox no more.
    await this.outbox.removeDurable(this.running);
    if (mark === undefined) return;
    await this.running.sync();
    mark.durable();
  }

  /** Retention waits for what is applied and synced, so that happens now and then. */
  private syncLater(): void {
    this.syncTimer = this.options.clock.setTimer(limits.applierSyncMs, () => {
      ColumnSets.trim();
      this.sync()
        .catch((error: Error) => this.options.logger.warn("DuckDB's tables were not synced", { reason: error.message }))
        .finally(() => this.closed || this.syncLater());
    });
  }

  /** Runs a change of DuckDB's tables after all earlier ones. */
  inOrder<T>(change: () => Promise<T>): Promise<T> {
    const result = this.changes.then(change);
    this.changes = result.catch(() => undefined);
    return result;
  }

  /** Stops applying and closes the engine. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.stopListening();
    this.syncTimer?.cancel();
    await this.changes;
    await this.settled();
    this.closed = true;
    this.outbox.close();
    await this.applier.close();
    // An engine that is still starting has nothing to save.
    await this.running?.close();
  }

  /** Where the log of each partition ends. */
  logEnds(topic: TopicEntry): number[] {
    return this.logsOf(topic).map((log) => log.logEndOffset);
  }

  private logsOf(topic: TopicEntry): PartitionLog[] {
    return Array.from({ length: topic.partitions }, (_, partition) => this.options.log(topic, partition));
  }

  private newTable(topic: TopicEntry): Table {
    const defaults = new Map<string, Uint8Array>();
    for (const { name, defaultJson } of topic.table!.columns)
      if (defaultJson !== undefined) defaults.set(name, new TextEncoder().encode(defaultJson));
    let homes = this.homes.get(topic.id);
    if (homes === undefined && topic.table!.key) {
      homes = new HomesOfTable(topic);
      this.homes.set(topic.id, homes);
    }
    if (homes) homes.partitions = topic.partitions;
    return new Table(topic, topic.table!, defaults, () => this.options.clock.nowMs(), homes);
  }

  private changed(change: CatalogChange): void {
    const { topic } = change;
    if (topic.table === undefined) return;
    if (change.kind === "created") {
      const table = this.newTable(topic);
      this.tables.set(topic.name, table);
      if (this.isApplying) this.applier.add(table, this.logsOf(topic), () => 0);
    } else if (change.kind === "deleted") {
      const table = this.tables.get(topic.name);
      this.tables.delete(topic.name);
      this.gates.delete(topic.id);
      this.homes.delete(topic.id);
      if (table !== undefined) void this.forget(table);
    } else {
      const table = this.newTable(topic);
      this.tables.set(topic.name, table);
      if (change.kind === "altered") this.applier.alter(table);
      if (change.kind === "extended" && this.isApplying) this.applier.extend(table, this.logsOf(topic));
    }
  }

  /** Removes a deleted table's rows; resolves when they are gone. Whoever deletes a topic need not wait for it. */
  forget(table: Table): Promise<void> {
    let gone = this.forgetting.get(table.topic.id);
    if (gone === undefined) {
      gone = this.removeRows(table).finally(() => this.forgetting.delete(table.topic.id));
      this.forgetting.set(table.topic.id, gone);
    }
    return gone;
  }

  /** Resolves when nothing of deleted tables is left in DuckDB. */
  async settled(): Promise<void> {
    await Promise.all(this.forgetting.values());
  }

  private async removeRows(table: Table): Promise<void> {
    await this.applier.remove(table.topic);
    const { running } = this;
    if (running === undefined) return;
    try {
      await running.apply({ inserts: [], cursors: [], statements: dropStatements(table) });
    } catch (error) {
      // The next start removes what is left.
      this.options.logger.error("a dropped table is still in DuckDB", {
        table: table.topic.name,
        reason: (error as Error).message,
      });
    }
  }
}

/** The engine's trouble passes: producers try again. */
function asStorageError(error: unknown): never {
  throw error instanceof SqlError ? new KafkaError("KAFKA_STORAGE_ERROR", error.message) : error;
}
