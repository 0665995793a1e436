/**
 * What writing transactions share: the turn to write, the outbox, and their view of the tables.
 */
import type { Clock } from "../../base/clock.ts";
import { limits } from "../../base/limits.ts";
import { SqlError } from "../../base/sql_error.ts";
import type { Catalog, TopicEntry } from "../../catalog/catalog.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import type { PartitionLog } from "../../log/partition_log.ts";
import type { SqlEngine } from "../../sql/engine.ts";
import type { EngineSession } from "../../sql/engine_session.ts";
import { engineStatement } from "../describe.ts";
import type { BatchToIngest } from "../ingest.ts";
import type { HomesOfTable } from "../keyed/homes_of_table.ts";
import type { Table } from "../table.ts";
import { Gate } from "./gate.ts";
import type { TableShape } from "./keyed_insert.ts";
import type { Outbox, OutboxEntry } from "./outbox.ts";
import { WriteTransaction } from "./transaction.ts";

export interface WritesOptions {
  catalog: Catalog;
  clock: Clock;
  outbox: Outbox;
  log: (topic: TopicEntry, partition: number) => PartitionLog;
  engine: () => Promise<SqlEngine>;
  /** Closes a table's gate; see Tables.closeGates. */
  closeGate: (topic: TopicEntry) => Promise<() => void>;
  /** Which partitions a keyed table's keys belong to. */
  homesOf: (table: Table) => Promise<HomesOfTable | undefined>;
  /** Checks a batch for a table as if it had been produced; the bytes to append. */
  ingest: (topic: TopicEntry, partition: number, batch: BatchToIngest) => Promise<Uint8Array>;
}

export class Writes {
  readonly outbox: Outbox;
  readonly log: WritesOptions["log"];
  readonly closeGate: WritesOptions["closeGate"];
  readonly homesOf: WritesOptions["homesOf"];
  private readonly options: WritesOptions;
  private readonly turn: Gate;
  private readonly shapes = new WeakMap<TableDefinition, TableShape>();
  /** By topic id: the partition of the next records without a key. */
  private readonly partitions = new Map<string, number>();

  constructor(options: WritesOptions) {
    this.options = options;
    this.outbox = options.outbox;
    this.log = options.log;
    this.closeGate = options.closeGate;
    this.homesOf = options.homesOf;
    this.turn = new Gate("the turn to write", options.clock);
  }

  /** The statements for temporary copies of a table. */
  async shapeOf(definition: TableDefinition): Promise<TableShape> {
    let shape = this.shapes.get(definition);
    if (shape === undefined) {
      const engine = await this.options.engine();
      const columnsOf = async (sql: string) => {
        const open = (await engine.tokens(sql)).find(({ text }) => text === "(")!;
        return sql.slice(open.start);
      };
      const plain = await columnsOf(await engineStatement(engine, definition));
      shape = { constrained: await columnsOf(definition.sql), plain };
      this.shapes.set(definition, shape);
    }
    return shape;
  }

  nowMs(): number {
    return this.options.clock.nowMs();
  }

  monotonicMs(): number {
    return this.options.clock.monotonicMs();
  }

  /** Waits for the turn. Throws SqlError 55P03. */
  async transaction(session: EngineSession, begun: boolean): Promise<WriteTransaction> {
    const endTurn = await this.takeTurn();
    return new WriteTransaction(this, session, begun, endTurn);
  }

  /** While nobody else writes or changes tables. The result ends the turn. */
  takeTurn(): Promise<() => void> {
    return this.turn.close(limits.sqlWriteWaitMs);
  }

  /** The outbox may have records for topics that are no tables, also where the lake has no table. */
  get mayHaveLeft(): boolean {
    return this.options.catalog.value("sql", "produces") === true;
  }

  /** Before the first record for a topic without a table is committed. */
  async noteProduce(): Promise<void> {
    if (!this.mayHaveLeft) await this.options.catalog.put("sql", "produces", true);
  }

  /** Spreads records without a key over the partitions, a statement's together. */
  nextPartition(topic: TopicEntry): number {
    const partition = (this.partitions.get(topic.id) ?? 0) % topic.partitions;
    if (topic.partitions > 1) this.partitions.set(topic.id, partition + 1);
    return partition;
  }

  /** Throws SqlError: 42P01 when there is no such topic, 42501 for one of the node's own. */
  topicForProduce(name: string): TopicEntry {
    const topic = this.options.catalog.topic(name);
    if (topic === undefined) throw new SqlError("42P01", `produce(): topic "${name}" does not exist`);
    if (topic.internal) throw new SqlError("42501", `produce(): topic "${name}" is the node's own`);
    return topic;
  }

  /** The bytes to append for records that produce() made. Throws KafkaError. */
  async accept(topic: TopicEntry, partition: number, batch: BatchToIngest): Promise<Uint8Array> {
    return topic.table === undefined ? batch.bytes : await this.options.ingest(topic, partition, batch);
  }

  /** Asks the engine, when it is there again, what became of a commit that it did not answer. */
  async wasCommitted(entries: readonly OutboxEntry[]): Promise<boolean> {
    for (;;) {
      try {
        return await this.outbox.wasCommitted(await this.options.engine(), entries);
      } catch (error) {
        if (error instanceof SqlError && error.sqlstate === "57P01") throw error;
        await this.pause(limits.applierRetryMsMax);
      }
    }
  }

  /** Fails with 58030 and `why` when `work` takes longer than `ms`. */
  async within(ms: number, work: Promise<void>, why: string): Promise<void> {
    let timer: { cancel(): void } | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = this.options.clock.setTimer(ms, () => reject(new SqlError("58030", why)));
    });
    try {
      await Promise.race([work, late]);
    } finally {
      timer?.cancel();
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.options.clock.setTimer(ms, resolve));
  }
}
