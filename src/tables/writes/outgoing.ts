/**
 * The records of one transaction, by partition and in their order, until the commit makes batches of them.
 */
import { limits } from "../../base/limits.ts";
import { SqlError } from "../../base/sql_error.ts";
import type { TopicEntry } from "../../catalog/catalog.ts";
import type { PartitionLog } from "../../log/partition_log.ts";
import { BatchHeader } from "../../protocol/records/batch.ts";
import { encodeBatch, type RecordToEncode } from "../../protocol/records/encode.ts";
import type { OutgoingBatch } from "./outbox.ts";
import type { RowRecord } from "./row_records.ts";

interface Lane {
  topic: TopicEntry;
  partition: number;
  items: (RecordToEncode | { batch: Uint8Array; records: number })[];
  records: number;
}

export class Outgoing {
  private readonly log: (topic: TopicEntry, partition: number) => PartitionLog;
  readonly nowMs: number;
  private readonly lanes = new Map<string, Lane>();
  private bytes = 0;

  /** `nowMs`: the time of records that have none of their own. */
  constructor(log: (topic: TopicEntry, partition: number) => PartitionLog, nowMs: number) {
    this.log = log;
    this.nowMs = nowMs;
  }

  /** A record whose row DuckDB has in this transaction. Throws SqlError 54000 or 23502 for one that its topic does not take. */
  add(topic: TopicEntry, partition: number, record: RowRecord): void {
    if (record.key == null && this.log(topic, partition).config.compacted)
      throw new SqlError(
        "23502",
        `topic "${topic.name}" is compacted, and its compaction would remove a record without a key: give the row one in a column "_key", or set cleanup.policy=delete`,
      );
    const size = sizeOf(record);
    this.grow(topic, partition, size, size);
    const lane = this.lane(topic, partition);
    lane.items.push(record.timestamp === undefined ? { ...record, timestamp: this.nowMs } : (record as RecordToEncode));
    lane.records++;
  }

  /** A batch that the applier is to apply, or that no table wants. */
  addBatch(topic: TopicEntry, partition: number, batch: Uint8Array): void {
    this.grow(topic, partition, batch.length, batch.length);
    const lane = this.lane(topic, partition);
    const records = new BatchHeader(batch).lastOffsetDelta + 1;
    lane.items.push({ batch, records });
    lane.records += records;
  }

  /** Records of a partition so far. */
  count(topic: TopicEntry, partition: number): number {
    return this.lanes.get(`${topic.id} ${partition}`)?.records ?? 0;
  }

  /** Cuts records into pieces that make one batch each. */
  parts(topic: TopicEntry, partition: number, records: readonly RowRecord[]): RecordToEncode[][] {
    const room = this.batchBytes(topic, partition);
    const parts: RecordToEncode[][] = [];
    let size = Number.POSITIVE_INFINITY;
    for (const record of records) {
      const bytes = sizeOf(record);
      if (size + bytes > room) {
        parts.push([]);
        size = 0;
      }
      parts
        .at(-1)!
        .push(record.timestamp === undefined ? { ...record, timestamp: this.nowMs } : (record as RecordToEncode));
      size += bytes;
    }
    return parts;
  }

  private batchBytes(topic: TopicEntry, partition: number): number {
    return Math.min(this.log(topic, partition).config.maxMessageBytes, limits.sqlBatchBytesMax) - batchOverheadBytes;
  }

  batches(): OutgoingBatch[] {
    const batches: OutgoingBatch[] = [];
    for (const lane of this.lanes.values()) {
      const { topic, partition, items } = lane;
      const { compressionType, compressionLevel: level } = this.log(topic, partition).config;
      const codec = compressionType === "producer" ? 0 : compressionType;
      const roomBytes = this.batchBytes(topic, partition);
      let pending: RecordToEncode[] = [];
      let size = 0;
      const flush = () => {
        if (pending.length === 0) return;
        const bytes = encodeBatch(pending, { codec, level, partitionLeaderEpoch: 0 });
        batches.push({ topic, partition, applied: true, bytes, records: pending.length });
        pending = [];
        size = 0;
      };
      for (const item of items) {
        if ("batch" in item) {
          flush();
          batches.push({ topic, partition, applied: false, bytes: item.batch, records: item.records });
          continue;
        }
        const bytes = sizeOf(item as RowRecord);
        if (size + bytes > roomBytes) flush();
        pending.push(item);
        size += bytes;
      }
      flush();
    }
    return batches;
  }

  private lane(topic: TopicEntry, partition: number): Lane {
    const key = `${topic.id} ${partition}`;
    let lane = this.lanes.get(key);
    if (lane === undefined) {
      lane = { topic, partition, items: [], records: 0 };
      this.lanes.set(key, lane);
    }
    return lane;
  }

  private grow(topic: TopicEntry, partition: number, recordBytes: number, bytes: number): void {
    const { maxMessageBytes } = this.log(topic, partition).config;
    if (recordBytes + batchOverheadBytes > maxMessageBytes)
      throw new SqlError(
        "54000",
        `a record for topic "${topic.name}" has ${recordBytes} bytes; its max.message.bytes allows ${maxMessageBytes}`,
      );
    this.bytes += bytes;
    if (this.bytes > limits.sqlTransactionBytesMax)
      throw new SqlError(
        "54000",
        `the transaction makes more than ${limits.sqlTransactionBytesMax} bytes of records; write in several transactions`,
      );
  }
}

/** A batch's header. */
const batchOverheadBytes = 61;

/** At least what the record takes in a batch. */
function sizeOf(record: RowRecord): number {
  let bytes = 40 + (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const { key, value } of record.headers) bytes += 10 + key.length + (value?.length ?? 0);
  return bytes;
}
