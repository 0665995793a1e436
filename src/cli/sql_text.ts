/**
 * Cuts SQL text at its semicolons, by the lexical rules of DuckDB's parser: quoted text and names, comments (nested), and
 * dollar quoting are skipped as wholes. This decides only where a statement ends, never what it means.
 */
export interface SplitText {
  /** Whole statements, without their semicolons, none blank. */
  statements: string[];
  /** What stands behind the last semicolon: a statement that is not finished yet, or blank. */
  rest: string;
}

export function splitStatements(text: string): SplitText {
  const statements: string[] = [];
  let start = 0;
  let at = 0;
  while (at < text.length) {
    const end = skipToken(text, at);
    if (end === undefined) break;
    if (end === at + 1 && text[at] === ";") {
      const statement = text.slice(start, at);
      if (!isBlank(statement)) statements.push(statement.trim());
      start = end;
    }
    at = end;
  }
  return { statements, rest: text.slice(start) };
}

/** True when the text holds nothing but space and comments. */
export function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    const symbol = text[at] as string;
    if (!/\s/.test(symbol) && !text.startsWith("--", at) && !text.startsWith("/*", at)) return false;
    at = skipToken(text, at) ?? text.length;
  }
  return true;
}

/** Position after the token at `at`; undefined when the token does not end in this text. */
function skipToken(text: string, at: number): number | undefined {
  const symbol = text[at];
  if (symbol === "'")
    return skipQuoted(text, at, "'", /[eE]/.test(text[at - 1] ?? "") && !/\w/.test(text[at - 2] ?? ""));
  if (symbol === '"') return skipQuoted(text, at, '"', false);
  if (text.startsWith("--", at)) {
    const end = text.indexOf("\n", at);
    return end < 0 ? text.length : end + 1;
  }
  if (text.startsWith("/*", at)) return skipComment(text, at);
  if (symbol === "$" && !/[\w$]/.test(text[at - 1] ?? "")) {
    const tag = /^\$([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/.exec(text.slice(at, at + 70))?.[0];
    if (tag === undefined) return at + 1;
    const end = text.indexOf(tag, at + tag.length);
    return end < 0 ? undefined : end + tag.length;
  }
  return at + 1;
}

function skipQuoted(text: string, at: number, quote: string, backslash: boolean): number | undefined {
  for (let i = at + 1; i < text.length; i++) {
    if (backslash && text[i] === "\\") i++;
    else if (text[i] === quote) {
      if (text[i + 1] !== quote) return i + 1;
      i++;
    }
  }
  return undefined;
}

function skipComment(text: string, at: number): number | undefined {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    if (text.startsWith("/*", i)) {
      depth++;
      i++;
    } else if (text.startsWith("*/", i)) {
      depth--;
      i++;
      if (depth === 0) return i + 1;
    }
  }
  return undefined;
}
