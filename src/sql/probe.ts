/**
 * A look at what statements would do: they run in a transaction that is always rolled back, so that neither the database nor its log has
 * anything of them.
 */
import { EngineFailure } from "./duckdb_library.ts";
import type { EngineCore } from "./engine_core.ts";
import { breaksEngine, sqlErrorOf } from "./sqlstate.ts";
import type { SqlValue } from "./values.ts";

/** The rows of each of `queries`, run behind `setup`. Throws SqlError with positions in the statement that failed. */
export function probe(core: EngineCore, setup: readonly string[], queries: readonly string[]): SqlValue[][][] {
  const connection = core.connect();
  const attempt = <T>(sql: string, run: () => T): T => {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof EngineFailure) || breaksEngine(error.message)) throw error;
      throw sqlErrorOf(error.message, sql);
    }
  };
  try {
    core.calls.run(connection, "BEGIN TRANSACTION");
    for (const sql of setup) attempt(sql, () => core.calls.run(connection, sql));
    return queries.map((sql) => attempt(sql, () => core.rows(sql, connection)));
  } finally {
    try {
      core.calls.run(connection, "ROLLBACK");
    } catch {
      // The failure has ended the transaction already.
    }
    core.calls.disconnect(connection);
  }
}
