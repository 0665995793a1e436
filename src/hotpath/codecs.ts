/**
 * The compression codecs of Kafka's record batches, by their number in the batch attributes.
 * Invariant: `decompress` never returns, and never allocates for output, more than `maxBytes`.
 */
import { Buffer } from "node:buffer";
import * as zlib from "node:zlib";
import { CodecError } from "./codec_error.ts";
import type { Allocate } from "./kernels.ts";
import { lz4Decode, lz4Encode } from "./lz4.ts";
import { snappyDecode, snappyEncode } from "./snappy.ts";
import { zstdFrames } from "./zstd_frames.ts";

export const codecNames = ["none", "gzip", "snappy", "lz4", "zstd"] as const;
export type CodecName = (typeof codecNames)[number];
/** 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. */
export type Codec = 0 | 1 | 2 | 3 | 4;
export const codecs = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const satisfies Record<CodecName, Codec>;

/** The codec for the three bits of the attributes; CodecError("unsupported") for 5 to 7. */
export function codecOf(id: number): Codec {
  if (id >= 0 && id <= 4) return id as Codec;
  throw new CodecError("unsupported", `there is no compression codec ${id}`);
}

/**
 * `level` is the codec's own (gzip 1 to 9, zstd 1 to 22); lz4 and snappy have none. The answer may be a view into a
 * larger buffer and, for `none`, is the input itself.
 */
export function compress(codec: Codec, bytes: Uint8Array, level?: number): Uint8Array {
  switch (codec) {
    case 0:
      return bytes;
    case 1:
      return zlib.gzipSync(bytes, level === undefined ? undefined : { level });
    case 2:
      return snappyEncode(bytes);
    case 3:
      return lz4Encode(bytes);
    case 4:
      needZstd();
      return zlib.zstdCompressSync(bytes, level === undefined ? undefined : zstdLevel(level));
    default:
      throw new CodecError("unsupported", `there is no compression codec ${codec}`);
  }
}

const zstdLevel = (level: number) => ({ params: { [zlib.constants.ZSTD_c_compressionLevel]: level } });

/**
 * Plain bytes of `bytes`. Throws CodecError: "corrupt" for data that its codec refuses or whose checksum is wrong,
 * "too_large" past `maxBytes`, "unsupported" for an unknown codec.
 * `magic` is the record format's: LZ4's old wrong header checksum is accepted below 2 only (KIP-57). `allocate` gives the memory for what
 * the kernels decode; the runtime's own codecs take theirs.
 */
export function decompress(
  codec: Codec,
  bytes: Uint8Array,
  maxBytes: number,
  magic = 2,
  allocate?: Allocate,
): Uint8Array {
  switch (codec) {
    case 0:
      if (bytes.length > maxBytes) throw new CodecError("too_large", `the data is larger than ${maxBytes} bytes`);
      return bytes;
    case 1:
      return native("gzip", () => zlib.gunzipSync(bytes, { maxOutputLength: maxBytes }));
    case 2:
      return snappyDecode(bytes, maxBytes, allocate);
    case 3:
      return lz4Decode(bytes, maxBytes, magic < 2, allocate);
    case 4:
      return zstdDecode(bytes, maxBytes);
    default:
      throw new CodecError("unsupported", `there is no compression codec ${codec}`);
  }
}

/** Bun and Deno have zstd; an older Node.js (before 22.15) has not, and everything else works there. */
function needZstd(): void {
  if (zlib.zstdDecompressSync === undefined) throw new CodecError("unsupported", "this runtime has no zstd");
}

function zstdDecode(bytes: Uint8Array, maxBytes: number): Uint8Array {
  needZstd();
  const parts: Uint8Array[] = [];
  let left = maxBytes;
  for (const frame of zstdFrames(bytes)) {
    const part = native("zstd", () => zlib.zstdDecompressSync(frame, { maxOutputLength: Math.max(left, 1) }));
    left -= part.length;
    if (left < 0) throw new CodecError("too_large", `zstd: the decompressed data is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** Runs one of the runtime's own decoders and says its failures in our words. */
function native(name: string, run: () => Uint8Array): Uint8Array {
  try {
    return run();
  } catch (error) {
    const code = (error as { code?: string }).code ?? "";
    const message = error instanceof Error ? error.message : String(error);
    if (code === "ERR_BUFFER_TOO_LARGE" || error instanceof RangeError) {
      throw new CodecError("too_large", `${name}: ${message}`);
    }
    throw new CodecError("corrupt", `${name}: ${message}`);
  }
}
