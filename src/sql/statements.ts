/** A text cut into its statements, each told apart by its first words. */
import { type Token, wordOf } from "./tokens.ts";

export type StatementKind =
  | "select"
  | "insert"
  | "update"
  | "delete"
  | "merge"
  | "truncate"
  | "create_table"
  | "create_view"
  | "create_index"
  | "create_schema"
  | "create_type"
  | "create_macro"
  | "create_sequence"
  | "create_secret"
  | "create_other"
  | "drop_table"
  | "drop_view"
  | "drop_index"
  | "drop_schema"
  | "drop_type"
  | "drop_macro"
  | "drop_sequence"
  | "drop_secret"
  | "drop_other"
  | "alter"
  | "begin"
  | "commit"
  | "rollback"
  | "explain"
  | "describe"
  | "show"
  | "summarize"
  | "set"
  | "reset"
  | "use"
  | "pragma"
  | "call"
  | "checkpoint"
  | "vacuum"
  | "analyze"
  | "copy"
  | "export"
  | "import"
  | "attach"
  | "detach"
  | "install"
  | "load"
  | "update_extensions"
  | "prepare"
  | "execute"
  | "deallocate"
  | "comment"
  | "other";

export interface Statement {
  /** Without the semicolon. */
  text: string;
  /** UTF-16 offset of `text` in the whole. */
  offset: number;
  kind: StatementKind;
  /** The first words in lower case, at most eight: keywords and unquoted names. */
  words: string[];
  /** CREATE TEMPORARY … or CREATE TEMP … */
  temporary: boolean;
  /** For EXPLAIN: what is explained, and with ANALYZE is run. */
  explained?: StatementKind;
}

export function statementsOf(sql: string, tokens: readonly Token[]): Statement[] {
  const statements: Statement[] = [];
  let first = 0;
  for (let i = 0; i <= tokens.length; i++) {
    const token = tokens[i];
    if (token && !(token.kind === "operator" && token.text === ";")) continue;
    if (i > first) statements.push(statement(sql, tokens.slice(first, i), token?.start ?? sql.length));
    first = i + 1;
  }
  return statements;
}

function statement(sql: string, tokens: readonly Token[], end: number): Statement {
  const offset = tokens[0]!.start;
  const words = tokens.slice(0, 8).map(wordOf);
  const result: Statement = {
    text: sql.slice(offset, end).trimEnd(),
    offset,
    kind: kindOf(tokens, 0),
    words: words.slice(0, lastWord(words)),
    temporary: words[0] === "create" && words.slice(1, 4).some((word) => word === "temp" || word === "temporary"),
  };
  if (result.kind === "explain") result.explained = kindOf(tokens, explainedAt(tokens));
  return result;
}

/** Words up to the first token that is none. */
function lastWord(words: readonly string[]): number {
  const end = words.indexOf("");
  return end < 0 ? words.length : end;
}

const simpleKinds: Record<string, StatementKind> = {
  select: "select",
  from: "select",
  values: "select",
  table: "select",
  pivot: "select",
  pivot_wider: "select",
  pivot_longer: "select",
  unpivot: "select",
  insert: "insert",
  update: "update",
  delete: "delete",
  merge: "merge",
  truncate: "truncate",
  alter: "alter",
  begin: "begin",
  start: "begin",
  commit: "commit",
  end: "commit",
  rollback: "rollback",
  abort: "rollback",
  explain: "explain",
  describe: "describe",
  desc: "describe",
  show: "show",
  summarize: "summarize",
  set: "set",
  reset: "reset",
  use: "use",
  pragma: "pragma",
  call: "call",
  checkpoint: "checkpoint",
  vacuum: "vacuum",
  analyze: "analyze",
  copy: "copy",
  export: "export",
  import: "import",
  attach: "attach",
  detach: "detach",
  install: "install",
  load: "load",
  prepare: "prepare",
  execute: "execute",
  deallocate: "deallocate",
  comment: "comment",
};

function kindOf(tokens: readonly Token[], from: number): StatementKind {
  let at = from;
  while (tokens[at]?.text === "(") at++;
  const word = wordOf(tokens[at]);
  if (word === "with") return kindAfterWith(tokens, at + 1);
  if (word === "create" || word === "drop") return objectKind(word, tokens, at + 1);
  if (word === "force") return wordOf(tokens[at + 1]) === "checkpoint" ? "checkpoint" : forcedInstall(tokens, at + 1);
  if (word === "update" && wordOf(tokens[at + 1]) === "extensions") return "update_extensions";
  return simpleKinds[word] ?? "other";
}

function forcedInstall(tokens: readonly Token[], at: number): StatementKind {
  return wordOf(tokens[at]) === "install" ? "install" : "other";
}

/** Behind WITH: the first word outside parentheses that starts a statement. */
function kindAfterWith(tokens: readonly Token[], from: number): StatementKind {
  let depth = 0;
  for (let i = from; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.text === "(") depth++;
    else if (token.text === ")") depth--;
    else if (depth === 0 && token.kind === "keyword") {
      const kind = simpleKinds[wordOf(token)];
      if (kind === "select" || kind === "insert" || kind === "update" || kind === "delete" || kind === "merge")
        return kind;
    }
  }
  return "select";
}

const objectKinds: Record<string, string> = {
  table: "table",
  view: "view",
  index: "index",
  schema: "schema",
  type: "type",
  macro: "macro",
  function: "macro",
  sequence: "sequence",
  secret: "secret",
};

/** Words that may stand between CREATE or DROP and what is made. */
const fillers = new Set([
  "or",
  "replace",
  "temp",
  "temporary",
  "unique",
  "recursive",
  "persistent",
  "unlogged",
  "local",
  "global",
  "materialized",
]);

function objectKind(verb: "create" | "drop", tokens: readonly Token[], from: number): StatementKind {
  let at = from;
  while (fillers.has(wordOf(tokens[at]))) at++;
  return `${verb}_${objectKinds[wordOf(tokens[at])] ?? "other"}` as StatementKind;
}

/** Index of the statement behind EXPLAIN, ANALYZE and options in parentheses. */
function explainedAt(tokens: readonly Token[]): number {
  let at = 1;
  if (wordOf(tokens[at]) === "analyze") at++;
  if (
    tokens[at]?.text === "(" &&
    simpleKinds[wordOf(tokens[at + 1])] === undefined &&
    wordOf(tokens[at + 1]) !== "with"
  ) {
    while (at < tokens.length && tokens[at]!.text !== ")") at++;
    at++;
  }
  return at;
}
