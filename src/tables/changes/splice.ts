/**
 * Texts that are made from another text by replacing parts of it: what is between the parts is copied, nothing is parsed twice.
 *
 * Invariant: a finished text is never written again, so that spans of it stay good for as long as somebody holds them.
 */
import { ByteSink } from "../arrow/bytes.ts";

const chunkBytes = 64 * 1024;

/** A sink whose finished texts stay where they are: when a chunk is full, only the text under way moves to the next one. */
class TextArena extends ByteSink {
  /** Where the text under way starts. */
  start = 0;

  constructor() {
    super(chunkBytes);
  }

  override reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const written = this.length - this.start;
    const next = new Uint8Array(Math.max(chunkBytes, (written + count) * 2));
    next.set(this.bytes.subarray(this.start, this.length));
    this.bytes = next;
    this.start = 0;
    this.length = written;
  }
}

export class Splice {
  readonly sink = new TextArena();
  private source: Uint8Array = new Uint8Array(0);
  private first = 0;
  /** Source bytes before this one are in the sink, or left out. */
  private from = 0;
  private touched = false;

  /** The span of the finished text: of the source when nothing was replaced. */
  bytes: Uint8Array = this.source;
  start = 0;
  end = 0;

  begin(source: Uint8Array, start: number): void {
    this.source = source;
    this.first = this.from = start;
    this.touched = false;
    this.sink.start = this.sink.length;
  }

  /** Takes over the source up to `at`, and leaves out what stands there up to a later `resume`; meanwhile the sink takes what replaces it. */
  cut(at: number): void {
    this.touched = true;
    this.sink.copy(this.source, this.from, at);
    this.from = at;
  }

  resume(at: number): void {
    this.from = at;
  }

  /** The text of an object is finished after `end`, where its closing brace stands at `end` - 1. */
  finish(end: number): void {
    if (!this.touched) {
      this.bytes = this.source;
      this.start = this.first;
      this.end = end;
      return;
    }
    this.sink.copy(this.source, this.from, end);
    this.finishSink();
  }

  /** The text is what the sink holds. */
  finishSink(): void {
    const { sink } = this;
    this.bytes = sink.bytes;
    this.start = sink.start;
    this.end = sink.length;
    sink.start = sink.length;
  }

  /**
   * Leaves out the field of an object that stands at [nameStart, valueEnd): with the comma behind it, or, where there is none, the one before.
   * `comma`: where the comma behind it stands, or -1.
   */
  leaveOut(nameStart: number, comma: number, valueEnd: number): void {
    this.cut(nameStart);
    if (comma >= 0) this.from = comma + 1;
    else {
      this.from = valueEnd;
      const { sink } = this;
      while (sink.length > sink.start && sink.bytes[sink.length - 1]! <= 0x20) sink.length--;
      if (sink.length > sink.start && sink.bytes[sink.length - 1] === 0x2c) sink.length--;
    }
  }
}
