/**
 * COPY table FROM 'file' and FROM STDIN in the shell: the file is this machine's, and is sent with the statement. What is larger than one request
 * goes in several, in one transaction.
 */
import { readFileSync } from "node:fs";
import { CliError } from "./io.ts";

export interface Copy {
  /** The statement for the node. */
  sql: string;
  /** A file of this machine; undefined: standard input. */
  path: string | undefined;
  /** The first line names columns. */
  header: boolean;
}

/** Undefined for any other statement. The node says what is wrong with one that is no COPY after all. */
export function copyOf(statement: string): Copy | undefined {
  const found = /^\s*(copy\s+[^']+?\s+from\s+)('(?:[^']|'')*'|stdin\b)([\s\S]*)$/i.exec(statement);
  if (!found) return undefined;
  const [, head, source, options] = found as unknown as [string, string, string, string];
  const path = source.startsWith("'") ? source.slice(1, -1).replaceAll("''", "'") : undefined;
  const isJson = path !== undefined && /\.(json|jsonl|ndjson)$/i.test(path) && options.trim() === "";
  return { sql: `${head}STDIN${isJson ? " (FORMAT json)" : options}`, path, header: /\bheader\b/i.test(options) };
}

export function readCopyFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CliError(`cannot read ${path}: ${(error as Error).message}`);
  }
}

/** Pieces of at most about `chars` characters that end with a row; each begins with the header where there is one. */
export function* piecesOf(text: string, header: boolean, chars: number): Generator<string> {
  const headerEnd = header ? rowEnd(text, 0, 0) : 0;
  const first = text.slice(0, headerEnd);
  for (let at = headerEnd; at < text.length || at === headerEnd; ) {
    const end = rowEnd(text, at, chars);
    yield first + text.slice(at, end);
    if (end >= text.length) return;
    at = end;
  }
}

/** The end of the row that goes past `chars` characters from `from` on. Line ends in quotes belong to their field. */
function rowEnd(text: string, from: number, chars: number): number {
  if (text.length - from <= chars) return text.length;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) quoted = !quoted;
    else if (code === 0x0a && !quoted && at - from >= chars) return at + 1;
  }
  return text.length;
}
