/** DuckDB's tables as the catalog has them: made, altered, dropped, and put right at a start. */
import type { Logger } from "../base/log.ts";
import { SqlError } from "../base/sql_error.ts";
import type { TopicEntry } from "../catalog/catalog.ts";
import type { TableDefinition } from "../catalog/entries.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { quoteIdentifier, quoteText } from "../sql/types.ts";
import { engineStatement } from "./describe.ts";
import { cellsOf, run } from "./engine_calls.ts";
import type { Table } from "./table.ts";
import { quotedTable } from "./table_name.ts";

export function dropStatements(table: Table): string[] {
  return [
    `DROP TABLE IF EXISTS ${quotedTable(table.definition)}`,
    `DELETE FROM _rowlog.cursors WHERE topic_id = ${quoteText(table.topic.id)}`,
    `DELETE FROM _rowlog.table_versions WHERE topic_id = ${quoteText(table.topic.id)}`,
    `DELETE FROM _rowlog.unfolded WHERE topic_id = ${quoteText(table.topic.id)}`,
    ...(table.definition.key ? [`DELETE FROM _rowlog.key_homes WHERE topic_id = ${quoteText(table.topic.id)}`] : []),
    ...(table.definition.sequenceBy
      ? [`DELETE FROM _rowlog.deleted_sequences WHERE topic_id = ${quoteText(table.topic.id)}`]
      : []),
  ];
}

/** Statements that make DuckDB's table of a new topic, with the cursors that tell it from a leftover. */
export async function makeInEngine(engine: SqlEngine, topic: Pick<TopicEntry, "id" | "table">): Promise<void> {
  await run(engine, await engineStatement(engine, topic.table!));
  const version = topic.table!.alterations?.length ?? 0;
  await run(
    engine,
    `DELETE FROM _rowlog.unfolded WHERE topic_id = ${quoteText(topic.id)}`,
    versionStatement(topic.id, version),
  );
  await engine.apply({ inserts: [], cursors: [{ topicId: topic.id, partition: 0, nextOffset: 0 }] });
}

function versionStatement(topicId: string, version: number): string {
  return `INSERT OR REPLACE INTO _rowlog.table_versions VALUES (${quoteText(topicId)}, ${version})`;
}

/** What ALTER TABLE does to DuckDB's table: the statements and the version that they lead to. */
export function alterationStatements(topicId: string, { alterations = [] }: TableDefinition, from: number): string[] {
  return [...alterations.slice(from).flat(), versionStatement(topicId, alterations.length)];
}

/** Does the ALTER TABLEs that the catalog has and DuckDB, after a crash between the two, has not. */
export async function catchUpAlterations(
  engine: SqlEngine,
  { topic, definition }: Pick<Table, "topic" | "definition">,
): Promise<void> {
  const rows = await cellsOf(
    engine,
    `SELECT version FROM _rowlog.table_versions WHERE topic_id = ${quoteText(topic.id)}`,
  );
  const version = (rows[0]?.[0] as number | undefined) ?? 0;
  if (version === (definition.alterations?.length ?? 0)) return;
  await engine.apply({ inserts: [], cursors: [], statements: alterationStatements(topic.id, definition, version) });
}

/** Makes DuckDB's tables agree with the catalog's: leftovers go, missing ones are made and then filled from their logs. */
export async function reconcile(engine: SqlEngine, tables: Iterable<Table>, logger: Logger): Promise<void> {
  const found = await cellsOf(
    engine,
    "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'rowlog' AND schema_name <> '_rowlog' AND NOT temporary",
  );
  const left = new Map(
    found.map(([schema, name]) => [`${schema}.${name}`, { schema: schema as string, name: name as string }]),
  );
  const known = new Set((await engine.cursors()).map((cursor) => cursor.topicId));
  const wanted = [...tables];
  const missing: Table[] = [];
  for (const table of wanted) {
    const key = `${table.definition.schema}.${table.definition.name}`;
    if (left.has(key) && known.has(table.topic.id)) {
      left.delete(key);
      await catchUpAlterations(engine, table);
    } else missing.push(table);
    known.delete(table.topic.id);
  }
  for (const name of left.values()) {
    logger.info("removing a table that is not in the catalog", { table: quotedTable(name) });
    await run(engine, `DROP TABLE IF EXISTS ${quotedTable(name)}`);
  }
  for (const topicId of known) await run(engine, `DELETE FROM _rowlog.cursors WHERE topic_id = ${quoteText(topicId)}`);
  for (const table of missing) {
    logger.info("rebuilding a table from its log", { table: table.topic.name });
    await run(engine, `CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(table.definition.schema)}`);
    await run(engine, `DELETE FROM _rowlog.cursors WHERE topic_id = ${quoteText(table.topic.id)}`);
    await makeInEngine(engine, table.topic);
  }
}

/** A database that cannot be opened holds up SQL only; what to do about it is for a person to decide. */
export function withWayOut(error: unknown): never {
  if (!(error instanceof SqlError) || error.sqlstate !== "58030") throw error;
  const wayOut =
    "to have the tables made anew from their logs, stop the node, move tables.duckdb and what begins so out of the lake, and start it (rows whose records retention has removed are only in that file)";
  throw new SqlError(error.sqlstate, `${error.message}; ${wayOut}`);
}
