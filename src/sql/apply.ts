/**
 * The applier's transaction: rows of several batches and the cursors behind them, all or nothing. It makes no sync: the records are
 * durable in the log, and what DuckDB loses in a crash is applied again from the cursor that it lost too.
 */
import type { EngineCore } from "./engine_core.ts";
import type { ApplyRequest, ArrowInsert, Cursor } from "./messages.ts";
import { quoteIdentifier, quoteText } from "./types.ts";

export function applyInserts(core: EngineCore, request: ApplyRequest): void {
  // Zero rows upset the library for later calls.
  const inserts = request.inserts.filter((insert) => insert.arrow.length > 0 || hasGone(insert));
  core.files.takeFailure();
  core.files.checkSpace(spaceFor(inserts));
  try {
    // Staged before the transaction and in the in-memory database: rows go into the write-ahead log once, not twice.
    inserts.forEach((insert, i) => {
      if (insert.staging && insert.arrow.length > 0) stage(core, insert.arrow, stagingTable(i));
      if (hasGone(insert)) stage(core, insert.key!.gone, goneTable(i));
    });
    core.write("BEGIN TRANSACTION");
    inserts.forEach((insert, i) => {
      insertRows(core, insert, i);
    });
    for (const statement of request.statements ?? []) core.write(statement);
    writeCursors(core, request.cursors);
    core.write("COMMIT");
  } catch (error) {
    rollBack(core);
    throw core.files.commitFault(error);
  } finally {
    inserts.forEach((insert, i) => {
      if (insert.staging) core.write(`DROP TABLE IF EXISTS ${stagingDatabase}.${stagingTable(i)}`);
      if (hasGone(insert)) core.write(`DROP TABLE IF EXISTS ${stagingDatabase}.${goneTable(i)}`);
    });
  }
}

/** Bytes that DuckDB's log may grow by: more than the rows have as they come. */
export function spaceFor(inserts: readonly { arrow: Uint8Array }[]): number {
  return 64 * 1024 + 2 * inserts.reduce((sum, { arrow }) => sum + arrow.length, 0);
}

const stagingDatabase = "_topics";

function hasGone({ key }: ArrowInsert): boolean {
  return key !== undefined && key.gone.length > 0;
}

function stage(core: EngineCore, arrow: Uint8Array, name: string): void {
  core.calls.insertArrow(core.writer, arrow, { schema: stagingDatabase, name, create: true });
}

/** Keys whose rows go. */
function goneTable(insert: number): string {
  return `_gone_${insert}`;
}

function stagingTable(insert: number): string {
  return `_staging_${insert}`;
}

export function readCursors(core: EngineCore): Cursor[] {
  return core
    .rows("SELECT topic_id, partition, next_offset FROM _rowlog.cursors ORDER BY ALL")
    .map(([topicId, partition, nextOffset]) => ({
      topicId: topicId as string,
      partition: partition as number,
      nextOffset: Number(nextOffset),
    }));
}

/**
 * A commit that failed has ended its transaction already. The connection is given up: after a malformed stream of rows the library would
 * take the next one for its continuation.
 */
function rollBack(core: EngineCore): void {
  try {
    core.write("ROLLBACK");
  } catch {
    // No transaction is open: nothing is left to undo.
  }
  core.renewWriter();
}

function insertRows(core: EngineCore, insert: ArrowInsert, place: number): void {
  const schema = insert.schema ?? "main";
  if (!insert.staging) {
    core.calls.insertArrow(core.writer, insert.arrow, { schema, name: insert.table, create: false });
    return;
  }
  const target = `${quoteIdentifier(schema)}.${quoteIdentifier(insert.table)}`;
  const columns = insert.staging.columns.map(quoteIdentifier).join(", ");
  const select = insert.staging.select.join(", ");
  if (insert.key) deleteReplaced(core, insert, target, place);
  if (insert.arrow.length > 0)
    core.write(`INSERT INTO ${target} (${columns}) SELECT ${select} FROM ${stagingDatabase}.${stagingTable(place)}`);
}

/** Rows that are written anew or deleted go first. */
function deleteReplaced(core: EngineCore, { arrow, staging, key }: ArrowInsert, target: string, place: number): void {
  const select = key!.places.map((column, i) => `${staging!.select[column]} AS k${i}`).join(", ");
  const sources: string[] = [];
  if (arrow.length > 0) sources.push(`SELECT ${select} FROM ${stagingDatabase}.${stagingTable(place)}`);
  if (key!.gone.length > 0) sources.push(`SELECT ${select} FROM ${stagingDatabase}.${goneTable(place)}`);
  const same = key!.places.map((column, i) => `t.${quoteIdentifier(staging!.columns[column]!)} = s.k${i}`);
  core.write(`DELETE FROM ${target} AS t USING (${sources.join(" UNION ALL ")}) AS s WHERE ${same.join(" AND ")}`);
}

function writeCursors(core: EngineCore, cursors: readonly Cursor[]): void {
  if (cursors.length === 0) return;
  const rows = cursors.map(
    ({ topicId, partition, nextOffset }) => `(${quoteText(topicId)}, ${partition}, ${nextOffset})`,
  );
  core.write(`INSERT OR REPLACE INTO _rowlog.cursors VALUES ${rows.join(", ")}`);
}
