/** Small ways of using the SQL engine. */
import type { SqlEngine } from "../sql/engine.ts";

/** All rows of a small statement; see QueryResult.values. */
export async function cellsOf(engine: SqlEngine, sql: string): Promise<unknown[][]> {
  return (await engine.query(sql)).values();
}

/** Runs statements for their effect, without waiting for a sync: the catalog and the log are the truth, not DuckDB. */
export async function run(engine: SqlEngine, ...statements: string[]): Promise<void> {
  for (const sql of statements) await engine.query(sql, { durable: false });
}
