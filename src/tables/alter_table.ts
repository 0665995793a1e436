/**
 * ALTER TABLE: what a table is after it, and how DuckDB's table gets there. The text is cut by DuckDB's tokens; what the new columns mean is
 * DuckDB's to say, as with CREATE TABLE.
 *
 * The log is not written anew. So only such changes are possible after which each record of before can still be read: columns come, go and
 * get other names or wider types, and the key stays.
 */
import { SqlError } from "../base/sql_error.ts";
import type { ColumnDefinition, TableDefinition, TableVersion } from "../catalog/entries.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { nameOf, type Token, wordOf } from "../sql/tokens.ts";
import { parseType, quoteIdentifier, type SqlType, typeName } from "../sql/types.ts";
import { closing, parseCreateTable, type QualifiedName, qualifiedName } from "./create_table.ts";
import { describeTable } from "./describe.ts";
import { storageType } from "./json/compile.ts";
import { isRecordColumn } from "./record_columns.ts";
import { quotedTable } from "./table_name.ts";

export interface AlterTable {
  target: QualifiedName;
  /** 1-based character of the table's name. */
  position: number;
  ifExists: boolean;
  action: AlterAction;
}

export type AlterAction =
  | { kind: "add"; name: string; clause: string; ifNotExists: boolean }
  | { kind: "drop"; name: string; ifExists: boolean }
  | { kind: "rename"; name: string; to: string }
  | { kind: "set_not_null" | "drop_not_null" | "drop_default"; name: string }
  | { kind: "set_default"; name: string; expression: string }
  | { kind: "type"; name: string; type: string };

/** Throws SqlError 42601 or 0A000. */
export function parseAlterTable(text: string, tokens: readonly Token[]): AlterTable {
  if (wordOf(tokens[1]) !== "table")
    throw new SqlError("0A000", "only tables can be altered: ALTER TABLE", startOf(tokens, 1));
  let at = 2;
  const ifExists = wordOf(tokens[at]) === "if";
  if (ifExists) at += 2;
  const position = startOf(tokens, at) ?? text.length + 1;
  const target = qualifiedName(tokens, at);
  return { target, position, ifExists, action: parseAction(text, tokens, target.next) };
}

function startOf(tokens: readonly Token[], at: number): number | undefined {
  return tokens[at] && tokens[at].start + 1;
}

const constraints = new Set(["constraint", "check", "primary", "unique", "foreign"]);

function parseAction(text: string, tokens: readonly Token[], from: number): AlterAction {
  let at = from + 1;
  const word = (offset = 0) => wordOf(tokens[at + offset]);
  const columnWord = () => {
    const found = word() === "column";
    if (found) at++;
    return found;
  };
  const name = () => {
    const token = tokens[at];
    if (token === undefined || (token.kind !== "name" && token.kind !== "keyword"))
      throw new SqlError("42601", "the name of a column is expected", startOf(tokens, at) ?? text.length + 1);
    at++;
    return nameOf(token);
  };
  const rest = () => text.slice(tokens[at]?.start ?? text.length).trim();
  switch (wordOf(tokens[from])) {
    case "add": {
      if (!columnWord() && constraints.has(word()))
        throw new SqlError(
          "0A000",
          "constraints cannot be added to a table that is there: its log may be against them",
          startOf(tokens, at),
        );
      const ifNotExists = word() === "if";
      if (ifNotExists) at += 3;
      const clause = rest();
      return { kind: "add", name: name(), clause, ifNotExists };
    }
    case "drop": {
      columnWord();
      const ifExists = word() === "if";
      if (ifExists) at += 2;
      return { kind: "drop", name: name(), ifExists };
    }
    case "rename": {
      if (!columnWord() && word() === "to")
        throw new SqlError(
          "0A000",
          "a table is a topic and cannot get another name: make one, and INSERT INTO it SELECT from this one",
          startOf(tokens, from),
        );
      const old = name();
      if (word() !== "to") throw new SqlError("42601", "RENAME COLUMN old TO new is expected", startOf(tokens, at));
      at++;
      return { kind: "rename", name: old, to: name() };
    }
    case "alter": {
      columnWord();
      const column = name();
      return parseColumnAction(
        column,
        [word(), word(1), word(2)],
        (skip) => {
          at += skip;
          return rest();
        },
        startOf(tokens, from),
      );
    }
    default:
      throw new SqlError(
        "0A000",
        "available are ADD COLUMN, DROP COLUMN, RENAME COLUMN, and ALTER COLUMN … SET/DROP NOT NULL, SET/DROP DEFAULT, TYPE",
        startOf(tokens, from),
      );
  }
}

function parseColumnAction(
  name: string,
  [first, second, third]: readonly [string, string, string],
  rest: (skip: number) => string,
  position: number | undefined,
): AlterAction {
  if (first === "set" && second === "not" && third === "null") return { kind: "set_not_null", name };
  if (first === "drop" && second === "not" && third === "null") return { kind: "drop_not_null", name };
  if (first === "drop" && second === "default") return { kind: "drop_default", name };
  if (first === "set" && second === "default") return { kind: "set_default", name, expression: rest(2) };
  if (first === "type") return { kind: "type", name, type: rest(1) };
  if (first === "set" && second === "data" && third === "type") return { kind: "type", name, type: rest(3) };
  throw new SqlError("42601", "SET or DROP NOT NULL, SET or DROP DEFAULT, or TYPE is expected", position);
}

export interface AlterPlan {
  definition: TableDefinition;
  /** For DuckDB's table, in one transaction. */
  statements: string[];
}

/** `ends`: where the log of each partition ends. Undefined when IF (NOT) EXISTS makes it a no-op. Throws SqlError. */
export async function planAlter(
  engine: SqlEngine,
  definition: TableDefinition,
  action: AlterAction,
  ends: readonly number[],
): Promise<AlterPlan | undefined> {
  const column = definition.columns.find(({ name }) => name.toLowerCase() === action.name.toLowerCase());
  if (action.kind === "add") {
    if (column !== undefined && action.ifNotExists) return undefined;
    if (column !== undefined)
      throw new SqlError("42701", `table "${definition.name}" has a column "${column.name}" already`);
    if (isRecordColumn(action.name) || definition.raw)
      throw new SqlError(
        "0A000",
        `column ${action.name} can be declared with CREATE TABLE only: it changes what records mean`,
      );
  } else {
    if (column === undefined && action.kind === "drop" && action.ifExists) return undefined;
    if (column === undefined)
      throw new SqlError("42703", `table "${definition.name}" has no column "${action.name}" that can be altered`);
    refuseChangedMeaning(definition, column, action);
  }
  const clauses = await clausesOf(engine, definition);
  const changed = changedClauses(clauses, action, column);
  const text = `CREATE TABLE ${quoteIdentifier(definition.schema)}.${quoteIdentifier(definition.name)} (${changed.join(", ")})`;
  const described = await describeTable(engine, parseCreateTable(text, await engine.tokens(text)), definition);
  const after = described.columns.find(
    ({ name }) => name.toLowerCase() === (action.kind === "rename" ? action.to : action.name).toLowerCase(),
  );
  const statements = statementsOf(definition, action, column, after);
  return { definition: withHistory(definition, described, action, ends, statements), statements };
}

function refuseChangedMeaning(definition: TableDefinition, column: ColumnDefinition, action: AlterAction): void {
  const { key = [], sequenceBy } = definition;
  const staysSame = action.kind === "set_default" || action.kind === "drop_default" || action.kind === "set_not_null";
  if (staysSame) return;
  if (key.includes(column.name))
    throw new SqlError(
      "0A000",
      `column "${column.name}" is part of the key, by which the log's records are told apart`,
    );
  if (sequenceBy === column.name)
    throw new SqlError("0A000", `column "${column.name}" orders the table's rows (sequence_by)`);
  if (isRecordColumn(column.name)) throw new SqlError("0A000", `column ${column.name} receives the record's own`);
}

/** The clauses of the table's list, each with the name of its column (undefined for a constraint). JSON columns say so. */
async function clausesOf(
  engine: SqlEngine,
  definition: TableDefinition,
): Promise<{ name: string | undefined; text: string }[]> {
  const { sql, columns } = definition;
  const tokens = await engine.tokens(sql);
  const open = tokens.findIndex((token) => token.text === "(");
  const end = closing(tokens, open);
  const clauses: { name: string | undefined; text: string }[] = [];
  let depth = 0;
  let first = open + 1;
  for (let i = open + 1; i <= end; i++) {
    const { kind, text } = tokens[i]!;
    if (kind !== "operator") continue;
    if (depth === 0 && (text === "," || i === end)) {
      const name = nameOf(tokens[first]!);
      const column = columns.find((one) => one.name === name);
      const isConstraint = ["check", "primary"].includes(wordOf(tokens[first])) && column === undefined;
      const own = sql.slice(tokens[first]!.start, tokens[i]!.start).trim();
      clauses.push({
        name: isConstraint ? undefined : name,
        text: column?.type.includes("JSON") ? clauseOf(column) : own,
      });
      first = i + 1;
    } else if (text === "(" || text === "[" || text === "{") depth++;
    else if (text === ")" || text === "]" || text === "}") depth--;
  }
  return clauses;
}

function clauseOf({ name, type, default: byDefault, notNull }: ColumnDefinition): string {
  return `${quoteIdentifier(name)} ${type}${byDefault === undefined ? "" : ` DEFAULT (${byDefault})`}${notNull ? " NOT NULL" : ""}`;
}

function changedClauses(
  clauses: readonly { name: string | undefined; text: string }[],
  action: AlterAction,
  column: ColumnDefinition | undefined,
): string[] {
  if (action.kind === "add") return [...clauses.map(({ text }) => text), action.clause];
  const others = clauses.filter(({ name }) => name !== column!.name);
  if (action.kind === "drop") return others.map(({ text }) => text);
  return clauses.map(({ name, text }) => (name === column!.name ? clauseOf(changedColumn(column!, action)) : text));
}

function changedColumn(column: ColumnDefinition, action: AlterAction): ColumnDefinition {
  switch (action.kind) {
    case "rename":
      return { ...column, name: action.to };
    case "set_not_null":
      return { ...column, notNull: true };
    case "drop_not_null":
      return { ...column, notNull: false };
    case "set_default":
      return { ...column, default: action.expression };
    case "drop_default":
      return { ...column, default: undefined };
    case "type":
      return { ...column, type: action.type };
    default:
      return column;
  }
}

function statementsOf(
  definition: TableDefinition,
  action: AlterAction,
  before: ColumnDefinition | undefined,
  after: ColumnDefinition | undefined,
): string[] {
  const alter = `ALTER TABLE ${quotedTable(definition)}`;
  const name = quoteIdentifier(before?.name ?? action.name);
  switch (action.kind) {
    case "add":
      return addStatements(alter, after!);
    case "drop":
      return [`${alter} DROP COLUMN ${name}`];
    case "rename":
      return [`${alter} RENAME COLUMN ${name} TO ${quoteIdentifier(action.to)}`];
    case "set_not_null":
      return [`${alter} ALTER COLUMN ${name} SET NOT NULL`];
    case "drop_not_null":
      return [`${alter} ALTER COLUMN ${name} DROP NOT NULL`];
    case "set_default":
      return [`${alter} ALTER COLUMN ${name} SET DEFAULT ${after!.default}`];
    case "drop_default":
      return [`${alter} ALTER COLUMN ${name} DROP DEFAULT`];
    case "type": {
      const [from, to] = [parseType(before!.type), parseType(after!.type)];
      if (!isWider(from, to))
        throw new SqlError(
          "0A000",
          `column "${before!.name}": ${before!.type} cannot become ${after!.type}, since not every record of before reads the same then; add a column instead`,
        );
      return [`${alter} ALTER COLUMN ${name} TYPE ${typeName(storageType(to))}`];
    }
  }
}

function addStatements(alter: string, column: ColumnDefinition): string[] {
  const { name, type, default: byDefault, defaultJson, notNull } = column;
  if (byDefault !== undefined && defaultJson === undefined)
    throw new SqlError(
      "0A000",
      `column "${name}": a default that is computed for each row cannot be given to rows that are there; add the column, then SET DEFAULT`,
    );
  const storage = typeName(storageType(parseType(type)));
  const statements = [
    `${alter} ADD COLUMN ${quoteIdentifier(name)} ${storage}${byDefault === undefined ? "" : ` DEFAULT ${byDefault}`}`,
  ];
  if (notNull && byDefault === undefined)
    throw new SqlError(
      "23502",
      `column "${name}": rows that are there would be NULL; give a DEFAULT, or add it without NOT NULL`,
    );
  if (notNull) statements.push(`${alter} ALTER COLUMN ${quoteIdentifier(name)} SET NOT NULL`);
  return statements;
}

const integers: Record<string, [bits: number, signed: boolean]> = {
  tinyint: [8, true],
  smallint: [16, true],
  integer: [32, true],
  bigint: [64, true],
  hugeint: [128, true],
  utinyint: [8, false],
  usmallint: [16, false],
  uinteger: [32, false],
  ubigint: [64, false],
  uhugeint: [128, false],
};

/** Whether each value of `from` is one of `to`, written in the log by the same text. */
function isWider(from: SqlType, to: SqlType): boolean {
  if (typeName(from) === typeName(to)) return true;
  const [narrow, wide] = [integers[from.kind], integers[to.kind]];
  if (narrow && wide) return narrow[1] === wide[1] ? narrow[0] <= wide[0] : wide[1] && narrow[0] < wide[0];
  if (from.kind === "decimal" && to.kind === "decimal")
    return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale;
  if (from.kind === "enum" && to.kind === "enum") return from.values.every((value) => to.values.includes(value));
  const asText = ["enum", "uuid", "boolean"].includes(from.kind) || narrow !== undefined || from.kind === "decimal";
  return to.kind === "varchar" && asText;
}

/** The new definition with what tells how to read the log up to now. */
function withHistory(
  before: TableDefinition,
  described: TableDefinition,
  action: AlterAction,
  ends: readonly number[],
  statements: string[],
): TableDefinition {
  const oldName = (name: string) => (action.kind === "rename" && name === action.to ? action.name : name);
  const sources = described.columns.map(({ name, defaultJson }) => {
    const place = before.columns.findIndex((column) => column.name.toLowerCase() === oldName(name).toLowerCase());
    return { place, fill: defaultJson };
  });
  const added = (fill: string | undefined) => ({ name: null, ...(fill === undefined ? {} : { fill }) });
  const earlier = (before.history ?? []).map(
    (version): TableVersion => ({
      ends: version.ends,
      columns: sources.map(({ place, fill }) => (place < 0 ? added(fill) : version.columns[place]!)),
    }),
  );
  const last: TableVersion = {
    ends: [...ends],
    columns: sources.map(({ place, fill }) => (place < 0 ? added(fill) : { name: before.columns[place]!.name })),
  };
  return {
    ...described,
    history: [...earlier, last],
    alterations: [...(before.alterations ?? []), statements],
  };
}
