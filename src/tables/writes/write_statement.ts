/**
 * INSERT, UPDATE, DELETE, TRUNCATE and MERGE, cut by DuckDB's tokens: the table that is written to, and the RETURNING clause, which is where
 * the changed rows are had from.
 */
import { SqlError } from "../../base/sql_error.ts";
import type { Statement } from "../../sql/statements.ts";
import { nameOf, type Token, wordOf } from "../../sql/tokens.ts";
import { type QualifiedName, qualifiedName } from "../create_table.ts";

export const writeVerbs = ["insert", "update", "delete", "truncate", "merge"] as const;
export type WriteVerb = (typeof writeVerbs)[number];

export interface WriteStatement {
  verb: WriteVerb;
  schema: string;
  name: string;
  /** 1-based character of the target in the statement. */
  position: number;
  /** The statement without RETURNING; TRUNCATE as the DELETE that it is. */
  body: string;
  /** What stands behind RETURNING. */
  returning: string | undefined;
  /** Offset of `returning` in the statement. */
  returningOffset: number;
  /** Of a DELETE without USING and WITH: FROM and what follows, as a SELECT has it. */
  from: string | undefined;
  /** The parts of an INSERT. */
  insert: InsertParts | undefined;
  /** Columns that an UPDATE of it may set, in lower case; undefined when that cannot be told. */
  sets: ReadonlySet<string> | undefined;
}

export interface InsertParts {
  /** What stands before INSERT: WITH and its queries. */
  head: string;
  /** `OR REPLACE ` or `OR IGNORE `, or nothing. */
  or: string;
  /** `AS alias `, or nothing. */
  alias: string;
  /** The list of columns and the rows. */
  source: string;
  /** Offset of `source` in the statement. */
  sourceOffset: number;
  /** ON CONFLICT and what belongs to it, or nothing. */
  conflict: string;
}

/** Throws SqlError 42601 for a target that is no name. */
export function parseWrite(statement: Statement, tokens: readonly Token[]): WriteStatement {
  const { text } = statement;
  const verb = statement.kind as WriteVerb;
  const outer = outerTokens(tokens);
  const verbAt = outer.find((i) => wordOf(tokens[i]) === verb)!;
  const target = targetOf(tokens, verbAt, verb);
  const position = tokens[target.at]!.start + 1;
  const behind = outer.filter((i) => i >= target.name.next);
  const returningAt = behind.filter((i) => wordOf(tokens[i]) === "returning").at(-1);
  const { schema, name } = target.name;
  const usesOthers = behind.some((i) => wordOf(tokens[i]) === "using");
  const body = returningAt === undefined ? text : text.slice(0, tokens[returningAt]!.start);
  const returningOffset = returningAt === undefined ? text.length : tokens[returningAt]!.start + "returning".length;
  return {
    verb,
    schema,
    name,
    position,
    body: verb === "truncate" ? `DELETE FROM ${text.slice(position - 1)}` : body.trimEnd(),
    returning: returningAt === undefined ? undefined : text.slice(returningOffset).trim(),
    returningOffset,
    from: verb === "delete" && verbAt === 0 && !usesOthers ? body.slice(tokens[1]!.start) : undefined,
    insert: verb === "insert" ? insertParts(text, tokens, verbAt, target, behind, returningAt) : undefined,
    sets: setsOf(tokens, behind),
  };
}

function insertParts(
  text: string,
  tokens: readonly Token[],
  verbAt: number,
  target: { at: number; name: QualifiedName },
  behind: readonly number[],
  returningAt: number | undefined,
): InsertParts {
  const offsetOf = (at: number | undefined) => (at === undefined ? text.length : (tokens[at]?.start ?? text.length));
  const hasAlias = wordOf(tokens[target.name.next]) === "as";
  const sourceAt = target.name.next + (hasAlias ? 2 : 0);
  const conflictAt = behind.filter((i) => wordOf(tokens[i]) === "on" && wordOf(tokens[i + 1]) === "conflict").at(-1);
  const sourceOffset = offsetOf(sourceAt);
  const end = offsetOf(returningAt);
  const conflictOffset = conflictAt === undefined ? end : offsetOf(conflictAt);
  return {
    head: text.slice(0, tokens[verbAt]!.start),
    or: wordOf(tokens[verbAt + 1]) === "or" ? `OR ${wordOf(tokens[verbAt + 2])} ` : "",
    alias: hasAlias ? `AS ${tokens[target.name.next + 1]!.text} ` : "",
    source: text.slice(sourceOffset, conflictOffset).trimEnd(),
    sourceOffset,
    conflict: text.slice(conflictOffset, end).trimEnd(),
  };
}

/** Indexes of the tokens that are in no parentheses. */
function outerTokens(tokens: readonly Token[]): number[] {
  const outer: number[] = [];
  let depth = 0;
  tokens.forEach(({ kind, text }, i) => {
    if (kind === "operator" && (text === ")" || text === "]" || text === "}")) depth--;
    if (depth === 0) outer.push(i);
    if (kind === "operator" && (text === "(" || text === "[" || text === "{")) depth++;
  });
  return outer;
}

function targetOf(tokens: readonly Token[], verbAt: number, verb: WriteVerb): { at: number; name: QualifiedName } {
  let at = verbAt + 1;
  if (verb === "insert" && wordOf(tokens[at]) === "or") at += 2;
  const preposition = { insert: "into", merge: "into", delete: "from", truncate: "table", update: "" }[verb];
  if (preposition !== "" && wordOf(tokens[at]) === preposition) at++;
  else if (preposition !== "" && verb !== "truncate")
    throw new SqlError("42601", `${preposition.toUpperCase()} is expected`, (tokens[at] ?? tokens.at(-1))!.start + 1);
  return { at, name: qualifiedName(tokens, at) };
}

/** Names on the left of SET lists. */
function setsOf(tokens: readonly Token[], outer: readonly number[]): ReadonlySet<string> | undefined {
  const sets = new Set<string>();
  let inList = false;
  for (const [place, i] of outer.entries()) {
    const word = wordOf(tokens[i]);
    const next = outer[place + 1];
    // MERGE's UPDATE without a list sets all columns.
    if (word === "update" && next !== undefined && wordOf(tokens[next]) !== "set" && wordOf(tokens[i - 1]) === "then")
      return undefined;
    const begins = word === "set" || (inList && tokens[i]!.text === ",");
    if (word === "where" || word === "from" || word === "when" || word === "returning") inList = false;
    if (!begins || next === undefined) continue;
    inList = true;
    if (tokens[next]!.kind === "operator") return undefined;
    sets.add(nameOf(tokens[next]!).toLowerCase());
  }
  return sets;
}
