/** A byte buffer that grows: where JSON text and Arrow buffers are written. */

const encoder = new TextEncoder();

export class ByteSink {
  bytes: Uint8Array;
  length = 0;

  constructor(capacity = 256) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Makes room for `count` further bytes; `bytes` may be another array afterwards. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.reserve(1);
    this.bytes[this.length++] = value;
  }

  copy(source: Uint8Array, start: number, end: number): void {
    const count = end - start;
    this.reserve(count);
    const target = this.bytes;
    let at = this.length;
    // A call into `set` costs more than it saves on short runs.
    if (count < 24) for (let i = start; i < end; i++) target[at++] = source[i]!;
    else target.set(source.subarray(start, end), at);
    this.length += count;
  }

  /** Text that holds only ASCII, such as digits. */
  ascii(text: string): void {
    this.reserve(text.length);
    const target = this.bytes;
    let at = this.length;
    for (let i = 0; i < text.length; i++) target[at++] = text.charCodeAt(i);
    this.length = at;
  }

  text(text: string): void {
    this.reserve(text.length * 3);
    this.length += encoder.encodeInto(text, this.bytes.subarray(this.length)).written;
  }

  view(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** What was written, in an array of its own. */
  take(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}
