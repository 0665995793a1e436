/**
 * The outbox: batches that a SQL commit makes. They are written into DuckDB in the commit's transaction, and appended to their logs after it.
 *
 * Invariants: each entry reaches its log once. The log itself decides: an entry whose producer and sequence are found at or behind the place
 * where the log ended when the entry was made is there already. Entries are appended in their order; at a start those that are left come
 * before anything is applied. An entry is removed from DuckDB only once it is durable in its log.
 *
 * Each DuckDB file has two producer ids of its own. Batches of `applied` come from rows that DuckDB has, and the applier passes over them; those
 * of `unapplied` (by produce()) it applies. A DuckDB file made anew has other ids, and so applies all of them.
 */
import type { Clock } from "../../base/clock.ts";
import { KafkaError } from "../../base/kafka_error.ts";
import { limits } from "../../base/limits.ts";
import type { Logger } from "../../base/log.ts";
import { SqlError } from "../../base/sql_error.ts";
import type { Catalog, TopicEntry } from "../../catalog/catalog.ts";
import type { PartitionLog } from "../../log/partition_log.ts";
import { sequenceAfter } from "../../log/producer_state.ts";
import { BatchHeader, batchSizeAt } from "../../protocol/records/batch.ts";
import type { SqlEngine } from "../../sql/engine.ts";
import type { CommitRequest } from "../../sql/messages.ts";
import { quoteText } from "../../sql/types.ts";
import { encodeSchema, encodeStream } from "../arrow/stream.ts";
import { BytesVector, FixedVector } from "../arrow/vectors.ts";
import { cellsOf } from "../engine_calls.ts";

/** A batch on its way out. */
export interface OutgoingBatch {
  topic: TopicEntry;
  partition: number;
  /** DuckDB has its rows already. */
  applied: boolean;
  /** With any producer's fields; the outbox sets them. */
  bytes: Uint8Array;
  records: number;
}

export interface OutboxEntry extends OutgoingBatch {
  seq: number;
  /** Where its log ended when the entry was made. */
  fromOffset: number;
  /** Offset behind its last record, once it was appended. */
  end?: number;
  baseOffset?: number;
  isGone?: boolean;
}

export interface OutboxOptions {
  catalog: Catalog;
  log: (topic: TopicEntry, partition: number) => PartitionLog;
  clock: Clock;
  logger: Logger;
  /** Told of each batch that was appended and whose rows DuckDB has. */
  passOver: (entry: OutboxEntry) => void;
}

const schema = encodeSchema([
  { name: "seq", type: { kind: "int", bits: 64, signed: true } },
  { name: "topic_id", type: { kind: "utf8" } },
  { name: "partition", type: { kind: "int", bits: 32, signed: true } },
  { name: "from_offset", type: { kind: "int", bits: 64, signed: true } },
  { name: "batch", type: { kind: "binary" } },
]);

export class Outbox {
  private readonly options: OutboxOptions;
  private engine: SqlEngine | undefined;
  private applied = -1n;
  private unapplied = -1n;
  /** All ids that `applied` has been. */
  private readonly passed = new Set<bigint>();
  /** The next sequence by topic id, partition and producer. */
  private readonly sequences = new Map<string, number>();
  private nextSeq = 1;
  /** Committed and not yet removed from DuckDB. */
  private kept: OutboxEntry[] = [];
  private closed = false;

  constructor(options: OutboxOptions) {
    this.options = options;
  }

  /** Reads what the database has of it, and appends what a crash has left. Before anything is applied. */
  async open(engine: SqlEngine): Promise<void> {
    this.engine = engine;
    this.kept = [];
    await this.readProducers(engine, false);
    this.sequences.clear();
    for (const [topic, partition, producer, next] of await cellsOf(
      engine,
      "SELECT topic_id, partition, producer, next FROM _rowlog.outbox_sequences",
    ))
      this.sequences.set(sequenceKey(topic as string, partition as number, BigInt(producer as number)), next as number);
    const left = await cellsOf(engine, "SELECT seq FROM _rowlog.outbox ORDER BY seq");
    for (const [seq] of left) await this.recover(engine, seq as number);
    if (left.length === 0) return;
    this.options.logger.info("appended what SQL had committed before the stop", { batches: left.length });
    await this.removeDurable(engine);
  }

  /** `renew`: makes further ids, also where there are some. */
  private async readProducers(engine: SqlEngine, renew: boolean): Promise<void> {
    const read = () =>
      cellsOf(engine, "SELECT applied::VARCHAR, unapplied::VARCHAR FROM _rowlog.outbox_producers ORDER BY generation");
    let rows = await read();
    if (rows.length === 0 || renew) {
      // Above the ids that clients are given, which count up from 0.
      const first = 2 ** 52 + Math.floor(Math.random() * 2 ** 51) * 2;
      await engine.query(`INSERT INTO _rowlog.outbox_producers VALUES (${rows.length}, ${first}, ${first + 1})`);
      rows = await read();
    }
    for (const [applied, unapplied] of rows as [string, string][]) {
      this.applied = BigInt(applied);
      this.unapplied = BigInt(unapplied);
      this.passed.add(this.applied);
    }
  }

  private async recover(engine: SqlEngine, seq: number): Promise<void> {
    const [row] = await cellsOf(
      engine,
      `SELECT topic_id, partition, from_offset, batch FROM _rowlog.outbox WHERE seq = ${seq}`,
    );
    const [topicId, partition, fromOffset, batch] = row as [string, number, number, string];
    this.nextSeq = Math.max(this.nextSeq, seq + 1);
    const topic = this.options.catalog.topicById(topicId);
    const bytes = Uint8Array.from(atob(batch), (sign) => sign.charCodeAt(0));
    const header = new BatchHeader(bytes);
    const entry: OutboxEntry = {
      seq,
      topic: topic!,
      partition,
      fromOffset,
      bytes,
      applied: this.passed.has(header.producerId),
      records: header.recordCount,
    };
    if (topic === undefined) entry.isGone = true;
    else this.findInLog(entry);
    this.kept.push(entry);
    if (entry.end === undefined && !entry.isGone) await this.append([entry], limits.sqlAppendWaitMs);
  }

  /** Looks for the entry in its log. */
  private findInLog(entry: OutboxEntry): void {
    const log = this.options.log(entry.topic, entry.partition);
    const wanted = new BatchHeader(entry.bytes);
    let next = Math.max(entry.fromOffset, log.logStartOffset);
    while (next < log.logEndOffset) {
      const parts = log.read(next, {
        maxBytes: limits.applierReadBytesMax,
        minOneBatch: true,
        isolation: "highWatermark",
      });
      const before = next;
      for (const part of parts)
        for (let at = 0; ; ) {
          const size = batchSizeAt(part, at);
          if (size === 0) break;
          const header = new BatchHeader(part, at);
          at += size;
          next = header.lastOffset + 1;
          if (header.producerId !== wanted.producerId || header.baseSequence !== wanted.baseSequence) continue;
          entry.baseOffset = header.baseOffset;
          entry.end = header.lastOffset + 1;
          return;
        }
      if (next === before) return;
    }
  }

  /** Whether the applier has to leave a batch of the log out. */
  passesOver(header: BatchHeader): boolean {
    return header.hasProducerId && this.passed.has(header.producerId);
  }

  /** What goes into a commit, and the entries that it makes. Nothing is remembered until `committed`. */
  prepare(batches: readonly OutgoingBatch[]): { request: CommitRequest; entries: OutboxEntry[] } {
    if (batches.length === 0) return { request: { inserts: [], statements: [] }, entries: [] };
    const next = new Map<string, number>();
    const entries = batches.map((batch, i): OutboxEntry => {
      const producer = batch.applied ? this.applied : this.unapplied;
      const key = sequenceKey(batch.topic.id, batch.partition, producer);
      const sequence = next.get(key) ?? this.sequences.get(key) ?? 0;
      next.set(key, sequenceAfter(sequence, batch.records));
      new BatchHeader(batch.bytes).setProducer(producer, 0, sequence);
      const fromOffset = this.options.log(batch.topic, batch.partition).logEndOffset;
      return { ...batch, seq: this.nextSeq + i, fromOffset };
    });
    const rows = [...next].map(([key, value]) => {
      const [topicId, partition, producer] = key.split(" ") as [string, string, string];
      return `(${quoteText(topicId)}, ${partition}, ${producer}, ${value})`;
    });
    const statements = [`INSERT OR REPLACE INTO _rowlog.outbox_sequences VALUES ${rows.join(", ")}`];
    return {
      request: { inserts: [{ schema: "_rowlog", table: "outbox", arrow: streamOf(entries) }], statements },
      entries,
    };
  }

  /** The entries of a commit that is durable; `append` them next. */
  committed(entries: readonly OutboxEntry[]): void {
    for (const entry of entries) {
      this.nextSeq = Math.max(this.nextSeq, entry.seq + 1);
      const header = new BatchHeader(entry.bytes);
      const key = sequenceKey(entry.topic.id, entry.partition, header.producerId);
      this.sequences.set(key, sequenceAfter(header.baseSequence, entry.records));
      this.kept.push(entry);
    }
  }

  /** Whether a commit that was cut off by the engine's end took place. */
  async wasCommitted(engine: SqlEngine, entries: readonly OutboxEntry[]): Promise<boolean> {
    const found = await cellsOf(engine, `SELECT 1 FROM _rowlog.outbox WHERE seq = ${entries[0]!.seq}`);
    return found.length > 0;
  }

  /**
   * Appends entries in order and waits until they are durable: as long as that takes, unless `waitMs` milliseconds are the limit. Then it throws
   * SqlError 58030.
   */
  async append(entries: readonly OutboxEntry[], waitMs: number = Number.POSITIVE_INFINITY): Promise<void> {
    const until = this.options.clock.monotonicMs() + waitMs;
    let pauseMs: number = limits.applierRetryMsMin;
    for (let reported = false; !this.closed; ) {
      try {
        await Promise.all(entries.map((entry) => this.appendOne(entry)));
        return;
      } catch (error) {
        if (isOutOfOrder(error)) {
          await this.renew(entries.filter(({ end, isGone }) => end === undefined && !isGone));
          continue;
        }
        if (!reported)
          this.options.logger.error("records that SQL has committed could not be appended; trying again", {
            topic: entries[0]!.topic.name,
            reason: (error as Error).message,
          });
        reported = true;
        if (this.options.clock.monotonicMs() >= until)
          throw new SqlError("58030", `records that SQL has committed cannot be appended: ${(error as Error).message}`);
        await this.pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, limits.applierRetryMsMax);
      }
    }
  }

  /** A repetition is recognized by the log, and answered as the first was. */
  private async appendOne(entry: OutboxEntry): Promise<void> {
    if (entry.end !== undefined) return;
    const { topic, partition, bytes } = entry;
    if (this.options.catalog.topicById(topic.id) === undefined) {
      entry.isGone = true;
      return;
    }
    const log = this.options.log(topic, partition);
    // The log takes bytes over and writes into them.
    const result = log.append(bytes.slice());
    entry.baseOffset = result.baseOffset;
    if (entry.applied && !result.duplicate) this.options.passOver({ ...entry, end: result.lastOffset + 1 });
    await result.done;
    entry.end = result.lastOffset + 1;
    // The entry stays until DuckDB has it no more; its records need not.
    entry.bytes = nothing;
  }

  /**
   * A log that lost acknowledged records (`--durability os` and a power cut) knows an older sequence than DuckDB: new producers start anew.
   */
  private async renew(entries: readonly OutboxEntry[]): Promise<void> {
    const { topic, partition } = entries[0]!;
    this.options.logger.warn("the log has lost records of SQL commits; going on behind them", {
      topic: topic.name,
      partition,
    });
    await this.readProducers(this.engine!, true);
    this.sequences.clear();
    for (const entry of entries) {
      const producer = entry.applied ? this.applied : this.unapplied;
      const key = sequenceKey(entry.topic.id, entry.partition, producer);
      const sequence = this.sequences.get(key) ?? 0;
      new BatchHeader(entry.bytes).setProducer(producer, 0, sequence);
      this.sequences.set(key, sequenceAfter(sequence, entry.records));
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.options.clock.setTimer(ms, resolve));
  }

  /** Statements that remove what is durable in the logs; `done` once they are committed. Undefined when there is nothing. */
  removal(): { statements: string[]; done(): void } | undefined {
    const isDurable = (entry: OutboxEntry) => entry.isGone || entry.end !== undefined;
    let count = 0;
    while (count < this.kept.length && isDurable(this.kept[count]!)) count++;
    if (count === 0) return undefined;
    const last = this.kept[count - 1]!.seq;
    return {
      statements: [`DELETE FROM _rowlog.outbox WHERE seq <= ${last}`],
      done: () => {
        this.kept = this.kept.filter((entry) => entry.seq > last);
      },
    };
  }

  async removeDurable(engine: SqlEngine): Promise<void> {
    const removal = this.removal();
    if (removal === undefined) return;
    await engine.apply({ inserts: [], cursors: [], statements: removal.statements });
    removal.done();
  }

  close(): void {
    this.closed = true;
  }
}

const nothing = new Uint8Array(0);

function isOutOfOrder(error: unknown): boolean {
  return error instanceof KafkaError && error.errorName === "OUT_OF_ORDER_SEQUENCE_NUMBER";
}

function sequenceKey(topicId: string, partition: number, producer: bigint): string {
  return `${topicId} ${partition} ${producer}`;
}

function streamOf(entries: readonly OutboxEntry[]): Uint8Array {
  const count = entries.length;
  const seqs = new FixedVector(8, count);
  const topics = new BytesVector(count);
  const partitions = new FixedVector(4, count);
  const offsets = new FixedVector(8, count);
  const batches = new BytesVector(
    count,
    entries.reduce((sum, { bytes }) => sum + bytes.length, 0),
  );
  for (const { seq, topic, partition, fromOffset, bytes } of entries) {
    seqs.pushLong(seq);
    topics.pushText(topic.id);
    partitions.pushWord(partition);
    offsets.pushLong(fromOffset);
    batches.pushBytes(bytes, 0, bytes.length);
  }
  return encodeStream(schema, [seqs, topics, partitions, offsets, batches], count);
}
