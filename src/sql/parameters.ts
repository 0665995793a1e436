/**
 * Parameters are put into the statement as literals of exact types, in place of their tokens: the module's own binding passes
 * every number through a double and every text over a small stack.
 */
import { SqlError } from "../base/sql_error.ts";
import type { SqlParameter, SqlParameters } from "./messages.ts";
import type { Token } from "./tokens.ts";
import { quoteText } from "./types.ts";

export interface BoundSql {
  sql: string;
  /** A UTF-16 offset of `sql` as an offset of the text before binding. */
  originalOffset(offset: number): number;
}

interface Replacement {
  start: number;
  end: number;
  text: string;
}

/** Throws SqlError (08P01, 42P02) when values are missing or left over. */
export function bindParameters(sql: string, tokens: readonly Token[], params: SqlParameters): BoundSql {
  const replacements: Replacement[] = [];
  const used = new Set<string>();
  for (const place of placesOf(sql, tokens)) {
    const value = givenValue(params, place.name, place.start);
    used.add(place.name);
    replacements.push({ start: place.start, end: place.end, text: literalOf(value, place.name) });
  }
  const left = Object.keys(params).find((key) => !used.has(Array.isArray(params) ? String(Number(key) + 1) : key));
  if (left !== undefined) {
    const name = Array.isArray(params) ? `$${Number(left) + 1}` : `$${left}`;
    throw new SqlError("08P01", `a value is given for parameter ${name}, which the statement does not have`);
  }
  return replaced(sql, replacements);
}

/** The statement with NULL for every parameter: enough to ask for its tables. */
export function withoutParameters(sql: string, tokens: readonly Token[]): string {
  return replaced(
    sql,
    placesOf(sql, tokens).map(({ start, end }) => ({ start, end, text: "(NULL)" })),
  ).sql;
}

interface Place {
  /** Position (from 1) or name. */
  name: string;
  start: number;
  end: number;
}

/** `?` counts on from the last; `?1` and `$1` say their position; `$name` is two tokens. */
function placesOf(sql: string, tokens: readonly Token[]): Place[] {
  const places: Place[] = [];
  let next = 1;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.kind !== "operator") continue;
    const { start, text } = token;
    const digits = text.slice(1);
    if (text === "?") places.push({ name: String(next++), start, end: start + 1 });
    else if ((text[0] === "?" || text[0] === "$") && isDigits(digits)) {
      places.push({ name: String(Number(digits)), start, end: start + text.length });
    } else if (text === "$" || (text[0] === "$" && sql[start + 1] !== "$")) {
      const name = tokens[i + 1];
      if (name && name.start === start + 1 && (name.kind === "name" || name.kind === "keyword"))
        places.push({ name: name.text, start, end: name.start + name.text.length });
    }
  }
  return places;
}

function isDigits(text: string): boolean {
  if (text === "") return false;
  for (const sign of text) if (sign < "0" || sign > "9") return false;
  return true;
}

function givenValue(params: SqlParameters, name: string, offset: number): SqlParameter {
  const list = Array.isArray(params) ? (params as readonly SqlParameter[]) : undefined;
  const value = list ? list[Number(name) - 1] : (params as Readonly<Record<string, SqlParameter>>)[name];
  if (value === undefined) throw new SqlError("42P02", `no value is given for parameter $${name}`, offset + 1);
  return value;
}

/** In parentheses, so that what stands next to it cannot join it. */
function literalOf(value: SqlParameter, name: string): string {
  if (value === null) return "(NULL)";
  switch (typeof value) {
    case "boolean":
      return value ? "(true)" : "(false)";
    case "bigint":
      return integerLiteral(value, name);
    case "number":
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) return integerLiteral(BigInt(value), name);
      return `('${Object.is(value, -0) ? "-0" : value}'::DOUBLE)`;
    case "string":
      return textLiteral(value);
    default:
      return `('${blobText(value)}'::BLOB)`;
  }
}

/** The narrowest of INTEGER, BIGINT, HUGEINT and UHUGEINT, as DuckDB types a literal. */
function integerLiteral(value: bigint, name: string): string {
  if (value === BigInt.asIntN(32, value)) return `(${value})`;
  if (value === BigInt.asIntN(64, value)) return `('${value}'::BIGINT)`;
  if (value === BigInt.asIntN(128, value)) return `('${value}'::HUGEINT)`;
  if (value === BigInt.asUintN(128, value)) return `('${value}'::UHUGEINT)`;
  throw new SqlError("22003", `the value of parameter $${name} does not fit 128 bits`);
}

/** DuckDB's parser ends a statement at a zero byte, so those are spelled out. */
function textLiteral(text: string): string {
  if (!text.includes("\0")) return `(${quoteText(text)})`;
  return `(${text.split("\0").map(quoteText).join(" || chr(0) || ")})`;
}

function blobText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += `\\x${byte.toString(16).padStart(2, "0")}`;
  return text;
}

function replaced(sql: string, replacements: readonly Replacement[]): BoundSql {
  let text = "";
  let at = 0;
  for (const { start, end, text: literal } of replacements) {
    text += sql.slice(at, start) + literal;
    at = end;
  }
  return {
    sql: text + sql.slice(at),
    originalOffset(offset) {
      let grown = 0;
      for (const { start, end, text: literal } of replacements) {
        if (offset < start + grown) break;
        if (offset < start + grown + literal.length) return start;
        grown += literal.length - (end - start);
      }
      return offset - grown;
    },
  };
}
