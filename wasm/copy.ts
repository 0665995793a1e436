// Copies of the LZ decoders. Each writes only [to, to + length) unless `room` says that 16 more bytes belong to the output.

import { PATTERNS } from "./layout";

export function initPatterns(): void {
  for (let distance: usize = 1; distance < 16; distance++) {
    for (let i: usize = 0; i < 16; i++) store<u8>(PATTERNS + (distance << 4) + i, <u8>(i % distance));
  }
}

/** Literals: both sides have 16 bytes to spare when `spare`. */
@inline
export function copyLiterals(to: usize, from: usize, length: usize, spare: bool): void {
  if (spare && length <= 64) {
    v128.store(to, v128.load(from));
    for (let i: usize = 16; i < length; i += 16) v128.store(to + i, v128.load(from + i));
  } else memory.copy(to, from, length);
}

/** A match `distance` bytes back; the output has 16 bytes to spare behind it when `spare`. */
@inline
export function copyMatch(to: usize, distance: usize, length: usize, spare: bool): void {
  const end = to + length;
  if (!spare) {
    for (; to < end; to++) store<u8>(to, load<u8>(to - distance));
  } else if (distance >= 16) {
    do {
      v128.store(to, v128.load(to - distance));
      to += 16;
    } while (to < end);
  } else {
    // The vector repeats the last `distance` bytes; steps of a multiple of it keep the phase.
    const repeated = v128.swizzle(v128.load(to - distance), v128.load(PATTERNS + (distance << 4)));
    const step = <usize>16 - (16 % distance);
    do {
      v128.store(to, repeated);
      to += step;
    } while (to < end);
  }
}
