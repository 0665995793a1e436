/** Reads the batches of a segment file one after another, from first to last, in large pieces. */
import { BatchHeader, batchHeaderBytes } from "../../protocol/records/batch.ts";
import type { Segment } from "../segment.ts";

const windowBytes = 1024 * 1024;

export class BatchReader {
  /** Bytes read from the file since the last call of `takeBytesRead`. */
  private bytesRead = 0;
  private window: Uint8Array = new Uint8Array(windowBytes);

  /**
   * The batches of a segment from `position` on, each as a view that holds until the next one is asked for. Ends early,
   * saying where, at bytes that are no batch: `onDamage` throws or not.
   */
  *batches(segment: Segment, position: number, onDamage: (position: number) => void): Generator<BatchHeader> {
    const end = segment.written;
    let start = position;
    let filled = 0;
    let at = position;
    while (at < end) {
      if (at + batchHeaderBytes > start + filled) {
        start = at;
        filled = this.fill(segment, at, end);
      }
      const size = at + batchHeaderBytes > start + filled ? 0 : new BatchHeader(this.window, at - start).sizeBytes;
      if (size < batchHeaderBytes || at + size > end) return onDamage(at);
      if (at + size > start + filled) {
        if (size > this.window.length) this.window = new Uint8Array(size);
        start = at;
        filled = this.fill(segment, at, end);
        if (size > filled) return onDamage(at);
      }
      yield new BatchHeader(this.window.subarray(at - start, at - start + size));
      at += size;
    }
  }

  private fill(segment: Segment, position: number, end: number): number {
    const wanted = Math.min(this.window.length, end - position);
    const got = segment.files.use(segment.logPath).read(this.window.subarray(0, wanted), position);
    this.bytesRead += got;
    return got;
  }

  takeBytesRead(): number {
    const bytes = this.bytesRead;
    this.bytesRead = 0;
    return bytes;
  }
}
