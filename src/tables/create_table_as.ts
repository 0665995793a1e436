/** CREATE TABLE … AS: a table with the columns of a query, and then the query's rows. */
import { SqlError } from "../base/sql_error.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { nameOf, type Token, wordOf } from "../sql/tokens.ts";
import { quoteIdentifier } from "../sql/types.ts";
import { closing, type QualifiedName, qualifiedName } from "./create_table.ts";

export interface CreateTableAs {
  /** CREATE … up to the name, and the name. */
  head: string;
  target: QualifiedName;
  orReplace: boolean;
  /** Names for the columns, where the statement gives them. */
  names: string[] | undefined;
  /** The WITH clause of ours, or nothing. */
  options: string;
  query: string;
}

/** Undefined for a CREATE TABLE without a query. Throws SqlError 42601. */
export function parseCreateTableAs(text: string, tokens: readonly Token[]): CreateTableAs | undefined {
  let at = tokens.findIndex((token) => wordOf(token) === "table") + 1;
  if (at === 0) return undefined;
  const orReplace = tokens.slice(0, at).some((token) => wordOf(token) === "replace");
  if (wordOf(tokens[at]) === "if") at += 3;
  const target = qualifiedName(tokens, at);
  at = target.next;
  const head = text.slice(0, tokens[at]?.start ?? text.length).trimEnd();
  let names: string[] | undefined;
  if (tokens[at]?.text === "(") {
    const end = closing(tokens, at);
    if (end < 0) return undefined;
    names = tokens
      .slice(at + 1, end)
      .filter(({ text }) => text !== ",")
      .map(nameOf);
    at = end + 1;
  }
  let options = "";
  if (wordOf(tokens[at]) === "with" && tokens[at + 1]?.text === "(") {
    const end = closing(tokens, at + 1);
    if (end < 0) return undefined;
    options = text.slice(tokens[at]!.start, tokens[end]!.start + 1);
    at = end + 1;
  }
  if (wordOf(tokens[at]) !== "as") return undefined;
  const query = text.slice(tokens[at + 1]?.start ?? text.length);
  if (query === "") throw new SqlError("42601", "a query is expected behind AS", text.length + 1);
  return { head, target, orReplace, names, options, query };
}

/** The CREATE TABLE with the query's columns. Throws SqlError. */
export async function createStatement(engine: SqlEngine, create: CreateTableAs): Promise<string> {
  const { head, names, options, query, target, orReplace } = create;
  if (orReplace && (await engine.tableNames(query)).some((name) => name.toLowerCase() === target.name.toLowerCase()))
    throw new SqlError("0A000", `the query reads "${target.name}", which OR REPLACE removes first: make another table`);
  const columns = (await engine.query(`DESCRIBE ${query}`)).values() as [string, string][];
  if (names !== undefined && names.length !== columns.length)
    throw new SqlError("42601", `${names.length} names are given for ${columns.length} columns`);
  const list = columns.map(
    ([name, type], i) => `${quoteIdentifier(names?.[i] ?? name)} ${type === '"NULL"' ? "INTEGER" : type}`,
  );
  return `${head} (${list.join(", ")}) ${options}`;
}
