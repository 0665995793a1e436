/**
 * The face of the record walk: see `twins/walk.ts` for what it checks and finds.
 */
import { type Allocate, type KernelInstance, kernelFor } from "./kernels.ts";
import { crc32cTwin } from "./twins/crc32c.ts";
import { fieldsPerRecord, type WalkOutput, type WalkSummary, walkTwin } from "./twins/walk.ts";

export { fieldsPerRecord, type WalkOutput, type WalkSummary, walkFaults } from "./twins/walk.ts";

/**
 * Walks `count` records in `bytes[start, end)`; `baseHigh`, `baseLow` are the halves of the base timestamp. With `dense`,
 * offset deltas must be 0, 1, 2, … Never throws for what the bytes hold: the summary names the fault.
 */
export function walkRecords(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
  baseHigh: number,
  baseLow: number,
  dense: boolean,
): WalkSummary {
  const kernel = kernelFor(end - start);
  if (kernel === undefined) return walkTwin(bytes, start, end, count, baseHigh, baseLow, dense, undefined);
  kernel.put(bytes.subarray(start, end), 0);
  kernel.call.walk(kernel.arena, end - start, count, baseHigh, baseLow, dense ? 1 : 0, 0, 0);
  return readSummary(kernel);
}

/** What a walk found, and where each record's parts are. */
export interface RecordIndex {
  summary: WalkSummary;
  output: WalkOutput;
}

/** As `walkRecords`, and says where each record's parts are, in memory from `allocate` where there is one. `count` must not exceed `end - start` (a record takes 7 bytes or more). */
export function indexRecords(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
  baseHigh: number,
  baseLow: number,
  dense: boolean,
  allocate?: Allocate,
): RecordIndex {
  const length = end - start;
  const kernel = kernelFor(length + outputBytes(count));
  if (kernel === undefined) {
    const output = { fields: new Int32Array(count * fieldsPerRecord), timestamps: new Float64Array(count) };
    return { summary: walkTwin(bytes, start, end, count, baseHigh, baseLow, dense, output), output };
  }
  kernel.put(bytes.subarray(start, end), outputBytes(count));
  return indexIn(kernel, kernel.arena, length, count, baseHigh, baseLow, dense, allocate);
}

const outputBytes = (count: number) => count * (fieldsPerRecord * 4 + 8) + 16;

/** The records are in the kernel's memory: `length` bytes at `at`, with room for the output behind them. */
function indexIn(
  kernel: KernelInstance,
  at: number,
  length: number,
  count: number,
  baseHigh: number,
  baseLow: number,
  dense: boolean,
  allocate: Allocate | undefined,
): RecordIndex {
  const timestamps = (at + length + 7) & ~7;
  const fields = timestamps + count * 8;
  kernel.call.walk(at, length, count, baseHigh, baseLow, dense ? 1 : 0, fields, timestamps);
  // The timestamps and, right behind them, the fields.
  const copy = kernel.take(timestamps, count * (8 + fieldsPerRecord * 4), allocate);
  const output = {
    fields: new Int32Array(copy.buffer, copy.byteOffset + count * 8, count * fieldsPerRecord),
    timestamps: new Float64Array(copy.buffer, copy.byteOffset, count),
  };
  return { summary: readSummary(kernel), output };
}

/** As `checkBatch`, and says where each record's parts are, counted from `recordsStart`. `count` as in `indexRecords`. */
export function checkAndIndexBatch(
  bytes: Uint8Array,
  crcStart: number,
  recordsStart: number,
  count: number,
  baseHigh: number,
  baseLow: number,
  allocate?: Allocate,
): RecordIndex & { crc: number } {
  const end = bytes.length;
  const kernel = kernelFor(end + outputBytes(count));
  if (kernel === undefined) {
    const index = indexRecords(bytes, recordsStart, end, count, baseHigh, baseLow, true);
    return { crc: crc32cTwin(bytes, crcStart, end), ...index };
  }
  kernel.put(bytes, outputBytes(count));
  const at = kernel.arena;
  const crc = kernel.call.crc32c(at + crcStart, end - crcStart);
  const index = indexIn(kernel, at + recordsStart, end - recordsStart, count, baseHigh, baseLow, true, allocate);
  return { crc: crc >>> 0, ...index };
}

/**
 * The CRC32C of `bytes` from `crcStart` on and the walk of the records from `recordsStart` on, for one copy into the
 * kernel's memory.
 */
export function checkBatch(
  bytes: Uint8Array,
  crcStart: number,
  recordsStart: number,
  count: number,
  baseHigh: number,
  baseLow: number,
): { crc: number; summary: WalkSummary } {
  const kernel = kernelFor(bytes.length);
  const end = bytes.length;
  if (kernel === undefined) {
    const summary = walkTwin(bytes, recordsStart, end, count, baseHigh, baseLow, true, undefined);
    return { crc: crc32cTwin(bytes, crcStart, end), summary };
  }
  kernel.put(bytes, 0);
  const at = kernel.arena;
  const crc = kernel.call.checkBatch(at + crcStart, at + recordsStart, at + end, count, baseHigh, baseLow, 1);
  return { crc: crc >>> 0, summary: readSummary(kernel) };
}

function readSummary(kernel: KernelInstance): WalkSummary {
  const word = kernel.summary >> 2;
  const double = kernel.summary >> 3;
  const { words, doubles } = kernel;
  return {
    fault: words[word]!,
    faultRecord: words[word + 1]!,
    maxTimestamp: doubles[double + 2]!,
    maxTimestampDelta: words[word + 2]!,
    minTimestamp: doubles[double + 3]!,
    firstNullKey: words[word + 3]!,
  };
}
