/**
 * Writes Kafka's primitive types into a growing buffer. Large byte fields are taken by reference: the result is a list of
 * chunks to be sent in order, so record data goes from the log to the socket without a copy.
 * Invariant: bytes given by reference must not change until the chunks are sent.
 */
import { type Uuid, uuidBytes, zeroUuid } from "../base/uuid.ts";
import { ProtocolError } from "./protocol_error.ts";
import type { TaggedField } from "./tagged_fields.ts";

/** Record data to write: one piece, or consecutive pieces. */
export type RecordData = Uint8Array | readonly Uint8Array[];

/** Byte fields from this length on are referred to; a shorter one costs less to copy than to send alone. */
const referenceBytesMin = 2048;
const stringBytesMax = 0x7fff;
const encoder = new TextEncoder();

export class Writer {
  private buffer: Uint8Array;
  private view: DataView;
  private position = 0;
  /** Where in `buffer` the bytes begin that are not yet in `chunks`. */
  private start = 0;
  private chunks: Uint8Array[] = [];
  private chunkBytes = 0;
  /** Open tagged fields: while there are any, bytes are copied, so that the length can be put in front of them. */
  private open = 0;

  constructor(bytesHint = 512) {
    this.buffer = new Uint8Array(bytesHint);
    this.view = new DataView(this.buffer.buffer);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.chunkBytes + this.position - this.start;
  }

  int8(value: number): void {
    const at = this.room(1);
    this.view.setInt8(at, value);
  }

  bool(value: boolean): void {
    const at = this.room(1);
    this.view.setInt8(at, value ? 1 : 0);
  }

  int16(value: number): void {
    const at = this.room(2);
    this.view.setInt16(at, value);
  }

  uint16(value: number): void {
    const at = this.room(2);
    this.view.setUint16(at, value);
  }

  int32(value: number): void {
    const at = this.room(4);
    this.view.setInt32(at, value);
  }

  uint32(value: number): void {
    const at = this.room(4);
    this.view.setUint32(at, value);
  }

  int64(value: bigint): void {
    const at = this.room(8);
    this.view.setBigInt64(at, value);
  }

  float64(value: number): void {
    const at = this.room(8);
    this.view.setFloat64(at, value);
  }

  uuid(value: Uuid): void {
    const at = this.room(16);
    if (value === zeroUuid) this.buffer.fill(0, at, at + 16);
    else this.buffer.set(uuidBytes(value), at);
  }

  unsignedVarint(value: number): void {
    let left = value;
    let at = this.room(5);
    while (left >= 0x80) {
      this.buffer[at++] = (left % 0x80) | 0x80;
      left = Math.floor(left / 0x80);
    }
    this.buffer[at++] = left;
    this.position = at;
  }

  string(value: string): void {
    if (this.ascii(value, false)) return;
    const bytes = encode(value);
    this.int16(bytes.length);
    this.copy(bytes);
  }

  nullableString(value: string | null): void {
    if (value === null) this.int16(-1);
    else this.string(value);
  }

  compactString(value: string): void {
    if (this.ascii(value, true)) return;
    const bytes = encode(value);
    this.unsignedVarint(bytes.length + 1);
    this.copy(bytes);
  }

  compactNullableString(value: string | null): void {
    if (value === null) this.int8(0);
    else this.compactString(value);
  }

  byteString(value: RecordData): void {
    this.int32(dataLength(value));
    this.data(value);
  }

  nullableByteString(value: RecordData | null): void {
    if (value === null) this.int32(-1);
    else this.byteString(value);
  }

  compactByteString(value: RecordData): void {
    this.unsignedVarint(dataLength(value) + 1);
    this.data(value);
  }

  compactNullableByteString(value: RecordData | null): void {
    if (value === null) this.int8(0);
    else this.compactByteString(value);
  }

  arrayLength(length: number): void {
    this.int32(length);
  }

  compactArrayLength(length: number): void {
    this.unsignedVarint(length + 1);
  }

  /** Begins a tagged field; give the result to closeTag once its value is written. */
  openTag(tag: number): number {
    this.unsignedVarint(tag);
    this.open++;
    return this.position;
  }

  /** Puts the length of the field in front of what was written since openTag. */
  closeTag(mark: number): void {
    const length = this.position - mark;
    let lengthBytes = 1;
    for (let left = length; left >= 0x80; left = Math.floor(left / 0x80)) lengthBytes++;
    this.room(lengthBytes);
    this.buffer.copyWithin(mark + lengthBytes, mark, mark + length);
    const end = this.position;
    this.position = mark;
    this.unsignedVarint(length);
    this.position = end;
    this.open--;
  }

  /** All tagged fields of a type that defines none in this version. */
  unknownTags(fields: readonly TaggedField[] | undefined): void {
    if (fields === undefined || fields.length === 0) {
      this.int8(0);
      return;
    }
    this.unsignedVarint(fields.length);
    this.unknownTagsBetween(fields, -1, Number.POSITIVE_INFINITY);
  }

  /** Those with `after` < tag < `before`; a type writes its own tagged fields in between, in ascending order. */
  unknownTagsBetween(fields: readonly TaggedField[] | undefined, after: number, before: number): void {
    if (fields === undefined || fields.length === 0) return;
    let last = after;
    for (const field of fields.toSorted((a, b) => a.tag - b.tag)) {
      if (field.tag < after || field.tag >= before) continue;
      if (field.tag === last) throw new ProtocolError(`tag ${field.tag} would be written twice`);
      last = field.tag;
      this.unsignedVarint(field.tag);
      this.unsignedVarint(field.data.length);
      this.data(field.data);
    }
  }

  /** Appends bytes as they are, by reference when large. */
  data(value: RecordData): void {
    if (value instanceof Uint8Array) this.piece(value);
    else for (const piece of value) this.piece(piece);
  }

  /** Overwrites four bytes near the start (before the first bytes taken by reference). */
  patchInt32(at: number, value: number): void {
    const chunk = this.chunks[0];
    if (chunk === undefined) this.view.setInt32(at, value);
    else new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength).setInt32(at, value);
  }

  /** All bytes written, as consecutive chunks. The writer must not be used afterwards. */
  finish(): Uint8Array[] {
    this.flush();
    return this.chunks;
  }

  /** All bytes written, joined. */
  finishBytes(): Uint8Array {
    this.flush();
    if (this.chunks.length === 1) return this.chunks[0]!;
    const joined = new Uint8Array(this.chunkBytes);
    let at = 0;
    for (const chunk of this.chunks) {
      joined.set(chunk, at);
      at += chunk.length;
    }
    return joined;
  }

  private piece(bytes: Uint8Array): void {
    if (bytes.length < referenceBytesMin || this.open > 0) {
      this.copy(bytes);
      return;
    }
    this.flush();
    this.chunks.push(bytes);
    this.chunkBytes += bytes.length;
  }

  private flush(): void {
    if (this.position === this.start) return;
    this.chunks.push(this.buffer.subarray(this.start, this.position));
    this.chunkBytes += this.position - this.start;
    this.start = this.position;
  }

  private copy(bytes: Uint8Array): void {
    const at = this.room(bytes.length);
    this.buffer.set(bytes, at);
  }

  /** Short ASCII text with its length in front; false, with nothing written, for any other. */
  private ascii(value: string, compact: boolean): boolean {
    const length = value.length;
    if (length > 126) return false;
    const begin = this.position;
    let at = this.room(length + 2);
    if (compact) this.buffer[at++] = length + 1;
    else {
      this.buffer[at++] = 0;
      this.buffer[at++] = length;
    }
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code >= 0x80) {
        this.position = begin;
        return false;
      }
      this.buffer[at++] = code;
    }
    this.position = at;
    return true;
  }

  /** Where the next `bytes` bytes go. It may replace the buffer: call it before touching `buffer` or `view`. */
  private room(bytes: number): number {
    const at = this.position;
    if (at + bytes > this.buffer.length) this.grow(bytes);
    this.position = at + bytes;
    return at;
  }

  /** Moves the bytes that are not yet in a chunk to a larger buffer; positions stay valid inside an open tagged field. */
  private grow(bytes: number): void {
    const larger = new Uint8Array(Math.max(this.buffer.length * 2, this.position + bytes));
    larger.set(this.buffer.subarray(this.start, this.position), this.start);
    this.buffer = larger;
    this.view = new DataView(larger.buffer);
  }
}

function dataLength(value: RecordData): number {
  if (value instanceof Uint8Array) return value.length;
  let length = 0;
  for (const piece of value) length += piece.length;
  return length;
}

function encode(value: string): Uint8Array {
  const bytes = encoder.encode(value);
  if (bytes.length > stringBytesMax) {
    throw new ProtocolError(
      `a string of ${bytes.length} bytes does not fit in a message: the most is ${stringBytesMax}`,
    );
  }
  return bytes;
}
