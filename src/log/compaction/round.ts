/**
 * One compaction of one partition, as Apache Kafka's Cleaner does it: the newest offset of each key in the dirty part goes
 * into a map, then all segments up to its end are written anew without the records that a newer one of their key replaces.
 *
 * Invariants: offsets stay; the last record of each key stays, a tombstone until its horizon has passed; what no segment's
 * end covers otherwise is covered by a batch without records; the last batch of each producer stays, if only as a header,
 * so that sequences go on. Control batches and those of transactions stay as they are.
 */
import { limits } from "../../base/limits.ts";
import { type BatchHeader, batchHeaderBytes } from "../../protocol/records/batch.ts";
import { decodeBatch, type RecordBatchView } from "../../protocol/records/decode.ts";
import type { LogContext } from "../context.ts";
import type { LogState } from "../log_state.ts";
import { ensureProducers } from "../producer_history.ts";
import type { Segment } from "../segment.ts";
import { BatchReader } from "./batch_reader.ts";
import type { Cleanable } from "./cleanable.ts";
import { OffsetMap } from "./offset_map.ts";
import { type Pacer, Stopped } from "./pacer.ts";
import { SegmentRewriter } from "./segment_rewriter.ts";
import { finishSwaps, swapIn } from "./swap.ts";

/** What one compaction of one partition did. */
export interface RoundResult {
  /** The log is compacted up to here. */
  cleanedTo: number;
  bytesRead: number;
  /** Bytes of the segments that were written, and of those that they replace. */
  bytesWritten: number;
  bytesReplaced: number;
  recordsRead: number;
  recordsKept: number;
  /** Records without a key, which a compacted log does not keep. */
  keylessRecords: number;
  /** Share of the offset map that was taken, from 0 to 1. */
  mapUtilization: number;
  /** The map was full: there is more to do at once. */
  isPartial: boolean;
}

/** Records between two looks at the clock. */
const recordsAtOnce = 4_096;

export class CompactionRound {
  private readonly context: LogContext;
  private readonly state: LogState;
  private readonly pacer: Pacer;
  private readonly mapBytesMax: number;
  private readonly reader = new BatchReader();
  private readonly result: RoundResult = {
    cleanedTo: 0,
    bytesRead: 0,
    bytesWritten: 0,
    bytesReplaced: 0,
    recordsRead: 0,
    recordsKept: 0,
    keylessRecords: 0,
    mapUtilization: 0,
    isPartial: false,
  };

  constructor(context: LogContext, state: LogState, pacer: Pacer, mapBytesMax: number) {
    this.context = context;
    this.state = state;
    this.pacer = pacer;
    this.mapBytesMax = mapBytesMax;
  }

  /** Throws Stopped, a DiskError, or an Error when the log cannot be read; what was swapped in before stays. */
  async run(what: Cleanable): Promise<RoundResult> {
    const { context, state, result } = this;
    await finishSwaps(context, state);
    const map = await this.newestOffsets(what);
    const cleanedTo = result.isPartial ? map.latestOffset + 1 : what.end;
    result.mapUtilization = map.utilization;
    ensureProducers(context, state);
    const rewriter = new SegmentRewriter(map, {
      nowMs: context.clock.nowMs(),
      deleteRetentionMs: state.config.deleteRetentionMs,
      lastBatches: lastBatches(state),
    });
    for (const group of groupSegments(state, cleanedTo)) await this.cleanGroup(group, rewriter);
    await context.cleaned.advance(state.topic, state.partition, cleanedTo);
    result.cleanedTo = cleanedTo;
    result.recordsRead = rewriter.recordsRead;
    result.recordsKept = rewriter.recordsKept;
    result.keylessRecords = rewriter.keylessRecords;
    return result;
  }

  /** Reads the dirty part. */
  private async newestOffsets({ firstDirty, end }: Cleanable): Promise<OffsetMap> {
    const { state, result } = this;
    const map = new OffsetMap(end - firstDirty, this.mapBytesMax);
    const dirty = state.segments.filter((segment, i) => {
      return segment.baseOffset < end && (state.segments[i + 1]?.baseOffset ?? end) > firstDirty;
    });
    for (const segment of dirty) {
      this.checkStillThere(segment);
      const start = segment.locate(Math.max(firstDirty, segment.baseOffset))?.position ?? segment.written;
      for (const header of this.reader.batches(segment, start, (position) => this.damaged(segment, position))) {
        if (isOpaque(header)) map.latestOffset = header.lastOffset;
        else {
          const view = this.decode(segment, header);
          for (let record = 0; record < view.count; record += recordsAtOnce) {
            if (record > 0) await this.pace(0);
            if (noteKeys(map, view, record, firstDirty)) continue;
            result.isPartial = true;
            return map;
          }
          map.latestOffset = header.lastOffset;
        }
        const others = this.pace(0);
        if (others) await others;
        this.checkStillThere(segment);
      }
    }
    return map;
  }

  /** Writes the segments of a group anew as one, and puts that in their place. */
  private async cleanGroup(group: readonly Segment[], rewriter: SegmentRewriter): Promise<void> {
    const { context, state, result } = this;
    const bytes = group.reduce((sum, segment) => sum + segment.size, 0);
    if (context.disk.freeBytes(state.directory).free < bytes + limits.diskReserveBytes) {
      const fields = { partition: state.name, bytes };
      context.logger.warn("no space to compact a part of a log; the topic keeps old records until there is", fields);
      throw new Stopped("no space");
    }
    const end = this.endOf(group);
    const cleaned = rewriter.begin(context, state, group);
    try {
      for (const segment of group) {
        const isLast = segment === group[group.length - 1];
        for (const header of this.reader.batches(segment, 0, (position) => this.damaged(segment, position))) {
          const mustCover = isLast && header.lastOffset + 1 >= end;
          if (isOpaque(header)) rewriter.keep(header);
          else {
            const view = this.decode(segment, header);
            rewriter.open(view);
            for (let record = 0; record < view.count; record += recordsAtOnce) {
              if (record > 0) await this.pace(0);
              rewriter.decide(record, Math.min(view.count, record + recordsAtOnce));
            }
            rewriter.close(mustCover);
          }
          const others = this.pace(rewriter.takeBytesWritten());
          if (others) await others;
          this.checkStillThere(segment);
        }
      }
      rewriter.cover(end);
      if (group.length === 1 && !rewriter.hasChanged) {
        rewriter.discard();
        return;
      }
      await rewriter.finish();
      await swapIn(context, state, group, cleaned);
    } catch (error) {
      rewriter.discard();
      throw error;
    }
    result.bytesWritten += cleaned.size;
    result.bytesReplaced += bytes;
  }

  private endOf(group: readonly Segment[]): number {
    const { segments } = this.state;
    const last = segments.indexOf(group[group.length - 1]!);
    const next = segments[last + 1];
    if (last < 0 || next === undefined) throw new Stopped("the segments left the log while they were compacted");
    return next.baseOffset;
  }

  /** Something to wait for when it is the turn of others. */
  private pace(bytesWritten: number): Promise<void> | undefined {
    const bytesRead = this.reader.takeBytesRead();
    this.result.bytesRead += bytesRead;
    return this.pacer.spent(bytesRead + bytesWritten);
  }

  /** Retention and deletions go on meanwhile. */
  private checkStillThere(segment: Segment): void {
    if (this.state.deleted || !this.state.segments.includes(segment))
      throw new Stopped("the segments left the log while they were compacted");
  }

  private decode(segment: Segment, header: BatchHeader): RecordBatchView {
    try {
      return decodeBatch(header.bytes);
    } catch (error) {
      throw new Error(`${segment.logPath}: ${(error as Error).message}`);
    }
  }

  private damaged(segment: Segment, position: number): never {
    throw new Error(`${segment.logPath} has no record batch at position ${position}`);
  }
}

/** Puts keys of a batch, from a record on, into the map; false when it is full. Offsets before `from` do not count. */
function noteKeys(map: OffsetMap, view: RecordBatchView, first: number, from: number): boolean {
  const end = Math.min(view.count, first + recordsAtOnce);
  for (let record = first; record < end; record++) {
    const length = view.keyLength(record);
    const offset = view.offset(record);
    if (length >= 0 && offset >= from) {
      const start = view.keyStart(record);
      if (!map.put(view.plain, start, start + length, offset)) return false;
    }
    map.latestOffset = offset;
  }
  return true;
}

/** Batches that compaction neither reads nor changes. */
function isOpaque(header: BatchHeader): boolean {
  return header.isControl || header.isTransactional;
}

/** The last offset of each producer's last batch: of those that are durable, since others may be taken back. */
function lastBatches(state: LogState): Set<number> {
  const last = new Set<number>();
  for (const { batches } of state.producers.values())
    for (let index = batches.length - 1; index >= 0; index--) {
      if (batches[index]!.lastOffset >= state.highWatermark) continue;
      last.add(batches[index]!.lastOffset);
      break;
    }
  return last;
}

/** Neighbours that fit into one segment together, of the segments that begin before `end` (Kafka's groupSegmentsBySize). */
function groupSegments(state: LogState, end: number): Segment[][] {
  const { config, segments } = state;
  const groups: Segment[][] = [];
  let group: Segment[] = [];
  let bytes = 0;
  let indexBytes = 0;
  for (let index = 0; index < segments.length - 1 && segments[index]!.baseOffset < end; index++) {
    const segment = segments[index]!;
    const nextBase = segments[index + 1]!.baseOffset;
    const ownIndexBytes = 12 * Math.max(segment.offsetIndex.count, segment.timeIndex.count);
    const fits =
      group.length > 0 &&
      bytes + segment.size <= config.segmentBytes &&
      indexBytes + ownIndexBytes <= config.segmentIndexBytes &&
      nextBase - group[0]!.baseOffset <= 2_147_483_647;
    if (!fits) {
      group = [];
      groups.push(group);
      bytes = indexBytes = 0;
    }
    group.push(segment);
    bytes += segment.size + batchHeaderBytes;
    indexBytes += ownIndexBytes;
  }
  return groups;
}
