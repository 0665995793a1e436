/**
 * xxHash32 (xxHash specification 0.1.1), which LZ4 frames use for every checksum.
 */
const p1 = 0x9e3779b1;
const p2 = 0x85ebca77;
const p3 = 0xc2b2ae3d;
const p4 = 0x27d4eb2f;
const p5 = 0x165667b1;

const rotate = (value: number, bits: number) => (value << bits) | (value >>> (32 - bits));
const word = (bytes: Uint8Array, at: number) =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
const round = (lane: number, input: number) => Math.imul(rotate((lane + Math.imul(input, p2)) | 0, 13), p1);

/** The hash of `bytes[start, end)` with seed 0, as an unsigned 32-bit integer. */
export function xxhash32Twin(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let hash: number;
  if (end - start >= 16) {
    let a = (p1 + p2) | 0;
    let b = p2 | 0;
    let c = 0;
    let d = -p1 | 0;
    for (; at + 16 <= end; at += 16) {
      a = round(a, word(bytes, at));
      b = round(b, word(bytes, at + 4));
      c = round(c, word(bytes, at + 8));
      d = round(d, word(bytes, at + 12));
    }
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
  } else {
    hash = p5 | 0;
  }
  hash = (hash + (end - start)) | 0;
  for (; at + 4 <= end; at += 4) hash = Math.imul(rotate((hash + Math.imul(word(bytes, at), p3)) | 0, 17), p4);
  for (; at < end; at++) hash = Math.imul(rotate((hash + Math.imul(bytes[at]!, p5)) | 0, 11), p1);
  hash = Math.imul(hash ^ (hash >>> 15), p2);
  hash = Math.imul(hash ^ (hash >>> 13), p3);
  return (hash ^ (hash >>> 16)) >>> 0;
}
