/** What a produced batch is for its table: rows, deletes of keys, and records that are neither. */
import type { ByteSink } from "../arrow/bytes.ts";
import type { Vector } from "../arrow/vectors.ts";
import type { DecodedBatch } from "../row_decoder.ts";

/** In place of a row's number: the record deletes its key, or is nothing for the table. */
export const isDelete = -1;
export const isHole = -2;

/** Words a record of KeyTexts.words: where its key begins and ends, and its hash. */
export const keyTextWords = 3;

/** The keys of a batch's records, as the log has them. */
export interface KeyTexts {
  text: ByteSink;
  words: Int32Array;
}

export interface ChangeBatch extends DecodedBatch {
  records: number;
  /** Offsets that the batch covers, and each record's place among them; absent when there is a record for each. */
  span: number;
  deltas: Int32Array | undefined;
  /** For each record its row among the columns, `isDelete` or `isHole`. */
  rowOf: Int32Array;
  keys: KeyTexts | undefined;
  /** 1 for each record whose own key is not that of `keys`. */
  writesKey: Uint8Array | undefined;
  /** Values of the key's columns of the deletes, in their order. */
  gone: readonly Vector[];
  deletes: number;
  holes: number;
  /** Holes by their reason. */
  skipped: Map<string, number> | undefined;
  /** Of a table with `sequence_by`: deleted keys by their texts, with the sequences of their rows where the log has them. */
  sequences: Map<string, string | undefined> | undefined;
  /** Records whose meaning depends on what the table holds: nothing else here counts then but faults. */
  needsTable: boolean;
}

export function changesOf(decoded: DecodedBatch): ChangeBatch | undefined {
  return "rowOf" in decoded ? (decoded as ChangeBatch) : undefined;
}

/** Each row's record. */
export function rowRecords({ rowOf, rows }: ChangeBatch): Int32Array {
  const records = new Int32Array(rows);
  for (let record = 0; record < rowOf.length; record++) if (rowOf[record]! >= 0) records[rowOf[record]!] = record;
  return records;
}

/** Each row's place among the batch's offsets. */
export function rowDeltas(changes: ChangeBatch): Int32Array {
  const records = rowRecords(changes);
  const { deltas } = changes;
  return deltas === undefined ? records : records.map((record) => deltas[record]!);
}

/** What the fold needs of a keyed table's batch, besides its rows. */
export interface KeyedChunk {
  /** All records, holes too. */
  records: number;
  rowOf: Int32Array;
  keys: KeyTexts;
  gone: readonly Vector[];
  deletes: number;
  sequences: ReadonlyMap<string, string | undefined> | undefined;
  bytes: number;
}

export function keyedChunk(changes: ChangeBatch | undefined): KeyedChunk | undefined {
  if (changes?.keys === undefined) return undefined;
  const { records, rowOf, keys, gone, deletes, sequences } = changes;
  let bytes = keys.text.length + records * 16;
  for (const vector of gone) bytes += vector.byteLength();
  return { records, rowOf, keys, gone, deletes, sequences, bytes };
}
