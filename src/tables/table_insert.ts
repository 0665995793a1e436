/** Chunks of rows as one insert for the SQL engine. */
import type { ArrowInsert } from "../sql/messages.ts";
import { encodeStream } from "./arrow/stream.ts";
import type { RowChunk, Table } from "./table.ts";

/** One insert of all chunks: merged, because DuckDB takes few large batches far faster than many small ones. */
export function insertOf(table: Table, chunks: readonly RowChunk[]): ArrowInsert {
  let rows = 0;
  for (const chunk of chunks) rows += chunk.rows;
  let { columns } = chunks[0]!;
  if (chunks.length > 1) {
    columns = table.newColumns(rows);
    for (const chunk of chunks)
      for (let i = 0; i < columns.length; i++) columns[i]!.append(chunk.columns[i]!, 0, chunk.rows);
  }
  const { schema, name } = table.definition;
  const arrow = encodeStream(table.schema.arrowSchema, columns, rows);
  const staging = { columns: table.schema.columns.map((column) => column.name), select: table.schema.select };
  return table.insertsDirectly ? { schema, table: name, arrow } : { schema, table: name, arrow, staging };
}
