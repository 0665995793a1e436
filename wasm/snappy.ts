// Snappy, raw and in Xerial's framing; src/hotpath/twins/snappy.ts says what is accepted and writes the same bytes.

import { copyLiterals, copyMatch } from "./copy";
import { CORRUPT, TOO_LARGE } from "./faults";
import { SNAPPY_HASH_BITS, SNAPPY_TABLE } from "./layout";

const MAGIC: u64 = 0x00595050414e5382; // 0x82 "SNAPPY" 0, little-endian.
const FRAME_HEADER: usize = 16;
const FRAME_BLOCK: usize = 32768;

@inline
function isFrame(p: usize, end: usize): bool {
  return p + FRAME_HEADER <= end && load<u64>(p) == MAGIC;
}

/** The length that a raw block claims, or -1 if it cannot have it. */
function claimed(p: usize, end: usize): i64 {
  let length: u64 = 0;
  let at = p;
  for (let shift: u64 = 0; ; shift += 7) {
    if (at >= end || shift > 28) return -1;
    const byte = <u64>load<u8>(at++);
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  // No element makes more than 64 bytes of 3: a length beyond that is a lie, found before it costs memory.
  if (length > 0xffffffff || length > <u64>(end - at) * 22) return -1;
  return <i64>length;
}

/** The plain length of all blocks together as they claim it; faults are left to the decoder. */
export function snappyBound(source: usize, length: usize): f64 {
  const end = source + length;
  if (!isFrame(source, end)) return max<f64>(0, <f64>claimed(source, end));
  let bound: f64 = 0;
  let p = source + FRAME_HEADER;
  while (p + 4 <= end) {
    if (isFrame(p, end)) {
      p += FRAME_HEADER;
      continue;
    }
    const size = bswap<u32>(load<u32>(p));
    p += 4;
    if (size > <u32>(end - p)) break;
    if (size > 0) {
      const block = claimed(p, p + size);
      if (block < 0) break;
      bound += <f64>block;
    }
    p += size;
  }
  return bound;
}

/** Returns the plain length, or a fault below 0. */
export function snappyDecode(source: usize, length: usize, target: usize, capacity: usize): i32 {
  const end = source + length;
  const targetEnd = target + capacity;
  let to = target;
  if (!isFrame(source, end)) {
    const next = decodeRaw(source, end, to, targetEnd);
    return next < 0 ? next : next - <i32>target;
  }
  let p = source + FRAME_HEADER;
  while (p < end) {
    if (isFrame(p, end)) {
      p += FRAME_HEADER;
      continue;
    }
    if (p + 4 > end) return CORRUPT;
    const size = bswap<u32>(load<u32>(p));
    p += 4;
    if (size > <u32>(end - p)) return CORRUPT;
    if (size > 0) {
      const next = decodeRaw(p, p + size, to, targetEnd);
      if (next < 0) return next;
      to = <usize>next;
    }
    p += size;
  }
  return <i32>(to - target);
}

function decodeRaw(p: usize, end: usize, to: usize, targetEnd: usize): i32 {
  const length = claimed(p, end);
  if (length < 0) return CORRUPT;
  if (length > <i64>(targetEnd - to)) return TOO_LARGE;
  while (load<u8>(p) >= 0x80) p++;
  p++;
  const lowest = to;
  const limit = to + <usize>length;
  while (p < end) {
    const tag = <u32>load<u8>(p++);
    const kind = tag & 3;
    if (kind == 0) {
      let size = <usize>(tag >>> 2) + 1;
      if (size > 60) {
        const extra = size - 60;
        if (extra > end - p) return CORRUPT;
        let value: u64 = 0;
        for (let i: usize = 0; i < extra; i++) value |= <u64>load<u8>(p + i) << (i << 3);
        p += extra;
        if (value + 1 > <u64>(end - p)) return CORRUPT;
        size = <usize>value + 1;
      }
      if (size > end - p || size > limit - to) return CORRUPT;
      copyLiterals(to, p, size, end - p >= size + 16 && limit - to >= size + 16);
      p += size;
      to += size;
      continue;
    }
    let size = <usize>(tag >>> 2) + 1;
    let distance: usize;
    if (kind == 1) {
      if (p >= end) return CORRUPT;
      size = <usize>((tag >>> 2) & 7) + 4;
      distance = (<usize>(tag >>> 5) << 8) | <usize>load<u8>(p);
      p++;
    } else if (kind == 2) {
      if (p + 2 > end) return CORRUPT;
      distance = <usize>load<u16>(p);
      p += 2;
    } else {
      if (p + 4 > end) return CORRUPT;
      distance = <usize>load<u32>(p);
      p += 4;
    }
    if (distance == 0 || distance > to - lowest || size > limit - to) return CORRUPT;
    copyMatch(to, distance, size, limit - to >= size + 16);
    to += size;
  }
  return to == limit ? <i32>to : CORRUPT;
}

/** The table holds positions plus a base that grows from call to call, so that it never needs clearing. */
let base: u32 = 1;

/** Framed with version and compatible version 1; the caller gives room for xerialBytesMax bytes. */
export function snappyEncode(source: usize, length: usize, target: usize): i32 {
  store<u64>(target, MAGIC);
  store<u32>(target, 0x01000000, 8);
  store<u32>(target, 0x01000000, 12);
  if (base + <u32>length > 0x7fff0000) {
    memory.fill(SNAPPY_TABLE, 0, 4 << SNAPPY_HASH_BITS);
    base = 1;
  }
  let to = target + FRAME_HEADER;
  for (let at: usize = 0; at < length; at += FRAME_BLOCK) {
    const end = encodeRaw(source, at, min<usize>(at + FRAME_BLOCK, length), to + 4);
    store<u32>(to, bswap<u32>(<u32>(end - to - 4)));
    to = end;
  }
  base += <u32>length;
  return <i32>(to - target);
}

function encodeRaw(source: usize, start: usize, end: usize, to: usize): usize {
  let rest = end - start;
  for (; rest >= 0x80; rest >>>= 7) store<u8>(to++, <u8>((rest & 0x7f) | 0x80));
  store<u8>(to++, <u8>rest);
  let anchor = start;
  let at = start;
  let misses: u32 = 32;
  while (at + 4 <= end) {
    const sequence = load<u32>(source + at);
    const slot = SNAPPY_TABLE + (((sequence * 0x9e3779b1) >>> (32 - SNAPPY_HASH_BITS)) << 2);
    const match = <isize>load<u32>(slot) - <isize>base;
    store<u32>(slot, <u32>at + base);
    if (match < <isize>start || load<u32>(source + <usize>match) != sequence) {
      at += <usize>(misses++ >>> 5);
      continue;
    }
    misses = 32;
    const distance = at - <usize>match;
    let p = source + at + 4;
    const stop = source + end;
    while (p + 8 <= stop) {
      const different = load<u64>(p) ^ load<u64>(p - distance);
      if (different != 0) {
        p += <usize>(ctz(different) >> 3);
        break;
      }
      p += 8;
    }
    if (p + 8 > stop) while (p < stop && load<u8>(p) == load<u8>(p - distance)) p++;
    if (at > anchor) to = writeLiteral(source + anchor, at - anchor, to);
    to = writeCopy(distance, p - source - at, to);
    at = p - source;
    anchor = at;
  }
  return end > anchor ? writeLiteral(source + anchor, end - anchor, to) : to;
}

function writeLiteral(from: usize, length: usize, to: usize): usize {
  const code = length - 1;
  if (code < 60) store<u8>(to++, <u8>(code << 2));
  else if (code < 256) {
    store<u8>(to++, 60 << 2);
    store<u8>(to++, <u8>code);
  } else {
    store<u8>(to++, 61 << 2);
    store<u16>(to, <u16>code);
    to += 2;
  }
  memory.copy(to, from, length);
  return to + length;
}

function writeCopy(distance: usize, length: usize, to: usize): usize {
  let rest = length;
  while (rest > 64) {
    // Leave at least 4, the shortest copy that the one-byte form can say.
    const part: usize = rest >= 68 ? 64 : 60;
    store<u8>(to, <u8>(((part - 1) << 2) | 2));
    store<u16>(to, <u16>distance, 1);
    to += 3;
    rest -= part;
  }
  if (rest < 12 && distance < 2048) {
    store<u8>(to, <u8>(((distance >> 8) << 5) | ((rest - 4) << 2) | 1));
    store<u8>(to, <u8>distance, 1);
    return to + 2;
  }
  store<u8>(to, <u8>(((rest - 1) << 2) | 2));
  store<u16>(to, <u16>distance, 1);
  return to + 3;
}
