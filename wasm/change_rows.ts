// Where the row is in a change event, for the usual ones: a bare envelope without a schema whose op is c, r or u.
//
// Invariant: an envelope that this takes, src/tables/changes/change_reader.ts reads as an upsert of the row given here; what its values mean there,
// the row kernel knows (event_values.ts) or declines. Everything else is declined.

import { skipSpace, skipString, skipValue } from "./json_scan";
import { JSON_STACK } from "./layout";

/** Words of the record index: key length at 2, value start at 3, value length at 4. */
const RECORD_BYTES: usize = 28;

const OP: u32 = 0x22706f; // op"
const OP_MASK: u32 = 0xffffff;
const AFTER: u64 = 0x227265746661; // after"
const AFTER_MASK: u64 = 0xffffffffffff;
const BEFORE: u64 = 0x2265726f666562; // before"
const PAYLOAD: u64 = 0x2264616f6c796170; // payload"
const SCHEMA: u64 = 0x22616d65686373; // schema"
const SEVEN_MASK: u64 = 0xffffffffffffff;
let rowStart: usize = 0;
let rowEnd: usize = 0;

/**
 * Reads the envelopes of up to `count` records whose values the record index at `records` gives, relative to `plain`, and writes two words a
 * record to `target`: where its row starts, and its length. Returns how many it took.
 */
export function changeRows(plain: usize, records: usize, count: i32, target: usize): i32 {
  for (let i = 0; i < count; i++) {
    const length = load<i32>(records, 16);
    const start = plain + <usize>load<i32>(records, 12);
    if (length < 2 || !readEnvelope(start, start + <usize>length, load<i32>(records, 8) >= 0)) return i;
    store<u32>(target, <u32>(rowStart - plain));
    store<u32>(target, <u32>(rowEnd - rowStart), 4);
    records += RECORD_BYTES;
    target += 8;
  }
  return count;
}

function readEnvelope(p: usize, end: usize, hasKey: bool): bool {
  p = skipSpace(p, end);
  if (load<u8>(p) != 0x7b) return false;
  p = skipSpace(p + 1, end);
  rowStart = 0;
  let hasOp = false;
  let hasBefore = false;
  while (true) {
    if (p >= end || load<u8>(p) != 0x22) return false;
    const name = p + 1;
    p = skipString(p, end);
    if (p == 0) return false;
    const colon = skipSpace(p, end);
    if (colon >= end || load<u8>(colon) != 0x3a) return false;
    const nameEnd = p;
    p = skipSpace(colon + 1, end);
    const letters = load<u64>(name);
    if ((<u32>letters & OP_MASK) == OP) {
      if (hasOp || !isRowOp(p)) return false;
      hasOp = true;
      p += 3;
    } else if ((letters & AFTER_MASK) == AFTER) {
      if (rowStart != 0 || load<u8>(p) != 0x7b) return false;
      rowStart = p;
      p = skipValue(p, end, JSON_STACK, 1);
      if (p == 0 || hasPlaceholder(rowStart, p)) return false;
      rowEnd = p;
    } else {
      const seven = letters & SEVEN_MASK;
      if (seven == BEFORE) {
        // Without a key, an old row may tell of a change of key.
        if (hasBefore || (load<u8>(p) == 0x7b && !hasKey)) return false;
        hasBefore = true;
      } else if (letters == PAYLOAD || seven == SCHEMA || hasEscape(name, nameEnd)) return false;
      p = skipValue(p, end, JSON_STACK, 1);
      if (p == 0) return false;
    }
    p = skipSpace(p, end);
    if (p >= end) return false;
    const next = <u32>load<u8>(p++);
    if (next == 0x7d) break;
    if (next != 0x2c) return false;
    p = skipSpace(p, end);
  }
  return skipSpace(p, end) == end && p <= end && hasOp && rowStart != 0;
}

/** "c", "r" or "u". */
@inline
function isRowOp(p: usize): bool {
  if (load<u8>(p) != 0x22 || load<u8>(p, 2) != 0x22) return false;
  const op = <u32>load<u8>(p, 1);
  return op == 0x63 || op == 0x72 || op == 0x75;
}

function hasEscape(p: usize, end: usize): bool {
  for (; p < end; p++) if (load<u8>(p) == 0x5c) return true;
  return false;
}

/**
 * Whether some text in [p, end) may stand for a value that an update did not touch (Debezium's unavailable.value.placeholder, in any of its
 * forms), or hide that behind escapes.
 */
function hasPlaceholder(p: usize, end: usize): bool {
  for (; p < end; p += 16) {
    let quotes = i8x16.bitmask(i8x16.eq(v128.load(p), i8x16.splat(0x22)));
    while (quotes != 0) {
      const at = p + <usize>ctz(quotes);
      if (at >= end) return false;
      if (mayBePlaceholder(load<u8>(at, 1), load<u8>(at, 2))) return true;
      quotes &= quotes - 1;
    }
  }
  return false;
}

/** By its first two letters: as text, in base64, in hex, or as hstore. */
@inline
function mayBePlaceholder(first: u32, second: u32): bool {
  if (first == 0x5c) return true;
  const escaped = second == 0x5c;
  if (first == 0x5f) return escaped || second == 0x5f;
  if (first == 0x58) return escaped || second == 0x31;
  if (first == 0x35) return escaped || second == 0x66;
  return first == 0x7b && (escaped || second == 0x22);
}
