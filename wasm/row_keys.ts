// The key of a row: compact JSON of the key's columns in the key's order, spelled as row JSON spells values.

import { JSON, VARCHAR } from "./json_fields";
import { isSpace } from "./json_scan";
import { writeValue } from "./json_write";

/** What the record's own key is to the row's. */
const SAME: u32 = 0;
const NONE: u32 = 1;
const OTHER: u32 = 2;

/**
 * Writes the key of the row that the fields hold at `to`, and into `target` three words: the end of the key counted from `keys`, its hash,
 * and what the record's own key is (SAME: these very bytes, NONE: null). Returns the position behind the key, or 0 to decline the row.
 */
export function writeKeyOf(
  to: usize,
  keys: usize,
  keyFields: usize,
  keyCount: i32,
  plain: usize,
  record: usize,
  target: usize,
  row: i32,
): usize {
  const start = to;
  store<u8>(to++, 0x7b);
  for (let i = 0; i < keyCount; i++) {
    const field = <usize>load<u32>(keyFields + (<usize>i << 2));
    if (i > 0) store<u8>(to++, 0x2c);
    const label = <usize>load<u32>(field, 76);
    memory.copy(to, load<u32>(field, 72), label);
    to += label;
    const from = <usize>load<u32>(field, 64);
    if (from == 0) return 0;
    to = writeValue(to, field, from, load<u32>(field, 68), row);
    if (to == 0) return 0;
  }
  store<u8>(to++, 0x7d);
  store<u32>(target, <u32>(to - keys));
  store<u32>(target, hash(start, to - start), 4);
  store<u32>(target, compare(start, to - start, plain + <usize>load<i32>(record, 4), load<i32>(record, 8), keyFields, keyCount), 8);
  return to;
}

function compare(key: usize, length: usize, own: usize, ownLength: i32, keyFields: usize, keyCount: i32): u32 {
  if (ownLength < 0) return NONE;
  if (<usize>ownLength == length && memory.compare(key, own, length) == 0) return SAME;
  if (load<u8>(own) == 0x7b) {
    // White space inside of a JSON column's value counts.
    for (let i = 0; i < keyCount; i++) if (load<u8>(<usize>load<u32>(keyFields + (<usize>i << 2))) == JSON) return OTHER;
    return isSpacedKey(key, length, own, own + <usize>ownLength) ? NONE : OTHER;
  }
  if (keyCount > 1) return OTHER;
  // A plain value for a key of one column: its JSON, or a text without its quotes.
  const field = <usize>load<u32>(keyFields);
  const label = <usize>load<u32>(field, 76);
  const value = key + 1 + label;
  const valueLength = length - 2 - label;
  if (<usize>ownLength == valueLength && memory.compare(value, own, valueLength) == 0) return NONE;
  const isText = load<u8>(field) == VARCHAR && <usize>ownLength + 2 == valueLength;
  return isText && memory.compare(value + 1, own, ownLength) == 0 ? NONE : OTHER;
}

/** Whether [own, end) is the key with white space between its tokens, as Python's json.dumps writes it. Escapes are left to the twin. */
function isSpacedKey(key: usize, length: usize, own: usize, end: usize): bool {
  const keyEnd = key + length;
  let inText = false;
  for (; own < end; own++) {
    const byte = load<u8>(own);
    if (!inText && isSpace(byte)) continue;
    if (byte == 0x5c || key == keyEnd || load<u8>(key) != byte) return false;
    if (byte == 0x22) inText = !inText;
    key++;
  }
  return key == keyEnd;
}

/** Words of four bytes, the last one filled up with zeros; src/tables/keyed/key_hash.ts computes the same. */
function hash(at: usize, length: usize): u32 {
  let h = <u32>length;
  let left = length;
  for (; left >= 4; left -= 4, at += 4) h = mix(h ^ load<u32>(at));
  if (left > 0) h = mix(h ^ (load<u32>(at) & (((<u32>1) << (<u32>left << 3)) - 1)));
  h ^= h >>> 16;
  h *= 0x7feb352d;
  return h ^ (h >>> 15);
}

@inline
function mix(word: u32): u32 {
  const product = word * 0x9e3779b1;
  return product ^ (product >>> 15);
}
