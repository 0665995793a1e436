/**
 * Reads Kafka's primitive types out of one frame.
 * Invariant: no method reads outside [position, end), and none allocates more than the bytes that are left could describe:
 * whatever the frame says, the only error is a ProtocolError. Bytes are views of the frame, never copies.
 * Types and encodings: https://kafka.apache.org/protocol (protocol primitive types), KIP-482 for the compact ones.
 */
import { Buffer } from "node:buffer";
import { limits } from "../base/limits.ts";
import { type Uuid, uuidText, zeroUuid } from "../base/uuid.ts";
import { ProtocolError } from "./protocol_error.ts";
import type { Tagged } from "./tagged_fields.ts";

/** The bytes of an empty field; never written to. */
export const emptyBytes: Uint8Array = new Uint8Array(0);

export class Reader {
  readonly bytes: Uint8Array;
  readonly end: number;
  position: number;
  private readonly view: DataView;
  private text: Buffer | undefined;
  /** Array elements and tagged fields that this frame may still hold. */
  private elementsLeft: number;

  /** Reads `bytes` from `start` to `end` (offsets into `bytes`); `elementsMax` bounds all arrays of the frame together. */
  constructor(bytes: Uint8Array, start = 0, end = bytes.length, elementsMax: number = limits.frameElementsMax) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.elementsLeft = elementsMax;
  }

  get remaining(): number {
    return this.end - this.position;
  }

  int8(): number {
    return this.view.getInt8(this.take(1));
  }

  bool(): boolean {
    return this.view.getInt8(this.take(1)) !== 0;
  }

  int16(): number {
    return this.view.getInt16(this.take(2));
  }

  uint16(): number {
    return this.view.getUint16(this.take(2));
  }

  int32(): number {
    return this.view.getInt32(this.take(4));
  }

  uint32(): number {
    return this.view.getUint32(this.take(4));
  }

  int64(): bigint {
    return this.view.getBigInt64(this.take(8));
  }

  float64(): number {
    return this.view.getFloat64(this.take(8));
  }

  uuid(): Uuid {
    const at = this.take(16);
    if (this.view.getUint32(at) === 0 && this.view.getBigInt64(at + 8) === 0n && this.view.getUint32(at + 4) === 0) {
      return zeroUuid;
    }
    return uuidText(this.bytes, at);
  }

  /** Base-128, least significant group first, at most five bytes. */
  unsignedVarint(): number {
    const first = this.bytes[this.take(1)]!;
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      const next = this.bytes[this.take(1)]!;
      value += (next & 0x7f) * 2 ** shift;
      if (next < 0x80) {
        if (value > 0xffff_ffff) break;
        return value;
      }
    }
    throw new ProtocolError(`varint at byte ${this.position} is longer than 32 bits`);
  }

  string(): string {
    return this.nullableString() ?? this.failNull("string");
  }

  nullableString(): string | null {
    const length = this.int16();
    if (length < 0) return null;
    return this.utf8(length);
  }

  compactString(): string {
    return this.compactNullableString() ?? this.failNull("string");
  }

  compactNullableString(): string | null {
    const length = this.unsignedVarint() - 1;
    if (length < 0) return null;
    if (length > 0x7fff)
      throw new ProtocolError(`string of ${length} bytes at byte ${this.position} is longer than 32767`);
    return this.utf8(length);
  }

  byteString(): Uint8Array {
    return this.nullableByteString() ?? this.failNull("bytes");
  }

  nullableByteString(): Uint8Array | null {
    const length = this.int32();
    return length < 0 ? null : this.slice(length);
  }

  compactByteString(): Uint8Array {
    return this.compactNullableByteString() ?? this.failNull("bytes");
  }

  compactNullableByteString(): Uint8Array | null {
    const length = this.unsignedVarint() - 1;
    return length < 0 ? null : this.slice(length);
  }

  /** Length of an array whose elements take at least `bytesMin` bytes each. */
  arrayLength(bytesMin: number): number {
    const length = this.int32();
    return length < 0 ? this.failNull("array") : this.checkLength(length, bytesMin);
  }

  /** The same; -1 stands for null. */
  nullableArrayLength(bytesMin: number): number {
    const length = this.int32();
    return length < 0 ? -1 : this.checkLength(length, bytesMin);
  }

  compactArrayLength(bytesMin: number): number {
    const length = this.unsignedVarint() - 1;
    return length < 0 ? this.failNull("array") : this.checkLength(length, bytesMin);
  }

  compactNullableArrayLength(bytesMin: number): number {
    const length = this.unsignedVarint() - 1;
    return length < 0 ? -1 : this.checkLength(length, bytesMin);
  }

  /** Length of a tagged field: returns the position just after the field. */
  taggedFieldEnd(): number {
    const length = this.unsignedVarint();
    if (length > this.remaining) this.failShort(length);
    this.elementsLeft--;
    if (this.elementsLeft < 0) this.failElements();
    return this.position + length;
  }

  /** A known tagged field must fill exactly the length that it was given. */
  expectEnd(position: number): void {
    if (this.position !== position) {
      throw new ProtocolError(`tagged field ends at byte ${this.position}, its length said ${position}`);
    }
  }

  /** Keeps a tagged field that the definition does not know. */
  unknownTag(into: Tagged, tag: number, end: number): void {
    into.unknownTaggedFields ??= [];
    into.unknownTaggedFields.push({ tag, data: this.slice(end - this.position) });
  }

  /** The tagged fields of a type that defines none. */
  unknownTags(into: Tagged): void {
    for (let left = this.unsignedVarint(); left > 0; left--) {
      const tag = this.unsignedVarint();
      this.unknownTag(into, tag, this.taggedFieldEnd());
    }
  }

  /** A view of the next `length` bytes. */
  slice(length: number): Uint8Array {
    const at = this.take(length);
    return this.bytes.subarray(at, at + length);
  }

  private take(length: number): number {
    const at = this.position;
    if (length > this.end - at) this.failShort(length);
    this.position = at + length;
    return at;
  }

  private utf8(length: number): string {
    if (length === 0) return "";
    const at = this.take(length);
    if (length <= 24) {
      let text = "";
      for (let i = at; i < at + length; i++) {
        const byte = this.bytes[i]!;
        if (byte >= 0x80) return this.decode(at, length);
        text += String.fromCharCode(byte);
      }
      return text;
    }
    return this.decode(at, length);
  }

  private decode(at: number, length: number): string {
    this.text ??= Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
    return this.text.toString("utf8", at, at + length);
  }

  private checkLength(length: number, bytesMin: number): number {
    if (length * bytesMin > this.remaining) {
      throw new ProtocolError(
        `array of ${length} elements at byte ${this.position} needs more than the ${this.remaining} bytes that are left`,
      );
    }
    this.elementsLeft -= length;
    if (this.elementsLeft < 0) this.failElements();
    return length;
  }

  private failShort(length: number): never {
    throw new ProtocolError(`${length} bytes wanted at byte ${this.position}, ${this.remaining} left`);
  }

  private failNull(what: string): never {
    throw new ProtocolError(`null ${what} before byte ${this.position} in a field that cannot be null`);
  }

  private failElements(): never {
    throw new ProtocolError("frame holds more array elements than the limit frameElementsMax");
  }
}
