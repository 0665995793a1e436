/**
 * The offsets log over a topic's partition logs.
 * Compaction: the coordinator knows all that is still true, so it appends that, and the log start moves up to it. A reader
 * from the log start finds everything, as in a topic that Kafka's cleaner compacted.
 * Invariant: the log start only moves past records after those that replace them are durable.
 */
import type { Clock } from "../base/clock.ts";
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { PartitionLog } from "../log/log_store.ts";
import { BatchHeader } from "../protocol/records/batch.ts";
import { decodeBatch } from "../protocol/records/decode.ts";
import { encodeBatch } from "../protocol/records/encode.ts";
import type { KeyedRecord, OffsetsLog } from "./offsets_log.ts";

/** Bytes read from the log at once during replay. */
const replayBytes = 4 * 1024 * 1024;
/** More than a record's own lengths and a batch's header take. */
const recordOverheadBytes = 32;
const batchOverheadBytes = 128;

/** The topic behind the log. It is made with the first append, even of nothing: a lake without groups does not have it. */
export interface OffsetsTopic {
  readonly partitionCount: number;
  /** Whether anything may have been written to this partition. */
  has(partition: number): boolean;
  /** To be called once `create` has resolved, or where `has` is true. */
  log(partition: number): PartitionLog;
  /** Makes the topic unless it is there. */
  create(): Promise<void>;
}

export class PartitionOffsetsLog implements OffsetsLog {
  private readonly topic: OffsetsTopic;
  private readonly clock: Clock;
  /** Appends that wait for the topic, in order; undefined once it is there. */
  private waiting: (() => void)[] | undefined = [];
  private creating = false;
  /** Per partition: bytes of what was true at the last compaction, and bytes appended since. */
  private readonly sizes = new Map<number, { kept: number; added: number }>();

  private readonly growthBytesMax: number;

  /** `growthBytesMax`: bytes by which a partition grows, at least, before it is compacted. */
  constructor(topic: OffsetsTopic, clock: Clock, growthBytesMax: number = limits.offsetsLogGrowthBytesMax) {
    this.topic = topic;
    this.clock = clock;
    this.growthBytesMax = growthBytesMax;
  }

  get partitionCount(): number {
    return this.topic.partitionCount;
  }

  append(partition: number, records: readonly KeyedRecord[]): Promise<void> {
    if (!this.waiting) return this.appendNow(partition, records);
    return new Promise((resolve, reject) => {
      this.waiting!.push(() => this.appendNow(partition, records).then(resolve, reject));
      if (!this.creating) this.create(reject);
    });
  }

  private create(reject: (error: unknown) => void): void {
    this.creating = true;
    this.topic.create().then(
      () => {
        const waiting = this.waiting ?? [];
        this.waiting = undefined;
        for (const append of waiting) append();
      },
      (error: unknown) => {
        // Only this call fails: the next one tries again, and takes along those that wait.
        this.creating = false;
        this.waiting?.shift();
        reject(error);
        if (this.waiting && this.waiting.length > 0) this.create(() => undefined);
      },
    );
  }

  private async appendNow(partition: number, records: readonly KeyedRecord[]): Promise<void> {
    if (records.length === 0) return;
    const log = this.topic.log(partition);
    const batches = this.batches(records, log.config.maxMessageBytes);
    const writes: Promise<void>[] = [];
    let bytes = 0;
    try {
      for (const batch of batches) {
        bytes += batch.length;
        writes.push(log.append(batch).done);
      }
    } finally {
      this.size(partition).added += bytes;
    }
    await Promise.all(writes);
  }

  private batches(records: readonly KeyedRecord[], bytesMax: number): Uint8Array[] {
    const timestamp = this.clock.nowMs();
    const batches: Uint8Array[] = [];
    let batch: KeyedRecord[] = [];
    let bytes = batchOverheadBytes;
    const close = () => {
      if (batch.length > 0) batches.push(encodeBatch(batch, { timestamp }));
      batch = [];
      bytes = batchOverheadBytes;
    };
    for (const record of records) {
      const size = recordOverheadBytes + record.key.length + (record.value?.length ?? 0);
      if (batchOverheadBytes + size > bytesMax)
        throw new KafkaError(
          "MESSAGE_TOO_LARGE",
          `A group's record of ${size} bytes is over the limit of ${bytesMax}.`,
        );
      if (bytes + size > bytesMax) close();
      batch.push(record);
      bytes += size;
    }
    close();
    return batches;
  }

  replay(partition: number, visit: (record: KeyedRecord) => void): void {
    if (!this.topic.has(partition)) return;
    this.waiting = undefined;
    const log = this.topic.log(partition);
    let offset = log.logStartOffset;
    while (offset < log.highWatermark) {
      const batches = log.read(offset, { maxBytes: replayBytes, minOneBatch: true, isolation: "highWatermark" });
      for (const bytes of batches) {
        const { nextOffset, size } = visitBatches(bytes, visit);
        offset = Math.max(offset, nextOffset);
        this.size(partition).added += size;
      }
      if (batches.length === 0) break;
    }
  }

  isLong(partition: number): boolean {
    const { kept, added } = this.size(partition);
    return added > Math.max(this.growthBytesMax, kept);
  }

  async compact(partition: number, records: readonly KeyedRecord[]): Promise<void> {
    const log = this.topic.log(partition);
    const size = this.size(partition);
    const start = log.logEndOffset;
    const before = size.added;
    size.added = 0;
    try {
      const appended = this.appendNow(partition, records);
      size.kept = size.added;
      size.added = 0;
      await appended;
      // With nothing left to say, what was appended before may still be on its way.
      if (records.length === 0) await log.idle();
      await log.deleteRecords(start);
    } catch (error) {
      size.added += before;
      throw error;
    }
  }

  private size(partition: number): { kept: number; added: number } {
    const size = this.sizes.get(partition) ?? { kept: 0, added: 0 };
    this.sizes.set(partition, size);
    return size;
  }
}

/** Visits the records of whole batches; answers with the offset behind them. */
function visitBatches(bytes: Uint8Array, visit: (record: KeyedRecord) => void): { nextOffset: number; size: number } {
  let nextOffset = 0;
  let at = 0;
  while (at < bytes.length) {
    const batch = bytes.subarray(at);
    const header = new BatchHeader(batch);
    if (!header.isControl) {
      for (const { key, value } of decodeBatch(batch)) if (key) visit({ key, value });
    }
    nextOffset = header.baseOffset + header.lastOffsetDelta + 1;
    at += header.sizeBytes;
  }
  return { nextOffset, size: at };
}
