/**
 * Batches with some records changed or left out.
 *
 * Invariant: offsets stay. A record keeps its offset delta whatever is left out around it, the header keeps its last offset
 * delta and its sequence numbers, so a batch covers the offsets and sequences that it was given. A batch of which nothing
 * is left has a count of 0 and no codec, as Apache Kafka's log cleaner leaves it.
 */
import type { Codec } from "../../hotpath/codecs.ts";
import { VarintCursor, varintSize, varlongSize, writeVarint, writeVarlong } from "../../hotpath/varint.ts";
import { fieldsPerRecord } from "../../hotpath/walk.ts";
import { BatchHeader, batchHeaderBytes, logOverheadBytes, writeInt32, writeInt64 } from "./batch.ts";
import type { RecordBatchView } from "./decode.ts";
import { withPlainRecords } from "./encode.ts";

/** In a list of spans, in place of a begin: the record keeps this part. */
export const keptPart = -1;
/** In a list of spans, in place of a begin: the part becomes null. */
export const nullPart = -2;

export interface RecordChanges {
  /** The new keys and values, which the spans look into. */
  bytes?: Uint8Array;
  /** Two numbers a record: where its new key begins and ends in `bytes`; `keptPart` or `nullPart` for the begin. */
  keys?: Int32Array;
  /** As `keys`, for the values. */
  values?: Int32Array;
  /** One a record: anything but 0 leaves the record out. */
  dropped?: Uint8Array;
  /** Milliseconds: the time from which on a compaction may remove the batch's tombstones (KIP-534). */
  deleteHorizonMs?: number;
}

const nothing = new Uint8Array(0);

/** A new batch with these changes; headers, times, producer and the span of offsets stay. */
export function rewriteRecords(
  view: RecordBatchView,
  changes: RecordChanges,
  codec: Codec,
  level?: number,
): Uint8Array {
  const { header } = view;
  const kept = countKept(view, changes.dropped);
  if (kept === 0) return emptied(header);
  const rebased = changes.deleteHorizonMs !== undefined && changes.deleteHorizonMs !== header.baseTimestamp;
  const isCopied = !rebased && changes.keys === undefined && changes.values === undefined;
  const plain = isCopied ? copyKept(view, changes.dropped) : writeKept(view, changes, rebased);
  const batch = header.bytes.subarray(header.start, header.start + header.sizeBytes);
  return withPlainRecords(batch, plain, codec, level, (changed) => {
    writeInt32(changed, 57, kept);
    if (changes.deleteHorizonMs !== undefined) {
      changed[22] = changed[22]! | 64;
      writeInt64(changed, 27, changes.deleteHorizonMs);
    }
    if (kept < view.count && header.timestampType === "CreateTime")
      writeInt64(changed, 35, latest(view, changes.dropped));
  });
}

/** The header alone: what keeps the offsets and the producer's last sequence when every record is gone. */
export function emptied(header: BatchHeader): Uint8Array {
  const batch = header.bytes.slice(header.start, header.start + batchHeaderBytes);
  writeInt32(batch, 8, batchHeaderBytes - logOverheadBytes);
  // Neither a codec nor a delete horizon; Kafka's writeEmptyHeader has no base timestamp either.
  batch[22] = batch[22]! & ~(7 | 64);
  writeInt64(batch, 27, -1);
  writeInt32(batch, 57, 0);
  new BatchHeader(batch).renewCrc();
  return batch;
}

function countKept(view: RecordBatchView, dropped: Uint8Array | undefined): number {
  if (dropped === undefined) return view.count;
  let kept = 0;
  for (let record = 0; record < view.count; record++) if (!dropped[record]) kept++;
  return kept;
}

function latest(view: RecordBatchView, dropped: Uint8Array | undefined): number {
  let timestamp = -1;
  for (let record = 0; record < view.count; record++)
    if (!dropped?.[record]) timestamp = Math.max(timestamp, view.timestamp(record));
  return timestamp;
}

/** The kept records as they are, in as few copies as there are runs of them. */
function copyKept(view: RecordBatchView, dropped: Uint8Array | undefined): Uint8Array {
  const { plain } = view;
  if (dropped === undefined) return plain;
  const out = new Uint8Array(plain.length);
  const cursor = new VarintCursor(plain);
  let to = 0;
  let runStart = 0;
  for (let record = 0; record < view.count; record++) {
    const from = cursor.position;
    const length = cursor.signed();
    cursor.position += length;
    if (!dropped[record]) continue;
    out.set(plain.subarray(runStart, from), to);
    to += from - runStart;
    runStart = cursor.position;
  }
  out.set(plain.subarray(runStart, cursor.position), to);
  return out.subarray(0, to + cursor.position - runStart);
}

/** The kept records, each put together from its old and new parts. */
function writeKept(view: RecordBatchView, changes: RecordChanges, rebased: boolean): Uint8Array {
  const { plain, fields, count } = view;
  const { dropped, keys, values, bytes = nothing } = changes;
  // A changed record may grow by its length fields and its time, besides its parts.
  const out = new Uint8Array(plain.length + partBytes(keys, count) + partBytes(values, count) + 25 * count);
  const cursor = new VarintCursor(plain);
  let to = 0;
  for (let record = 0; record < count; record++) {
    const length = cursor.signed();
    const body = cursor.position;
    const end = body + length;
    cursor.position = end;
    if (dropped?.[record]) continue;
    const word = record * fieldsPerRecord;
    const deltaStart = skipVarint(plain, body + 1);
    const deltaEnd = skipVarint(plain, deltaStart);
    const time = rebased ? view.timestamp(record) - changes.deleteHorizonMs! : 0;
    const timeBytes = rebased ? varlongSize(time) : deltaStart - body - 1;
    const key = place(plain, bytes, fields[word + 1]!, fields[word + 2]!, keys, record);
    const value = place(plain, bytes, fields[word + 3]!, fields[word + 4]!, values, record);
    const rest = fields[word + 3]! + Math.max(fields[word + 4]!, 0);
    const size = 1 + timeBytes + deltaEnd - deltaStart + sizeOf(key) + sizeOf(value) + end - rest;
    to = writeVarint(out, to, size);
    out[to++] = plain[body]!;
    if (rebased) to = writeVarlong(out, to, time);
    else to = copy(out, to, plain, body + 1, deltaStart);
    to = copy(out, to, plain, deltaStart, deltaEnd);
    to = writePart(out, to, key);
    to = writePart(out, to, value);
    to = copy(out, to, plain, rest, end);
  }
  return out.subarray(0, to);
}

function partBytes(spans: Int32Array | undefined, count: number): number {
  let bytes = 0;
  if (spans !== undefined)
    for (let record = 0; record < count; record++)
      if (spans[record * 2]! >= 0) bytes += spans[record * 2 + 1]! - spans[record * 2]!;
  return bytes;
}

interface Part {
  source: Uint8Array;
  start: number;
  /** -1: null. */
  length: number;
}

function place(
  plain: Uint8Array,
  bytes: Uint8Array,
  start: number,
  length: number,
  spans: Int32Array | undefined,
  record: number,
): Part {
  const begin = spans === undefined ? keptPart : spans[record * 2]!;
  if (begin === keptPart) return { source: plain, start, length };
  if (begin === nullPart) return { source: bytes, start: 0, length: -1 };
  return { source: bytes, start: begin, length: spans![record * 2 + 1]! - begin };
}

function sizeOf(part: Part): number {
  return varintSize(part.length) + Math.max(part.length, 0);
}

function writePart(out: Uint8Array, position: number, { source, start, length }: Part): number {
  const at = writeVarint(out, position, length);
  return length < 0 ? at : copy(out, at, source, start, start + length);
}

function copy(out: Uint8Array, to: number, source: Uint8Array, start: number, end: number): number {
  // A call costs more than a few bytes do.
  if (end - start > 32) out.set(source.subarray(start, end), to);
  else for (let at = start, into = to; at < end; at++, into++) out[into] = source[at]!;
  return to + end - start;
}

function skipVarint(bytes: Uint8Array, position: number): number {
  let at = position;
  while (bytes[at]! >= 0x80) at++;
  return at + 1;
}
