/**
 * Record batches to records. Invariant: keys and values are views into the batch (or into its decompressed bytes), never
 * copies, and a batch whose records do not match its header throws KafkaError CORRUPT_MESSAGE, whole.
 */
import type { BufferPool } from "../../base/buffer_pool.ts";
import { KafkaError } from "../../base/kafka_error.ts";
import { limits } from "../../base/limits.ts";
import { CodecError } from "../../hotpath/codec_error.ts";
import { decompress } from "../../hotpath/codecs.ts";
import type { Allocate } from "../../hotpath/kernels.ts";
import { VarintCursor } from "../../hotpath/varint.ts";
import { fieldsPerRecord, indexRecords, type RecordIndex, type WalkSummary, walkFaults } from "../../hotpath/walk.ts";
import { BatchHeader, batchHeaderBytes, batchSizeAt } from "./batch.ts";

export interface RecordHeader {
  /** UTF-8; ill-formed bytes become U+FFFD, as in Kafka's own clients. */
  key: string;
  value: Uint8Array | null;
}

export interface DecodedRecord {
  offset: number;
  /** Milliseconds since 1970; -1 for none. On append-time batches the time of the append. */
  timestamp: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: RecordHeader[];
}

const text = new TextDecoder();
/** Of a record with its length in front. */
export const shortestRecordBytes = 7;

/** Less is not worth a pool's buffer. */
const pooledBytesMin = 16 * 1024;

/** What a view has from a pool. */
export class PooledMemory {
  private readonly pool: BufferPool;
  private taken: ArrayBufferLike[] = [];

  constructor(pool: BufferPool) {
    this.pool = pool;
  }

  readonly allocate = (length: number): Uint8Array => {
    if (length < pooledBytesMin) return new Uint8Array(length);
    const bytes = this.pool.take(length);
    this.taken.push(bytes.buffer);
    return bytes;
  };

  /** Safe to call twice. */
  release(): void {
    for (const buffer of this.taken) this.pool.give(buffer);
    this.taken = [];
  }
}

/** The parts of one batch's records by index, without an object per record. */
export class RecordBatchView implements Iterable<DecodedRecord> {
  readonly header: BatchHeader;
  /** The records as they are when not compressed. */
  readonly plain: Uint8Array;
  readonly count: number;
  /** What the walk found: greatest and least timestamp and where. */
  readonly summary: WalkSummary;
  /** Where each record's parts are, as `WalkOutput.fields`. */
  readonly fields: Int32Array;
  private readonly timestamps: Float64Array;
  private readonly baseOffset: number;
  private readonly appendTime: number | undefined;
  private readonly pool: PooledMemory | undefined;

  constructor(header: BatchHeader, plain: Uint8Array, index: RecordIndex, pool: PooledMemory | undefined) {
    this.pool = pool;
    this.header = header;
    this.plain = plain;
    this.count = header.recordCount;
    this.summary = index.summary;
    this.fields = index.output.fields;
    this.timestamps = index.output.timestamps;
    this.baseOffset = header.baseOffset;
    this.appendTime = header.timestampType === "LogAppendTime" ? header.maxTimestamp : undefined;
  }

  /** Gives the memory of a pool back: neither the view nor anything that it gave is good any more. */
  release(): void {
    this.pool?.release();
  }

  offset(record: number): number {
    return this.baseOffset + this.fields[record * fieldsPerRecord]!;
  }
  timestamp(record: number): number {
    return this.appendTime ?? this.timestamps[record]!;
  }
  /** Positions are in `plain`; a length of -1 is null. */
  keyStart(record: number): number {
    return this.fields[record * fieldsPerRecord + 1]!;
  }
  keyLength(record: number): number {
    return this.fields[record * fieldsPerRecord + 2]!;
  }
  valueStart(record: number): number {
    return this.fields[record * fieldsPerRecord + 3]!;
  }
  valueLength(record: number): number {
    return this.fields[record * fieldsPerRecord + 4]!;
  }
  key(record: number): Uint8Array | null {
    const length = this.keyLength(record);
    if (length < 0) return null;
    const start = this.keyStart(record);
    return this.plain.subarray(start, start + length);
  }
  value(record: number): Uint8Array | null {
    const length = this.valueLength(record);
    if (length < 0) return null;
    const start = this.valueStart(record);
    return this.plain.subarray(start, start + length);
  }
  headerCount(record: number): number {
    return this.fields[record * fieldsPerRecord + 5]!;
  }
  headers(record: number): RecordHeader[] {
    const headers: RecordHeader[] = [];
    const cursor = new VarintCursor(this.plain, this.fields[record * fieldsPerRecord + 6]!);
    for (let left = this.headerCount(record); left > 0; left--) {
      const key = text.decode(take(cursor, cursor.signed()));
      const length = cursor.signed();
      headers.push({ key, value: length < 0 ? null : take(cursor, length) });
    }
    return headers;
  }
  record(record: number): DecodedRecord {
    return {
      offset: this.offset(record),
      timestamp: this.timestamp(record),
      key: this.key(record),
      value: this.value(record),
      headers: this.headers(record),
    };
  }
  /** All records as objects, made anew by each call. */
  get records(): DecodedRecord[] {
    return [...this];
  }
  *[Symbol.iterator](): Iterator<DecodedRecord> {
    for (let record = 0; record < this.count; record++) yield this.record(record);
  }
}

function take(cursor: VarintCursor, length: number): Uint8Array {
  const start = cursor.position;
  cursor.position += length;
  return cursor.bytes.subarray(start, cursor.position);
}

export interface DecodeOptions {
  /** Check the CRC too (default true; the log has checked it when it hands a batch out). */
  checkCrc?: boolean;
  /** Bound of the decompressed records, in bytes. */
  maxPlainBytes?: number;
  /** The decompressed records, when the caller has them already. */
  plain?: Uint8Array;
  /** Where memory for decompressed records and their index comes from; the view's `release` gives it back. */
  pool?: BufferPool;
}

/** Decodes the batch at the start of `bytes`; bytes behind it are left alone. */
export function decodeBatch(bytes: Uint8Array, options: DecodeOptions = {}): RecordBatchView {
  const size = batchSizeAt(bytes, 0);
  if (size < batchHeaderBytes)
    throw new KafkaError("CORRUPT_MESSAGE", `a record batch is cut short after ${bytes.length} bytes`);
  const header = new BatchHeader(bytes);
  if (header.magic !== 2) {
    throw new KafkaError("UNSUPPORTED_FOR_MESSAGE_FORMAT", `a record batch has magic ${header.magic}; only 2 is known`);
  }
  if (options.checkCrc !== false && !header.isCrcValid) {
    throw new KafkaError("CORRUPT_MESSAGE", `the record batch at offset ${header.baseOffset} has a wrong checksum`);
  }
  const pool = options.pool && new PooledMemory(options.pool);
  const maxPlainBytes = options.maxPlainBytes ?? limits.batchPlainBytesMax;
  const plain = options.plain ?? plainRecords(header, maxPlainBytes, pool?.allocate);
  const count = header.recordCount;
  if (count < 0 || count * shortestRecordBytes > plain.length) {
    throw new KafkaError("CORRUPT_MESSAGE", `the batch at offset ${header.baseOffset} cannot hold ${count} records`);
  }
  const { baseTimestampHigh: high, baseTimestampLow: low } = header;
  const index = indexRecords(plain, 0, plain.length, count, high, low, false, pool?.allocate);
  if (index.summary.fault !== walkFaults.none) {
    throw new KafkaError(
      "CORRUPT_MESSAGE",
      `the batch at offset ${header.baseOffset}: ${describeFault(index.summary)}`,
    );
  }
  return new RecordBatchView(header, plain, index, pool);
}

/** Every batch of a run of whole batches, such as a Fetch answer; an incomplete last one is left out, as Kafka's clients do. */
export function* decodeBatches(bytes: Uint8Array, options: DecodeOptions = {}): Generator<RecordBatchView> {
  for (let at = 0; ; ) {
    const size = batchSizeAt(bytes, at);
    if (size === 0) return;
    yield decodeBatch(bytes.subarray(at, at + size), options);
    at += size;
  }
}

/** The records section of a batch, decompressed. KafkaError CORRUPT_MESSAGE, MESSAGE_TOO_LARGE or UNSUPPORTED_COMPRESSION_TYPE. */
export function plainRecords(
  header: BatchHeader,
  maxBytes: number = limits.batchPlainBytesMax,
  allocate?: Allocate,
): Uint8Array {
  const records = header.bytes.subarray(header.start + batchHeaderBytes, header.start + header.sizeBytes);
  try {
    return decompress(header.codec, records, maxBytes, 2, allocate);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    const name = error.fault === "too_large" ? "MESSAGE_TOO_LARGE" : "CORRUPT_MESSAGE";
    throw new KafkaError(error.fault === "unsupported" ? "UNSUPPORTED_COMPRESSION_TYPE" : name, error.message);
  }
}

/** A walk's fault in words. */
export function describeFault(summary: WalkSummary): string {
  const record = `record ${summary.faultRecord}`;
  switch (summary.fault) {
    case walkFaults.structure:
      return `${record} runs past its end or has a malformed length`;
    case walkFaults.length:
      return `${record} has another length than its fields`;
    case walkFaults.headerCount:
      return `${record} has an invalid count of headers`;
    case walkFaults.headerKey:
      return `${record} has a header without a name`;
    case walkFaults.offsetDelta:
      return `${record} has an offset delta other than its place in the batch`;
    default:
      return "bytes remain after the last record";
  }
}
