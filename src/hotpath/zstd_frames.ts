/**
 * The outline of Zstandard frames (RFC 8878 section 3.1), walked without decoding. The runtimes' own decoders take data
 * that is cut short for complete and answer with what they have; Deno's besides stops after the first frame.
 */
import { CodecError } from "./codec_error.ts";

const corrupt = (message: string) => new CodecError("corrupt", `zstd: ${message}`);

function uint32(bytes: Uint8Array, at: number): number {
  if (at + 4 > bytes.length) throw corrupt("the data is cut short");
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/**
 * The frames in `bytes`, each a view; throws CodecError("corrupt") unless they are one or more whole ones. Skippable frames
 * are left out. What is inside of blocks is not looked at.
 */
export function zstdFrames(bytes: Uint8Array): Uint8Array[] {
  let at = 0;
  const frames: Uint8Array[] = [];
  while (at < bytes.length) {
    const magic = uint32(bytes, at);
    if (magic >>> 4 === 0x184d2a5) {
      at += 8 + uint32(bytes, at + 4);
    } else if (magic === 0xfd2fb528) {
      const end = frameEnd(bytes, at + 4);
      frames.push(bytes.subarray(at, end));
      at = end;
    } else throw corrupt("no frame starts here");
    if (at > bytes.length) throw corrupt("the data is cut short");
  }
  if (frames.length === 0) throw corrupt("there is no frame");
  return frames;
}

/** Where the frame ends whose header follows the magic at `start`. */
function frameEnd(bytes: Uint8Array, start: number): number {
  if (start >= bytes.length) throw corrupt("the data is cut short");
  const descriptor = bytes[start]!;
  const singleSegment = (descriptor & 32) !== 0;
  const sizeCode = descriptor >> 6;
  const sizeBytes = sizeCode === 0 ? (singleSegment ? 1 : 0) : 1 << sizeCode;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3]!;
  let at = start + 1 + (singleSegment ? 0 : 1) + dictionaryBytes + sizeBytes;
  for (;;) {
    if (at + 3 > bytes.length) throw corrupt("the data is cut short");
    const header = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
    const type = (header >> 1) & 3;
    if (type === 3) throw corrupt("a block has a reserved type");
    // A run-length block holds one byte, whatever it decodes to.
    at += 3 + (type === 1 ? 1 : header >> 3);
    if (header & 1) return descriptor & 4 ? at + 4 : at;
  }
}
