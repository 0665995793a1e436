/**
 * What a CREATE TABLE means, as DuckDB says: the table is made in a schema of our own, described from DuckDB's catalog, and dropped again.
 *
 * DuckDB-WASM knows JSON only as another name of VARCHAR, and forgets the name. Types are looked up in the table's schema first, so in that
 * schema `json` is an ENUM with one telling value, and columns that turn out to have it are JSON columns.
 */
import { SqlError } from "../base/sql_error.ts";
import type { ColumnDefinition, TableDefinition } from "../catalog/entries.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { type Token, wordOf } from "../sql/tokens.ts";
import { parseType, quoteIdentifier, quoteText, type SqlType, typeName } from "../sql/types.ts";
import type { SqlValue } from "../sql/values.ts";
import { type CreateTable, closing } from "./create_table.ts";
import { cellsOf } from "./engine_calls.ts";
import { compileType, storageType } from "./json/compile.ts";
import { JsonScanner } from "./json/scan.ts";
import { isRecordColumn } from "./record_columns.ts";
import { compileTable } from "./row_schema.ts";
import { checkKeyedOptions, type TableOptions } from "./table_options.ts";

/**
 * Where tables are made to be described, in a transaction that is rolled back: DuckDB 1.4 cannot replay a CREATE TYPE in a schema other
 * than main from its log, and a node killed after such a one could open its tables no more.
 */
const describeSchema = "_rowlog_describe";
const jsonMarker = "_rowlog json";

interface Described {
  key: string[] | undefined;
  columns: ColumnDefinition[];
  generated: { name: string; expression: string }[];
  checks: string[];
  sql: string;
}

/** Throws SqlError, with positions in the statement. One call at a time. */
export async function describeTable(
  engine: SqlEngine,
  create: CreateTable,
  options: Pick<TableOptions, "format" | "sequenceBy" | "unavailableValue"> = {},
): Promise<TableDefinition> {
  const { schema, name } = create;
  const described = await inSchemaOfItsOwn(engine, create);
  const columns = described.columns;
  if (columns.length === 0) throw new SqlError("42P16", "a table needs at least one column that is not generated");
  for (const column of columns)
    if (isRecordColumn(column.name) && column.default !== undefined)
      throw new SqlError("42P16", `column ${column.name} receives the record's own and cannot have a DEFAULT`);
  const definition: TableDefinition = {
    schema,
    name,
    sql: described.sql,
    columns,
    ...(described.generated.length > 0 ? { generated: described.generated } : {}),
    checks: described.checks,
    unique: [],
    ...(described.key ? { key: described.key } : {}),
    ...(options.format ? { format: options.format } : {}),
    ...(options.sequenceBy ? { sequenceBy: options.sequenceBy } : {}),
    ...(options.unavailableValue ? { unavailableValue: options.unavailableValue } : {}),
    raw: false,
  };
  const compiled = compileTable(definition);
  definition.raw = compiled.raw;
  checkKeyedOptions(definition);
  const computable = await constantTest(engine);
  for (const column of columns)
    if (column.default !== undefined && (await computable(column.default))) await fixDefault(engine, column);
  return definition;
}

async function inSchemaOfItsOwn(engine: SqlEngine, create: CreateTable): Promise<Described> {
  const head = `CREATE TABLE ${describeSchema}.${quoteIdentifier(create.name)} `;
  const where = `WHERE database_name = 'rowlog' AND schema_name = '${describeSchema}' AND table_name = ${quoteText(create.name)}`;
  const setup = [
    `CREATE SCHEMA ${describeSchema}`,
    `CREATE TYPE ${describeSchema}.json AS ENUM (${quoteText(jsonMarker)})`,
    head + create.columns,
  ];
  const queries = [
    `SELECT constraint_type, expression, constraint_column_names FROM duckdb_constraints() ${where} ORDER BY constraint_index`,
    `SELECT sql FROM duckdb_tables() ${where}`,
    `SELECT column_name, data_type, column_default FROM duckdb_columns() ${where} ORDER BY column_index`,
  ];
  try {
    const [constraints, texts, columns] = await engine.probe(setup, queries);
    const text = texts![0]![0] as string;
    return readDescription(create, constraints!, columns!, text, await engine.tokens(text));
  } catch (error) {
    throw moved(error, head.length, create.columnsOffset);
  }
}

/** An error in our text becomes one in the user's. */
function moved(error: unknown, from: number, to: number): unknown {
  if (!(error instanceof SqlError)) return error;
  const message = error.message.replaceAll(`${describeSchema}.`, "");
  const inside = error.position !== undefined && error.position > from;
  return new SqlError(error.sqlstate, message, inside ? error.position! - from + to : undefined);
}

function readDescription(
  create: CreateTable,
  constraints: readonly SqlValue[][],
  rows: readonly SqlValue[][],
  text: string,
  tokens: readonly Token[],
): Described {
  for (const [type, , columns] of constraints) refuseConstraint(type as string, columns as string[]);
  const generated = generatedColumns(tokens);
  // DuckDB keeps the spelling of each place; the columns' own counts.
  const key = keyColumns(constraints)?.map(
    (one) => rows.find(([name]) => (name as string).toLowerCase() === one.toLowerCase())![0] as string,
  );
  const columns = rows.map(
    ([name, type, byDefault]): ColumnDefinition => ({
      name: name as string,
      type: typeName(withJson(parseType(type as string))),
      notNull:
        (key ?? []).includes(name as string) ||
        constraints.some(([kind, , names]) => kind === "NOT NULL" && (names as string[]).includes(name as string)),
      ...(byDefault === null ? {} : { default: byDefault as string }),
    }),
  );
  const checks = constraints.filter(([kind]) => kind === "CHECK");
  for (const [, expression, names] of checks)
    if ((names as string[]).includes("_offset"))
      throw new SqlError(
        "0A000",
        `CHECK (${expression}) cannot use _offset, which is known only once the record is stored`,
      );
  const open = tokens.findIndex((token) => token.text === "(");
  const body = text
    .slice(tokens[open]!.start)
    .replace(/;\s*$/, "")
    .replaceAll(`ENUM(${quoteText(jsonMarker)})`, "VARCHAR");
  const sql = `CREATE TABLE ${quoteIdentifier(create.schema)}.${quoteIdentifier(create.name)}${body}`;
  const isGenerated = (column: ColumnDefinition) => generated.has(column.name);
  return {
    key,
    columns: columns.filter((column) => !isGenerated(column)),
    generated: columns.filter(isGenerated).map((column) => ({ name: column.name, expression: column.default! })),
    checks: checks.map(([, expression]) => expression as string),
    sql,
  };
}

function refuseConstraint(type: string, columns: readonly string[]): void {
  const on = `(${columns.join(", ")})`;
  if (type === "UNIQUE")
    throw new SqlError(
      "0A000",
      `UNIQUE ${on} is not available: a record can be checked against one key, the PRIMARY KEY`,
    );
  if (type === "FOREIGN KEY")
    throw new SqlError("0A000", `FOREIGN KEY ${on} is not available: records are checked one table at a time`);
}

/** The columns of the PRIMARY KEY in its order. */
function keyColumns(constraints: readonly SqlValue[][]): string[] | undefined {
  const key = constraints.find(([type]) => type === "PRIMARY KEY")?.[2] as string[] | undefined;
  const own = key?.find(isRecordColumn);
  if (own !== undefined)
    throw new SqlError(
      "0A000",
      `PRIMARY KEY (${key!.join(", ")}): ${own} receives the record's own and cannot be part of the key; declare the key's columns by name, they are found in the record's key and value`,
    );
  return key;
}

/**
 * The CREATE TABLE statement for DuckDB's table: the definition's without CHECKs and PRIMARY KEY. CHECKs are checked before a record is
 * acknowledged; checked once more when its row is applied, one that depends on the time (`seen < now()`) could refuse what was promised.
 * The key's index would cost several times what the rest of an upsert does (bench/upsert.ts), and keep the room of deleted rows for ever: who
 * writes to the table sees to it that a key has one row (src/tables/keyed/).
 */
export async function engineStatement(engine: SqlEngine, { sql, checks, key }: TableDefinition): Promise<string> {
  if (checks.length === 0 && key === undefined) return sql;
  const tokens = await engine.tokens(sql);
  const open = tokens.findIndex((token) => token.text === "(");
  const end = closing(tokens, open);
  const kept: string[] = [];
  let depth = 0;
  let first = open + 1;
  for (let i = open + 1; i <= end; i++) {
    const { kind, text } = tokens[i]!;
    if (kind !== "operator") continue;
    if (depth === 0 && (text === "," || i === end)) {
      const clause = withoutConstraint(sql, tokens, first, i, key ?? []);
      if (clause !== "") kept.push(clause);
      first = i + 1;
    } else if (text === "(" || text === "[" || text === "{") depth++;
    else if (text === ")" || text === "]" || text === "}") depth--;
  }
  return `${sql.slice(0, tokens[open]!.start)}(${kept.join(", ")})`;
}

/**
 * One clause of a table's list, tokens [first, end), without what DuckDB's table does without: empty for a constraint. Columns of the key are
 * NOT NULL, which DuckDB does not write where the key says it.
 */
function withoutConstraint(
  sql: string,
  tokens: readonly Token[],
  first: number,
  end: number,
  key: readonly string[],
): string {
  const text = (from: number, to: number) => sql.slice(tokens[from]!.start, tokens[to]!.start);
  const words = (at: number, one: string, two: string) => wordOf(tokens[at]) === one && wordOf(tokens[at + 1]) === two;
  // A column of such a name is in quotes.
  if (wordOf(tokens[first]) === "check" || words(first, "primary", "key")) return "";
  let depth = 0;
  let keyAt = -1;
  let hasNotNull = false;
  for (let at = first + 1; at + 1 < end; at++) {
    if (tokens[at]!.text === "(") depth++;
    else if (tokens[at]!.text === ")") depth--;
    else if (depth === 0 && words(at, "primary", "key")) keyAt = at;
    else if (depth === 0 && words(at, "not", "null")) hasNotNull = true;
  }
  const clause = keyAt < 0 ? text(first, end) : text(first, keyAt) + text(keyAt + 2, end);
  return key.includes(unquoted(tokens[first]!.text)) && !hasNotNull ? `${clause} NOT NULL` : clause;
}

/** Columns of DuckDB's own CREATE TABLE text that say GENERATED behind their type. */
function generatedColumns(tokens: readonly Token[]): Set<string> {
  const generated = new Set<string>();
  const open = tokens.findIndex((token) => token.text === "(");
  const end = closing(tokens, open);
  let depth = 0;
  let first: Token | undefined;
  for (let i = open + 1; i < end; i++) {
    const token = tokens[i]!;
    first ??= token;
    if (token.kind === "operator" && token.text === "(") depth++;
    else if (token.kind === "operator" && token.text === ")") depth--;
    else if (depth > 0) continue;
    else if (token.text === ",") first = undefined;
    else if (wordOf(token) === "generated" && token !== first) generated.add(unquoted(first.text));
  }
  return generated;
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text;
}

/** The type with JSON where DuckDB shows our marker. */
function withJson(type: SqlType): SqlType {
  switch (type.kind) {
    case "enum":
      return type.values.length === 1 && type.values[0] === jsonMarker ? { kind: "json" } : type;
    case "list":
      return { kind: "list", child: withJson(type.child) };
    case "array":
      return { kind: "array", child: withJson(type.child), size: type.size };
    case "struct":
      return { kind: "struct", fields: type.fields.map(({ name, type: of }) => ({ name, type: withJson(of) })) };
    case "map":
      return { kind: "map", key: withJson(type.key), value: withJson(type.value) };
    default:
      return type;
  }
}

/** Tells the defaults that are the same for every row from those that are computed for each. */
async function constantTest(engine: SqlEngine): Promise<(expression: string) => Promise<boolean>> {
  let consistent: Set<string> | undefined;
  return async (expression) => {
    const tokens = await engine.tokens(expression);
    const names = tokens.flatMap((token, i) => (token.kind === "name" || token.kind === "keyword" ? [i] : []));
    for (const i of names) {
      const word = unquoted(tokens[i]!.text).toLowerCase();
      const before = tokens[i - 1];
      if (harmless.has(word) || before?.text === "::" || wordOf(before) === "as" || tokens[i + 1]?.text === ".")
        continue;
      // A field's name, as in struct_pack(a := 1).
      if (tokens[i + 1]?.text === ":=") continue;
      if (tokens[i + 1]?.text !== "(") return false;
      consistent ??= await consistentFunctions(engine);
      if (!consistent.has(word)) return false;
    }
    return true;
  };
}

const harmless = new Set([
  "cast",
  "try_cast",
  "as",
  "true",
  "false",
  "null",
  "and",
  "or",
  "not",
  "is",
  "in",
  "between",
  "case",
  "when",
  "then",
  "else",
  "end",
]);

/** Functions all of whose forms give the same result for the same arguments. */
async function consistentFunctions(engine: SqlEngine): Promise<Set<string>> {
  const rows = await cellsOf(
    engine,
    "SELECT function_name FROM duckdb_functions() GROUP BY ALL HAVING bool_and(coalesce(stability = 'CONSISTENT', false))",
  );
  return new Set(rows.map(([name]) => name as string));
}

/** Evaluates a constant default once; its JSON goes into the definition. */
async function fixDefault(engine: SqlEngine, column: ColumnDefinition): Promise<void> {
  const type = parseType(column.type);
  const [cell] = await defaultValues(engine, column, 1);
  const codec = compileType(type);
  const bytes = new TextEncoder().encode(cell!);
  const scanner = new JsonScanner();
  scanner.reset(bytes, 0, bytes.length);
  const vector = codec.newVector(1);
  if (cell !== "null" && (!codec.read(scanner, vector) || scanner.position < bytes.length))
    throw new SqlError(
      "22P02",
      `column "${column.name}": DEFAULT ${column.default} gives ${cell}, which does not fit ${column.type}`,
    );
  if (cell === "null" && column.notNull)
    throw new SqlError(
      "23502",
      `column "${column.name}": DEFAULT ${column.default} is NULL, and the column is NOT NULL`,
    );
  column.defaultJson = cell!;
}

/** JSON texts of a default, evaluated anew for each of `count` rows. */
export async function defaultValues(
  engine: SqlEngine,
  column: Pick<ColumnDefinition, "name" | "type" | "default">,
  count: number,
): Promise<string[]> {
  const type = parseType(column.type);
  const target = typeName(storageType(type));
  const { rows } = await engine.query(`SELECT CAST((${column.default}) AS ${target}) FROM range(${count})`);
  const cells = rows.map((row) => row.slice(1, -1));
  // A JSON column's value is its text, which the engine hands out as a string.
  return type.kind === "json" ? cells.map((cell) => (cell === "null" ? cell : (JSON.parse(cell) as string))) : cells;
}
