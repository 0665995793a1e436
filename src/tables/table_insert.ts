/** Chunks of rows as one insert for the SQL engine. */
import type { ArrowInsert } from "../sql/messages.ts";
import { encodeChunks } from "./arrow/stream.ts";
import type { RowChunk, Table } from "./table.ts";

/**
 * One insert of all chunks: merged, because DuckDB takes few large batches far faster than many small ones. `allocate`: where the rows go,
 * which must stay as it is until the engine has taken them.
 */
export function insertOf(
  table: Table,
  chunks: readonly RowChunk[],
  allocate: (length: number) => Uint8Array = (length) => new Uint8Array(length),
): ArrowInsert {
  const { schema, name } = table.definition;
  const arrow = encodeChunks(table.schema.arrowSchema, chunks, allocate);
  const staging = { columns: table.schema.columns.map((column) => column.name), select: table.schema.select };
  return table.insertsDirectly ? { schema, table: name, arrow } : { schema, table: name, arrow, staging };
}
