/**
 * A transaction that writes: its turn, the gates that it holds, the rows that it changes in DuckDB and the records that it makes of them.
 *
 * Invariants: one transaction writes at a time. From the first write to a keyed table, or the first change of rows, until the records are in
 * the log, the table's gate is closed: DuckDB's order and the log's are the same. Rows and records are committed together, by the outbox.
 */
import { KafkaError } from "../../base/kafka_error.ts";
import { limits } from "../../base/limits.ts";
import { SqlError } from "../../base/sql_error.ts";
import type { TopicEntry } from "../../catalog/catalog.ts";
import { partitionOfKey } from "../../protocol/partitioner.ts";
import { BatchHeader } from "../../protocol/records/batch.ts";
import { encodeBatch } from "../../protocol/records/encode.ts";
import type { EngineSession } from "../../sql/engine_session.ts";
import type { CommitRequest, ProducedRecord } from "../../sql/messages.ts";
import { quoteText } from "../../sql/types.ts";
import type { HomesOfTable, NewHome } from "../keyed/homes_of_table.ts";
import type { Table } from "../table.ts";
import { deletedSequences } from "../table_insert.ts";
import { type RunOptions, type WriteAnswer, WriteRun } from "./captured_write.ts";
import type { OutboxEntry } from "./outbox.ts";
import { Outgoing } from "./outgoing.ts";
import { PlaceColumns } from "./place_columns.ts";
import { type RowRecord, RowRecords } from "./row_records.ts";
import type { WriteStatement } from "./write_statement.ts";
import type { Writes } from "./writes.ts";

/** Where records of a commit are. */
export interface Placement {
  topic: string;
  partition: number;
  base_offset: number;
  records: number;
}

export class WriteTransaction {
  private readonly writes: Writes;
  private readonly session: EngineSession;
  private readonly endTurn: () => void;
  private readonly gates = new Map<string, () => void>();
  private readonly outgoing: Outgoing;
  /** Ids of topics whose tables are no longer the fold of their logs. */
  private readonly unfolded = new Set<string>();
  /** Ids of keyed tables that were written to by produce(), and by SQL. */
  private readonly produced = new Set<string>();
  private readonly changed = new Set<string>();
  /** Keys that get their partition with this transaction. */
  private readonly homes = new Map<HomesOfTable, NewHome[]>();
  /** By topic id and key: the sequence of the row that was deleted, or undefined where there is a row. */
  private readonly sequences = new Map<string, Map<string, string | undefined>>();
  private begun: boolean;

  /** `begun`: the session's transaction is open already. Only `Writes.transaction` makes these. */
  constructor(writes: Writes, session: EngineSession, begun: boolean, endTurn: () => void) {
    this.writes = writes;
    this.session = session;
    this.begun = begun;
    this.endTurn = endTurn;
    this.outgoing = new Outgoing(writes.log, writes.nowMs());
  }

  /** Runs one statement. After an error the transaction is to be rolled back. Throws SqlError. */
  async write(write: WriteStatement, table: Table, options: RunOptions): Promise<WriteAnswer> {
    const { topic, definition } = table;
    const isKeyed = definition.key !== undefined;
    if (isKeyed && this.produced.has(topic.id)) throw mixed(topic);
    const places = new PlaceColumns(this.session, definition);
    if (isKeyed || write.verb !== "insert" || places.exist) await this.gate(topic);
    await this.begin();
    const before = await places.before();
    const records = new RowRecords(definition);
    const { changes, rowsOnly, answer } = await new WriteRun(this.session, records, write, options, {
      definition,
      shape: () => this.writes.shapeOf(definition),
      hasLocalRows: this.changed.has(topic.id),
    }).run();
    if (rowsOnly) this.unfolded.add(topic.id);
    if (changes.length > 0) this.changed.add(topic.id);
    const sticky = this.writes.nextPartition(topic);
    const homes = await this.writes.homesOf(table);
    const added = homes && this.newHomes(homes);
    for (const change of changes) {
      const record =
        change.kind === "upsert"
          ? records.record(change.cells, givesTime(write))
          : records.tombstone(change.key, change.sequence);
      const partition = this.partitionOf(record.key, topic, sticky, homes, added);
      if (change.kind === "upsert" && places.exist) {
        places.refuseGiven(change.cells);
        const offset = this.writes.log(topic, partition).logEndOffset + this.outgoing.count(topic, partition);
        const timestampMs = record.timestamp ?? this.outgoing.nowMs;
        places.add({ cells: change.cells, partition, offset, timestampMs, key: record.key });
      }
      this.outgoing.add(topic, partition, record);
      if (definition.sequenceBy !== undefined)
        this.noteSequence(topic, record.key!, change.kind === "delete" ? change.sequence : undefined);
    }
    await places.fill(before);
    await this.takeProduced(answer.produced);
    return answer;
  }

  /** What late rows of a deleted key are compared with; undefined: the key has a row. */
  private noteSequence(topic: TopicEntry, key: Uint8Array, sequence: string | undefined): void {
    let keys = this.sequences.get(topic.id);
    if (keys === undefined) {
      keys = new Map();
      this.sequences.set(topic.id, keys);
    }
    keys.set(new TextDecoder().decode(key), sequence);
  }

  private newHomes(homes: HomesOfTable): NewHome[] {
    let added = this.homes.get(homes);
    if (added === undefined) {
      added = [];
      this.homes.set(homes, added);
    }
    return added;
  }

  private partitionOf(
    key: Uint8Array | null,
    topic: TopicEntry,
    sticky: number,
    homes: HomesOfTable | undefined,
    added: NewHome[] | undefined,
  ): number {
    if (key === null) return sticky;
    return homes ? homes.partitionOf(key, added!) : partitionOfKey(key, topic.partitions);
  }

  /** A query that calls produce(). */
  async select(sql: string, options: RunOptions): Promise<WriteAnswer> {
    await this.begin();
    const answer = await this.session.collect(sql, { ...options, produces: true });
    await this.takeProduced(answer.produced);
    return answer;
  }

  /** Statements of the node's own, in the transaction. */
  async run(...statements: string[]): Promise<void> {
    await this.begin();
    for (const sql of statements) await this.session.collect(sql);
  }

  /** Resolves when rows and records are durable. Throws SqlError; then nothing was committed, unless it says so. */
  async commit(): Promise<Placement[]> {
    const { outbox } = this.writes;
    let entries: OutboxEntry[];
    try {
      await this.begin();
      const prepared = outbox.prepare(this.outgoing.batches());
      entries = prepared.entries;
      const { inserts, statements } = prepared.request;
      await this.commitInEngine(
        {
          inserts,
          statements: [
            ...statements,
            ...this.unfoldedStatements(),
            ...this.homeStatements(),
            ...this.sequenceStatements(),
          ],
        },
        entries,
      );
    } catch (error) {
      await this.rollback();
      throw error;
    }
    for (const [homes, added] of this.homes) homes.committed(added);
    outbox.committed(entries);
    // Gates and the turn stay taken until the records are in the logs, also where nobody waits any longer.
    const appended = outbox.append(entries).finally(() => this.release());
    await this.writes.within(
      limits.sqlAppendWaitMs,
      appended,
      "the transaction is committed, but its records cannot be appended to the log now; the node goes on trying",
    );
    return entries
      .filter(({ isGone }) => !isGone)
      .map(({ topic, partition, baseOffset, records }) => ({
        topic: topic.name,
        partition,
        base_offset: baseOffset!,
        records,
      }));
  }

  /** Safe to call at any time; never throws. */
  async rollback(): Promise<void> {
    try {
      if (this.begun) await this.session.rollback();
    } catch {
      // The engine has ended, and with it the transaction.
    }
    this.release();
  }

  private release(): void {
    for (const open of this.gates.values()) open();
    this.gates.clear();
    this.endTurn();
  }

  private async begin(): Promise<void> {
    if (this.begun) return;
    await this.session.begin();
    this.begun = true;
  }

  private async gate(topic: TopicEntry): Promise<void> {
    if (this.gates.has(topic.id)) return;
    this.gates.set(topic.id, await this.writes.closeGate(topic));
  }

  private sequenceStatements(): string[] {
    return [...this.sequences].flatMap(([topicId, keys]) => deletedSequences(topicId, keys));
  }

  private homeStatements(): string[] {
    return [...this.homes].flatMap(([homes, added]) => homes.statements(added));
  }

  private unfoldedStatements(): string[] {
    return [...this.unfolded].map((id) => `INSERT OR IGNORE INTO _rowlog.unfolded VALUES (${quoteText(id)})`);
  }

  /** An engine that ends in the middle leaves open whether the commit took place: its successor knows. */
  private async commitInEngine(request: CommitRequest, entries: readonly OutboxEntry[]): Promise<void> {
    try {
      await this.session.commit(request);
    } catch (error) {
      if (!(error instanceof SqlError) || error.sqlstate !== "57P02") throw error;
      this.begun = false;
      if (entries.length === 0)
        throw new SqlError("08007", `whether the transaction was committed is not known: ${error.message}`);
      if (!(await this.writes.wasCommitted(entries))) throw error;
    }
  }

  /** Values as if they had been produced without keys. */
  async produceRows(topic: TopicEntry, values: readonly string[]): Promise<void> {
    await this.begin();
    const encoder = new TextEncoder();
    await this.takeProduced(
      values.map((value) => ({
        topic: topic.name,
        partition: undefined,
        key: null,
        value: encoder.encode(value),
        headers: [],
      })),
    );
  }

  private async takeProduced(produced: readonly ProducedRecord[]): Promise<void> {
    const runs: { topic: TopicEntry; partition: number; records: RowRecord[] }[] = [];
    const sticky = new Map<string, number>();
    for (const record of produced) {
      const topic = this.writes.topicForProduce(record.topic);
      const partition = this.partitionFor(record, topic, sticky);
      const last = runs.findLast((run) => run.topic === topic && run.partition === partition);
      const one: RowRecord = { key: record.key, value: record.value, headers: record.headers, timestamp: undefined };
      if (last === undefined) runs.push({ topic, partition, records: [one] });
      else last.records.push(one);
    }
    for (const { topic, partition, records } of runs) await this.produce(topic, partition, records);
  }

  private partitionFor(record: ProducedRecord, topic: TopicEntry, sticky: Map<string, number>): number {
    const { partition, key } = record;
    if (partition !== undefined) {
      if (partition < topic.partitions) return partition;
      throw new SqlError(
        "22023",
        `produce(): topic "${topic.name}" has partitions 0 to ${topic.partitions - 1}, not ${partition}`,
      );
    }
    if (key !== null) return partitionOfKey(key, topic.partitions);
    let chosen = sticky.get(topic.id);
    if (chosen === undefined) {
      chosen = this.writes.nextPartition(topic);
      sticky.set(topic.id, chosen);
    }
    return chosen;
  }

  /** A table's records are checked as produced ones, and applied once they are in the log. */
  private async produce(topic: TopicEntry, partition: number, records: readonly RowRecord[]): Promise<void> {
    const isKeyed = topic.table?.key !== undefined;
    if (isKeyed) {
      if (this.changed.has(topic.id)) throw mixed(topic);
      this.produced.add(topic.id);
      await this.gate(topic);
    }
    if (topic.table === undefined) await this.writes.noteProduce();
    const { maxMessageBytes, compacted } = this.writes.log(topic, partition).config;
    if (compacted && !isKeyed && records.some(({ key }) => key === null))
      throw new SqlError("22023", `produce(): topic "${topic.name}" is compacted, so each record needs a key`);
    for (const part of this.outgoing.parts(topic, partition, records)) {
      const bytes = encodeBatch(part, { timestamp: this.outgoing.nowMs, partitionLeaderEpoch: 0 });
      const batch = await this.writes.accept(topic, partition, { bytes, header: new BatchHeader(bytes) }).catch(inSql);
      if (batch.length > maxMessageBytes)
        throw new SqlError(
          "54000",
          `produce(): a record for topic "${topic.name}" has more bytes than its max.message.bytes allows`,
        );
      this.outgoing.addBatch(topic, partition, batch);
    }
  }
}

/** Whether `_timestamp` of the changed rows is what the statement says, and not what they had before. */
function givesTime({ verb, insert, sets }: WriteStatement): boolean {
  return (verb === "insert" && insert?.conflict === "") || sets?.has("_timestamp") === true;
}

function mixed(topic: TopicEntry): SqlError {
  return new SqlError(
    "0A000",
    `one transaction writes to the keyed table "${topic.name}" by SQL and by produce(), whose rows come with the commit; use two`,
  );
}

function inSql(error: unknown): never {
  if (error instanceof KafkaError) throw new SqlError("22023", `produce(): ${error.message}`);
  throw error;
}
