// CRC32C (Castagnoli polynomial, reflected), several times as fast as tables alone.
//
// Long inputs are first folded: a polynomial that is a multiple of the CRC's own and has only a few terms lets one add
// each byte of the message to a few later places and then forget it, so that only a short rest remains, with the same
// remainder. Over GF(2) f(x)^8 = f(x^8), so if f is such a multiple, the powers of its terms serve as byte distances,
// and one 16-byte vector is folded with a load and an XOR per term. The distances come from the multiples
//   x^5275 + x^4508 + x^2751 + 1           (to the 8th power: bytes): the long fold
//   x^209 + x^144 + x^54 + x^39 + x^14 + 1 (to the 16th power: 2 bytes, and to the 8th): the middle and the short fold
// found by search: no multiple of 4 terms, and none of 6, has a lower degree. The longer the distances, the fewer loads meet
// a store that is still under way, but the longer the rest.
// The rest goes through tables, three stripes at once: one alone waits for its own loads.

import { CRC_SHIFT, CRC_STRIPE, CRC_TABLES, FOLD, FOLD_BLOCK, FOLD_REST } from "./layout";

type Way = i32;
const LONG: Way = 0;
const MIDDLE: Way = 1;
const SHORT: Way = 2;
// The lengths from which each way pays.
const LONG_FROM: usize = 49152;
const MIDDLE_FROM: usize = 2560;
const SHORT_FROM: usize = 512;

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

/** The bytes of history that a way looks back on: its greatest distance, in whole vectors. */
@inline
function historyBytes(way: Way): usize {
  return way == LONG ? 5280 : way == MIDDLE ? 432 : 224;
}

/** Folds the vector at `p + at` into `y + at`; the history lies before `y`. */
@inline
function foldVector(way: Way, y: usize, p: usize, at: usize): void {
  let sum = v128.load(p + at);
  if (way == LONG) {
    sum = v128.xor(sum, v128.load(y - 767 + at));
    sum = v128.xor(sum, v128.xor(v128.load(y - 2524 + at), v128.load(y - 5275 + at)));
  } else if (way == MIDDLE) {
    sum = v128.xor(sum, v128.xor(v128.load(y - 310 + at), v128.load(y - 340 + at)));
    sum = v128.xor(sum, v128.xor(v128.load(y - 390 + at), v128.load(y - 418 + at)));
    sum = v128.xor(sum, v128.load(y - 130 + at));
  } else {
    sum = v128.xor(sum, v128.xor(v128.load(y - 155 + at), v128.load(y - 170 + at)));
    sum = v128.xor(sum, v128.xor(v128.load(y - 195 + at), v128.load(y - 209 + at)));
    sum = v128.xor(sum, v128.load(y - 65 + at));
  }
  v128.store(y + at, sum);
}

/** Adds what the last `distance` bytes of history owe to the rest. */
function settle(rest: usize, history: usize, distance: usize): void {
  const from = history - distance;
  let q: usize = 0;
  for (; q + 16 <= distance; q += 16) v128.store(rest + q, v128.xor(v128.load(rest + q), v128.load(from + q)));
  for (; q < distance; q++) store<u8>(rest + q, load<u8>(rest + q) ^ load<u8>(from + q));
}

/** Folds away all but the history's length to 15 bytes more. The rest is left at `rest`; returns its length. */
@inline
function fold(way: Way, from: usize, length: usize, rest: usize): usize {
  const history = historyBytes(way);
  const gone = (length - history) & ~15;
  const end = from + gone;
  memory.fill(FOLD, 0, history);
  let p = from;
  while (p < end) {
    const size = min<usize>(FOLD_BLOCK, end - p);
    let y = FOLD + history;
    const yEnd = y + size;
    for (; y + 64 <= yEnd; y += 64, p += 64) {
      foldVector(way, y, p, 0);
      foldVector(way, y, p, 16);
      foldVector(way, y, p, 32);
      foldVector(way, y, p, 48);
    }
    for (; y < yEnd; y += 16, p += 16) foldVector(way, y, p, 0);
    memory.copy(FOLD, FOLD + size, history);
  }
  const restBytes = length - gone;
  memory.copy(rest, end, restBytes);
  const edge = FOLD + history;
  if (way == LONG) {
    settle(rest, edge, 767);
    settle(rest, edge, 2524);
    settle(rest, edge, 5275);
  } else {
    const unit: usize = way == MIDDLE ? 2 : 1;
    settle(rest, edge, 65 * unit);
    settle(rest, edge, 155 * unit);
    settle(rest, edge, 170 * unit);
    settle(rest, edge, 195 * unit);
    settle(rest, edge, 209 * unit);
  }
  return restBytes;
}

function foldLong(from: usize, length: usize): usize {
  return fold(LONG, from, length, FOLD_REST);
}

function foldMiddle(from: usize, length: usize): usize {
  return fold(MIDDLE, from, length, FOLD + 1024);
}

function foldShort(from: usize, length: usize): usize {
  return fold(SHORT, from, length, FOLD + 1024);
}

/** The CRC32C of `length` bytes at `from`. The bytes are as they were when it returns. */
export function crc32c(from: usize, length: usize): u32 {
  if (length < SHORT_FROM) return ~byTables(~0, from, length);
  // A start value of all ones is the same as the first four bytes inverted.
  store<u32>(from, ~load<u32>(from));
  let rest: usize;
  if (length >= LONG_FROM) rest = foldLong(from, length);
  else rest = length >= MIDDLE_FROM ? foldMiddle(from, length) : foldShort(from, length);
  store<u32>(from, ~load<u32>(from));
  if (length >= LONG_FROM) rest = foldMiddle(FOLD_REST, rest);
  return ~byTables(0, FOLD + 1024, rest);
}
