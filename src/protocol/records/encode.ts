/**
 * Records to a record batch (magic 2), and batches to other codecs.
 */
import { BufferPool } from "../../base/buffer_pool.ts";
import { limits } from "../../base/limits.ts";
import { type Codec, compress } from "../../hotpath/codecs.ts";
import { replaceValues } from "../../hotpath/replace_values.ts";
import { varintSize, varlongSize, writeVarint, writeVarlong } from "../../hotpath/varint.ts";
import {
  BatchHeader,
  batchHeaderBytes,
  logOverheadBytes,
  type TimestampType,
  writeInt32,
  writeInt64,
} from "./batch.ts";
import { plainRecords, type RecordBatchView } from "./decode.ts";

export interface HeaderToEncode {
  key: string | Uint8Array;
  value: string | Uint8Array | null;
}

export interface RecordToEncode {
  key?: string | Uint8Array | null;
  value?: string | Uint8Array | null;
  headers?: readonly HeaderToEncode[];
  /** Milliseconds; the batch's own `timestamp` when absent. */
  timestamp?: number;
  /** Absolute offset, for batches with gaps (compaction); dense from the base offset when absent. */
  offset?: number;
}

export interface EncodeOptions {
  codec?: Codec;
  level?: number;
  baseOffset?: number;
  partitionLeaderEpoch?: number;
  timestampType?: TimestampType;
  /** Timestamp of records without one, and append time under LogAppendTime; -1 when absent. */
  timestamp?: number;
  producerId?: bigint;
  producerEpoch?: number;
  baseSequence?: number;
  isTransactional?: boolean;
  isControl?: boolean;
  /** Of a batch whose last records are gone (compaction): keeps its span of offsets. */
  lastOffsetDelta?: number;
}

const utf8 = new TextEncoder();
const bytesOf = (part: string | Uint8Array) => (typeof part === "string" ? utf8.encode(part) : part);
const bytesOrNull = (part: string | Uint8Array | null | undefined) => (part == null ? null : bytesOf(part));

interface PreparedRecord {
  size: number;
  timestampDelta: number;
  offsetDelta: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: { key: Uint8Array; value: Uint8Array | null }[];
}

/** A batch of `records`; an empty one keeps only its span of offsets, as compaction leaves behind. */
export function encodeBatch(records: readonly RecordToEncode[], options: EncodeOptions = {}): Uint8Array {
  const baseOffset = options.baseOffset ?? 0;
  const defaultTimestamp = options.timestamp ?? -1;
  const baseTimestamp = records[0]?.timestamp ?? defaultTimestamp;
  let maxTimestamp = -1;
  let plainSize = 0;
  const prepared: PreparedRecord[] = [];
  for (let i = 0; i < records.length; i++) {
    const record = records[i]!;
    const timestamp = record.timestamp ?? defaultTimestamp;
    if (timestamp > maxTimestamp) maxTimestamp = timestamp;
    const delta = record.offset === undefined ? i : record.offset - baseOffset;
    const ready = prepare(record, timestamp - baseTimestamp, delta);
    plainSize += varintSize(ready.size) + ready.size;
    prepared.push(ready);
  }
  if (options.timestampType === "LogAppendTime") maxTimestamp = defaultTimestamp;
  const codec = options.codec ?? 0;
  const whole = new Uint8Array(batchHeaderBytes + plainSize);
  let at = batchHeaderBytes;
  for (const record of prepared) at = writeRecord(whole, at, record);
  const batch =
    codec === 0 ? whole : withRecords(whole, compress(codec, whole.subarray(batchHeaderBytes), options.level));
  const lastDelta = options.lastOffsetDelta ?? prepared.at(-1)?.offsetDelta ?? -1;
  writeHeader(batch, options, records.length, lastDelta, baseTimestamp, maxTimestamp);
  return batch;
}

/** A new batch with `whole`'s header and another records section; length and CRC are not yet right. */
function withRecords(whole: Uint8Array, records: Uint8Array): Uint8Array {
  const batch = new Uint8Array(batchHeaderBytes + records.length);
  batch.set(whole.subarray(0, batchHeaderBytes));
  batch.set(records, batchHeaderBytes);
  return batch;
}

function writeHeader(
  batch: Uint8Array,
  options: EncodeOptions,
  count: number,
  lastDelta: number,
  baseTimestamp: number,
  maxTimestamp: number,
): void {
  writeInt64(batch, 0, options.baseOffset ?? 0);
  writeInt32(batch, 8, batch.length - logOverheadBytes);
  writeInt32(batch, 12, options.partitionLeaderEpoch ?? -1);
  batch[16] = 2;
  batch[22] =
    (options.codec ?? 0) |
    (options.timestampType === "LogAppendTime" ? 8 : 0) |
    (options.isTransactional ? 16 : 0) |
    (options.isControl ? 32 : 0);
  writeInt32(batch, 23, lastDelta);
  writeInt64(batch, 27, baseTimestamp);
  writeInt64(batch, 35, maxTimestamp);
  writeInt32(batch, 57, count);
  new BatchHeader(batch).setProducer(
    options.producerId ?? -1n,
    options.producerEpoch ?? -1,
    options.baseSequence ?? -1,
  );
}

function prepare(record: RecordToEncode, timestampDelta: number, offsetDelta: number): PreparedRecord {
  const key = bytesOrNull(record.key);
  const value = bytesOrNull(record.value);
  const headers = (record.headers ?? []).map((header) => ({
    key: bytesOf(header.key),
    value: bytesOrNull(header.value),
  }));
  let size =
    1 +
    varlongSize(timestampDelta) +
    varintSize(offsetDelta) +
    partSize(key) +
    partSize(value) +
    varintSize(headers.length);
  for (const header of headers) size += partSize(header.key) + partSize(header.value);
  return { size, timestampDelta, offsetDelta, key, value, headers };
}

const partSize = (part: Uint8Array | null) => (part === null ? 1 : varintSize(part.length) + part.length);

function writeRecord(into: Uint8Array, position: number, record: PreparedRecord): number {
  let at = writeVarint(into, position, record.size) + 1;
  at = writeVarlong(into, at, record.timestampDelta);
  at = writeVarint(into, at, record.offsetDelta);
  at = writePart(into, at, record.key);
  at = writePart(into, at, record.value);
  at = writeVarint(into, at, record.headers.length);
  for (const header of record.headers) at = writePart(into, writePart(into, at, header.key), header.value);
  return at;
}

function writePart(into: Uint8Array, position: number, part: Uint8Array | null): number {
  if (part === null) return writeVarint(into, position, -1);
  const at = writeVarint(into, position, part.length);
  into.set(part, at);
  return at + part.length;
}

/**
 * The same records under another codec, for topics whose `compression.type` is not `producer`. The batch itself when it
 * has that codec already. `plain`: its decompressed records, when the caller has them.
 */
export function recompress(batch: Uint8Array, codec: Codec, level?: number, plain?: Uint8Array): Uint8Array {
  const header = new BatchHeader(batch);
  return header.codecId === codec ? batch : withPlainRecords(batch, plain ?? plainRecords(header), codec, level);
}

/**
 * The batch with other values for some of its records, and the same keys, headers, times and producer. `spans` has two numbers a
 * record: where its new value begins and ends in `values`, or -1 where it keeps its own.
 */
export function withValues(
  view: RecordBatchView,
  spans: Int32Array,
  values: Uint8Array,
  codec: Codec,
  level?: number,
): Uint8Array {
  const { header } = view;
  const batch = header.bytes.subarray(header.start, header.start + header.sizeBytes);
  const allocate = (length: number) => plainPool.take(length);
  const plain = replaceValues(view.plain, view.fields, view.count, spans, values, allocate);
  const changed = withPlainRecords(batch, plain, codec, level);
  plainPool.give(plain.buffer);
  return changed;
}

/** Records on their way into a codec. */
const plainPool = new BufferPool(limits.recompressPoolBytesMax);

/** A new batch with the header of `batch` and these records; `patch` may change the header before its CRC is renewed. */
export function withPlainRecords(
  batch: Uint8Array,
  plain: Uint8Array,
  codec: Codec,
  level?: number,
  patch?: (batch: Uint8Array) => void,
): Uint8Array {
  const changed = withRecords(batch, compress(codec, plain, level));
  writeInt32(changed, 8, changed.length - logOverheadBytes);
  changed[22] = (changed[22]! & ~7) | codec;
  patch?.(changed);
  new BatchHeader(changed).renewCrc();
  return changed;
}
