/** Which statements may run, and what is said to the others. Told by DuckDB's tokens, never by a look at the text. */
import { SqlError } from "../base/sql_error.ts";
import type { Statement, StatementKind } from "../sql/statements.ts";

/** How a statement is carried out. */
export type Way =
  | "read"
  | "write"
  | "copy"
  | "begin"
  | "commit"
  | "rollback"
  | "define"
  | "create_table"
  | "drop_table"
  | "alter_table";

const ways: Partial<Record<StatementKind, Way>> = {
  select: "read",
  describe: "read",
  show: "read",
  summarize: "read",
  insert: "write",
  update: "write",
  delete: "write",
  merge: "write",
  truncate: "write",
  copy: "copy",
  begin: "begin",
  commit: "commit",
  rollback: "rollback",
  create_table: "create_table",
  drop_table: "drop_table",
  alter: "alter_table",
  comment: "define",
  create_view: "define",
  create_schema: "define",
  create_type: "define",
  create_macro: "define",
  create_sequence: "define",
  drop_view: "define",
  drop_schema: "define",
  drop_type: "define",
  drop_macro: "define",
  drop_sequence: "define",
};

const refusals: Partial<Record<StatementKind, string>> = {
  create_index: "CREATE INDEX is not available: DuckDB keeps minimum and maximum of each block by itself",
  drop_index: "DROP INDEX is not available: there are no indexes",
  use: "USE is not available: write schema.table",
};

/** Throws SqlError with the position in the whole text: 0A000 for what may not run, 42601 for what is no statement. */
export function wayOf(statement: Statement): Way {
  const position = statement.offset + 1;
  if (statement.temporary)
    throw new SqlError("0A000", "temporary tables and views are not available: make a table, or use WITH", position);
  if (statement.kind === "explain") {
    const explained = statement.explained === undefined ? undefined : ways[statement.explained];
    if (explained === "read") return "read";
    throw new SqlError("0A000", "EXPLAIN is available for queries only", position);
  }
  const way = ways[statement.kind];
  if (way !== undefined) return way;
  if (statement.kind === "other") {
    const found = statement.words[0] ?? statement.text.slice(0, 1);
    throw new SqlError("42601", `syntax error at or near "${found}": no statement begins so`, position);
  }
  const word = statement.words[0]?.toUpperCase() ?? "this statement";
  throw new SqlError("0A000", refusals[statement.kind] ?? `${word} is not available`, position);
}
