/** Chunks of rows as one insert for the SQL engine. */
import type { ArrowInsert } from "../sql/messages.ts";
import { quoteText } from "../sql/types.ts";
import { type ColumnChunk, encodeChunks } from "./arrow/stream.ts";
import type { Vector } from "./arrow/vectors.ts";
import { type ChunkToFold, foldChunks } from "./keyed/fold.ts";
import { textLiteral } from "./keyed/stored_rows.ts";
import type { RowChunk, Table } from "./table.ts";

type Allocate = (length: number) => Uint8Array;

/**
 * One insert of all chunks: merged, because DuckDB takes few large batches far faster than many small ones. `allocate`: where the rows go,
 * which must stay as it is until the engine has taken them.
 */
export function insertOf(
  table: Table,
  chunks: readonly RowChunk[],
  allocate: Allocate = (length) => new Uint8Array(length),
): ArrowInsert {
  const { schema, name } = table.definition;
  const staging = { columns: table.schema.columns.map((column) => column.name), select: table.schema.select };
  if (table.key !== undefined) {
    const made: Vector[][] = [];
    const folded = foldChunks(
      chunks as readonly ChunkToFold[],
      (capacity) => {
        const columns = table.newColumns(capacity);
        made.push(columns);
        return columns;
      },
      (capacity) => table.key!.newVectors(capacity),
    );
    const arrow = encoded(table.schema.arrowSchema, folded.rows, allocate);
    for (const columns of made) table.schema.sets.give(columns);
    return {
      schema,
      table: name,
      arrow,
      staging,
      key: {
        places: table.key.columns,
        gone: encoded(table.key.arrowSchema, folded.gone, allocate),
      },
    };
  }
  const arrow = encodeChunks(table.schema.arrowSchema, chunks, allocate);
  return table.insertsDirectly ? { schema, table: name, arrow } : { schema, table: name, arrow, staging };
}

/** Empty for no rows. */
function encoded(arrowSchema: Uint8Array, chunks: readonly ColumnChunk[], allocate: Allocate): Uint8Array {
  return chunks.length === 0 ? new Uint8Array(0) : encodeChunks(arrowSchema, chunks, allocate);
}

/** Keeps the sequences of deleted keys, in the order in which they were deleted. */
export function sequenceStatements(table: Table, chunks: readonly RowChunk[]): string[] {
  if (table.definition.sequenceBy === undefined) return [];
  const last = new Map<string, string | undefined>();
  for (const { keyed } of chunks) for (const [key, sequence] of keyed?.sequences ?? []) last.set(key, sequence);
  return deletedSequences(table.topic.id, last);
}

/** `last`: by key, the sequence of the row that was deleted, or undefined where the key has a row or no sequence is known. */
export function deletedSequences(topicId: string, last: ReadonlyMap<string, string | undefined>): string[] {
  if (last.size === 0) return [];
  const topic = quoteText(topicId);
  const keys = [...last.keys()].map(textLiteral).join(", ");
  const rows = [...last].flatMap(([key, sequence]) =>
    sequence === undefined ? [] : [`(${topic}, ${textLiteral(key)}, ${textLiteral(sequence)})`],
  );
  const removal = `DELETE FROM _rowlog.deleted_sequences WHERE topic_id = ${topic} AND key IN (${keys})`;
  return rows.length === 0 ? [removal] : [removal, `INSERT INTO _rowlog.deleted_sequences VALUES ${rows.join(", ")}`];
}
