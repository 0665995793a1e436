/**
 * Large buffers that are used over and over: memory that the process has touched before costs no page faults, which for
 * fresh buffers take longer than filling them.
 *
 * Invariant: a buffer is given back only by whoever knows that nobody else holds a view of it; what is not given back is
 * left to the garbage collector.
 */
import { Buffer } from "node:buffer";

/** Sizes are rounded up to this, so that frames of about one size share buffers. */
const stepBytes = 64 * 1024;

export class BufferPool {
  private readonly bytesMax: number;
  private readonly free = new Map<number, ArrayBuffer[]>();
  /** The pool's own buffers that are out. */
  private readonly out = new WeakSet<ArrayBuffer>();
  private freeBytes = 0;
  /** The least that was free since the last trim. */
  private spareBytes = 0;

  /** Keeps at most `bytesMax` bytes for later use. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** A view of `length` bytes over a buffer of the pool; what is in it is undefined. */
  take(length: number): Uint8Array {
    const size = Math.ceil(length / stepBytes) * stepBytes;
    let buffer = this.free.get(size)?.pop();
    if (buffer) {
      this.freeBytes -= size;
      this.spareBytes = Math.min(this.spareBytes, this.freeBytes);
    } else buffer = fresh(size);
    this.out.add(buffer);
    return new Uint8Array(buffer, 0, length);
  }

  /** Whether this memory is of the pool and out. */
  owns(buffer: ArrayBufferLike): boolean {
    return this.out.has(buffer as ArrayBuffer);
  }

  /** Takes a buffer back. Nobody may use a view of it any more. */
  give(buffer: ArrayBufferLike): void {
    const own = buffer as ArrayBuffer;
    // Given twice, it would serve two at once.
    if (!this.out.delete(own) || this.freeBytes + own.byteLength > this.bytesMax) return;
    this.freeBytes += own.byteLength;
    const sameSize = this.free.get(own.byteLength);
    if (sameSize) sameSize.push(own);
    else this.free.set(own.byteLength, [own]);
  }

  /** Lets go of what nobody needed since the last call; to be called from time to time, so that a quiet node becomes small. */
  trim(): void {
    for (const [size, buffers] of this.free) {
      while (buffers.length > 0 && this.spareBytes >= size) {
        buffers.pop();
        this.freeBytes -= size;
        this.spareBytes -= size;
      }
      if (buffers.length === 0) this.free.delete(size);
    }
    this.spareBytes = this.freeBytes;
  }
}

/** Not cleared: every byte is overwritten before it is read. */
function fresh(size: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(size).buffer as ArrayBuffer;
}
