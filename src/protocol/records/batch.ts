/**
 * The header of a record batch (Kafka's message format, magic 2), read and patched in place over the batch's bytes.
 * Invariant: a setter leaves the batch valid: fields outside the CRC are just written, the others renew it.
 */
import { type Codec, codecOf } from "../../hotpath/codecs.ts";
import { crc32c } from "../../hotpath/crc32c.ts";

/** Bytes before the records. */
export const batchHeaderBytes = 61;
/** Bytes of base offset and batch length, which the batch length does not count. */
export const logOverheadBytes = 12;
/** Where the bytes that the CRC covers begin. */
export const crcStart = 21;

export type TimestampType = "CreateTime" | "LogAppendTime";

export class BatchHeader {
  readonly bytes: Uint8Array;
  readonly start: number;

  /** `bytes` must hold the whole header from `start` on; nothing is checked here. */
  constructor(bytes: Uint8Array, start = 0) {
    this.bytes = bytes;
    this.start = start;
  }

  get baseOffset(): number {
    return readInt64(this.bytes, this.start);
  }
  /** Bytes after this field: the whole batch has `sizeBytes`. */
  get batchLength(): number {
    return readInt32(this.bytes, this.start + 8);
  }
  get sizeBytes(): number {
    return this.batchLength + logOverheadBytes;
  }
  get partitionLeaderEpoch(): number {
    return readInt32(this.bytes, this.start + 12);
  }
  get magic(): number {
    return (this.bytes[this.start + 16]! << 24) >> 24;
  }
  get crc(): number {
    return readInt32(this.bytes, this.start + 17) >>> 0;
  }
  get attributes(): number {
    return readInt16(this.bytes, this.start + 21);
  }
  get lastOffsetDelta(): number {
    return readInt32(this.bytes, this.start + 23);
  }
  get lastOffset(): number {
    return this.baseOffset + this.lastOffsetDelta;
  }
  /** Milliseconds; with a delete horizon set by a compactor, that horizon. */
  get baseTimestamp(): number {
    return readInt64(this.bytes, this.start + 27);
  }
  get baseTimestampHigh(): number {
    return readInt32(this.bytes, this.start + 27);
  }
  get baseTimestampLow(): number {
    return readInt32(this.bytes, this.start + 31);
  }
  get maxTimestamp(): number {
    return readInt64(this.bytes, this.start + 35);
  }
  /** Largest time of the records there are: -1 for a batch of which only its span of offsets is left. */
  get latestRecordTime(): number {
    return this.recordCount === 0 ? -1 : this.maxTimestamp;
  }
  get producerId(): bigint {
    return (
      (BigInt(readInt32(this.bytes, this.start + 43)) << 32n) | BigInt(readInt32(this.bytes, this.start + 47) >>> 0)
    );
  }
  get hasProducerId(): boolean {
    return readInt64(this.bytes, this.start + 43) > -1;
  }
  get producerEpoch(): number {
    return readInt16(this.bytes, this.start + 51);
  }
  get baseSequence(): number {
    return readInt32(this.bytes, this.start + 53);
  }
  get recordCount(): number {
    return readInt32(this.bytes, this.start + 57);
  }

  /** The codec's number, 0 to 7; 5 to 7 mean nothing. */
  get codecId(): number {
    return this.bytes[this.start + 22]! & 7;
  }
  /** Throws CodecError("unsupported") for a number without a codec. */
  get codec(): Codec {
    return codecOf(this.codecId);
  }
  get timestampType(): TimestampType {
    return this.bytes[this.start + 22]! & 8 ? "LogAppendTime" : "CreateTime";
  }
  get isTransactional(): boolean {
    return (this.bytes[this.start + 22]! & 16) !== 0;
  }
  get isControl(): boolean {
    return (this.bytes[this.start + 22]! & 32) !== 0;
  }
  /** The base timestamp is a delete horizon (KIP-534). */
  get hasDeleteHorizon(): boolean {
    return (this.bytes[this.start + 22]! & 64) !== 0;
  }

  /** Outside the CRC. */
  set baseOffset(offset: number) {
    writeInt64(this.bytes, this.start, offset);
  }
  /** Outside the CRC. */
  set partitionLeaderEpoch(epoch: number) {
    writeInt32(this.bytes, this.start + 12, epoch);
  }

  /** Sets timestamp type and maximum together, as the broker does for a batch that it accepts; renews the CRC if either changes. */
  setMaxTimestamp(type: TimestampType, timestamp: number): void {
    if (this.timestampType === type && this.maxTimestamp === timestamp) return;
    const at = this.start + 22;
    this.bytes[at] = type === "LogAppendTime" ? this.bytes[at]! | 8 : this.bytes[at]! & ~8;
    writeInt64(this.bytes, this.start + 35, timestamp);
    this.renewCrc();
  }
  /** For retries and compaction: renews the CRC. */
  setProducer(id: bigint, epoch: number, baseSequence: number): void {
    writeInt32(this.bytes, this.start + 43, Number(BigInt.asIntN(32, id >> 32n)));
    writeInt32(this.bytes, this.start + 47, Number(BigInt.asIntN(32, id)));
    this.bytes[this.start + 51] = epoch >> 8;
    this.bytes[this.start + 52] = epoch;
    writeInt32(this.bytes, this.start + 53, baseSequence);
    this.renewCrc();
  }

  /** The checksum that the batch's bytes have, whatever its field says. */
  computeCrc(): number {
    return crc32c(this.bytes, this.start + crcStart, this.start + this.sizeBytes);
  }
  get isCrcValid(): boolean {
    return this.crc === this.computeCrc();
  }
  renewCrc(): void {
    writeInt32(this.bytes, this.start + 17, this.computeCrc());
  }
}

/**
 * Size in bytes of the batch that starts at `start`, or 0 when fewer than its length field says (or than the field needs)
 * are there. Useful for splitting a run of batches; checks nothing else.
 */
export function batchSizeAt(bytes: Uint8Array, start: number): number {
  if (bytes.length - start < logOverheadBytes) return 0;
  const size = readInt32(bytes, start + 8) + logOverheadBytes;
  return size > logOverheadBytes && size <= bytes.length - start ? size : 0;
}

export function readInt16(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) >> 16) | bytes[at + 1]!;
}
export function readInt32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}
/** Exact up to 2^53, else the nearest number. */
export function readInt64(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at) * 4294967296 + (readInt32(bytes, at + 4) >>> 0);
}
export function writeInt32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
/** `value` is an integer, exact as a number. */
export function writeInt64(bytes: Uint8Array, at: number, value: number): void {
  writeInt32(bytes, at, Math.floor(value / 4294967296));
  writeInt32(bytes, at + 4, value % 4294967296);
}
