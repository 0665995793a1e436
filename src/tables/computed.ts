/**
 * What only DuckDB can decide about a batch, asked before it is acknowledged: defaults that are computed for each row, and CHECK.
 *
 * The values that DuckDB computes become JSON by the one rule of rows, and are then read as if they had been produced: there is one way
 * into a table, and what is logged is what is stored.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { SqlError } from "../base/sql_error.ts";
import type { TableDefinition } from "../catalog/entries.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import type { RecordFault } from "../protocol/records/record_errors.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { quoteIdentifier } from "../sql/types.ts";
import { encodeStream, stagedType } from "./arrow/stream.ts";
import type { Vector } from "./arrow/vectors.ts";
import { defaultValues } from "./describe.ts";
import { run } from "./engine_calls.ts";
import { decodeForTable, refusal } from "./ingest.ts";
import { changesOf, rowRecords } from "./keyed/change_batch.ts";
import type { DecodedBatch } from "./row_decoder.ts";
import type { MissingValue } from "./row_reader.ts";
import type { BatchDecoder, Table } from "./table.ts";

/** Batches are staged one at a time: the staging tables are shared. */
let staging: Promise<unknown> = Promise.resolve();

/** Throws RecordErrors when a row fails a CHECK. `decoded` lacks the computed defaults. */
export async function ingestThroughEngine(
  engine: SqlEngine,
  table: Table,
  partition: number,
  view: RecordBatchView,
  decoded: DecodedBatch,
  decoder?: BatchDecoder,
): Promise<DecodedBatch> {
  try {
    return await askEngine(engine, table, partition, view, decoded, decoder);
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    // The engine's own trouble passes: clients try again. Else it is the expression's, which no retry will help.
    if (isEngineTrouble(error)) throw new KafkaError("KAFKA_STORAGE_ERROR", error.message);
    throw new KafkaError("INVALID_RECORD", `table "${table.topic.name}" refuses the batch: ${error.message}`);
  }
}

function isEngineTrouble({ sqlstate }: SqlError): boolean {
  return /^(53|57|58|XX)/.test(sqlstate);
}

async function askEngine(
  engine: SqlEngine,
  table: Table,
  partition: number,
  view: RecordBatchView,
  decoded: DecodedBatch,
  decoder?: BatchDecoder,
): Promise<DecodedBatch> {
  let rows = decoded;
  if (decoded.missing !== undefined) {
    const missing: MissingValue[] = [...table.missing];
    for (const [field, count] of decoded.missing) missing[field] = await computeDefaults(engine, table, field, count);
    rows = decodeForTable(table, partition, view, missing, decoder);
  }
  if (!table.needsEngine) return rows;
  const checked = staging.then(() => checkRows(engine, table, rows));
  staging = checked.catch(() => undefined);
  const faults = recordsOf(rows, await checked);
  if (faults.length > 0) throw refusal(table, view.count, faults.length, faults);
  return rows;
}

/** The faults of rows as those of their records. */
function recordsOf(rows: DecodedBatch, faults: RecordFault[]): RecordFault[] {
  const changes = changesOf(rows);
  if (changes === undefined) return faults;
  const records = rowRecords(changes);
  return faults.map(({ index, message }) => ({ index: records[index]!, message }));
}

async function computeDefaults(engine: SqlEngine, table: Table, field: number, count: number): Promise<MissingValue> {
  const column = table.schema.fields[field]!;
  const encoder = new TextEncoder();
  const isDrawn = /nextval/i.test(column.default!);
  const values = (await defaultValues(engine, column, count)).map((json) => encoder.encode(json));
  // A sequence must not give a value again after a power loss, once a record with it is acknowledged.
  if (isDrawn) await engine.sync();
  return { kind: "computed", values };
}

/** Staging tables are in a database of their own, in memory. */
const stagingDatabase = "_topics";

async function checkRows(engine: SqlEngine, table: Table, decoded: DecodedBatch): Promise<RecordFault[]> {
  const stagingName = `_check ${table.topic.id}`;
  const target = `${stagingDatabase}.${quoteIdentifier(stagingName)}`;
  const { arrow, select, columns } = table.schema;
  const types = arrow.map(({ name, type }) => `${quoteIdentifier(name)} ${stagedType(type)}`);
  await run(engine, `CREATE OR REPLACE TABLE ${target} (${types.join(", ")})`);
  try {
    const bytes = encodeStream(table.schema.arrowSchema, complete(table, decoded), decoded.rows);
    await engine.apply({ inserts: [{ schema: stagingDatabase, table: stagingName, arrow: bytes }], cursors: [] });
    const names = select.map((expression, i) => `${expression} AS ${quoteIdentifier(columns[i]!.name)}`);
    const generated = (table.definition.generated ?? []).map(
      ({ name, expression }) => `, ${expression} AS ${quoteIdentifier(name)}`,
    );
    const staged = `(SELECT rowid AS _rowlog_row, ${names.join(", ")} FROM ${target}) AS ${quoteIdentifier(table.definition.name)}`;
    // A CHECK may name its table.
    const rows = `(SELECT *${generated.join("")} FROM ${staged}) AS ${quoteIdentifier(table.definition.name)}`;
    return await findFaults(engine, table, rows, decoded.rows);
  } finally {
    await run(engine, `DROP TABLE IF EXISTS ${target}`);
  }
}

/** All columns, NULL for the offsets that are not known yet; no CHECK may use them. */
function complete(table: Table, decoded: DecodedBatch): Vector[] {
  return decoded.columns.map((column, i) => {
    if (column.length === decoded.rows) return column;
    const nulls = table.newColumns(decoded.rows)[i]!;
    while (nulls.length < decoded.rows) nulls.pushNull();
    return nulls;
  });
}

/** SQL that is true for a row that must be refused, and what is said of it. */
interface RowTest {
  name: string;
  sql: string;
}

function testsOf({ checks, generated = [] }: TableDefinition): RowTest[] {
  return [
    ...checks.map((check) => ({ name: `CHECK (${check})`, sql: `(${check}) IS FALSE` })),
    // A hash is never NULL: this only computes the value, which must not fail when the row is read.
    ...generated.map(({ name }) => ({
      name: `generated column "${name}"`,
      sql: `hash(${quoteIdentifier(name)}) IS NULL`,
    })),
  ];
}

async function findFaults(engine: SqlEngine, table: Table, rows: string, count: number): Promise<RecordFault[]> {
  const tests = testsOf(table.definition);
  const sql = tests.map((test) => test.sql);
  const faults: RecordFault[] = [];
  try {
    const failed = await engine.query(
      `SELECT _rowlog_row, ${sql.join(", ")} FROM ${rows} WHERE ${sql.join(" OR ")} ORDER BY 1`,
    );
    for (const [row, ...results] of failed.values())
      faults.push({ index: row as number, message: `${tests[results.indexOf(true)]?.name} is false` });
  } catch (error) {
    if (!(error instanceof SqlError) || isEngineTrouble(error)) throw error;
    // A test that fails with an error refuses the row that makes it: which one, only trying tells.
    for (let row = 0; row < count; row++) {
      const fault = await tryRow(engine, tests, rows, row);
      if (fault !== undefined) faults.push({ index: row, message: fault });
    }
  }
  return faults;
}

async function tryRow(
  engine: SqlEngine,
  tests: readonly RowTest[],
  rows: string,
  row: number,
): Promise<string | undefined> {
  for (const { name, sql } of tests) {
    try {
      const found = await engine.query(`SELECT ${sql} FROM ${rows} WHERE _rowlog_row = ${row}`);
      if (found.values()[0]![0] === true) return `${name} is false`;
    } catch (error) {
      if (!(error instanceof SqlError) || isEngineTrouble(error)) throw error;
      return `${name} cannot be evaluated: ${error.message}`;
    }
  }
  return undefined;
}
