// One pass over the records of a batch (magic 2) without making objects: src/hotpath/twins/walk.ts says what it checks.
// The result is written to SUMMARY: fault, faultRecord, maxTimestampDelta, firstNullKey (i32 each), maxTimestamp,
// minTimestamp (f64 each).

import { SUMMARY } from "./layout";

const STRUCTURE: i32 = 1;
const LENGTH: i32 = 2;
const HEADER_COUNT: i32 = 3;
const HEADER_KEY: i32 = 4;
const OFFSET_DELTA: i32 = 5;
const TRAILING: i32 = 6;
const FIELD_BYTES: usize = 28;

/** The value that the last successful read left behind. */
let value: i64 = 0;

/** Reads a zigzag varint (32 bits) at `p`; returns the place behind it, or 0. */
@inline
function varint(p: usize, end: usize): usize {
  if (p < end) {
    const first = <u32>load<u8>(p);
    if (first < 0x80) {
      value = <i64>(<i32>(first >>> 1) ^ -(<i32>(first & 1)));
      return p + 1;
    }
  }
  return longerVarint(p, end);
}

function longerVarint(p: usize, end: usize): usize {
  let bits: u32 = 0;
  for (let shift: u32 = 0; shift < 35; shift += 7) {
    if (p >= end) return 0;
    const byte = <u32>load<u8>(p++);
    bits |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      value = <i64>(<i32>(bits >>> 1) ^ -(<i32>(bits & 1)));
      return p;
    }
  }
  return 0;
}

function varlong(p: usize, end: usize): usize {
  let bits: u64 = 0;
  for (let shift: u64 = 0; shift <= 63; shift += 7) {
    if (p >= end) return 0;
    const byte = <u64>load<u8>(p++);
    bits |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      value = <i64>(bits >>> 1) ^ -(<i64>(bits & 1));
      return p;
    }
  }
  return 0;
}

/** Skips a part of `length` bytes (none when negative); returns the place behind it, or 0. */
@inline
function skip(p: usize, end: usize, length: i32): usize {
  if (length <= 0) return p;
  return <usize>length > end - p ? 0 : p + <usize>length;
}

/** What was wrong where `skipHeaders` stopped. */
let headersFault: i32 = 0;

/** Skips `count` headers; returns the place behind them, or 0 after a fault. */
function skipHeaders(p: usize, end: usize, count: i32): usize {
  for (let header = 0; header < count; header++) {
    p = varint(p, end);
    if (p != 0 && <i32>value < 0) {
      headersFault = HEADER_KEY;
      return 0;
    }
    if (p != 0) p = skip(p, end, <i32>value);
    if (p != 0) p = varint(p, end);
    if (p != 0) p = skip(p, end, <i32>value);
    if (p == 0) {
      headersFault = STRUCTURE;
      return 0;
    }
  }
  return p;
}

/** Where the parts of one record are, as offsets: 7 words. */
@inline
function putFields(
  at: usize,
  delta: i32,
  key: usize,
  keyLength: i32,
  valuePlace: usize,
  valueLength: i32,
  headerCount: i32,
  headers: usize,
): void {
  store<i32>(at, delta);
  store<i32>(at, <i32>key, 4);
  store<i32>(at, keyLength, 8);
  store<i32>(at, <i32>valuePlace, 12);
  store<i32>(at, valueLength, 16);
  store<i32>(at, headerCount, 20);
  store<i32>(at, <i32>headers, 24);
}

function putSummary(fault: i32, faultRecord: i32, greatestDelta: i32, firstNullKey: i32, greatest: f64, least: f64): i32 {
  store<i32>(SUMMARY, fault);
  store<i32>(SUMMARY, faultRecord, 4);
  store<i32>(SUMMARY, greatestDelta, 8);
  store<i32>(SUMMARY, firstNullKey, 12);
  store<f64>(SUMMARY, greatest, 16);
  store<f64>(SUMMARY, least, 24);
  return fault;
}

/**
 * Walks `count` records in [from, from + length). With `fields` other than 0, writes 7 words per record there and a
 * timestamp (f64) at `timestamps`. Returns the fault, 0 for none.
 */
export function walk(
  from: usize,
  length: usize,
  count: i32,
  baseHigh: i32,
  baseLow: i32,
  dense: bool,
  fields: usize,
  timestamps: usize,
): i32 {
  const end = from + length;
  const base = (<i64>baseHigh << 32) | <i64>(<u32>baseLow);
  let p = from;
  let greatest: i64 = -1;
  let greatestDelta: i32 = -1;
  let least: i64 = i64.MAX_VALUE;
  let anyLeast = false;
  let firstNullKey: i32 = -1;
  let fault: i32 = 0;
  let index: i32 = 0;
  for (; index < count; index++) {
    fault = STRUCTURE;
    p = varint(p, end);
    if (p == 0) break;
    const recordLength = <i32>value;
    if (recordLength < 0 || <usize>recordLength > end - p) break;
    const recordEnd = p + <usize>recordLength;
    if (recordLength == 0) break;
    p = varlong(p + 1, recordEnd);
    if (p == 0) break;
    const timestamp = base + value;
    p = varint(p, recordEnd);
    if (p == 0) break;
    const delta = <i32>value;
    if (dense && delta != index) {
      fault = OFFSET_DELTA;
      break;
    }
    if (timestamp > greatest) {
      greatest = timestamp;
      greatestDelta = delta;
    }
    if (timestamp < least && timestamp != -1) {
      least = timestamp;
      anyLeast = true;
    }
    p = varint(p, recordEnd);
    if (p == 0) break;
    const keyLength = max<i32>(<i32>value, -1);
    const keyAt = p;
    p = skip(p, recordEnd, keyLength);
    if (p == 0) break;
    p = varint(p, recordEnd);
    if (p == 0) break;
    const valueLength = max<i32>(<i32>value, -1);
    const valueAt = p;
    p = skip(p, recordEnd, valueLength);
    if (p == 0) break;
    p = varint(p, recordEnd);
    if (p == 0) break;
    const headerCount = <i32>value;
    const headersAt = p;
    if (headerCount < 0 || headerCount > <i32>(recordEnd - p)) {
      fault = HEADER_COUNT;
      break;
    }
    if (headerCount > 0) {
      p = skipHeaders(p, recordEnd, headerCount);
      if (p == 0) {
        fault = headersFault;
        break;
      }
    }
    if (p != recordEnd) {
      fault = LENGTH;
      break;
    }
    fault = 0;
    if (keyLength < 0 && firstNullKey < 0) firstNullKey = index;
    if (fields != 0) {
      putFields(fields, delta, keyAt - from, keyLength, valueAt - from, valueLength, headerCount, headersAt - from);
      fields += FIELD_BYTES;
      store<f64>(timestamps, <f64>timestamp);
      timestamps += 8;
    }
  }
  const least64 = anyLeast ? <f64>least : Infinity;
  if (fault != 0) return putSummary(fault, index, greatestDelta, firstNullKey, <f64>greatest, least64);
  if (p != end) return putSummary(TRAILING, count, greatestDelta, firstNullKey, <f64>greatest, least64);
  return putSummary(0, -1, greatestDelta, firstNullKey, <f64>greatest, least64);
}
