// LZ4 frames to plain bytes; src/hotpath/twins/lz4_decode.ts says what is accepted.
// Reads stay inside [source, source + length), writes inside [target, target + capacity).

import { copyLiterals, copyMatch } from "./copy";
import { BAD_CHECKSUM, CORRUPT, TOO_LARGE, UNSUPPORTED } from "./faults";
import { xxhash32 } from "./xxhash32";

const FRAME_MAGIC: u32 = 0x184d2204;

/**
 * More bytes than the frames can decode to: what their blocks can hold at most, but never more than 255 for each of the
 * input (which LZ4 cannot pass), so that a lie about block sizes costs nothing. Faults are left to the decoder.
 */
export function lz4Bound(source: usize, length: usize): f64 {
  const end = source + length;
  let p = source;
  let bound: f64 = 0;
  while (p + 7 <= end) {
    const magic = load<u32>(p);
    if (magic >>> 4 == 0x184d2a5) {
      const size = load<u32>(p, 4);
      if (p + 8 > end || size > <u32>(end - p - 8)) break;
      p += 8 + size;
      continue;
    }
    if (magic != FRAME_MAGIC) break;
    const flags = load<u8>(p, 4);
    const blockCode = load<u8>(p, 5) >> 4;
    if (blockCode < 4 || blockCode > 7) break;
    const blockBytesMax = <u32>1 << (8 + 2 * blockCode);
    p += flags & 8 ? 15 : 7;
    let ended = false;
    while (p + 4 <= end) {
      const word = load<u32>(p);
      p += 4;
      if (word == 0) {
        ended = true;
        break;
      }
      const size = word & 0x7fffffff;
      if (size > blockBytesMax || size > <u32>(end - p)) {
        bound += <f64>blockBytesMax;
        break;
      }
      bound += word >>> 31 ? <f64>size : min<f64>(<f64>blockBytesMax, <f64>size * 255 + 64);
      p += flags & 16 ? size + 4 : size;
    }
    if (!ended) break;
    if (flags & 4) p += 4;
  }
  return bound + 64;
}

/** Returns the plain length, or a fault below 0. */
export function lz4Decode(source: usize, length: usize, target: usize, capacity: usize, oldHeaderChecksum: bool): i32 {
  const end = source + length;
  const targetEnd = target + capacity;
  let p = source;
  let to = target;
  let frames = 0;
  while (p < end) {
    if (p + 4 > end) return CORRUPT;
    const magic = load<u32>(p);
    if (magic >>> 4 == 0x184d2a5) {
      if (p + 8 > end) return CORRUPT;
      const size = load<u32>(p, 4);
      if (size > <u32>(end - p - 8)) return CORRUPT;
      p += 8 + size;
      continue;
    }
    if (magic != FRAME_MAGIC) return CORRUPT;
    frames++;
    if (p + 7 > end) return CORRUPT;
    const start = p;
    const flags = load<u8>(p, 4);
    const descriptor = load<u8>(p, 5);
    if (flags >> 6 != 1) return CORRUPT;
    if (flags & 1) return UNSUPPORTED;
    if ((flags & 2) | (descriptor & 0x8f)) return CORRUPT;
    const blockCode = descriptor >> 4;
    if (blockCode < 4) return CORRUPT;
    const blockBytesMax = <usize>1 << (8 + 2 * blockCode);
    p += 6;
    let contentBytes: u64 = u64.MAX_VALUE;
    if (flags & 8) {
      if (p + 8 > end) return CORRUPT;
      contentBytes = load<u64>(p);
      p += 8;
    }
    if (p >= end) return CORRUPT;
    const stored = <u32>load<u8>(p);
    if (stored != ((xxhash32(start + 4, p - start - 4) >>> 8) & 255)) {
      if (!oldHeaderChecksum || stored != ((xxhash32(start, p - start) >>> 8) & 255)) return BAD_CHECKSUM;
    }
    p++;
    const frameStart = to;
    for (;;) {
      if (p + 4 > end) return CORRUPT;
      const word = load<u32>(p);
      p += 4;
      if (word == 0) break;
      const size = <usize>(word & 0x7fffffff);
      if (size > blockBytesMax || size > end - p) return CORRUPT;
      if (flags & 16) {
        if (end - p - size < 4) return CORRUPT;
        if (load<u32>(p + size) != xxhash32(p, size)) return BAD_CHECKSUM;
      }
      if (word >>> 31) {
        if (size > targetEnd - to) return TOO_LARGE;
        memory.copy(to, p, size);
        to += size;
      } else {
        const next = decodeBlock(p, p + size, to, targetEnd, flags & 32 ? to : frameStart, to + blockBytesMax);
        if (next < 0) return next;
        to = <usize>next;
      }
      p += flags & 16 ? size + 4 : size;
    }
    if (flags & 8 && contentBytes != <u64>(to - frameStart)) return CORRUPT;
    if (flags & 4) {
      if (p + 4 > end) return CORRUPT;
      if (load<u32>(p) != xxhash32(frameStart, to - frameStart)) return BAD_CHECKSUM;
      p += 4;
    }
  }
  return frames == 0 ? CORRUPT : <i32>(to - target);
}

/** One compressed block. Returns the place behind its output, or a fault. */
function decodeBlock(p: usize, end: usize, to: usize, targetEnd: usize, lowest: usize, blockLimit: usize): i32 {
  const limit = min<usize>(targetEnd, blockLimit);
  while (p < end) {
    const token = <u32>load<u8>(p++);
    let length = <usize>(token >> 4);
    if (length == 15) {
      let more: u32;
      do {
        if (p >= end) return CORRUPT;
        more = <u32>load<u8>(p++);
        length += more;
      } while (more == 255);
    }
    if (length > end - p) return CORRUPT;
    if (length > limit - to) return to + length > blockLimit ? CORRUPT : TOO_LARGE;
    if (length > 0) copyLiterals(to, p, length, end - p >= length + 16 && limit - to >= length + 16);
    p += length;
    to += length;
    if (p == end) return <i32>to;
    if (p + 2 > end) return CORRUPT;
    const distance = <usize>load<u16>(p);
    p += 2;
    if (distance == 0 || distance > to - lowest) return CORRUPT;
    length = <usize>(token & 15) + 4;
    if (length == 19) {
      let more: u32;
      do {
        if (p >= end) return CORRUPT;
        more = <u32>load<u8>(p++);
        length += more;
      } while (more == 255);
    }
    if (length > limit - to) return to + length > blockLimit ? CORRUPT : TOO_LARGE;
    copyMatch(to, distance, length, limit - to >= length + 16);
    to += length;
  }
  return CORRUPT;
}
