/**
 * Variable-length integers as Kafka's record format has them: 7 bits a byte, least significant first, zigzag for signed.
 * Invariant: a read never goes past `end`; it fails by throwing CodecError("corrupt").
 * As in Kafka's own reader a varint has at most 5 bytes and a varlong 10, and bits beyond 32 or 64 are dropped.
 */
import { CodecError } from "./codec_error.ts";

/** A place in a byte array that moves forward as values are read. */
export class VarintCursor {
  readonly bytes: Uint8Array;
  position: number;
  readonly end: number;
  /** Upper half of the last varlong read. */
  high = 0;
  /** Lower half of the last varlong read, as a signed 32-bit integer. */
  low = 0;

  constructor(bytes: Uint8Array, position = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = position;
    this.end = Math.min(end, bytes.length);
  }

  byte(): number {
    if (this.position >= this.end) throw new CodecError("corrupt", "the bytes end inside a number");
    return this.bytes[this.position++]!;
  }

  /** An unsigned varint: 0 to 2^32 - 1. */
  unsigned(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new CodecError("corrupt", "a varint has more than 5 bytes");
  }

  /** A zigzag varint: a signed 32-bit integer. */
  signed(): number {
    const value = this.unsigned();
    return (value >>> 1) ^ -(value & 1);
  }

  /** A zigzag varlong. The number is exact up to 2^53; `high` and `low` have all 64 bits. */
  signedLong(): number {
    let low = 0;
    let high = 0;
    let shift = 0;
    for (; ; shift += 7) {
      if (shift > 63) throw new CodecError("corrupt", "a varlong has more than 10 bytes");
      const byte = this.byte();
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high |= bits >> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) break;
    }
    const sign = -(low & 1);
    this.low = ((low >>> 1) | (high << 31)) ^ sign;
    this.high = (high >>> 1) ^ sign;
    return this.high * 4294967296 + (this.low >>> 0);
  }
}

/** Bytes that `value` (a signed 32-bit integer) takes as a zigzag varint. */
export function varintSize(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  if (zigzag < 0x200000) return 3;
  return zigzag < 0x10000000 ? 4 : 5;
}

/** Writes a signed 32-bit integer as a zigzag varint at `position`; returns the position after it. */
export function writeVarint(into: Uint8Array, position: number, value: number): number {
  let zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  while (zigzag >= 0x80) {
    into[position++] = (zigzag & 0x7f) | 0x80;
    zigzag >>>= 7;
  }
  into[position++] = zigzag;
  return position;
}

/** Bytes that `value` (an integer, exact as a number) takes as a zigzag varlong. */
export function varlongSize(value: number): number {
  let zigzag = value >= 0 ? value * 2 : -value * 2 - 1;
  let size = 1;
  while (zigzag >= 0x80) {
    zigzag = Math.floor(zigzag / 128);
    size++;
  }
  return size;
}

/** Writes an integer of at most 52 bits as a zigzag varlong at `position`; returns the position after it. */
export function writeVarlong(into: Uint8Array, position: number, value: number): number {
  let zigzag = value >= 0 ? value * 2 : -value * 2 - 1;
  while (zigzag >= 0x80) {
    into[position++] = (zigzag % 128) | 0x80;
    zigzag = Math.floor(zigzag / 128);
  }
  into[position++] = zigzag;
  return position;
}
