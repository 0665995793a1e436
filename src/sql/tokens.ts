/**
 * SQL text as DuckDB's own tokenizer cuts it. Comments and white space lie between tokens. Nothing in this program looks for SQL by
 * regular expression: what DuckDB takes for a string or a name is so here too.
 */
export type TokenKind = "name" | "number" | "string" | "operator" | "keyword";

export interface Token {
  kind: TokenKind;
  /** As written, without what follows it; a name may be in double quotes. */
  text: string;
  /** UTF-16 offset in the text. */
  start: number;
}

const kinds: readonly TokenKind[] = ["name", "number", "string", "operator", "keyword"];

/** `offsets` count UTF-8 bytes, and say only where tokens start. */
export function tokensOf(sql: string, found: { offsets: number[]; types: number[] }): Token[] {
  const starts = utf16Offsets(sql, found.offsets);
  const tokens: Token[] = [];
  for (let i = 0; i < starts.length; i++) {
    const kind = kinds[found.types[i]!];
    // Kind 5 is a comment, which this tokenizer never reports.
    if (kind === undefined) continue;
    const start = starts[i]!;
    tokens.push({ kind, start, text: tokenText(sql, kind, start, starts[i + 1] ?? sql.length) });
  }
  return tokens;
}

/** What a name token names: quotes off; unquoted as written. */
export function nameOf(token: Token): string {
  return token.text.startsWith('"') ? token.text.slice(1, -1).replaceAll('""', '"') : token.text;
}

/** The word of a keyword or an unquoted name in lower case; "" for anything else. */
export function wordOf(token: Token | undefined): string {
  if (!token || (token.kind !== "keyword" && token.kind !== "name") || token.text.startsWith('"')) return "";
  return token.text.toLowerCase();
}

function utf16Offsets(sql: string, offsets: readonly number[]): number[] {
  // Most statements are ASCII: bytes and characters are the same.
  if (isAscii(sql)) return [...offsets];
  const result: number[] = [];
  let byte = 0;
  let at = 0;
  for (const offset of offsets) {
    while (byte < offset) {
      const code = sql.codePointAt(at)!;
      byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      at += code > 0xffff ? 2 : 1;
    }
    result.push(at);
  }
  return result;
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false;
  return true;
}

/** Cuts white space and comments off the end of what lies between two tokens' starts. */
function tokenText(sql: string, kind: TokenKind, start: number, next: number): string {
  const first = sql[start];
  if (kind === "string" || first === '"') return quotedText(sql, start, next);
  if (kind === "operator" && ",;()[]{}".includes(first!)) return first!;
  let end = start;
  while (end < next && !isSpace(sql.charCodeAt(end)) && !startsComment(sql, end)) end++;
  return sql.slice(start, Math.max(end, start + 1));
}

function quotedText(sql: string, start: number, next: number): string {
  const dollar = sql[start] === "$";
  if (dollar) {
    const mark = sql.slice(start, sql.indexOf("$", start + 1) + 1);
    const end = sql.indexOf(mark, start + mark.length);
    return end < 0 ? sql.slice(start, next) : sql.slice(start, end + mark.length);
  }
  // A prefix such as E or x may stand before the quote.
  let at = start;
  while (at < next && sql[at] !== "'" && sql[at] !== '"') at++;
  const quote = sql[at];
  const escapes = at > start && sql[start]!.toLowerCase() === "e";
  for (at++; at < next; at++) {
    if (escapes && sql[at] === "\\") at++;
    else if (sql[at] === quote) {
      if (sql[at + 1] !== quote) return sql.slice(start, at + 1);
      at++;
    }
  }
  return sql.slice(start, next);
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0;
}

function startsComment(sql: string, at: number): boolean {
  return (sql[at] === "-" && sql[at + 1] === "-") || (sql[at] === "/" && sql[at + 1] === "*");
}
