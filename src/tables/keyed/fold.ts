/**
 * Folds the changes of several batches of one table, in order, to one for each key: the last one.
 *
 * Keys are told apart by their bytes, in a hash table of record numbers: no object for a key or a record.
 */
import type { ColumnChunk } from "../arrow/stream.ts";
import type { Vector } from "../arrow/vectors.ts";
import { isDelete, isHole, type KeyedChunk, keyTextWords } from "./change_batch.ts";

export interface ChunkToFold extends ColumnChunk {
  keyed: KeyedChunk;
}

export interface Folded {
  /** The rows that stay. */
  rows: ColumnChunk[];
  /** The keys that are deleted: values of the key's columns. */
  gone: ColumnChunk[];
}

/** `newColumns`, `newKeyColumns`: empty vectors of the table's columns, and of its key's, for so many values. */
export function foldChunks(
  chunks: readonly ChunkToFold[],
  newColumns: (capacity: number) => Vector[],
  newKeyColumns: (capacity: number) => Vector[],
): Folded {
  const overwritten = findOverwritten(chunks);
  const folded: Folded = { rows: [], gone: [] };
  let from = 0;
  for (const { rows, columns, keyed } of chunks) {
    const { records, rowOf, gone, deletes } = keyed;
    const keptRows = new Int32Array(rows);
    const keptDeletes = new Int32Array(deletes);
    let rowCount = 0;
    let deleteCount = 0;
    let nextDelete = 0;
    for (let record = 0; record < records; record++) {
      const row = rowOf[record]!;
      const stays = overwritten[from + record] === 0;
      if (row >= 0) {
        if (stays) keptRows[rowCount++] = row;
      } else if (row === isDelete) {
        if (stays) keptDeletes[deleteCount++] = nextDelete;
        nextDelete++;
      }
    }
    from += records;
    take(folded.rows, columns, rows, keptRows, rowCount, newColumns);
    take(folded.gone, gone, deletes, keptDeletes, deleteCount, newKeyColumns);
  }
  return folded;
}

function take(
  into: ColumnChunk[],
  columns: readonly Vector[],
  count: number,
  kept: Int32Array,
  keptCount: number,
  newVectors: (capacity: number) => Vector[],
): void {
  if (keptCount === 0) return;
  if (keptCount === count) {
    into.push({ columns, rows: count });
    return;
  }
  const vectors = newVectors(keptCount);
  for (let i = 0; i < vectors.length; i++) vectors[i]!.appendRows(columns[i]!, kept, keptCount);
  into.push({ columns: vectors, rows: keptCount });
}

/** A byte a record of all chunks: 1 where a later one has the same key. */
function findOverwritten(chunks: readonly ChunkToFold[]): Uint8Array {
  let total = 0;
  for (const { keyed } of chunks) total += keyed.records;
  const overwritten = new Uint8Array(total);
  let size = 16;
  while (size < total * 2) size *= 2;
  /** Numbers of records from 1 on, 0: none. */
  const slots = new Int32Array(size);
  const chunkOf = new Int32Array(chunks.length > 1 ? total : 0);
  const firsts: number[] = [];
  let number = 0;
  for (const [index, { keyed }] of chunks.entries()) {
    firsts.push(number);
    const { words, text } = keyed.keys;
    const bytes = text.bytes;
    for (let record = 0; record < keyed.records; record++, number++) {
      if (chunks.length > 1) chunkOf[number] = index;
      if (keyed.rowOf[record] === isHole) continue;
      const word = record * keyTextWords;
      const start = words[word]!;
      const length = words[word + 1]! - start;
      const hash = words[word + 2]!;
      for (let slot = hash & (size - 1); ; slot = (slot + 1) & (size - 1)) {
        const other = slots[slot]! - 1;
        if (other >= 0) {
          const there = chunks.length > 1 ? chunkOf[other]! : 0;
          const { keys } = chunks[there]!.keyed;
          const at = (other - firsts[there]!) * keyTextWords;
          if (keys.words[at + 2] !== hash || keys.words[at + 1]! - keys.words[at]! !== length) continue;
          if (!sameBytes(bytes, start, keys.text.bytes, keys.words[at]!, length)) continue;
          overwritten[other] = 1;
        }
        slots[slot] = number + 1;
        break;
      }
    }
  }
  return overwritten;
}

function sameBytes(one: Uint8Array, from: number, other: Uint8Array, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (one[from + i] !== other[at + i]) return false;
  return true;
}
