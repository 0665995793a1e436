/**
 * What one partition knows of its idempotent producers (KIP-98, KIP-360): the epoch and the last five batches of each, to
 * refuse gaps and to answer a repeated batch with its first result.
 *
 * Invariant: batches of a producer are in log order. Of durable ones the last five are kept, of those that are not durable
 * all, so that a failed write can be taken back exactly.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { type BatchHeader, readInt64 } from "../protocol/records/batch.ts";

/** A producer id as a key: a number where that is exact, else a bigint. -1 stands for no producer. */
export type ProducerId = number | bigint;

export function producerIdOf(header: BatchHeader): ProducerId {
  const rounded = readInt64(header.bytes, header.start + 43);
  return Number.isSafeInteger(rounded) ? rounded : header.producerId;
}

export interface SequencedBatch {
  epoch: number;
  baseSequence: number;
  lastSequence: number;
  baseOffset: number;
  lastOffset: number;
  /** Largest record time of the batch. */
  timestamp: number;
  /** Resolves when the batch is durable; nothing when it was so from the start. */
  done: Promise<void> | undefined;
}

export interface ProducerEntry {
  producerId: ProducerId;
  epoch: number;
  batches: SequencedBatch[];
  /** Wall time of the last batch (of the load, for producers from before it): what expiry counts from. */
  seenMs: number;
}

const batchesKept = 5;
const sequenceMax = 2_147_483_647;

/** The sequence `count` after `sequence`: after 2^31-1 comes 0. */
export function sequenceAfter(sequence: number, count: number): number {
  return (sequence + count) % (sequenceMax + 1);
}

export class ProducerState {
  /** Least recently used first. */
  private readonly entries = new Map<ProducerId, ProducerEntry>();
  private readonly producersMax: number;

  constructor(producersMax: number) {
    this.producersMax = producersMax;
  }

  get size(): number {
    return this.entries.size;
  }

  /**
   * Decides about a batch before its append: the earlier batch that it repeats, or nothing when it is next in line.
   * Throws INVALID_PRODUCER_EPOCH and OUT_OF_ORDER_SEQUENCE_NUMBER as Kafka's ProducerAppendInfo does; a producer that is
   * not known (expired, or its records deleted) may start at any sequence (KIP-360).
   */
  check(
    producerId: ProducerId,
    epoch: number,
    baseSequence: number,
    lastOffsetDelta: number,
  ): SequencedBatch | undefined {
    const entry = this.entries.get(producerId);
    if (!entry) return undefined;
    const last = entry.batches[entry.batches.length - 1];
    if (epoch === entry.epoch && last) {
      const lastSequence = sequenceAfter(baseSequence, lastOffsetDelta);
      for (let index = entry.batches.length - 1, seen = 0; index >= 0 && seen < batchesKept; index--, seen++) {
        const batch = entry.batches[index]!;
        if (batch.epoch !== epoch) break;
        if (batch.baseSequence === baseSequence && batch.lastSequence === lastSequence) return batch;
      }
    }
    if (epoch < entry.epoch)
      throw new KafkaError(
        "INVALID_PRODUCER_EPOCH",
        `producer ${producerId} has epoch ${entry.epoch} here; a batch with the older epoch ${epoch} is refused`,
      );
    const expected = epoch === entry.epoch && last ? sequenceAfter(last.lastSequence, 1) : 0;
    if (baseSequence !== expected)
      throw new KafkaError(
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        `producer ${producerId} (epoch ${epoch}) must send sequence ${expected} next, not ${baseSequence}`,
      );
    return undefined;
  }

  /** Remembers an appended batch. `durableOffset`: batches before it will not be taken back. */
  record(producerId: ProducerId, batch: SequencedBatch, nowMs: number, durableOffset: number): void {
    let entry = this.entries.get(producerId);
    if (entry) this.entries.delete(producerId);
    else {
      if (this.entries.size >= this.producersMax) this.entries.delete(this.entries.keys().next().value!);
      entry = { producerId, epoch: batch.epoch, batches: [], seenMs: nowMs };
    }
    this.entries.set(producerId, entry);
    entry.epoch = batch.epoch;
    entry.seenMs = nowMs;
    entry.batches.push(batch);
    while (entry.batches.length > batchesKept && entry.batches[batchesKept]!.lastOffset < durableOffset)
      entry.batches.shift();
  }

  /** Puts a producer as a snapshot tells it, in place of what was known. */
  restore(entry: ProducerEntry): void {
    this.entries.set(entry.producerId, entry);
  }

  /** Puts batches that are older than the known ones in front of them, as many as are kept; `earlier` in log order. */
  prepend(producerId: ProducerId, earlier: readonly SequencedBatch[]): void {
    const entry = this.entries.get(producerId);
    const first = entry?.batches[0];
    if (!entry || !first) return;
    const older = earlier.filter((batch) => batch.lastOffset < first.baseOffset);
    const room = batchesKept - entry.batches.length;
    if (room > 0) entry.batches.unshift(...older.slice(-room));
  }

  /** Takes back batches at or past `offset`. */
  truncateTo(offset: number): void {
    for (const entry of this.entries.values()) {
      const batches = entry.batches;
      while (batches.length > 0 && batches[batches.length - 1]!.baseOffset >= offset) batches.pop();
      const last = batches[batches.length - 1];
      if (last) entry.epoch = last.epoch;
      else this.entries.delete(entry.producerId);
    }
  }

  /** Forgets producers that sent nothing for `expirationMs` (Kafka's producer.id.expiration.ms). */
  expire(nowMs: number, expirationMs: number): void {
    for (const [producerId, entry] of this.entries) {
      if (nowMs - entry.seenMs < expirationMs) break;
      this.entries.delete(producerId);
    }
  }

  clear(): void {
    this.entries.clear();
  }

  values(): IterableIterator<ProducerEntry> {
    return this.entries.values();
  }
}
