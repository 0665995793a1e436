/**
 * LZ4 frames (LZ4 frame format 1.6.x) to plain bytes: linked and independent blocks, block checksums, content size and
 * content checksum, concatenated and skippable frames. Every checksum present is verified.
 * Invariant: reads stay inside the input; the output stays within its bound.
 */
import { CodecError } from "../codec_error.ts";
import { Output } from "./output.ts";
import { xxhash32Twin } from "./xxhash32.ts";

const frameMagic = 0x184d2204;
const corrupt = (message: string) => new CodecError("corrupt", `lz4: ${message}`);

function uint32(bytes: Uint8Array, at: number): number {
  if (at + 4 > bytes.length) throw corrupt("the frame is cut short");
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/**
 * `oldHeaderChecksum`: also accept the header checksum that old Kafka clients computed wrongly, over the magic too. It is
 * legal only in records of magic 0 and 1 (KIP-57).
 */
export function lz4DecodeTwin(bytes: Uint8Array, maxBytes: number, oldHeaderChecksum: boolean): Uint8Array {
  const out = new Output(Math.max(1024, bytes.length * 4), maxBytes);
  let at = 0;
  let frames = 0;
  while (at < bytes.length) {
    const magic = uint32(bytes, at);
    if (magic >>> 4 === 0x184d2a5) {
      const size = uint32(bytes, at + 4);
      if (at + 8 + size > bytes.length) throw corrupt("a skippable frame is cut short");
      at += 8 + size;
    } else if (magic === frameMagic) {
      at = decodeFrame(bytes, at, out, oldHeaderChecksum);
      frames++;
    } else throw corrupt("no frame starts here");
  }
  if (frames === 0) throw corrupt("there is no frame");
  return out.take();
}

function decodeFrame(bytes: Uint8Array, start: number, out: Output, oldHeaderChecksum: boolean): number {
  if (start + 7 > bytes.length) throw corrupt("the frame is cut short");
  const flags = bytes[start + 4]!;
  const descriptor = bytes[start + 5]!;
  if (flags >> 6 !== 1) throw corrupt("the frame has an unknown version");
  if (flags & 1) throw new CodecError("unsupported", "lz4: the frame needs a dictionary");
  if (flags & 2 || descriptor & 0x8f) throw corrupt("a reserved bit is set");
  const blockCode = descriptor >> 4;
  if (blockCode < 4) throw corrupt("the block size is unknown");
  const blockBytesMax = 1 << (8 + 2 * blockCode);
  let at = start + 6;
  let contentBytes = -1;
  if (flags & 8) {
    contentBytes = uint32(bytes, at) + uint32(bytes, at + 4) * 4294967296;
    at += 8;
  }
  if (at >= bytes.length) throw corrupt("the frame is cut short");
  const stored = bytes[at]!;
  const good = (xxhash32Twin(bytes, start + 4, at) >>> 8) & 255;
  const old = (xxhash32Twin(bytes, start, at) >>> 8) & 255;
  if (stored !== good && !(oldHeaderChecksum && stored === old)) throw corrupt("the header checksum is wrong");
  at++;
  const frameStart = out.length;
  for (;;) {
    const word = uint32(bytes, at);
    at += 4;
    if (word === 0) break;
    const size = word & 0x7fffffff;
    if (size > blockBytesMax || at + size > bytes.length) throw corrupt("a block is longer than it may be");
    if (flags & 16 && uint32(bytes, at + size) !== xxhash32Twin(bytes, at, at + size)) {
      throw corrupt("a block checksum is wrong");
    }
    if (word >= 0x80000000) {
      out.reserve(size);
      out.bytes.set(bytes.subarray(at, at + size), out.length);
      out.length += size;
    } else {
      decodeBlock(bytes, at, at + size, out, flags & 32 ? out.length : frameStart, blockBytesMax);
    }
    at += flags & 16 ? size + 4 : size;
  }
  if (contentBytes >= 0 && contentBytes !== out.length - frameStart) throw corrupt("the content size is wrong");
  if (flags & 4) {
    if (uint32(bytes, at) !== xxhash32Twin(out.bytes, frameStart, out.length))
      throw corrupt("the content checksum is wrong");
    at += 4;
  }
  return at;
}

/** One compressed block. Matches may reach back to `lowest` in the output. */
function decodeBlock(
  bytes: Uint8Array,
  from: number,
  end: number,
  out: Output,
  lowest: number,
  bytesMax: number,
): void {
  const limit = out.length + bytesMax;
  let at = from;
  let to = out.length;
  while (at < end) {
    const token = bytes[at++]!;
    let literals = token >> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255) {
        if (at >= end) throw corrupt("a block ends inside a length");
        more = bytes[at++]!;
        literals += more;
      }
    }
    if (at + literals > end) throw corrupt("literals run past their block");
    if (to + literals > limit) throw corrupt("a block decodes to more than its size");
    out.length = to;
    out.reserve(literals);
    const target = out.bytes;
    if (literals > 32) {
      target.set(bytes.subarray(at, at + literals), to);
    } else {
      for (let i = 0; i < literals; i++) target[to + i] = bytes[at + i]!;
    }
    at += literals;
    to += literals;
    if (at === end) {
      out.length = to;
      return;
    }
    if (at + 2 > end) throw corrupt("a block ends inside an offset");
    const offset = bytes[at]! | (bytes[at + 1]! << 8);
    at += 2;
    if (offset === 0 || to - offset < lowest) throw corrupt("a match reaches outside the data");
    let length = (token & 15) + 4;
    if (length === 19) {
      let more = 255;
      while (more === 255) {
        if (at >= end) throw corrupt("a block ends inside a length");
        more = bytes[at++]!;
        length += more;
      }
    }
    if (to + length > limit) throw corrupt("a block decodes to more than its size");
    out.length = to;
    out.reserve(length);
    copyMatch(out.bytes, to, offset, length);
    to += length;
  }
  throw corrupt("a block ends without literals");
}

/** Copies `length` bytes that start `offset` bytes back; the ranges may overlap, as LZ matches do. */
export function copyMatch(bytes: Uint8Array, to: number, offset: number, length: number): void {
  if (offset >= length && length > 32) {
    bytes.copyWithin(to, to - offset, to - offset + length);
    return;
  }
  for (let i = 0; i < length; i++) bytes[to + i] = bytes[to - offset + i]!;
}
