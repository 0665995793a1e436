/**
 * The state of one loaded partition: its segments, offsets and producers. Others decide; this is what they decide about.
 *
 * Invariant: segments ascend by base offset and there is at least one; logStartOffset <= highWatermark <= logEndOffset;
 * `recent` holds every batch at or past the high watermark.
 */
import { limits } from "../base/limits.ts";
import type { LogContext } from "./context.ts";
import type { LogConfig } from "./log_config.ts";
import { ProducerState } from "./producer_state.ts";
import { RecentBatches } from "./recent_batches.ts";
import type { Segment } from "./segment.ts";

export class LogState {
  readonly topic: string;
  readonly partition: number;
  readonly directory: string;
  readonly segments: Segment[] = [];
  readonly recent: RecentBatches;
  readonly producers = new ProducerState(limits.producersPerPartitionMax);
  /** Segments with bytes that no sync has covered: the log under "os", indexes always. Drained by the checkpoint. */
  readonly unsynced = new Set<Segment>();
  producersLoaded = false;
  /** Under "os": a late sync failed, so only a start that checks the batches may vouch for them again. */
  syncLost = false;
  config: LogConfig;
  topicId: string | undefined;
  /** Times that compaction put other segments in the place of old ones. */
  cleanings = 0;
  logStartOffset = 0;
  logEndOffset = 0;
  highWatermark = 0;
  /** The folder is there. */
  exists = false;
  /** The folder's name in the store's folder may not be durable yet. */
  rootDirty = false;
  /** Names in the folder may not be durable yet. */
  directoryDirty = false;
  /** The partition was deleted: nothing may touch its files any more. */
  deleted = false;

  constructor(context: LogContext, topic: string, partition: number, config: LogConfig) {
    this.topic = topic;
    this.partition = partition;
    this.directory = `${context.directory}/${topic}-${partition}`;
    this.config = config;
    this.recent = new RecentBatches(context.budget, () => this.highWatermark);
  }

  get active(): Segment {
    return this.segments[this.segments.length - 1]!;
  }

  get name(): string {
    return `${this.topic}-${this.partition}`;
  }

  /** Number of the segment that an offset falls into: the last one that starts at or before it (the first, if none). */
  segmentIndexFor(offset: number): number {
    let low = 0;
    let high = this.segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.segments[middle]!.baseOffset <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  sizeBytes(): number {
    let bytes = 0;
    for (const segment of this.segments) bytes += segment.size;
    return bytes;
  }
}
