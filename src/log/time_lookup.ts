/**
 * Offsets by time (ListOffsets): the first record at or after a time, and the record with the largest time. Segments and
 * batches are passed over by their largest time; only the one batch that answers is decoded.
 */
import type { BatchHeader } from "../protocol/records/batch.ts";
import { decodeBatch } from "../protocol/records/decode.ts";
import type { LogState } from "./log_state.ts";
import type { Segment } from "./segment.ts";

export interface TimedOffset {
  offset: number;
  /** Milliseconds since 1970. */
  timestamp: number;
}

/** The first record, in offset order from the log start, whose time is at or after `timestamp`; nothing when none is. */
export function offsetForTimestamp(state: LogState, timestamp: number): TimedOffset | undefined {
  for (const segment of state.segments) {
    if (segment.maxTimestamp < timestamp) continue;
    const found = inSegment(state, segment, timestamp);
    if (found) return found;
  }
  return undefined;
}

function inSegment(state: LogState, segment: Segment, timestamp: number): TimedOffset | undefined {
  const before = segment.timeIndex.before(timestamp);
  const from = Math.max(state.logStartOffset, segment.baseOffset + (before?.relativeOffset ?? 0));
  const start = segment.written > 0 ? segment.locate(from) : undefined;
  if (!start) return undefined;
  let found: TimedOffset | undefined;
  segment.walk(start.position, (header, position) => {
    if (header.latestRecordTime < timestamp) return false;
    const batch = readBatch(segment, header, position);
    found = firstRecord(batch, (time, offset) => time >= timestamp && offset >= state.logStartOffset);
    return found !== undefined;
  });
  return found;
}

/** The first record that has the largest time of the log; nothing for an empty log. */
export function maxTimestampOffset(state: LogState): TimedOffset | undefined {
  let latest: Segment | undefined;
  for (const segment of state.segments)
    if (segment.size > 0 && (!latest || segment.maxTimestamp > latest.maxTimestamp)) latest = segment;
  if (!latest || latest.maxTimestamp < 0) return undefined;
  const { maxTimestamp, maxTimestampOffset: offset } = latest;
  let batch: Uint8Array | undefined;
  if (offset >= state.recent.firstOffset) batch = state.recent.read(offset, Number.POSITIVE_INFINITY, 0, true)[0];
  else {
    const place = latest.locate(offset);
    if (place) {
      batch = new Uint8Array(place.bytes);
      latest.files.use(latest.logPath).read(batch, place.position);
    }
  }
  return batch && firstRecord(batch, (time) => time === maxTimestamp);
}

function readBatch(segment: Segment, header: BatchHeader, position: number): Uint8Array {
  const batch = new Uint8Array(header.sizeBytes);
  segment.files.use(segment.logPath).read(batch, position);
  return batch;
}

function firstRecord(
  batch: Uint8Array,
  matches: (timestamp: number, offset: number) => boolean,
): TimedOffset | undefined {
  const view = decodeBatch(batch);
  for (let record = 0; record < view.count; record++) {
    const timestamp = view.timestamp(record);
    const offset = view.offset(record);
    if (matches(timestamp, offset)) return { offset, timestamp };
  }
  return undefined;
}
