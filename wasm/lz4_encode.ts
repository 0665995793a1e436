// Plain bytes to one LZ4 frame of independent 64 KiB blocks; the twin, src/hotpath/twins/lz4_encode.ts, writes the same bytes.
// The caller gives [target, …) room for lz4FrameBytesMax bytes.

import { LZ4_HASH_BITS, LZ4_TABLE } from "./layout";

const BLOCK: usize = 65536;

/** The table holds positions plus a base that grows from call to call, so that it never needs clearing. */
let base: u32 = 1;

export function lz4Encode(source: usize, length: usize, target: usize): i32 {
  store<u32>(target, 0x184d2204);
  store<u8>(target, 0x60, 4);
  store<u8>(target, 0x40, 5);
  store<u8>(target, 0x82, 6);
  if (base + <u32>length > 0x7fff0000) {
    memory.fill(LZ4_TABLE, 0, 4 << LZ4_HASH_BITS);
    base = 1;
  }
  let to = target + 7;
  for (let at: usize = 0; at < length; at += BLOCK) {
    const size = min<usize>(BLOCK, length - at);
    const end = encodeBlock(source, at, at + size, to + 4);
    const encoded = end - to - 4;
    if (encoded >= size) {
      store<u32>(to, <u32>size | 0x80000000);
      memory.copy(to + 4, source + at, size);
      to += 4 + size;
    } else {
      store<u32>(to, <u32>encoded);
      to = end;
    }
  }
  base += <u32>length;
  store<u32>(to, 0);
  return <i32>(to + 4 - target);
}

/** One block, [start, end) of the source, greedily. Returns the place behind it. */
function encodeBlock(source: usize, start: usize, end: usize, to: usize): usize {
  const matchStartMax = <isize>end - 12;
  const matchEndMax = source + end - 5;
  let anchor = start;
  let at = start;
  let misses: u32 = 64;
  while (<isize>at <= matchStartMax) {
    const sequence = load<u32>(source + at);
    const slot = LZ4_TABLE + (((sequence * 0x9e3779b1) >>> (32 - LZ4_HASH_BITS)) << 2);
    let match = <isize>load<u32>(slot) - <isize>base;
    store<u32>(slot, <u32>at + base);
    if (match < <isize>start || load<u32>(source + <usize>match) != sequence) {
      at += <usize>(misses++ >>> 6);
      continue;
    }
    misses = 64;
    while (at > anchor && match > <isize>start && load<u8>(source + at - 1) == load<u8>(source + <usize>match - 1)) {
      at--;
      match--;
    }
    const distance = at - <usize>match;
    const p = matchEnd(source + at + 4, distance, matchEndMax);
    to = writeSequence(source + anchor, at - anchor, distance, p - source - at - 4, to);
    at = p - source;
    anchor = at;
  }
  return writeSequence(source + anchor, end - anchor, 0, 0, to);
}

/** Where the bytes from `p` on stop being those `distance` back; `end` at the latest. */
@inline
function matchEnd(p: usize, distance: usize, end: usize): usize {
  while (p + 8 <= end) {
    const different = load<u64>(p) ^ load<u64>(p - distance);
    if (different != 0) return p + <usize>(ctz(different) >> 3);
    p += 8;
  }
  while (p < end && load<u8>(p) == load<u8>(p - distance)) p++;
  return p;
}

/** Literals and the match behind them; distance 0 means the last literals of a block. */
@inline
function writeSequence(from: usize, literals: usize, distance: usize, matchCode: usize, to: usize): usize {
  const token = (min<usize>(literals, 15) << 4) | min<usize>(matchCode, 15);
  store<u8>(to++, <u8>token);
  if (literals >= 15) to = writeLength(to, literals - 15);
  // A match follows at least 12 bytes before the end of the source, so 16 bytes more fit on both sides of a short copy.
  if (distance != 0 && literals <= 16) v128.store(to, v128.load(from));
  else memory.copy(to, from, literals);
  to += literals;
  if (distance == 0) return to;
  store<u16>(to, <u16>distance);
  to += 2;
  return matchCode >= 15 ? writeLength(to, matchCode - 15) : to;
}

function writeLength(to: usize, rest: usize): usize {
  for (; rest >= 255; rest -= 255) store<u8>(to++, 255);
  store<u8>(to++, <u8>rest);
  return to;
}
