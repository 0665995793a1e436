/**
 * Snappy (format description of 2011), raw and in the framing of Xerial's snappy-java, which Java's Kafka client writes.
 * Both forms are read; the framed one is written, with version and compatible version as big-endian 1.
 * Invariant: reads stay inside the input; the output stays within its bound.
 */
import { CodecError } from "../codec_error.ts";
import { copyMatch } from "./lz4_decode.ts";
import { Output, tooLarge } from "./output.ts";

const magic = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00];
const frameHeaderBytes = 16;
const frameBlockBytes = 32768;
const corrupt = (message: string) => new CodecError("corrupt", `snappy: ${message}`);

export function isXerial(bytes: Uint8Array): boolean {
  return bytes.length >= frameHeaderBytes && magic.every((byte, i) => bytes[i] === byte);
}

/** Raw or framed, told apart by the frame's magic. The version numbers are not looked at: some brokers wrote them little-endian. */
export function snappyDecodeTwin(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const framed = isXerial(bytes);
  const out = new Output(framed ? bytes.length * 4 : 0, maxBytes);
  if (!framed) {
    decodeRaw(bytes, 0, bytes.length, out);
    return out.take();
  }
  let at = frameHeaderBytes;
  while (at < bytes.length) {
    // snappy-java's writer may be flushed and continued: another header may stand where a block would.
    if (isXerial(bytes.subarray(at))) {
      at += frameHeaderBytes;
      continue;
    }
    if (at + 4 > bytes.length) throw corrupt("the frame is cut short");
    const size = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    at += 4;
    if (size < 0 || at + size > bytes.length) throw corrupt("a block runs past the frame");
    if (size > 0) decodeRaw(bytes, at, at + size, out);
    at += size;
  }
  return out.take();
}

function decodeRaw(bytes: Uint8Array, from: number, end: number, out: Output): void {
  let at = from;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    if (at >= end || shift > 28) throw corrupt("the length is malformed");
    const byte = bytes[at++]!;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  if (length > 0xffffffff) throw corrupt("the length is malformed");
  // No element makes more than 64 bytes of 3: a length beyond that is a lie, found before it costs memory.
  if (length > (end - at) * 22) throw corrupt("the length does not fit the data");
  if (out.length + length > out.maxBytes) throw tooLarge(out.maxBytes);
  out.reserve(length);
  const lowest = out.length;
  decodeElements(bytes, at, end, out.bytes, lowest, lowest + length);
  out.length = lowest + length;
}

function decodeElements(
  bytes: Uint8Array,
  from: number,
  end: number,
  out: Uint8Array,
  lowest: number,
  limit: number,
): void {
  let at = from;
  let to = lowest;
  while (at < end) {
    const tag = bytes[at++]!;
    const kind = tag & 3;
    if (kind === 0) {
      let length = (tag >> 2) + 1;
      if (length > 60) {
        const extra = length - 60;
        if (at + extra > end) throw corrupt("a literal's length is cut short");
        length = 1;
        for (let i = 0; i < extra; i++) length += bytes[at + i]! * 2 ** (8 * i);
        at += extra;
      }
      if (at + length > end || to + length > limit) throw corrupt("a literal runs past the data");
      if (length > 32) out.set(bytes.subarray(at, at + length), to);
      else for (let i = 0; i < length; i++) out[to + i] = bytes[at + i]!;
      at += length;
      to += length;
      continue;
    }
    const width = kind === 3 ? 4 : kind;
    if (at + width > end) throw corrupt("a copy's offset is cut short");
    let length = (tag >> 2) + 1;
    let offset = bytes[at]!;
    if (kind === 1) {
      length = ((tag >> 2) & 7) + 4;
      offset |= (tag >> 5) << 8;
    } else {
      for (let i = 1; i < width; i++) offset += bytes[at + i]! * 2 ** (8 * i);
    }
    at += width;
    if (offset === 0 || to - offset < lowest) throw corrupt("a copy reaches outside the data");
    if (to + length > limit) throw corrupt("a copy runs past the data");
    copyMatch(out, to, offset, length);
    to += length;
  }
  if (to !== limit) throw corrupt("the data ends before its length");
}

const hashBits = 13;
const table = new Int32Array(1 << hashBits);
let base = 1;

/** Largest framed form that `length` plain bytes can become. */
export function xerialBytesMax(length: number): number {
  const blocks = Math.ceil(length / frameBlockBytes);
  return frameHeaderBytes + blocks * (4 + 32 + 5) + length + Math.ceil(length / 6);
}

export function snappyEncodeTwin(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(xerialBytesMax(bytes.length));
  out.set(magic);
  out[11] = 1;
  out[15] = 1;
  if (base + bytes.length > 0x7fff0000) {
    table.fill(0);
    base = 1;
  }
  let to = frameHeaderBytes;
  for (let at = 0; at < bytes.length; at += frameBlockBytes) {
    const end = Math.min(at + frameBlockBytes, bytes.length);
    const blockEnd = encodeRaw(bytes, at, end, out, to + 4);
    const size = blockEnd - to - 4;
    out[to] = size >>> 24;
    out[to + 1] = size >>> 16;
    out[to + 2] = size >>> 8;
    out[to + 3] = size;
    to = blockEnd;
  }
  base += bytes.length;
  return out.subarray(0, to);
}

const word = (bytes: Uint8Array, at: number) =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);

function encodeRaw(bytes: Uint8Array, start: number, end: number, out: Uint8Array, to: number): number {
  let rest = end - start;
  for (; rest >= 0x80; rest >>>= 7) out[to++] = (rest & 0x7f) | 0x80;
  out[to++] = rest;
  let anchor = start;
  let at = start;
  let misses = 1 << 5;
  while (at + 4 <= end) {
    const sequence = word(bytes, at);
    const slot = Math.imul(sequence, -1640531535) >>> (32 - hashBits);
    const match = table[slot]! - base;
    table[slot] = at + base;
    if (match < start || word(bytes, match) !== sequence) {
      at += misses++ >> 5;
      continue;
    }
    misses = 1 << 5;
    let length = 4;
    while (at + length < end && bytes[at + length] === bytes[match + length]) length++;
    if (at > anchor) to = writeLiteral(bytes, anchor, at - anchor, out, to);
    to = writeCopy(at - match, length, out, to);
    at += length;
    anchor = at;
  }
  return end > anchor ? writeLiteral(bytes, anchor, end - anchor, out, to) : to;
}

function writeLiteral(bytes: Uint8Array, from: number, length: number, out: Uint8Array, to: number): number {
  const code = length - 1;
  if (code < 60) out[to++] = code << 2;
  else if (code < 256) {
    out[to++] = 60 << 2;
    out[to++] = code;
  } else {
    out[to++] = 61 << 2;
    out[to++] = code;
    out[to++] = code >> 8;
  }
  if (length > 32) out.set(bytes.subarray(from, from + length), to);
  else for (let i = 0; i < length; i++) out[to + i] = bytes[from + i]!;
  return to + length;
}

function writeCopy(offset: number, length: number, out: Uint8Array, to: number): number {
  let rest = length;
  while (rest > 64) {
    // Leave at least 4, the shortest copy that the one-byte form can say.
    const part = rest >= 68 ? 64 : 60;
    out[to++] = ((part - 1) << 2) | 2;
    out[to++] = offset;
    out[to++] = offset >> 8;
    rest -= part;
  }
  if (rest < 12 && offset < 2048) {
    out[to++] = ((offset >> 8) << 5) | ((rest - 4) << 2) | 1;
    out[to++] = offset;
  } else {
    out[to++] = ((rest - 1) << 2) | 2;
    out[to++] = offset;
    out[to++] = offset >> 8;
  }
  return to;
}
