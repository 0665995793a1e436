/**
 * Bytes that grow while they are written, up to a bound. Invariant: `length` never passes `maxBytes`; asking for more
 * throws CodecError("too_large") before anything is allocated.
 */
import { CodecError } from "../codec_error.ts";

export class Output {
  bytes: Uint8Array;
  length = 0;
  readonly maxBytes: number;

  constructor(capacity: number, maxBytes: number) {
    this.maxBytes = maxBytes;
    this.bytes = new Uint8Array(Math.min(capacity, maxBytes));
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed > this.maxBytes) throw tooLarge(this.maxBytes);
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.min(this.maxBytes, Math.max(needed, this.bytes.length * 2)));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  take(): Uint8Array {
    return this.length === this.bytes.length ? this.bytes : this.bytes.subarray(0, this.length);
  }
}

export function tooLarge(maxBytes: number): CodecError {
  return new CodecError("too_large", `the decompressed data is larger than ${maxBytes} bytes`);
}
