/**
 * Paths into JSON as DuckDB's JSON extension reads them (https://duckdb.org/docs/data/json/json_functions): `$.a."b c"[0][#-1]`, the JSON
 * pointer `/a/0` (RFC 6901), any other text as one key, and a number as an index, counted from the end when negative.
 */

/** One step down: into an object by key (UTF-8), into an array by index (from the end when negative); a pointer's step may do either. */
export interface JsonStep {
  key?: Uint8Array;
  index?: number;
}

export type JsonPath = readonly JsonStep[];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The value itself. */
export const wholePath: JsonPath = [];

/** Throws an Error that says what is wrong with a path that starts with `$`. */
export function parsePath(text: string): JsonPath {
  if (text.startsWith("$")) return parseDollar(text);
  if (text.startsWith("/")) return parsePointer(text);
  return [{ key: encoder.encode(text) }];
}

function parseDollar(text: string): JsonPath {
  const path: JsonStep[] = [];
  let at = 1;
  while (at < text.length) {
    if (text[at] === ".") {
      const key = text[at + 1] === '"' ? quotedKey(text, at + 1) : plainKey(text, at + 1);
      path.push({ key: encoder.encode(key.name) });
      at = key.end;
    } else if (text[at] === "[") {
      const end = text.indexOf("]", at);
      if (end < 0) throw wrong(text, "a ] is missing");
      path.push({ index: indexOf(text, text.slice(at + 1, end)) });
      at = end + 1;
    } else throw wrong(text, `. or [ is expected before "${text.slice(at)}"`);
  }
  return path;
}

function quotedKey(text: string, open: number): { name: string; end: number } {
  let name = "";
  let at = open + 1;
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at] === "\\" && at + 1 < text.length) at++;
    name += text[at];
  }
  if (at >= text.length) throw wrong(text, 'a " is missing');
  return { name, end: at + 1 };
}

function plainKey(text: string, start: number): { name: string; end: number } {
  let end = start;
  while (end < text.length && text[end] !== "." && text[end] !== "[") end++;
  const name = text.slice(start, end);
  if (name === "*") throw wrong(text, "wildcards are not supported");
  if (name === "") throw wrong(text, "a key is missing");
  return { name, end };
}

function indexOf(text: string, index: string): number {
  if (index === "*") throw wrong(text, "wildcards are not supported");
  const digits = index.startsWith("#-") ? index.slice(1) : index;
  const value = Number(digits);
  if (digits === "" || digits.trim() !== digits || !Number.isSafeInteger(value))
    throw wrong(text, `"${index}" is not an index`);
  return value;
}

function parsePointer(text: string): JsonPath {
  return text
    .slice(1)
    .split("/")
    .map((part) => {
      const key = encoder.encode(part.replaceAll("~1", "/").replaceAll("~0", "~"));
      return { key, index: indexOfKey(key) };
    });
}

function wrong(text: string, why: string): Error {
  return new Error(`the JSON path "${text}" is wrong: ${why}`);
}

/** Whether a name between `start` and `end` is `key`. */
export function namesKey(bytes: Uint8Array, start: number, end: number, escaped: boolean, key: Uint8Array): boolean {
  if (escaped) {
    const name = encoder.encode(JSON.parse(`"${decoder.decode(bytes.subarray(start, end))}"`) as string);
    return sameBytes(name, 0, name.length, key);
  }
  return sameBytes(bytes, start, end, key);
}

function sameBytes(bytes: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
  if (end - start !== key.length) return false;
  for (let i = 0; i < key.length; i++) if (bytes[start + i] !== key[i]) return false;
  return true;
}

/** The index that a pointer's step names: digits without a leading zero; undefined for a mere key. */
function indexOfKey(key: Uint8Array): number | undefined {
  if (key.length === 0 || key.length > 9 || (key[0] === 0x30 && key.length > 1)) return undefined;
  let value = 0;
  for (const byte of key) {
    if (byte < 0x30 || byte > 0x39) return undefined;
    value = value * 10 + byte - 0x30;
  }
  return value;
}
