/**
 * One pass over the records of a batch (Kafka's record format, magic 2) without making objects of them: checks every
 * length and varint, follows timestamps, counts records without keys and, when asked, writes down where everything is.
 * The twin of the kernel of that name: same answers, to the last fault.
 */
import { CodecError } from "../codec_error.ts";
import { VarintCursor } from "../varint.ts";

/** What is wrong with the records of a batch; 0 when nothing is. */
export const walkFaults = {
  none: 0,
  /** A record, or a length in it, runs past its end, or a varint is malformed. */
  structure: 1,
  /** A record's fields do not fill its length exactly. */
  length: 2,
  /** A negative count of headers, or more than the record has room for. */
  headerCount: 3,
  /** A header without a name. */
  headerKey: 4,
  /** An offset delta that is not the record's index. */
  offsetDelta: 5,
  /** Bytes after the last record. */
  trailing: 6,
} as const;

/** Numbers per record in `WalkOutput.fields`. */
export const fieldsPerRecord = 7;

/** Where a batch's records are. Positions count from the start of the bytes walked. */
export interface WalkOutput {
  /** Per record: offset delta, key position, key length (-1 null), value position, value length (-1 null), header count, headers' position. */
  fields: Int32Array;
  /** Milliseconds, per record. */
  timestamps: Float64Array;
}

export interface WalkSummary {
  fault: number;
  /** Index of the record at fault. */
  faultRecord: number;
  /** Greatest timestamp; -1 when no record has one above it. */
  maxTimestamp: number;
  /** Offset delta of the first record with that timestamp; -1 when none. */
  maxTimestampDelta: number;
  /** Least timestamp other than -1; Infinity when no record has one. */
  minTimestamp: number;
  /** Index of the first record without a key; -1 when all have one. */
  firstNullKey: number;
}

/**
 * Walks `count` records in `bytes[start, end)`. `baseHigh` and `baseLow` are the halves of the batch's base timestamp.
 * With `dense`, offset deltas must be 0, 1, 2, …
 */
export function walkTwin(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
  baseHigh: number,
  baseLow: number,
  dense: boolean,
  output: WalkOutput | undefined,
): WalkSummary {
  const walk = new Walk(bytes, start, end, baseHigh, baseLow);
  const summary = walk.summary;
  let index = 0;
  try {
    for (; index < count && summary.fault === 0; index++) {
      summary.faultRecord = index;
      summary.fault = walk.record(index, dense, output);
    }
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    summary.fault = walkFaults.structure;
  }
  if (summary.fault === 0) {
    summary.faultRecord = -1;
    if (walk.cursor.position !== end) {
      summary.fault = walkFaults.trailing;
      summary.faultRecord = count;
    }
  }
  return summary;
}

class Walk {
  cursor: VarintCursor;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly baseHigh: number;
  readonly baseLow: number;
  private maxHigh = -1;
  private maxLow = -1;
  readonly summary: WalkSummary = {
    fault: 0,
    faultRecord: -1,
    maxTimestamp: -1,
    maxTimestampDelta: -1,
    minTimestamp: Infinity,
    firstNullKey: -1,
  };

  constructor(bytes: Uint8Array, start: number, end: number, baseHigh: number, baseLow: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.baseHigh = baseHigh | 0;
    this.baseLow = baseLow | 0;
    this.cursor = new VarintCursor(bytes, start, end);
  }

  record(index: number, dense: boolean, output: WalkOutput | undefined): number {
    const outer = this.cursor;
    const length = outer.signed();
    const recordEnd = outer.position + length;
    if (length < 0 || recordEnd > this.end) return walkFaults.structure;
    const cursor = new VarintCursor(this.bytes, outer.position, recordEnd);
    cursor.byte();
    cursor.signedLong();
    const { high, low } = cursor;
    const delta = cursor.signed();
    if (dense && delta !== index) return walkFaults.offsetDelta;
    const timestamp = this.timestamp(high, low, delta);
    const keyLength = Math.max(cursor.signed(), -1);
    const keyAt = cursor.position;
    if (!skip(cursor, keyLength)) return walkFaults.structure;
    const valueLength = Math.max(cursor.signed(), -1);
    const valueAt = cursor.position;
    if (!skip(cursor, valueLength)) return walkFaults.structure;
    const headerCount = cursor.signed();
    if (headerCount < 0 || headerCount > recordEnd - cursor.position) return walkFaults.headerCount;
    const headersAt = cursor.position;
    for (let header = 0; header < headerCount; header++) {
      const nameLength = cursor.signed();
      if (nameLength < 0) return walkFaults.headerKey;
      if (!skip(cursor, nameLength) || !skip(cursor, cursor.signed())) return walkFaults.structure;
    }
    if (cursor.position !== recordEnd) return walkFaults.length;
    if (keyLength < 0 && this.summary.firstNullKey < 0) this.summary.firstNullKey = index;
    if (output !== undefined) {
      const at = index * fieldsPerRecord;
      const fields = output.fields;
      fields[at] = delta;
      fields[at + 1] = keyAt - this.start;
      fields[at + 2] = keyLength;
      fields[at + 3] = valueAt - this.start;
      fields[at + 4] = valueLength;
      fields[at + 5] = headerCount;
      fields[at + 6] = headersAt - this.start;
      output.timestamps[index] = timestamp;
    }
    outer.position = recordEnd;
    return 0;
  }

  /** Base plus delta in 64 bits that wrap, as Java's; keeps the least and the greatest. */
  private timestamp(deltaHigh: number, deltaLow: number, offsetDelta: number): number {
    const sum = (this.baseLow >>> 0) + (deltaLow >>> 0);
    const low = sum | 0;
    const high = (this.baseHigh + deltaHigh + (sum > 0xffffffff ? 1 : 0)) | 0;
    const timestamp = high * 4294967296 + (low >>> 0);
    if (high > this.maxHigh || (high === this.maxHigh && low >>> 0 > this.maxLow >>> 0)) {
      this.maxHigh = high;
      this.maxLow = low;
      this.summary.maxTimestamp = timestamp;
      this.summary.maxTimestampDelta = offsetDelta;
    }
    if (timestamp < this.summary.minTimestamp && timestamp !== -1) this.summary.minTimestamp = timestamp;
    return timestamp;
  }
}

function skip(cursor: VarintCursor, length: number): boolean {
  if (length <= 0) return true;
  if (length > cursor.end - cursor.position) return false;
  cursor.position += length;
  return true;
}
