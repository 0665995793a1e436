/**
 * The way of a produced batch through its table: decoded once, checked, written anew where the table stores it differently. The columns
 * that this builds travel with the batch to the applier.
 */
import { BufferPool } from "../base/buffer_pool.ts";
import { limits } from "../base/limits.ts";
import type { Codec } from "../hotpath/codecs.ts";
import type { BatchHeader } from "../protocol/records/batch.ts";
import { decodeBatch, type RecordBatchView } from "../protocol/records/decode.ts";
import { recompress } from "../protocol/records/encode.ts";
import { RecordErrors } from "../protocol/records/record_errors.ts";
import { changesOf } from "./keyed/change_batch.ts";
import { needsNewRecords, rewriteBatch, rewriteChanges } from "./rewrite.ts";
import type { DecodedBatch } from "./row_decoder.ts";
import type { MissingValue } from "./row_reader.ts";
import { type BatchDecoder, chunkOf, type RowChunk, type Table } from "./table.ts";

/** The part of ProducedBatch that is needed here. */
export interface BatchToIngest {
  bytes: Uint8Array;
  header: BatchHeader;
  /** The decompressed records, where the broker had to look at them. */
  plain?: Uint8Array;
  /** The records, where the broker walked them. */
  view?: RecordBatchView;
}

/** Decompressed batches and their indexes; what is not released is collected. */
export const viewPool = new BufferPool(limits.tableDecodePoolBytesMax);

/** Whoever is done with the view, and with what was made of it, may `release` it. */
export function viewBatch(batch: BatchToIngest): RecordBatchView {
  if (batch.view) return batch.view;
  const plain = batch.plain ? { plain: batch.plain } : {};
  return decodeBatch(batch.bytes, { checkCrc: false, pool: viewPool, ...plain });
}

/** Throws RecordErrors when a record is no row of the table. */
export function decodeForTable(
  table: Table,
  partition: number,
  view: RecordBatchView,
  missing: readonly MissingValue[] = table.missing,
  decoder: BatchDecoder = table.decoder,
): DecodedBatch {
  const decoded = decoder.decode(view, partition, missing);
  if (decoded.faultCount > 0) throw refusal(table, view.count, decoded.faultCount, decoded.faults);
  return decoded;
}

export function refusal(
  table: Table,
  count: number,
  faultCount: number,
  faults: readonly { index: number; message: string }[],
): RecordErrors {
  const first = faults[0]!;
  const of = count === 1 ? "the record" : `${faultCount} of ${count} records`;
  const message = `table "${table.topic.name}" refuses ${of}: ${count === 1 ? "" : `record ${first.index}: `}${first.message}`;
  return new RecordErrors("INVALID_RECORD", message, faults);
}

/** The bytes to append: the produced ones where nothing changed. `codec`, `level`: the topic's compression, or the producer's own. */
export function batchToLog(
  batch: BatchToIngest,
  view: RecordBatchView,
  decoded: DecodedBatch,
  codec: Codec | "producer",
  level?: number,
): Uint8Array {
  const wanted = codec === "producer" ? (batch.header.codecId as Codec) : codec;
  const changes = changesOf(decoded);
  if (changes !== undefined && needsNewRecords(changes)) return rewriteChanges(view, changes, wanted, level);
  if (decoded.newValues !== undefined) return rewriteBatch(view, decoded, wanted, level);
  return wanted === batch.header.codecId ? batch.bytes : recompress(batch.bytes, wanted, level, view.plain);
}

/** The rows of a batch whose records were changed for the log: read once more where the table has a column of the record's key. */
export function asLogged(table: Table, partition: number, bytes: Uint8Array, decoded: DecodedBatch): DecodedBatch {
  if (!table.hasKeyOfRecord) return decoded;
  return table.logDecoder.decode(decodeBatch(bytes, { checkCrc: false }), partition, table.missingInLog);
}

/**
 * Rows of a batch that is in the log already: what replaces chunks that the applier has not, or no longer. `onFault` hears of records that
 * are no rows (none was ever acknowledged, so only a damaged or foreign log has them); they are left out.
 */
export function chunkFromLog(
  table: Table,
  partition: number,
  bytes: Uint8Array,
  onFault: (offset: number, message: string) => void,
): RowChunk {
  const view = decodeBatch(bytes, { checkCrc: false, pool: viewPool });
  const { header } = view;
  const baseOffset = header.baseOffset;
  const nextOffset = baseOffset + header.lastOffsetDelta + 1;
  if (header.isControl) return { baseOffset, nextOffset, rows: 0, columns: [], bytes: 0 };
  const decoded = table.logDecoder.decode(view, partition, table.missingInLog);
  for (const fault of decoded.faults) onFault(view.offset(fault.index), fault.message);
  view.release();
  return chunkOf(decoded, baseOffset, nextOffset);
}
