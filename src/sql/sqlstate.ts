/**
 * DuckDB's errors as SqlError: its type of exception, and where that is too coarse its wording, become a SQLSTATE of PostgreSQL's
 * list (https://www.postgresql.org/docs/current/errcodes-appendix.html); the `LINE n:` excerpt with its caret becomes a position.
 */
import { SqlError } from "../base/sql_error.ts";

/** `sql`: the statement as DuckDB got it, for the position. */
export function sqlErrorOf(raw: string, sql: string): SqlError {
  const { type, message } = exceptionOf(raw);
  const { text, excerpts } = splitExcerpt(message);
  const position = positionOf(excerpts, sql);
  return new SqlError(stateOf(type, text), withoutBadAdvice(text), position);
}

/** DuckDB advises to install extensions and to change settings, which nobody can do here. */
function withoutBadAdvice(text: string): string {
  const memory = text.indexOf("\n\nPossible solutions:");
  if (memory > 0) return `the statement needs more memory than the engine may use: ${text.split("\n", 1)[0]}`;
  const known = /^(.*? with name ".*?") is not in the catalog, but it exists in the (\S+) extension/.exec(text);
  if (known)
    return `${known[1]} is not available: it needs DuckDB's ${known[2]} extension, which this node does not have`;
  const needed = /automatically install the required extension '(\S+)'/.exec(text);
  if (!needed) return text;
  const hint = needed[1] === "icu" ? "; on a TIMESTAMP WITH TIME ZONE cast it first, as in now()::TIMESTAMP (UTC)" : "";
  return `this needs DuckDB's ${needed[1]} extension, which this node does not have${hint}`;
}

/** Texts of errors after which the engine cannot be trusted. */
export function breaksEngine(raw: string): boolean {
  const { type, message } = exceptionOf(raw);
  return type === "FATAL" || type === "INTERNAL" || message.includes("database has been invalidated");
}

/** `Binder Error: text`, or JSON with `exception_type` and `exception_message`. */
function exceptionOf(raw: string): { type: string; message: string } {
  if (raw.startsWith("{")) {
    try {
      const found = JSON.parse(raw) as { exception_type?: string; exception_message?: string };
      if (found.exception_message !== undefined)
        return { type: found.exception_type ?? "", message: found.exception_message };
    } catch {
      // Text that merely starts like JSON.
    }
  }
  for (const marker of [" Error: ", " error: "]) {
    const end = raw.indexOf(marker);
    if (end > 0 && end < 40 && !raw.slice(0, end).includes("\n"))
      return { type: raw.slice(0, end), message: raw.slice(end + marker.length) };
  }
  return { type: "", message: raw };
}

interface Excerpt {
  line: number;
  /** What DuckDB shows of the line; long lines are cut at both ends with `...`. */
  shown: string;
  /** Column of the caret within `shown`, from 0. */
  caret: number;
}

function splitExcerpt(message: string): { text: string; excerpts: Excerpt[] } {
  const lines = message.split("\n");
  const excerpts: Excerpt[] = [];
  const kept: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const match = /^LINE (\d+): (.*)$/.exec(lines[i]!);
    const caret = lines[i + 1]?.indexOf("^") ?? -1;
    if (!match || caret < 0) {
      kept.push(lines[i]!);
      continue;
    }
    const prefix = lines[i]!.length - match[2]!.length;
    excerpts.push({ line: Number(match[1]), shown: match[2]!, caret: caret - prefix });
    i++;
  }
  return { text: kept.join("\n").trim(), excerpts };
}

/** 1-based count of characters up to the caret; undefined when it cannot be told for sure. */
function positionOf(excerpts: readonly Excerpt[], sql: string): number | undefined {
  const excerpt = excerpts[0];
  if (!excerpt) return undefined;
  const lines = sql.split("\n");
  const line = lines[excerpt.line - 1];
  if (line === undefined) return undefined;
  const cutLeft = excerpt.shown.startsWith("...") && !line.startsWith("...");
  const cutRight = excerpt.shown.endsWith("...") && !line.endsWith("...");
  const shown = excerpt.shown.slice(cutLeft ? 3 : 0, cutRight ? -3 : undefined);
  const caret = excerpt.caret - (cutLeft ? 3 : 0);
  const start = cutLeft || cutRight ? line.indexOf(shown) : 0;
  if (start < 0 || caret < 0) return undefined;
  const before = lines.slice(0, excerpt.line - 1).reduce((sum, text) => sum + [...text].length + 1, 0);
  return before + [...line.slice(0, start)].length + caret + 1;
}

/** States of DuckDB's exception types (src/common/exception.cpp) where the wording does not matter. */
const statesByType: Record<string, string> = {
  parser: "42601",
  syntax: "42601",
  "out of range": "22003",
  conversion: "22P02",
  "mismatch type": "42804",
  "type mismatch": "42804",
  decimal: "22003",
  "divide by zero": "22012",
  "object size": "54000",
  "invalid type": "42704",
  serialization: "XX000",
  transactioncontext: "25000",
  "not implemented": "0A000",
  expression: "42601",
  "unknown type": "42704",
  planner: "42601",
  executor: "XX000",
  scheduler: "XX000",
  optimizer: "XX000",
  io: "58030",
  interrupt: "57014",
  fatal: "XX000",
  internal: "XX000",
  "invalid input": "22023",
  // What functions of our own throw.
  invalid: "22023",
  "out of memory": "53200",
  permission: "42501",
  "parameter not resolved": "42P18",
  "parameter not allowed": "42P02",
  dependency: "2BP01",
  "missing extension": "0A000",
  autoload: "0A000",
  sequence: "2200H",
  "invalid configuration": "0A000",
  network: "0A000",
  http: "0A000",
};

function stateOf(type: string, text: string): string {
  const kind = type.toLowerCase();
  if (/bad_alloc|failed to allocate|out of memory/i.test(text)) return "53200";
  if (/^Unsupported UDF argument type/.test(text)) return "42883";
  if (/extension/.test(text) && /install|autoload/i.test(text)) return "0A000";
  if (kind === "catalog") return catalogState(text);
  if (kind === "binder") return binderState(text);
  if (kind === "constraint") return constraintState(text);
  if (kind === "transaction" || kind === "transactioncontext") return transactionState(text);
  if (kind === "invalid input" && /division by zero/i.test(text)) return "22012";
  if (kind === "conversion" && /out of range|overflow/i.test(text))
    return /timestamp|date|time/i.test(text) ? "22008" : "22003";
  if (kind === "conversion" && /(date|timestamp|time) field value|timestamp|invalid date/i.test(text)) return "22007";
  if (/query was canceled|interrupted/i.test(text)) return "57014";
  return statesByType[kind] ?? "XX000";
}

function catalogState(text: string): string {
  if (/exists in the \S+ extension|extension ".*" is not loaded|requires the .* extension/i.test(text)) return "0A000";
  if (/already exists/i.test(text)) {
    if (/^(table|view|index|sequence)/i.test(text)) return "42P07";
    if (/^schema/i.test(text)) return "42P06";
    if (/^type/i.test(text)) return "42710";
    return /function/i.test(text) ? "42723" : "42710";
  }
  if (/^(table|view) with name/i.test(text) || /table or view/i.test(text)) return "42P01";
  if (/function/i.test(text)) return "42883";
  if (/^schema/i.test(text)) return "3F000";
  if (/column/i.test(text)) return "42703";
  if (/unrecognized configuration parameter/i.test(text)) return "42704";
  if (/does not exist|is not in the catalog/i.test(text)) return "42704";
  return /cannot (drop|alter)/i.test(text) ? "2BP01" : "42000";
}

function binderState(text: string): string {
  if (/template parameter type .* could not be resolved/i.test(text)) return "42804";
  if (/^macro .* does not support the supplied arguments/i.test(text)) return "42883";
  if (/ambiguous reference|ambiguous/i.test(text)) return "42702";
  if (
    /referenced (?:update )?column|column ".*" (in|not)|does not have a column|column with name|no column named|could not find key/i.test(
      text,
    )
  )
    return "42703";
  if (/referenced table|table ".*" not found|catalog ".*" does not exist/i.test(text)) return "42P01";
  if (/no function matches|does not exist/i.test(text)) return "42883";
  if (/must appear in the group by/i.test(text)) return "42803";
  if (/duplicate (alias|table)/i.test(text)) return "42712";
  if (/values list|subquery returns|number of columns/i.test(text)) return "42601";
  if (/cannot (compare|cast|mix)|type mismatch|explicit (type )?cast/i.test(text)) return "42804";
  if (/aggregate/i.test(text)) return "42803";
  if (/no extension found|capable of reading/i.test(text)) return "0A000";
  if (/parameter|prepared statement/i.test(text)) return "42P02";
  return "42601";
}

function constraintState(text: string): string {
  if (/not null constraint/i.test(text)) return "23502";
  if (/duplicate key|violates (unique|primary)/i.test(text)) return "23505";
  if (/foreign key/i.test(text)) return "23503";
  if (/check constraint/i.test(text)) return "23514";
  return "23000";
}

function transactionState(text: string): string {
  if (/conflict/i.test(text)) return "40001";
  if (/aborted/i.test(text)) return "25P02";
  return "25000";
}
