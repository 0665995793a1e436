/**
 * The log of one topic-partition: the face that everybody else uses. Loaded from its folder on first use.
 *
 * Invariant: what `done` of an append promised is readable at its offset for ever, until retention or deleteRecords
 * removes it; offsets are dense, never reused and never renumbered.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { DiskError } from "../platform/disk.ts";
import type { LogContext } from "./context.ts";
import { loadPartition } from "./load.ts";
import type { LogConfig } from "./log_config.ts";
import { LogState } from "./log_state.ts";
import { type AppendResult, PartitionWriter } from "./partition_writer.ts";
import { PartitionReader, type ReadOptions } from "./reader.ts";
import { maxTimestampOffset, offsetForTimestamp, type TimedOffset } from "./time_lookup.ts";

export type { AppendResult, ReadOptions };

/** One producer of a partition; field names as in DescribeProducersResponse. */
export interface ProducerDescription {
  producerId: bigint;
  producerEpoch: number;
  lastSequence: number;
  lastTimestamp: number;
  coordinatorEpoch: number;
  currentTxnStartOffset: number;
}

interface Loaded {
  state: LogState;
  writer: PartitionWriter;
  reader: PartitionReader;
}

/** The leader epoch of every batch: there is one node, which always leads. */
const onlyEpoch = 0;

export class PartitionLog {
  readonly topic: string;
  readonly partition: number;
  readonly leaderEpoch = onlyEpoch;
  private readonly context: LogContext;
  private settings: LogConfig;
  private readonly topicId: string | undefined;
  private loaded: Loaded | undefined;
  private readonly listeners = new Set<() => void>();
  private gone = false;

  constructor(context: LogContext, topic: string, partition: number, config: LogConfig, topicId: string | undefined) {
    this.context = context;
    this.topic = topic;
    this.partition = partition;
    this.settings = config;
    this.topicId = topicId;
  }

  /** Settable at any time; takes effect with the next append or cleaning. */
  get config(): LogConfig {
    return this.settings;
  }
  set config(config: LogConfig) {
    this.settings = config;
    if (this.loaded) this.loaded.state.config = config;
  }

  /** Offset of the first record that clients may read. */
  get logStartOffset(): number {
    return this.load().state.logStartOffset;
  }
  /** Offset that the next record gets. */
  get logEndOffset(): number {
    return this.load().state.logEndOffset;
  }
  /** End of what is durable (under "os": of what is written), which is what clients may read. */
  get highWatermark(): number {
    return this.load().state.highWatermark;
  }

  /** Bytes of all segments, batches on their way included. */
  sizeBytes(): number {
    return this.load().state.sizeBytes();
  }

  /**
   * Appends one batch that was checked by validateProduceBatch. The log takes the bytes over: it sets base offset, leader
   * epoch and (on LogAppendTime topics) the time in place, and keeps them; they must not be changed afterwards.
   * Throws INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER or KAFKA_STORAGE_ERROR; then nothing was appended.
   */
  append(batch: Uint8Array): AppendResult {
    const { writer } = this.loaded ?? this.load();
    try {
      return writer.append(batch);
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Whole batches from `offset` on; see PartitionReader.read. The bytes are shared: do not change them. */
  read(offset: number, options: ReadOptions): Uint8Array[] {
    const { reader } = this.loaded ?? this.load();
    try {
      return reader.read(offset, options);
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Calls `listener` whenever the high watermark has moved, until the returned function is called. */
  onAdvance(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** The first record at or after a time (milliseconds since 1970). It may lie past the high watermark. */
  offsetForTimestamp(timestamp: number): TimedOffset | undefined {
    return this.onFiles(({ state }) => offsetForTimestamp(state, timestamp));
  }

  /** The record with the largest time, the first of several. It may lie past the high watermark. */
  maxTimestampOffset(): TimedOffset | undefined {
    return this.onFiles(({ state }) => maxTimestampOffset(state));
  }

  /** What is known of idempotent producers, for DescribeProducers. */
  producers(): ProducerDescription[] {
    const described: ProducerDescription[] = [];
    for (const producer of this.load().state.producers.values()) {
      const last = producer.batches[producer.batches.length - 1];
      described.push({
        producerId: BigInt(producer.producerId),
        producerEpoch: producer.epoch,
        lastSequence: last?.lastSequence ?? -1,
        lastTimestamp: last?.timestamp ?? -1,
        coordinatorEpoch: -1,
        currentTxnStartOffset: -1,
      });
    }
    return described;
  }

  /**
   * Kafka's OffsetForLeaderEpoch: the end of an epoch. A later epoch than ours, or none, is unknown (-1, -1).
   */
  endOffsetForEpoch(epoch: number): { leaderEpoch: number; endOffset: number } {
    if (epoch !== onlyEpoch) return { leaderEpoch: -1, endOffset: -1 };
    return { leaderEpoch: onlyEpoch, endOffset: this.logEndOffset };
  }

  /** Why appends are refused at the moment, if they are. */
  get faultReason(): string | undefined {
    return this.loaded?.writer.faultReason;
  }

  /** Resolves when all that was appended is durable or rejected. */
  async idle(): Promise<void> {
    await this.loaded?.writer.idle();
  }

  /** The partition was deleted: nothing is written any more. Its files are closed. */
  markDeleted(): void {
    this.gone = true;
    if (!this.loaded) return;
    const { state } = this.loaded;
    state.deleted = true;
    state.recent.clear();
    for (const segment of state.segments) segment.drop();
    this.loaded = undefined;
  }

  private onFiles<T>(action: (loaded: Loaded) => T): T {
    const loaded = this.load();
    try {
      return action(loaded);
    } catch (error) {
      throw storageError(error);
    }
  }

  private load(): Loaded {
    if (this.loaded) return this.loaded;
    if (this.gone) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `${this.topic}-${this.partition} was deleted`);
    const state = new LogState(this.context, this.topic, this.partition, this.settings);
    state.topicId = this.topicId;
    try {
      loadPartition(this.context, state);
    } catch (error) {
      throw storageError(error);
    }
    const writer = new PartitionWriter(
      this.context,
      state,
      () => undefined,
      () => this.advanced(),
    );
    this.loaded = { state, writer, reader: new PartitionReader(state) };
    return this.loaded;
  }

  private advanced(): void {
    if (this.listeners.size === 0) return;
    for (const listener of [...this.listeners]) {
      try {
        listener();
      } catch (error) {
        this.context.logger.error("a listener of a log failed", { stack: (error as Error).stack });
      }
    }
  }
}

/** What a client is told when the file system fails under a log. */
function storageError(error: unknown): unknown {
  return error instanceof DiskError ? new KafkaError("KAFKA_STORAGE_ERROR", error.message) : error;
}
