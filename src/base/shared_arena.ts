/**
 * Memory that two threads see, used over and over for one message after the other: it is neither copied by the message nor fresh each
 * time, which would cost a page fault a page.
 *
 * Invariant: what `take` gave is in use until the next `reset`; only who knows that the other thread is done may call that.
 */

/** Sizes are rounded up to this, so that growing comes to an end. */
const stepBytes = 1024 * 1024;

export class SharedArena {
  private memory = new SharedArrayBuffer(0);
  private used = 0;

  /** All that was taken may be used again. */
  reset(): void {
    this.used = 0;
  }

  /** `length` bytes at a multiple of 8; what is in them is undefined. */
  take(length: number): Uint8Array {
    let start = (this.used + 7) & ~7;
    if (start + length > this.memory.byteLength) {
      // Views of the smaller memory stay good. The new one has room for all of this message, should the next be like it.
      this.memory = new SharedArrayBuffer(Math.ceil((start + length) / stepBytes) * stepBytes);
      start = 0;
    }
    this.used = start + length;
    return new Uint8Array(this.memory, start, length);
  }
}
