/** The hash of a key's bytes; wasm/row_keys.ts computes the same. */

/** 32 bits, as a signed integer, of the bytes [start, end). */
export function keyHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  let at = start;
  for (; at + 4 <= end; at += 4)
    hash = mix(hash ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)));
  if (at < end) {
    let word = 0;
    for (let shift = 0; at < end; at++, shift += 8) word |= bytes[at]! << shift;
    hash = mix(hash ^ word);
  }
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x7feb352d);
  return hash ^ (hash >>> 15);
}

function mix(word: number): number {
  const product = Math.imul(word, 0x9e3779b1);
  return product ^ (product >>> 15);
}
