/**
 * JSON in SQL without DuckDB's JSON extension: its functions and operators by their names and rules
 * (https://duckdb.org/docs/data/json/json_functions), and `json_get_…` with a path of several arguments. Input that is not JSON
 * gives NULL. Numbers are exact: an extracted number keeps its digits.
 */
import type { Argument, ScalarFunction, ScalarResult, ScalarType } from "../scalar_bridge.ts";
import { type JsonPath, type JsonStep, parsePath, wholePath } from "./path.ts";
import { JsonScanner } from "./scanner.ts";

const scanner = new JsonScanner();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** What a function makes of the value found; it stands in `scanner`, as a range of `memory`. */
type Take = (memory: Uint8Array, result: ScalarResult) => void;

/** `name(json, step…)`: each step a path, a key or an index. `missing`: what a path that leads nowhere gives, if not NULL. */
function byPath(name: string, returns: ScalarType, take: Take, missing?: number): ScalarFunction {
  const cache = new PathCache();
  return {
    name,
    returns,
    call(memory, args, row, result) {
      const [json] = args;
      if (!json) throw new Error(`${name} needs a JSON value`);
      if (json.kind !== "text" || json.isNull(row)) return;
      const path = cache.path(memory, args, row);
      if (path === undefined) return;
      const outcome = scanner.find(memory, json.start(row), json.end(row), path);
      if (outcome === "found") take(memory, result);
      else if (outcome === "missing" && missing !== undefined) result.number(missing);
    },
  };
}

/** The path of the last row: paths are nearly always constant. */
class PathCache {
  private texts: (Uint8Array | number)[] = [];
  private last: JsonPath | undefined;

  /** Undefined when a step is NULL. */
  path(memory: Uint8Array, args: readonly Argument[], row: number): JsonPath | undefined {
    for (let i = 1; i < args.length; i++) if (args[i]!.isNull(row)) return undefined;
    if (this.last === undefined || !this.same(memory, args, row)) {
      // Remembered only when it parses.
      this.last = undefined;
      this.texts = args.slice(1).map((arg) => stepOf(memory, arg, row));
      this.last = this.texts.flatMap((step): readonly JsonStep[] =>
        typeof step === "number" ? [{ index: step }] : parsePath(decoder.decode(step)),
      );
    }
    return this.last;
  }

  private same(memory: Uint8Array, args: readonly Argument[], row: number): boolean {
    if (args.length - 1 !== this.texts.length) return false;
    for (let i = 1; i < args.length; i++) {
      const arg = args[i]!;
      const known = this.texts[i - 1]!;
      if (typeof known === "number") {
        if (arg.kind === "text" || arg.number(row) !== known) return false;
        continue;
      }
      if (arg.kind !== "text") return false;
      const start = arg.start(row);
      if (arg.end(row) - start !== known.length) return false;
      for (let j = 0; j < known.length; j++) if (memory[start + j] !== known[j]) return false;
    }
    return true;
  }
}

function stepOf(memory: Uint8Array, arg: Argument, row: number): Uint8Array | number {
  if (arg.kind === "text") return memory.slice(arg.start(row), arg.end(row));
  if (arg.kind !== "integer")
    throw new Error("a JSON path is text, or an integer that counts the elements of an array");
  return arg.number(row);
}

/** Compact JSON: white space between tokens goes. */
function takeJson(memory: Uint8Array, result: ScalarResult): void {
  const { start, end, kind } = scanner;
  if (kind !== "object" && kind !== "array") {
    result.copy(start, end);
    return;
  }
  if (!hasSpace(memory, start, end)) {
    result.copy(start, end);
    return;
  }
  result.bytes(withoutSpace(memory, start, end));
}

/** A text without quotes and escapes; any other value as its JSON; NULL for null. */
function takeText(memory: Uint8Array, result: ScalarResult): void {
  if (scanner.kind === "string") takeString(memory, result);
  else if (scanner.kind !== "null") takeJson(memory, result);
}

function takeString(memory: Uint8Array, result: ScalarResult): void {
  const { start, end, kind, escaped } = scanner;
  if (kind !== "string") return;
  if (escaped) result.text(JSON.parse(decoder.decode(memory.subarray(start, end))) as string);
  else result.copy(start + 1, end - 1);
}

/** Integers of 64 bits; `1.0` and `1e3` count, what has a fraction or does not fit is NULL. */
function takeInteger(memory: Uint8Array, result: ScalarResult): void {
  if (scanner.kind !== "number") return;
  const text = numberText(memory);
  if (isInteger(text)) {
    const value = BigInt(text);
    if (value === BigInt.asIntN(64, value)) result.bigint(value);
    return;
  }
  const value = Number(text);
  if (Number.isInteger(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER) result.bigint(BigInt(value));
}

function takeFloat(memory: Uint8Array, result: ScalarResult): void {
  if (scanner.kind === "number") result.number(Number(numberText(memory)));
}

function takeBoolean(_memory: Uint8Array, result: ScalarResult): void {
  if (scanner.kind === "true") result.number(1);
  else if (scanner.kind === "false") result.number(0);
}

/** DuckDB's names: integers from 0 on are UBIGINT, those below BIGINT, all other numbers DOUBLE. */
function takeType(memory: Uint8Array, result: ScalarResult): void {
  result.text(typeOfValue(memory));
}

function typeOfValue(memory: Uint8Array): string {
  switch (scanner.kind) {
    case "object":
    case "array":
    case "null":
      return scanner.kind.toUpperCase();
    case "true":
    case "false":
      return "BOOLEAN";
    case "string":
      return "VARCHAR";
    case "number":
      return numberType(numberText(memory));
  }
}

function numberType(text: string): string {
  if (!isInteger(text)) return "DOUBLE";
  const value = BigInt(text);
  if (value >= 0n && text[0] !== "-") return value === BigInt.asUintN(64, value) ? "UBIGINT" : "DOUBLE";
  return value === BigInt.asIntN(64, value) ? "BIGINT" : "DOUBLE";
}

/** 0 for what is no array, as in DuckDB. */
function takeLength(_memory: Uint8Array, result: ScalarResult): void {
  result.bigint(scanner.kind === "array" ? BigInt(scanner.arrayLength()) : 0n);
}

/** The names of an object as a text that DuckDB casts to VARCHAR[]; an empty list for anything else. */
function takeKeys(memory: Uint8Array, result: ScalarResult): void {
  const names: string[] = [];
  if (scanner.kind === "object") {
    scanner.keys((start, end, escaped) => {
      const text = decoder.decode(memory.subarray(start, end));
      const name = escaped ? (JSON.parse(`"${text}"`) as string) : text;
      names.push(`"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`);
    });
  }
  result.text(`[${names.join(", ")}]`);
}

function numberText(memory: Uint8Array): string {
  let text = "";
  for (let i = scanner.start; i < scanner.end; i++) text += String.fromCharCode(memory[i]!);
  return text;
}

function isInteger(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x2e || (code | 0x20) === 0x65) return false;
  }
  return true;
}

function hasSpace(memory: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (memory[i]! <= 0x20) return true;
  return false;
}

function withoutSpace(memory: Uint8Array, start: number, end: number): Uint8Array {
  const compact = new Uint8Array(end - start);
  let length = 0;
  let inString = false;
  for (let i = start; i < end; i++) {
    const byte = memory[i]!;
    if (inString) {
      compact[length++] = byte;
      if (byte === 0x5c) compact[length++] = memory[++i]!;
      else if (byte === 0x22) inString = false;
    } else if (byte > 0x20) {
      compact[length++] = byte;
      inString = byte === 0x22;
    }
  }
  return compact.subarray(0, length);
}

// Last, since these call what stands above while the module is evaluated.
export const jsonFunctions: readonly ScalarFunction[] = [
  byPath("json_extract", "utf8", takeJson),
  byPath("json_extract_path", "utf8", takeJson),
  byPath("json_extract_string", "utf8", takeText),
  byPath("json_extract_path_text", "utf8", takeText),
  byPath("->>", "utf8", takeText),
  // DuckDB resolves `->` to json_extract when text stands behind it, and to this name when a number does.
  byPath("->", "utf8", takeJson),
  byPath("json_type", "utf8", takeType),
  byPath("json_array_length", "uint64", takeLength),
  byPath("json_keys_text", "utf8", takeKeys),
  byPath("json_exists", "bool", (_memory, result) => result.number(1), 0),
  byPath("json_get_str", "utf8", takeString),
  byPath("json_get_int", "int64", takeInteger),
  byPath("json_get_float", "float64", takeFloat),
  byPath("json_get_bool", "bool", takeBoolean),
  byPath("json_get_json", "utf8", takeJson),
  {
    name: "json_valid",
    returns: "bool",
    call(memory, args, row, result) {
      const [json] = args;
      if (!json || json.isNull(row)) return;
      const valid =
        json.kind === "text" && scanner.find(memory, json.start(row), json.end(row), wholePath) !== "invalid";
      result.number(valid ? 1 : 0);
    },
  },
];

/** Macros over those functions, for what a function of ours cannot give: lists. */
export const jsonMacros: readonly string[] = [
  "CREATE OR REPLACE MACRO json_keys(value, path := '$') AS CAST(json_keys_text(value, path) AS VARCHAR[])",
];
