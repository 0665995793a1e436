/** Answers that are in memory already. */
import type { ResultColumn, ResultForm } from "../sql/messages.ts";
import type { ResultStream } from "../sql/result.ts";
import type { Placement } from "./writes/transaction.ts";

/** A result with the places of what its statement appended. */
export interface SqlResult extends ResultStream {
  /** Of a statement that wrote, and of COMMIT: where the records are. */
  written?: readonly Placement[];
}

/** The answer of a statement that has no rows. */
export function emptyResult(written?: readonly Placement[]): SqlResult {
  return rowsResult([], [], written);
}

export function rowsResult(
  columns: readonly ResultColumn[],
  rows: readonly string[],
  written?: readonly Placement[],
): SqlResult {
  return {
    columns,
    ...(written === undefined || written.length === 0 ? {} : { written }),
    async *rows() {
      if (rows.length > 0) yield rows;
    },
    // Who wants Arrow is refused before (execute.ts), but for statements without an answer.
    async *arrow() {},
    close() {},
  };
}

/** Reads a result to its end. */
export async function memoryResult(stream: ResultStream, form: ResultForm): Promise<SqlResult> {
  if (form === "arrow") {
    const chunks: Uint8Array[] = [];
    for await (const chunk of stream.arrow()) chunks.push(chunk);
    return {
      ...rowsResult(stream.columns, []),
      async *arrow() {
        yield* chunks;
      },
    };
  }
  const rows: string[] = [];
  for await (const chunk of stream.rows()) for (const row of chunk) rows.push(row);
  return rowsResult(stream.columns, rows);
}
