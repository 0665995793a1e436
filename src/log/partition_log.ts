/**
 * The log of one topic-partition: the face that everybody else uses. Loaded from its folder on first use.
 *
 * Invariant: what `done` of an append promised is readable at its offset for ever, until retention or deleteRecords
 * removes it; offsets are dense, never reused and never renumbered.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import { DiskError } from "../platform/disk.ts";
import type { PartitionCheckpoint } from "./checkpoint.ts";
import { type Cleanable, cleanable } from "./compaction/cleanable.ts";
import type { Pacer } from "./compaction/pacer.ts";
import { CompactionRound, type RoundResult } from "./compaction/round.ts";
import type { LogContext } from "./context.ts";
import { type DurableFiles, durableFilesOf } from "./durable_files.ts";
import { loadPartition } from "./load.ts";
import type { LogConfig } from "./log_config.ts";
import { LogState } from "./log_state.ts";
import { checkpointPartition, snapshotProducers } from "./partition_checkpoint.ts";
import { type AppendResult, PartitionWriter } from "./partition_writer.ts";
import { ensureProducers } from "./producer_history.ts";
import { PartitionReader, type ReadOptions } from "./reader.ts";
import { applyRetention, deleteRecords } from "./retention.ts";
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

export interface PartitionOptions {
  config: LogConfig;
  topicId: string | undefined;
  folder: ClaimedFolder;
}

/** What is known of a partition's folder without looking into it. */
export interface ClaimedFolder {
  checkpoint: PartitionCheckpoint | undefined;
  /** Looks whether the folder is this topic's, and gives the checkpoint that holds for it. Called once, before the load. */
  verify: () => PartitionCheckpoint | undefined;
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
  private checkpointed: PartitionCheckpoint | undefined;
  private verify: (() => PartitionCheckpoint | undefined) | undefined;
  /** Set for good when the partition cannot be trusted before the next start. */
  private broken: string | undefined;
  /** Records at or past the offset that this gives are kept by retention: what tables have not applied yet. */
  retainFrom: (() => number) | undefined;
  /** Called before clients delete records below an offset; resolves when nobody needs them any more, or rejects. */
  beforeDelete: ((offset: number) => Promise<void>) | undefined;
  private loaded: Loaded | undefined;
  private readonly listeners = new Set<() => void>();
  private gone = false;
  private closed = false;

  constructor(context: LogContext, topic: string, partition: number, options: PartitionOptions) {
    this.context = context;
    this.topic = topic;
    this.partition = partition;
    this.settings = options.config;
    this.topicId = options.topicId;
    this.checkpointed = options.folder.checkpoint;
    this.verify = options.folder.verify;
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
    const { known } = this;
    if (!known) return this.load().state.logStartOffset;
    return Math.max(known.logStartOffset, this.context.starts.get(this.topic, this.partition));
  }
  /** Offset that the next record gets. */
  get logEndOffset(): number {
    return this.known?.endOffset ?? this.load().state.logEndOffset;
  }
  /** End of what is durable (under "os": of what is written), which is what clients may read. */
  get highWatermark(): number {
    return this.known?.endOffset ?? this.load().state.highWatermark;
  }

  /** What a clean stop tells of a partition that is not loaded yet. */
  private get known(): PartitionCheckpoint | undefined {
    return this.loaded || this.gone || !this.checkpointed?.isExact ? undefined : this.checkpointed;
  }

  /** Bytes of all segments, batches on their way included. */
  sizeBytes(): number {
    return this.known?.sizeBytes ?? this.load().state.sizeBytes();
  }

  /**
   * Appends one batch that was checked by validateProduceBatch. The log takes the bytes over: it sets base offset, leader
   * epoch and (on LogAppendTime topics) the time in place, and keeps them; they must not be changed afterwards.
   * `release` is called if the log comes to hold the bytes no longer and nobody read them from it meanwhile.
   * Throws INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER or KAFKA_STORAGE_ERROR; then nothing was appended.
   */
  append(batch: Uint8Array, release?: () => void): AppendResult {
    const { writer } = this.loaded ?? this.load();
    try {
      return writer.append(batch, release);
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
    const { state } = this.load();
    this.onFiles(() => ensureProducers(this.context, state));
    for (const producer of state.producers.values()) {
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

  /**
   * Kafka's DeleteRecords: makes records before `before` unreadable (-1: all that are durable now). Resolves with the new
   * log start once it is durable; rejects with OFFSET_OUT_OF_RANGE or KAFKA_STORAGE_ERROR.
   */
  async deleteRecords(before: number): Promise<number> {
    try {
      const { state } = this.load();
      const target = before === -1 ? state.highWatermark : before;
      if (target > state.logStartOffset && target <= state.highWatermark) await this.beforeDelete?.(target);
      const start = await deleteRecords(this.context, state, target);
      this.clean().catch((error) => {
        this.context.logger.error("could not remove the segments of deleted records", { reason: String(error) });
      });
      return start;
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Removes segments that config and clients let go and forgets idle producers; gives the number of segments removed. */
  async clean(): Promise<number> {
    const { state, writer } = this.load();
    state.producers.expire(this.context.clock.nowMs(), limits.producerExpirationMs);
    return await applyRetention(this.context, state, writer, this.retainFrom?.() ?? Number.POSITIVE_INFINITY);
  }

  /**
   * What compaction could do here below `limit`; nothing when the topic is not compacted. Times are in milliseconds since 1970.
   */
  cleanable(limit: number, nowMs: number): Cleanable | undefined {
    if (!this.settings.compacted || this.gone) return undefined;
    const { state } = this.load();
    const cleanedTo = this.context.cleaned.get(this.topic, this.partition);
    return cleanable(state, cleanedTo, Math.min(limit, this.retainFrom?.() ?? Number.POSITIVE_INFINITY), nowMs);
  }

  /** Compacts that part; see CompactionRound.run. There must be one at a time. */
  async compact(part: Cleanable, pacer: Pacer, mapBytesMax: number): Promise<RoundResult> {
    return await new CompactionRound(this.context, this.load().state, pacer, mapBytesMax).run(part);
  }

  /** Grows whenever compaction has taken records out of what was readable before. */
  get cleanings(): number {
    return this.loaded?.state.cleanings ?? 0;
  }

  /** What the store's checkpoint is to say of this partition, made durable first; nothing when it never had a file. */
  async checkpoint(isLast: boolean): Promise<PartitionCheckpoint | undefined> {
    if (!this.loaded || this.gone) return this.checkpointed;
    const { state, writer } = this.loaded;
    if (!state.exists || state.syncLost || writer.faultReason) return this.checkpointed;
    if (isLast) {
      await writer.idle();
      try {
        snapshotProducers(this.context, state);
      } catch (error) {
        const fields = { partition: state.name, reason: (error as Error).message };
        this.context.logger.warn("could not write a producer snapshot; the next start reads the batches", fields);
      }
    }
    this.checkpointed = await checkpointPartition(this.context, state, writer.durable, this.checkpointed, isLast);
    return this.checkpointed;
  }

  /** What a copy of the partition as it is now consists of. */
  durableFiles(): DurableFiles {
    const { state, writer } = this.load();
    return durableFilesOf(this.context.disk, state, writer.durable);
  }

  /** Loads the partition now rather than with its first use. */
  open(): void {
    this.load();
  }

  /** Why appends are refused at the moment, if they are. */
  get faultReason(): string | undefined {
    return this.broken ?? this.loaded?.writer.faultReason;
  }

  /** The store is closing: what is on its way is finished, more is refused. */
  refuseAppends(): void {
    this.closed = true;
    this.loaded?.writer.close();
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
    const name = `${this.topic}-${this.partition}`;
    if (this.gone) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `${name} was deleted`);
    if (this.broken) throw new KafkaError("KAFKA_STORAGE_ERROR", `${name}: ${this.broken}`);
    const { context } = this;
    const state = new LogState(context, this.topic, this.partition, this.settings);
    state.topicId = this.topicId;
    try {
      if (this.verify) this.checkpointed = this.verify();
      this.verify = undefined;
      const startOffset = context.starts.get(this.topic, this.partition);
      loadPartition(context, state, { checkpoint: this.checkpointed, startOffset });
    } catch (error) {
      if (error instanceof DiskError && error.operation.startsWith("sync")) {
        this.broken = `${error.message}; start the node again once the disk works`;
        throw new KafkaError("KAFKA_STORAGE_ERROR", `${name}: ${this.broken}`);
      }
      throw storageError(error);
    }
    const writer = new PartitionWriter(context, state, () => this.advanced());
    if (this.closed) writer.close();
    this.loaded = { state, writer, reader: new PartitionReader(state) };
    if (this.checkpointed) this.checkpointed.isExact = false;
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
