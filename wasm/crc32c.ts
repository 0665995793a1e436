// CRC32C (Castagnoli polynomial, reflected), 5 to 8 times as fast as tables alone.
//
// Long inputs are first folded: a polynomial that is a multiple of the CRC's own and has only a few terms lets one add
// each byte of the message to a few later places and then forget it, so that only a short rest remains, with the same
// remainder. Over GF(2) f(x)^8 = f(x^8), so if f is such a multiple, the powers of its terms serve as byte distances,
// and one 16-byte vector is folded with a load and an XOR per term. The distances come from the multiples
//   x^5275 + x^4508 + x^2751 + 1           (to the 8th power: bytes)
//   x^209 + x^144 + x^54 + x^39 + x^14 + 1 (to the 32nd power: 4 bytes)
// found by search: no multiple of 4 terms, and none of 6, has a lower degree. Their nearest distances (767 and 260
// bytes) are far enough that a load never meets a store that is still under way.
// The rest goes through tables, three stripes at once: one alone waits for its own loads.

import { CRC_SHIFT, CRC_STRIPE, CRC_TABLES, FOLD, FOLD_BLOCK, FOLD_REST } from "./layout";

const LONG: usize = 5280; // History of the long fold: its greatest distance, in whole vectors.
const SHORT: usize = 848;
const LONG_FROM: usize = 49152;
const SHORT_FROM: usize = 1792;

export function initCrc32c(): void {
  for (let byte: u32 = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
    store<u32>(CRC_TABLES + (byte << 2), crc);
  }
  for (let slice: usize = 1; slice < 8; slice++) {
    for (let byte: usize = 0; byte < 256; byte++) {
      const before = load<u32>(CRC_TABLES + ((slice - 1) << 10) + (byte << 2));
      store<u32>(CRC_TABLES + (slice << 10) + (byte << 2), over(before));
    }
  }
  for (let place: u32 = 0; place < 4; place++) {
    for (let byte: u32 = 0; byte < 256; byte++) {
      let crc = byte << (8 * place);
      for (let zeros: usize = 0; zeros < CRC_STRIPE; zeros++) crc = over(crc);
      store<u32>(CRC_SHIFT + (place << 10) + (byte << 2), crc);
    }
  }
}

/** The CRC moved over one zero byte. */
@inline
function over(crc: u32): u32 {
  return (crc >>> 8) ^ load<u32>(CRC_TABLES + ((crc & 255) << 2));
}

@inline
function eight(crc: u32, p: usize): u32 {
  const low = load<u32>(p) ^ crc;
  const high = load<u32>(p, 4);
  return (
    load<u32>((low << 2) & 0x3fc, CRC_TABLES + 7168) ^
    load<u32>((low >>> 6) & 0x3fc, CRC_TABLES + 6144) ^
    load<u32>((low >>> 14) & 0x3fc, CRC_TABLES + 5120) ^
    load<u32>((low >>> 22) & 0x3fc, CRC_TABLES + 4096) ^
    load<u32>((high << 2) & 0x3fc, CRC_TABLES + 3072) ^
    load<u32>((high >>> 6) & 0x3fc, CRC_TABLES + 2048) ^
    load<u32>((high >>> 14) & 0x3fc, CRC_TABLES + 1024) ^
    load<u32>((high >>> 22) & 0x3fc, CRC_TABLES)
  );
}

@inline
function shift(crc: u32): u32 {
  return (
    load<u32>((crc << 2) & 0x3fc, CRC_SHIFT) ^
    load<u32>((crc >>> 6) & 0x3fc, CRC_SHIFT + 1024) ^
    load<u32>((crc >>> 14) & 0x3fc, CRC_SHIFT + 2048) ^
    load<u32>((crc >>> 22) & 0x3fc, CRC_SHIFT + 3072)
  );
}

function byTables(crc: u32, from: usize, length: usize): u32 {
  let p = from;
  const end = from + length;
  while (p + 3 * CRC_STRIPE <= end) {
    let second: u32 = 0;
    let third: u32 = 0;
    const stop = p + CRC_STRIPE;
    while (p < stop) {
      crc = eight(crc, p);
      second = eight(second, p + CRC_STRIPE);
      third = eight(third, p + 2 * CRC_STRIPE);
      p += 8;
    }
    crc = shift(shift(crc) ^ second) ^ third;
    p += 2 * CRC_STRIPE;
  }
  while (p + 8 <= end) {
    crc = eight(crc, p);
    p += 8;
  }
  while (p < end) {
    crc = (crc >>> 8) ^ load<u32>(CRC_TABLES + (((crc ^ load<u8>(p)) & 255) << 2));
    p++;
  }
  return crc;
}

@inline
function foldLong(y: usize, p: usize, at: usize): void {
  const near = v128.xor(v128.load(p + at), v128.load(y - 767 + at));
  v128.store(y + at, v128.xor(near, v128.xor(v128.load(y - 2524 + at), v128.load(y - 5275 + at))));
}

@inline
function foldShort(y: usize, p: usize, at: usize): void {
  const near = v128.xor(v128.load(p + at), v128.load(y - 260 + at));
  const middle = v128.xor(v128.load(y - 620 + at), v128.load(y - 680 + at));
  v128.store(y + at, v128.xor(v128.xor(near, middle), v128.xor(v128.load(y - 780 + at), v128.load(y - 836 + at))));
}

/** Adds what the last `distance` bytes of history owe to the rest. */
@inline
function settle(rest: usize, history: usize, distance: usize): void {
  const from = history - distance;
  let q: usize = 0;
  for (; q + 16 <= distance; q += 16) v128.store(rest + q, v128.xor(v128.load(rest + q), v128.load(from + q)));
  for (; q < distance; q++) store<u8>(rest + q, load<u8>(rest + q) ^ load<u8>(from + q));
}

/** Folds all but the last LONG to LONG + 15 bytes away; the rest is left at FOLD_REST. Returns its length. */
function foldLongWay(from: usize, length: usize): usize {
  const gone = (length - LONG) & ~15;
  const end = from + gone;
  memory.fill(FOLD, 0, LONG);
  let p = from;
  while (p < end) {
    const size = min<usize>(FOLD_BLOCK, end - p);
    let y = FOLD + LONG;
    const yEnd = y + size;
    for (; y + 64 <= yEnd; y += 64, p += 64) {
      foldLong(y, p, 0);
      foldLong(y, p, 16);
      foldLong(y, p, 32);
      foldLong(y, p, 48);
    }
    for (; y < yEnd; y += 16, p += 16) foldLong(y, p, 0);
    memory.copy(FOLD, FOLD + size, LONG);
  }
  const rest = length - gone;
  memory.copy(FOLD_REST, end, rest);
  const history = FOLD + LONG;
  settle(FOLD_REST, history, 767);
  settle(FOLD_REST, history, 2524);
  settle(FOLD_REST, history, 5275);
  return rest;
}

/** As foldLongWay with the short fold; the rest is left behind the history. Returns its length. */
function foldShortWay(from: usize, length: usize): usize {
  const gone = (length - SHORT) & ~15;
  const end = from + gone;
  memory.fill(FOLD, 0, SHORT);
  let p = from;
  while (p < end) {
    const size = min<usize>(FOLD_BLOCK, end - p);
    let y = FOLD + SHORT;
    const yEnd = y + size;
    for (; y + 64 <= yEnd; y += 64, p += 64) {
      foldShort(y, p, 0);
      foldShort(y, p, 16);
      foldShort(y, p, 32);
      foldShort(y, p, 48);
    }
    for (; y < yEnd; y += 16, p += 16) foldShort(y, p, 0);
    memory.copy(FOLD, FOLD + size, SHORT);
  }
  const rest = length - gone;
  const history = FOLD + SHORT;
  memory.copy(history, end, rest);
  settle(history, history, 260);
  settle(history, history, 620);
  settle(history, history, 680);
  settle(history, history, 780);
  settle(history, history, 836);
  return rest;
}

/** The CRC32C of `length` bytes at `from`. The bytes are as they were when it returns. */
export function crc32c(from: usize, length: usize): u32 {
  if (length < SHORT_FROM) return ~byTables(~0, from, length);
  // A start value of all ones is the same as the first four bytes inverted.
  store<u32>(from, ~load<u32>(from));
  let rest = length;
  if (length >= LONG_FROM) {
    rest = foldLongWay(from, length);
    store<u32>(from, ~load<u32>(from));
    rest = foldShortWay(FOLD_REST, rest);
  } else {
    rest = foldShortWay(from, length);
    store<u32>(from, ~load<u32>(from));
  }
  return ~byTables(0, FOLD + SHORT, rest);
}
