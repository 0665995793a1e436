/**
 * COPY table FROM STDIN: rows that come with the request, as CSV or as JSON lines. CSV is inserted, each field cast to its column; JSON lines are
 * taken as if they had been produced. Files of the node's machine are out of SQL's reach: clients send theirs.
 */
import { SqlError } from "../../base/sql_error.ts";
import { nameOf, type Token, wordOf } from "../../sql/tokens.ts";
import { quoteIdentifier } from "../../sql/types.ts";
import { closing, type QualifiedName, qualifiedName } from "../create_table.ts";
import type { WriteStatement } from "./write_statement.ts";

export interface CopyStatement {
  target: QualifiedName;
  /** 1-based character of the table's name. */
  position: number;
  columns: string[] | undefined;
  format: "csv" | "json";
  header: boolean;
  delimiter: string;
  nullText: string;
}

/** Throws SqlError 42601, or 0A000 for files and COPY … TO. */
export function parseCopy(tokens: readonly Token[]): CopyStatement {
  if (tokens[1]?.text === "(") throw toIsRefused(tokens[1]);
  const target = qualifiedName(tokens, 1);
  let at = target.next;
  let columns: string[] | undefined;
  if (tokens[at]?.text === "(") {
    const end = closing(tokens, at);
    columns = tokens
      .slice(at + 1, end)
      .filter(({ text }) => text !== ",")
      .map(nameOf);
    at = end + 1;
  }
  if (wordOf(tokens[at]) === "to") throw toIsRefused(tokens[at]!);
  if (wordOf(tokens[at]) !== "from") throw new SqlError("42601", "FROM STDIN is expected", startOf(tokens, at));
  at++;
  if (wordOf(tokens[at]) !== "stdin")
    throw new SqlError(
      "0A000",
      "COPY reads no files of the node's machine: use FROM STDIN with the rows in the request's data, or `rowlog sql`, which sends its own",
      startOf(tokens, at),
    );
  at++;
  if (wordOf(tokens[at]) === "with") at++;
  const options = optionsOf(tokens, at);
  const format = (options.get("format") ?? "csv").toLowerCase();
  if (format !== "csv" && format !== "json") throw new SqlError("22023", `FORMAT ${format}: csv or json is expected`);
  const header = options.get("header") ?? "false";
  const delimiter = options.get("delimiter") ?? options.get("delim") ?? ",";
  if (delimiter.length !== 1) throw new SqlError("22023", "DELIMITER is one character");
  return {
    target,
    position: tokens[1]!.start + 1,
    columns,
    format,
    header: ["", "true", "1", "on"].includes(header.toLowerCase()),
    delimiter,
    nullText: options.get("null") ?? options.get("nullstr") ?? "",
  };
}

function toIsRefused(token: Token): SqlError {
  return new SqlError(
    "0A000",
    "COPY … TO is not available: SELECT, and take the answer as CSV or JSON",
    token.start + 1,
  );
}

function startOf(tokens: readonly Token[], at: number): number | undefined {
  const token = tokens[at] ?? tokens.at(-1);
  return token && token.start + 1;
}

/** `(FORMAT csv, HEADER, DELIMITER ';')`, and the same without parentheses and commas. */
function optionsOf(tokens: readonly Token[], from: number): Map<string, string> {
  const known = new Set(["format", "header", "delimiter", "delim", "null", "nullstr"]);
  const options = new Map<string, string>();
  const rest = tokens.slice(from).filter(({ text }) => text !== "(" && text !== ")" && text !== ",");
  for (let i = 0; i < rest.length; i++) {
    let name = wordOf(rest[i]);
    // CSV and JSON alone name the format.
    if (name === "csv" || name === "json") {
      options.set("format", name);
      continue;
    }
    if (!known.has(name))
      throw new SqlError(
        "42601",
        `COPY knows FORMAT, HEADER, DELIMITER and NULL, not ${rest[i]!.text}`,
        rest[i]!.start + 1,
      );
    const value = rest[i + 1];
    const hasValue = value !== undefined && !known.has(wordOf(value));
    if (name === "nullstr") name = "null";
    options.set(name, hasValue ? optionText(value) : "");
    if (hasValue) i++;
  }
  return options;
}

function optionText(token: Token): string {
  return token.kind === "string" ? token.text.slice(1, -1).replaceAll("''", "'") : token.text;
}

/** Rows that go into one INSERT, and about how many characters. */
const rowsPerStatement = 2000;
const charsPerStatement = 1024 * 1024;

/** INSERTs of all rows. Throws SqlError 22P04 for text that is no CSV. */
export function* insertsOf(copy: CopyStatement, data: string): Generator<WriteStatement> {
  const rows = csvRows(data, copy.delimiter);
  let columns = copy.columns;
  if (copy.header) {
    const first = rows.next();
    if (first.done) return;
    columns ??= first.value.cells.map(({ text }) => text);
  }
  const list = columns === undefined ? "" : `(${columns.map(quoteIdentifier).join(", ")}) `;
  let values: string[] = [];
  let chars = 0;
  let width = columns?.length;
  for (const { cells, line } of rows) {
    width ??= cells.length;
    if (cells.length !== width) throw new SqlError("22P04", `line ${line} has ${cells.length} fields, not ${width}`);
    const literals = cells.map(({ text, quoted }) => (!quoted && text === copy.nullText ? "NULL" : literal(text)));
    const value = `(${literals.join(", ")})`;
    values.push(value);
    chars += value.length;
    if (values.length < rowsPerStatement && chars < charsPerStatement) continue;
    yield insertOf(copy, `${list}VALUES ${values.join(", ")}`);
    values = [];
    chars = 0;
  }
  if (values.length > 0) yield insertOf(copy, `${list}VALUES ${values.join(", ")}`);
}

function insertOf({ target: { schema, name } }: CopyStatement, source: string): WriteStatement {
  return {
    verb: "insert",
    schema,
    name,
    position: 1,
    body: `INSERT INTO ${quoteIdentifier(schema)}.${quoteIdentifier(name)} ${source}`,
    returning: undefined,
    returningOffset: 0,
    from: undefined,
    insert: { head: "", or: "", alias: "", source, sourceOffset: 0, conflict: "" },
    sets: new Set(),
  };
}

function literal(text: string): string {
  const pieces = text.split("\0").map((piece) => `'${piece.replaceAll("'", "''")}'`);
  return pieces.length === 1 ? pieces[0]! : `(${pieces.join(" || chr(0) || ")})`;
}

interface Cell {
  text: string;
  quoted: boolean;
}

/** RFC 4180. Empty lines between rows are left out. */
function* csvRows(text: string, delimiter: string): Generator<{ cells: Cell[]; line: number }> {
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const cells: Cell[] = [];
    const first = line;
    for (;;) {
      if (text[at] === '"') {
        let value = "";
        for (at++; ; at++) {
          const end = text.indexOf('"', at);
          if (end < 0) throw new SqlError("22P04", `a quote that opens in line ${first} is not closed`);
          value += text.slice(at, end);
          at = end + 1;
          if (text[at] !== '"') break;
          value += '"';
        }
        line += value.split("\n").length - 1;
        if (at < text.length && text[at] !== delimiter && text[at] !== "\n" && text[at] !== "\r")
          throw new SqlError("22P04", `line ${line}: text stands behind a closing quote`);
        cells.push({ text: value, quoted: true });
      } else {
        let end = at;
        while (end < text.length && text[end] !== delimiter && text[end] !== "\n" && text[end] !== "\r") end++;
        cells.push({ text: text.slice(at, end), quoted: false });
        at = end;
      }
      if (text[at] !== delimiter) break;
      at++;
    }
    if (text[at] === "\r") at++;
    if (text[at] === "\n") at++;
    line++;
    const isEmpty = cells.length === 1 && !cells[0]!.quoted && cells[0]!.text === "";
    if (!isEmpty) yield { cells, line: first };
  }
}
