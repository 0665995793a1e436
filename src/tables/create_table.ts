/**
 * CREATE TABLE text, cut by DuckDB's tokens: the name, the column list, and the WITH clause, which is ours (`WITH (partitions = 4)`). What
 * the column list means is DuckDB's to say (describe.ts).
 */
import { SqlError } from "../base/sql_error.ts";
import { nameOf, type Token, wordOf } from "../sql/tokens.ts";

export interface CreateTable {
  orReplace: boolean;
  ifNotExists: boolean;
  schema: string;
  name: string;
  /** 1-based character of the name in the statement. */
  namePosition: number;
  /** The column list, parentheses included, and its offset in the statement. */
  columns: string;
  columnsOffset: number;
  /** What WITH says, in its order: names in lower case unless quoted, values as their text. */
  options: [name: string, value: string][];
}

export interface QualifiedName {
  schema: string;
  name: string;
  /** Index of the first token behind the name. */
  next: number;
}

/** The name of DuckDB's database that holds the tables. */
export const databaseName = "rowlog";

/** `name`, `schema.name` or `rowlog.schema.name` at token `at`. */
export function qualifiedName(tokens: readonly Token[], at: number): QualifiedName {
  const parts: string[] = [];
  let next = at;
  for (;;) {
    const token = tokens[next];
    if (token === undefined || (token.kind !== "name" && token.kind !== "keyword"))
      throw new SqlError("42601", "a name is expected", token && token.start + 1);
    parts.push(nameOf(token));
    next++;
    if (tokens[next]?.text !== ".") break;
    next++;
  }
  const position = tokens[at]!.start + 1;
  if (parts.length > 3 || (parts.length === 3 && parts[0]!.toLowerCase() !== databaseName))
    throw new SqlError("42601", `"${parts.join(".")}" is in another database; tables are in ${databaseName}`, position);
  const name = parts.at(-1)!;
  const schema = parts.length > 1 ? parts.at(-2)! : "main";
  // DuckDB reads `rowlog.t` as a schema unless there is none of that name, and as the database otherwise.
  return { schema: parts.length === 2 && schema.toLowerCase() === databaseName ? "main" : schema, name, next };
}

export function parseCreateTable(text: string, tokens: readonly Token[]): CreateTable {
  let at = 1;
  const word = (expected: string) => wordOf(tokens[at]) === expected;
  const orReplace = word("or") && wordOf(tokens[at + 1]) === "replace";
  if (orReplace) at += 2;
  if (!word("table"))
    throw new SqlError("0A000", "only plain tables can be made: CREATE [OR REPLACE] TABLE", startOf(tokens[at]));
  at++;
  const ifNotExists = word("if") && wordOf(tokens[at + 1]) === "not" && wordOf(tokens[at + 2]) === "exists";
  if (ifNotExists) at += 3;
  if (orReplace && ifNotExists)
    throw new SqlError("42601", "OR REPLACE and IF NOT EXISTS contradict each other", startOf(tokens[at]));
  const namePosition = startOf(tokens[at]) ?? text.length + 1;
  const { schema, name, next } = qualifiedName(tokens, at);
  if (wordOf(tokens[next]) === "as") throw createAs(tokens[next]);
  if (tokens[next]?.text !== "(")
    throw new SqlError(
      "42601",
      "a list of columns in parentheses is expected",
      startOf(tokens[next]) ?? text.length + 1,
    );
  const close = closing(tokens, next);
  if (close < 0) throw new SqlError("42601", "the list of columns is not closed", text.length + 1);
  const columnsOffset = tokens[next]!.start;
  const columns = text.slice(columnsOffset, tokens[close]!.start + 1);
  const { options, end } = parseOptions(tokens, close + 1);
  if (wordOf(tokens[end]) === "as") throw createAs(tokens[end]);
  if (end < tokens.length)
    throw new SqlError("42601", `unexpected "${tokens[end]!.text}" behind the table`, startOf(tokens[end]));
  return { orReplace, ifNotExists, schema, name, namePosition, columns, columnsOffset, options };
}

function createAs(token: Token | undefined): SqlError {
  return new SqlError(
    "0A000",
    "CREATE TABLE AS is not available yet: SQL cannot write to tables so far; produce records instead",
    startOf(token),
  );
}

function startOf(token: Token | undefined): number | undefined {
  return token && token.start + 1;
}

/** Index of the parenthesis that closes the one at `open`, or -1. */
export function closing(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let i = open; i < tokens.length; i++) {
    const { kind, text } = tokens[i]!;
    if (kind !== "operator") continue;
    if (text === "(") depth++;
    else if (text === ")" && --depth === 0) return i;
  }
  return -1;
}

function parseOptions(tokens: readonly Token[], from: number): { options: [string, string][]; end: number } {
  const options: [string, string][] = [];
  if (wordOf(tokens[from]) !== "with") return { options, end: from };
  const expected = (at: number) =>
    new SqlError("42601", "WITH takes a list such as (partitions = 4)", startOf(tokens[at]) ?? startOf(tokens.at(-1)));
  let at = from + 1;
  if (tokens[at]?.text !== "(") throw expected(at);
  at++;
  for (;;) {
    const name = tokens[at];
    if (name === undefined || (name.kind !== "name" && name.kind !== "keyword")) throw expected(at);
    if (tokens[at + 1]?.text !== "=") throw expected(at + 1);
    const value = tokens[at + 2];
    if (value === undefined || value.kind === "operator") throw expected(at + 2);
    const quoted = name.text.startsWith('"');
    options.push([quoted ? nameOf(name) : name.text.toLowerCase(), valueText(value)]);
    at += 3;
    const sign = tokens[at]?.text;
    at++;
    if (sign === ")") return { options, end: at };
    if (sign !== ",") throw expected(at - 1);
  }
}

function valueText(token: Token): string {
  if (token.kind === "string" && token.text.startsWith("'")) return token.text.slice(1, -1).replaceAll("''", "'");
  return nameOf(token);
}
