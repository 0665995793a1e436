/** Which part of a log compaction may touch, and whether it is due: the rules of Apache Kafka's LogCleanerManager. */
import type { LogState } from "../log_state.ts";
import type { Segment } from "../segment.ts";

export interface Cleanable {
  /** Everything before this offset is compacted already. */
  firstDirty: number;
  /** Where a segment starts that must stay as it is. */
  end: number;
  /** Bytes before `firstDirty`, and from there to `end`. */
  cleanBytes: number;
  dirtyBytes: number;
  /** Share of the dirty bytes, from 0 to 1: what min.cleanable.dirty.ratio is compared with. */
  dirtyRatio: number;
  /** Milliseconds by which the oldest dirty record is past max.compaction.lag.ms; 0 when none is. */
  overdueMs: number;
  isDue: boolean;
}

/**
 * `cleanedTo`: how far the log is compacted. `limit`: an offset that compaction must not pass, whatever the topic's configs
 * say (what is not durable, or what tables have not applied).
 */
export function cleanable(state: LogState, cleanedTo: number, limit: number, nowMs: number): Cleanable {
  const { config, logStartOffset, logEndOffset } = state;
  const isKnown = cleanedTo >= logStartOffset && cleanedTo <= logEndOffset;
  const firstDirty = isKnown ? cleanedTo : logStartOffset;
  const segments = dirtySegments(state, firstDirty, limit, nowMs);
  const end = segments.length > 0 ? endOf(state, segments[segments.length - 1]!) : firstDirty;
  let dirtyBytes = 0;
  for (const segment of segments) dirtyBytes += segment.size;
  let cleanBytes = 0;
  for (const segment of state.segments) if (segment.baseOffset < firstDirty) cleanBytes += segment.size;
  const dirtyRatio = dirtyBytes === 0 ? 0 : dirtyBytes / (cleanBytes + dirtyBytes);
  const overdueMs = overdue(segments, nowMs - config.maxCompactionLagMs);
  const isDue = dirtyBytes > 0 && (overdueMs > 0 || dirtyRatio > config.minCleanableDirtyRatio);
  return { firstDirty, end, cleanBytes, dirtyBytes, dirtyRatio, overdueMs, isDue };
}

/** The segments that have something to compact: never the active one, nor any after one that must wait. */
function dirtySegments(state: LogState, firstDirty: number, limit: number, nowMs: number): Segment[] {
  const { config, segments } = state;
  const found: Segment[] = [];
  for (let index = state.segmentIndexFor(firstDirty); index < segments.length - 1; index++) {
    const segment = segments[index]!;
    const nextBase = segments[index + 1]!.baseOffset;
    if (nextBase > limit || nextBase > state.highWatermark) break;
    if (nextBase <= firstDirty) continue;
    if (config.minCompactionLagMs > 0 && latestTime(segment) > nowMs - config.minCompactionLagMs) break;
    found.push(segment);
  }
  return found;
}

function endOf(state: LogState, segment: Segment): number {
  return state.segments[state.segments.indexOf(segment) + 1]!.baseOffset;
}

function latestTime(segment: Segment): number {
  return segment.maxTimestamp >= 0 ? segment.maxTimestamp : segment.createdMs;
}

function overdue(segments: readonly Segment[], before: number): number {
  let earliest = Number.POSITIVE_INFINITY;
  for (const segment of segments) {
    const first = segment.firstTime();
    if (first >= 0) earliest = Math.min(earliest, first);
  }
  return earliest < before ? before - earliest : 0;
}
