/**
 * Plain bytes to one LZ4 frame, in the form that every Kafka client reads: independent blocks of 64 KiB, no content
 * size, no checksums besides the header's (what Apache Kafka's own client writes; its reader refuses linked blocks).
 */
const blockBytes = 65536;
const hashBits = 14;

/** Positions plus a base that grows from call to call, so that the table never needs clearing. */
const table = new Int32Array(1 << hashBits);
let base = 1;

/** Largest frame that `length` plain bytes can become. */
export function lz4FrameBytesMax(length: number): number {
  const blocks = Math.ceil(length / blockBytes);
  return 7 + length + blocks * (4 + 16 + Math.ceil(blockBytes / 255)) + 4;
}

export function lz4EncodeTwin(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(lz4FrameBytesMax(bytes.length));
  // Magic, version 1 with independent blocks, 64 KiB, and the checksum of those two bytes.
  out.set([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
  if (base + bytes.length > 0x7fff0000) {
    table.fill(0);
    base = 1;
  }
  let to = 7;
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const end = Math.min(at + blockBytes, bytes.length);
    let size = encodeBlock(bytes, at, end, out, to + 4) - (to + 4);
    let word = size;
    if (size >= end - at) {
      size = end - at;
      word = (size | 0x80000000) >>> 0;
      out.set(bytes.subarray(at, end), to + 4);
    }
    writeWord(out, to, word);
    to += 4 + size;
  }
  base += bytes.length;
  writeWord(out, to, 0);
  return out.subarray(0, to + 4);
}

function writeWord(into: Uint8Array, at: number, word: number): void {
  into[at] = word;
  into[at + 1] = word >>> 8;
  into[at + 2] = word >>> 16;
  into[at + 3] = word >>> 24;
}

const word = (bytes: Uint8Array, at: number) =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);

/** One block, greedily. The format wants the last 5 bytes as literals and no match in the last 12. */
function encodeBlock(bytes: Uint8Array, start: number, end: number, out: Uint8Array, to: number): number {
  const matchStartMax = end - 12;
  const matchEndMax = end - 5;
  let anchor = start;
  let at = start;
  let misses = 1 << 6;
  while (at <= matchStartMax) {
    const sequence = word(bytes, at);
    const slot = Math.imul(sequence, -1640531535) >>> (32 - hashBits);
    let match = table[slot]! - base;
    table[slot] = at + base;
    if (match < start || word(bytes, match) !== sequence) {
      at += misses++ >> 6;
      continue;
    }
    misses = 1 << 6;
    while (at > anchor && match > start && bytes[at - 1] === bytes[match - 1]) {
      at--;
      match--;
    }
    let length = 4;
    while (at + length < matchEndMax && bytes[at + length] === bytes[match + length]) length++;
    to = writeSequence(bytes, anchor, at - anchor, at - match, length - 4, out, to);
    at += length;
    anchor = at;
  }
  return writeSequence(bytes, anchor, end - anchor, 0, 0, out, to);
}

/** Literals and the match behind them; `offset` 0 means the last literals of a block. */
function writeSequence(
  bytes: Uint8Array,
  from: number,
  literals: number,
  offset: number,
  matchCode: number,
  out: Uint8Array,
  to: number,
): number {
  out[to++] = (Math.min(literals, 15) << 4) | (offset === 0 ? 0 : Math.min(matchCode, 15));
  if (literals >= 15) to = writeLength(out, to, literals - 15);
  if (literals > 32) out.set(bytes.subarray(from, from + literals), to);
  else for (let i = 0; i < literals; i++) out[to + i] = bytes[from + i]!;
  to += literals;
  if (offset === 0) return to;
  out[to] = offset;
  out[to + 1] = offset >> 8;
  to += 2;
  return matchCode >= 15 ? writeLength(out, to, matchCode - 15) : to;
}

function writeLength(out: Uint8Array, to: number, rest: number): number {
  for (; rest >= 255; rest -= 255) out[to++] = 255;
  out[to++] = rest;
  return to;
}
