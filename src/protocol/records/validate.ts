/**
 * What the broker checks of a batch before it may be stored, with Apache Kafka's answers (its ProduceRequest, UnifiedLog
 * and LogValidator classes are the rule). Invariant: a batch that passes has a right CRC, size, count and maximum
 * timestamp; one that does not is refused whole, and its bytes are as they came.
 *
 * Departures: offset deltas other than 0, 1, 2, … are INVALID_RECORD (Kafka stores them in uncompressed batches, and fails
 * with UNKNOWN_SERVER_ERROR in others), as is an unknown codec (again UNKNOWN_SERVER_ERROR there); compressed data that
 * cannot be read is CORRUPT_MESSAGE; a client's append-time batch is stored with its records' own maximum, since its type
 * becomes create time (Kafka keeps the header's). A compressed batch is opened only where its header cannot answer.
 */
import type { BufferPool } from "../../base/buffer_pool.ts";
import { KafkaError } from "../../base/kafka_error.ts";
import { limits } from "../../base/limits.ts";
import { type Codec, codecs } from "../../hotpath/codecs.ts";
import { VarintCursor } from "../../hotpath/varint.ts";
import {
  checkAndIndexBatch,
  checkBatch,
  indexRecords,
  type RecordIndex,
  type WalkSummary,
  walkFaults,
  walkRecords,
} from "../../hotpath/walk.ts";
import {
  BatchHeader,
  batchHeaderBytes,
  batchSizeAt,
  crcStart,
  logOverheadBytes,
  readInt32,
  type TimestampType,
} from "./batch.ts";
import { describeFault, PooledMemory, plainRecords, RecordBatchView, shortestRecordBytes } from "./decode.ts";
import { RecordErrors, type RecordFault } from "./record_errors.ts";

export interface ValidateOptions {
  /** The topic's max.message.bytes. */
  maxBytes: number;
  /** cleanup.policy has compact: every record needs a key. */
  compactedTopic?: boolean;
  /** The topic's message.timestamp.type. */
  timestampType: TimestampType;
  nowMs: number;
  /** message.timestamp.before.max.ms: how far a record's time may lie in the past. */
  beforeMaxMs: number;
  /** message.timestamp.after.max.ms: how far it may lie in the future. */
  afterMaxMs: number;
  /** Version of the Produce request: zstd needs 7 (KIP-110). Newest when absent. */
  produceVersion?: number;
  /** max.decompressed.message.bytes: largest record of a compressed batch, in bytes without its length field. */
  maxRecordBytes?: number;
  /** Open and check compressed records too: for topics that recompress. */
  inspectRecords?: boolean;
  /** Bound of the decompressed records, in bytes. */
  maxPlainBytes?: number;
  /** For records that are read next: where they have to be walked anyway a view is made in passing, of memory from here. */
  viewPool?: BufferPool;
}

export interface ProducedBatch {
  /** The one batch, a view of the bytes given. */
  bytes: Uint8Array;
  header: BatchHeader;
  codec: Codec;
  count: number;
  /** Milliseconds: the records' greatest, or the append time on append-time topics; -1 for none. */
  maxTimestamp: number;
  /** Offset delta of the record with it where the records were looked at, else of the last record. */
  maxTimestampDelta: number;
  /** The broker's time on append-time topics (for the Produce answer), else -1. */
  logAppendTimeMs: number;
  /** The decompressed records, if this had to look at them: hand them on to `decodeBatch`. */
  plain?: Uint8Array;
  /** The records, where a view was asked for and came in passing. */
  view?: RecordBatchView;
}

const invalid = (message: string) => new KafkaError("INVALID_RECORD", message);

/**
 * Checks the records of one partition of a Produce request and fixes the batch's maximum timestamp and timestamp type in
 * place. Throws KafkaError as Apache Kafka answers; RecordErrors where single records are at fault.
 */
export function validateProduceBatch(bytes: Uint8Array, options: ValidateOptions): ProducedBatch {
  const batch = onlyBatch(bytes, options.produceVersion ?? 7);
  const header = new BatchHeader(batch);
  checkSize(header, options);
  const count = header.recordCount;
  const { baseTimestampHigh: high, baseTimestampLow: low } = header;
  let plain: Uint8Array | undefined;
  let summary: WalkSummary | undefined;
  let index: RecordIndex | undefined;
  const memory = options.viewPool && new PooledMemory(options.viewPool);
  if (header.codecId === codecs.none) {
    const check = checkPlainBatch(batch, header, memory);
    checkHeader(header, check.crc);
    ({ summary, index } = check);
  } else {
    checkHeader(header, header.computeCrc());
    if (mustOpen(header, options)) {
      plain = plainRecords(header, options.maxPlainBytes ?? limits.batchPlainBytesMax);
      summary = walkRecords(plain, 0, plain.length, count, high, low, true);
    } else if (header.timestampType === "LogAppendTime") throw appendTimeFromClient(count);
  }
  if (summary !== undefined) {
    if (summary.fault !== walkFaults.none) throw invalid(describeFault(summary));
    if (plain) checkRecordSizes(plain, count, options.maxRecordBytes ?? unlimitedRecordBytes);
    checkRecords(header, plain, summary, options);
  }
  const produced = settle(header, summary, plain, options);
  if (index) produced.view = new RecordBatchView(header, batch.subarray(batchHeaderBytes), index, memory);
  return produced;
}

/** Of a batch that is not compressed; with an index of its records where there is `memory` for it and their count can be right. */
function checkPlainBatch(
  batch: Uint8Array,
  header: BatchHeader,
  memory: PooledMemory | undefined,
): { crc: number; summary: WalkSummary; index?: RecordIndex } {
  const { recordCount: count, baseTimestampHigh: high, baseTimestampLow: low } = header;
  if (!memory || count <= 0 || count * shortestRecordBytes > batch.length - batchHeaderBytes)
    return checkBatch(batch, crcStart, batchHeaderBytes, count, high, low);
  const index = checkAndIndexBatch(batch, crcStart, batchHeaderBytes, count, high, low, memory.allocate);
  return { crc: index.crc, summary: index.summary, index };
}

/** Splits off the one batch that a partition's records may hold; half a batch behind it is dropped, as Kafka does. */
function onlyBatch(bytes: Uint8Array, produceVersion: number): Uint8Array {
  const size = nextBatchSize(bytes, 0);
  if (size === 0) throw invalid("Produce requests must have at least one record batch per partition");
  const magic = bytes[16]!;
  if (magic !== 2) throw invalid(`Produce requests may only contain record batches with magic version 2, not ${magic}`);
  if (size < batchHeaderBytes) {
    throw new KafkaError("CORRUPT_MESSAGE", `a record batch of ${size} bytes is shorter than its header`);
  }
  if (produceVersion < 7 && (bytes[22]! & 7) === codecs.zstd) {
    throw new KafkaError(
      "UNSUPPORTED_COMPRESSION_TYPE",
      `Produce requests of version ${produceVersion} may not use zstd`,
    );
  }
  if (size === bytes.length) return bytes;
  if (nextBatchSize(bytes, size) > 0) {
    throw invalid("Produce requests may only contain one record batch per partition");
  }
  return bytes.subarray(0, size);
}

/** Size of the whole batch at `start`; 0 if it is not all there; CORRUPT_MESSAGE if it cannot be one. */
function nextBatchSize(bytes: Uint8Array, start: number): number {
  if (bytes.length - start < logOverheadBytes) return 0;
  const length = readInt32(bytes, start + 8);
  // The shortest message of the oldest format has 14 bytes.
  if (length < 14) throw new KafkaError("CORRUPT_MESSAGE", `a record batch cannot have a length of ${length} bytes`);
  if (bytes.length - start < 17) return 0;
  const magic = bytes[start + 16]!;
  if (magic > 2) throw new KafkaError("CORRUPT_MESSAGE", `there is no record batch of magic ${magic}`);
  return batchSizeAt(bytes, start);
}

function checkSize(header: BatchHeader, options: ValidateOptions): void {
  if (header.baseOffset !== 0)
    throw invalid(`the base offset of the record batch should be 0, but it is ${header.baseOffset}`);
  const size = header.sizeBytes;
  if (size > options.maxBytes) {
    throw new KafkaError(
      "MESSAGE_TOO_LARGE",
      `the record batch has ${size} bytes; max.message.bytes is ${options.maxBytes}`,
    );
  }
}

function checkHeader(header: BatchHeader, crc: number): void {
  if (header.crc !== crc) throw new KafkaError("CORRUPT_MESSAGE", "the record batch has a wrong checksum");
  if (header.codecId > 4) throw invalid(`there is no compression codec ${header.codecId}`);
  const last = header.lastOffsetDelta;
  const count = header.recordCount;
  if (last < 0) throw invalid(`the record batch has an invalid offset range: the last offset delta is ${last}`);
  if (count <= 0) throw invalid(`the record batch has an invalid count of records: ${count}`);
  if (count !== last + 1) {
    throw invalid(`the record batch has ${count} records, but its offsets span ${last + 1}`);
  }
  if (header.isControl) throw invalid("clients are not allowed to write control records");
  if (header.hasProducerId && header.baseSequence < 0) {
    throw invalid(`the record batch has a producer id, but the sequence number ${header.baseSequence}`);
  }
}

/** Whether a compressed batch's header leaves something open that only its records tell. */
function mustOpen(header: BatchHeader, options: ValidateOptions): boolean {
  if (options.compactedTopic || options.inspectRecords) return true;
  if ((options.maxRecordBytes ?? unlimitedRecordBytes) < unlimitedRecordBytes) return true;
  if (options.timestampType === "LogAppendTime") return false;
  const { maxTimestamp, baseTimestamp } = header;
  // Some clients never set the maximum (Sarama: -1; others 0): below the base it cannot be right.
  if (maxTimestamp <= 0 || maxTimestamp < baseTimestamp) return true;
  if (options.beforeMaxMs < Number.MAX_SAFE_INTEGER) return true;
  return maxTimestamp - options.nowMs > options.afterMaxMs || header.timestampType === "LogAppendTime";
}

/** Kafka's default of max.decompressed.message.bytes: what its memory could hold at all. */
export const unlimitedRecordBytes = 2_147_483_639;

/** As Kafka, for compressed batches only: others are bound by max.message.bytes. */
function checkRecordSizes(plain: Uint8Array, count: number, bytesMax: number): void {
  if (bytesMax >= plain.length) return;
  const cursor = new VarintCursor(plain);
  for (let index = 0; index < count; index++) {
    const bytes = cursor.signed();
    if (bytes > bytesMax)
      throw invalid(`record ${index} has ${bytes} bytes decompressed; max.decompressed.message.bytes is ${bytesMax}`);
    cursor.position += bytes;
  }
}

/** The rules for single records. All good records are passed by one look at the walk's summary. */
function checkRecords(
  header: BatchHeader,
  opened: Uint8Array | undefined,
  summary: WalkSummary,
  options: ValidateOptions,
): void {
  const oldest = options.nowMs - options.beforeMaxMs;
  const newest = options.nowMs + options.afterMaxMs;
  const keysMissing = options.compactedTopic === true && summary.firstNullKey >= 0;
  const createTime = options.timestampType === "CreateTime";
  const timesWrong = createTime && (summary.maxTimestamp > newest || summary.minTimestamp < oldest);
  const appendTimeSet = header.timestampType === "LogAppendTime";
  if (!keysMissing && !timesWrong && !appendTimeSet) return;
  const count = header.recordCount;
  const plain = opened ?? header.bytes.subarray(batchHeaderBytes);
  const { baseTimestampHigh: high, baseTimestampLow: low } = header;
  const { output } = indexRecords(plain, 0, plain.length, count, high, low, true);
  const faults: RecordFault[] = [];
  let badTime = false;
  for (let index = 0; index < count; index++) {
    if (keysMissing && output.fields[index * 7 + 2]! < 0) {
      faults.push({ index, message: "Compacted topic cannot accept message without key" });
      continue;
    }
    const timestamp = appendTimeSet ? header.maxTimestamp : output.timestamps[index]!;
    if (createTime && timestamp !== -1) {
      if (timestamp >= oldest && timestamp <= newest) continue;
      faults.push({ index, message: outOfRange(index, timestamp, oldest, newest) });
    } else if (appendTimeSet) {
      faults.push({ index, message: "Producer should not set timestamp type to LogAppendTime" });
    } else continue;
    badTime = true;
  }
  if (faults.length === 0) return;
  if (badTime) {
    throw new RecordErrors(
      "INVALID_TIMESTAMP",
      "One or more records have been rejected due to invalid timestamp",
      faults,
    );
  }
  const shown = faults.slice(0, 3).map((fault) => `record ${fault.index}: ${fault.message}`);
  throw new RecordErrors(
    "INVALID_RECORD",
    `One or more records have been rejected due to ${faults.length} record errors in total: ${shown.join("; ")}`,
    faults,
  );
}

const outOfRange = (index: number, timestamp: number, oldest: number, newest: number) =>
  `Timestamp ${timestamp} of message with offset ${index} is out of range. The timestamp should be within [${oldest}, ${newest}]`;

function appendTimeFromClient(count: number): RecordErrors {
  const faults = Array.from({ length: Math.min(count, 1000) }, (_, index) => ({
    index,
    message: "Producer should not set timestamp type to LogAppendTime",
  }));
  return new RecordErrors(
    "INVALID_TIMESTAMP",
    "One or more records have been rejected due to invalid timestamp",
    faults,
  );
}

function settle(
  header: BatchHeader,
  summary: WalkSummary | undefined,
  plain: Uint8Array | undefined,
  options: ValidateOptions,
): ProducedBatch {
  const count = header.recordCount;
  const appendTime = options.timestampType === "LogAppendTime";
  let maxTimestamp = appendTime ? options.nowMs : header.maxTimestamp;
  let maxTimestampDelta = count - 1;
  if (!appendTime && summary !== undefined) {
    maxTimestamp = summary.maxTimestamp;
    maxTimestampDelta = Math.max(summary.maxTimestampDelta, 0);
  }
  header.setMaxTimestamp(options.timestampType, maxTimestamp);
  const logAppendTimeMs = appendTime ? options.nowMs : -1;
  const codec = header.codecId as Codec;
  return { bytes: header.bytes, header, codec, count, maxTimestamp, maxTimestampDelta, logAppendTimeMs, plain };
}
