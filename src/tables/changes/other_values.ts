/** Values of change events that are neither numbers nor times: JSON in text, bits, points, flags, binary text, and values made of others. */
import { Buffer } from "node:buffer";
import { limits } from "../../base/limits.ts";
import type { SqlType } from "../../sql/types.ts";
import {
  closeBrace,
  closeBracket,
  comma,
  type JsonScanner,
  nullWord,
  openBrace,
  openBracket,
  quote,
} from "../json/scan.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import {
  type Conversion,
  type Convert,
  failed,
  isNumberStart,
  keepValue,
  kept,
  type Outcome,
  replaced,
} from "./conversion.ts";
import { FieldNames } from "./field_names.ts";

/** Text that holds JSON, put in as that JSON. `strict`: the schema says that it is JSON. */
export function jsonInText(strict: boolean): Convert {
  return (scanner, context) => {
    if (scanner.peek() !== quote) return keepValue(scanner);
    const start = scanner.position;
    if (!scanner.scanString()) return failed;
    scanner.plainSpan();
    const { inner } = context;
    inner.reset(scanner.spanBytes, scanner.spanStart, scanner.spanEnd);
    inner.skipSpace();
    const from = inner.position;
    const valid = inner.skipValue();
    const to = inner.position;
    inner.skipSpace();
    if (!valid || inner.position < inner.end)
      return strict ? context.refuse(scanner, start, "text that holds JSON") : kept;
    context.splice.cut(start);
    context.splice.sink.copy(scanner.spanBytes, from, to);
    context.splice.resume(scanner.position);
    return replaced;
  };
}

/** MySQL's TINYINT(1): 0 and 1 for false and true. */
export function flag(scanner: JsonScanner, context: Conversion): Outcome {
  if (!isNumberStart(scanner.peek())) return keepValue(scanner);
  const start = scanner.position;
  if (!scanner.scanNumber()) return failed;
  if (scanner.position - start !== 1 || scanner.mantissa > 1) return kept;
  context.splice.cut(start);
  context.splice.sink.ascii(scanner.mantissa === 1 ? "true" : "false");
  context.splice.resume(scanner.position);
  return replaced;
}

/** Text of bytes in a BLOB column: base64's URL alphabet becomes the usual one. An object with `wkb` is that. */
export function binaryText(scanner: JsonScanner, context: Conversion): Outcome {
  const byte = scanner.peek();
  if (byte === openBrace) return geometryBytes(scanner, context);
  if (byte !== quote) return keepValue(scanner);
  const start = scanner.position;
  if (!scanner.scanString()) return failed;
  const { bytes, textStart, textEnd } = scanner;
  if (scanner.textEscaped) return kept;
  let isUrl = false;
  for (let i = textStart; i < textEnd && !isUrl; i++) isUrl = bytes[i] === 0x2d || bytes[i] === 0x5f;
  if (!isUrl) return kept;
  const { splice } = context;
  splice.cut(start);
  splice.sink.byte(quote);
  for (let i = textStart; i < textEnd; i++) {
    const sign = bytes[i]!;
    splice.sink.byte(sign === 0x2d ? 0x2b : sign === 0x5f ? 0x2f : sign);
  }
  splice.sink.byte(quote);
  splice.resume(scanner.position);
  return replaced;
}

/**
 * `io.debezium.data.Bits`: base64 of little-endian bytes. Text gets the bits as digits, the highest first, as many as the column at the source has;
 * of a `bit varying`, whose own length the event does not tell, the least number that holds the value. Numbers get their value.
 */
export function bits(type: SqlType, length: number, isInteger: boolean): Convert | undefined {
  if (type.kind !== "varchar" && !isInteger) return undefined;
  return (scanner, context) => {
    if (scanner.peek() !== quote) return context.refuseValue(scanner, "bits in base64");
    const start = scanner.position;
    if (!scanner.scanString()) return failed;
    const raw = Buffer.from(decodeUtf8(scanner.bytes, scanner.textStart, scanner.textEnd), "base64");
    const { splice } = context;
    if (raw.length * 8 > limits.changeBitsMax)
      return context.refuse(scanner, start, `at most ${limits.changeBitsMax} bits`);
    splice.cut(start);
    if (isInteger) {
      if (raw.length > 16) return context.refuse(scanner, start, "at most 128 bits");
      splice.sink.ascii(raw.length === 0 ? "0" : BigInt(`0x${raw.reverse().toString("hex")}`).toString());
    } else {
      let text = "";
      for (let i = raw.length - 1; i >= 0; i--) text += raw[i]!.toString(2).padStart(8, "0");
      text = text.replace(/^0+/, "");
      splice.sink.ascii(`"${length <= limits.changeBitsMax ? text.padStart(length, "0") : text}"`);
    }
    splice.resume(scanner.position);
    return replaced;
  };
}

const geometryNames = new FieldNames(["x", "y", "wkb", "srid"]);

interface Geometry {
  spans: Int32Array;
  /** It has no fields but those. */
  only: boolean;
}

/** The spans of a geometry's fields; the position is behind it. Undefined when the text is not JSON. */
function readGeometry(scanner: JsonScanner): Geometry | undefined {
  const spans = new Int32Array(8).fill(-1);
  let only = true;
  const read = readObject(scanner, (position) => {
    const field = geometryNames.find(scanner, position);
    if (!scanner.nameEnd()) return false;
    const from = scanner.position;
    if (!scanner.skipValue()) return false;
    if (field < 0) only = false;
    else {
      spans[field * 2] = from;
      spans[field * 2 + 1] = scanner.position;
    }
    return true;
  });
  return read ? { spans, only } : undefined;
}

function geometryBytes(scanner: JsonScanner, context: Conversion): Outcome {
  const start = scanner.position;
  const geometry = readGeometry(scanner);
  if (geometry === undefined) return failed;
  const [from, to] = [geometry.spans[4]!, geometry.spans[5]!];
  if (from < 0 || scanner.bytes[from] !== quote) return kept;
  context.splice.cut(start);
  context.splice.sink.copy(scanner.bytes, from, to);
  context.splice.resume(scanner.position);
  return replaced;
}

/** A point in a text column: `(1.5,-2.5)`, as PostgreSQL prints it. Other objects stay. */
export function pointText(scanner: JsonScanner, context: Conversion): Outcome {
  if (scanner.peek() !== openBrace) return keepValue(scanner);
  const start = scanner.position;
  const geometry = readGeometry(scanner);
  if (geometry === undefined) return failed;
  const { spans, only } = geometry;
  if (!only || !isCoordinate(scanner, spans[0]!) || !isCoordinate(scanner, spans[2]!)) return kept;
  const x = decodeUtf8(scanner.bytes, spans[0]!, spans[1]!);
  const y = decodeUtf8(scanner.bytes, spans[2]!, spans[3]!);
  context.splice.cut(start);
  context.splice.sink.text(`"(${postgresFloat(x)},${postgresFloat(y)})"`);
  context.splice.resume(scanner.position);
  return replaced;
}

/** A number, or the text of one that JSON cannot hold. */
function isCoordinate(scanner: JsonScanner, at: number): boolean {
  return at >= 0 && (scanner.bytes[at] === quote || isNumberStart(scanner.bytes[at]!));
}

/** A double as PostgreSQL prints it: the shortest digits, an exponent of two digits below 1e-4 and from 1e15 on. */
function postgresFloat(json: string): string {
  const value: unknown = JSON.parse(json);
  if (typeof value !== "number") return String(value);
  if (Object.is(value, -0)) return "-0";
  const [digits, power] = value.toExponential().split("e") as [string, string];
  const exponent = Number(power);
  if (exponent >= 15 || exponent < -4)
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  return String(value);
}

/** An array whose elements are converted. */
export function list(element: Convert): Convert {
  return (scanner, context) => {
    if (scanner.peek() !== openBracket) return keepValue(scanner);
    let outcome: Outcome = kept;
    if (!scanner.enter()) return failed;
    scanner.skipSpace();
    if (scanner.peek() === closeBracket) scanner.position++;
    else
      for (;;) {
        const one = convertOrNull(element, scanner, context);
        if (one === failed) return failed;
        if (one === replaced) outcome = replaced;
        scanner.skipSpace();
        const next = scanner.peek();
        if (next !== comma && next !== closeBracket) {
          scanner.syntax('"," or "]"');
          return failed;
        }
        scanner.position++;
        if (next === closeBracket) break;
        scanner.skipSpace();
      }
    scanner.depth--;
    return outcome;
  };
}

/** An object whose fields are converted, each its own way. */
export function struct(fields: readonly { name: string; convert: Convert | undefined }[]): Convert {
  const names = new FieldNames(fields.map(({ name }) => name));
  return (scanner, context) => {
    if (scanner.peek() !== openBrace) return keepValue(scanner);
    let outcome: Outcome = kept;
    const read = readObject(scanner, (position) => {
      const field = names.find(scanner, position);
      if (!scanner.nameEnd()) return false;
      const convert = field < 0 ? undefined : fields[field]!.convert;
      const one = convert === undefined ? keepValue(scanner) : convertOrNull(convert, scanner, context);
      if (one === replaced) outcome = replaced;
      return one !== failed;
    });
    return read ? outcome : failed;
  };
}

/** An object of any field names whose values are converted. */
export function map(value: Convert): Convert {
  return (scanner, context) => {
    if (scanner.peek() !== openBrace) return keepValue(scanner);
    let outcome: Outcome = kept;
    const read = readObject(scanner, () => {
      if (!scanner.nameEnd()) return false;
      const one = convertOrNull(value, scanner, context);
      if (one === replaced) outcome = replaced;
      return one !== failed;
    });
    return read ? outcome : failed;
  };
}

function convertOrNull(convert: Convert, scanner: JsonScanner, context: Conversion): Outcome {
  if (scanner.peek() !== 0x6e) return convert(scanner, context);
  return scanner.scanWord(nullWord) ? kept : failed;
}

/**
 * Reads the object at the position. `field` is called with each name just scanned and its place, and reads what follows; it returns false
 * to stop. False when it did, or when the text is not JSON.
 */
export function readObject(scanner: JsonScanner, field: (position: number) => boolean): boolean {
  if (!scanner.enter()) return false;
  scanner.skipSpace();
  if (scanner.peek() === closeBrace) scanner.position++;
  else
    for (let position = 0; ; position++) {
      if (scanner.peek() !== quote) return scanner.syntax("a field name in quotes");
      if (!scanner.scanString() || !field(position)) return false;
      scanner.skipSpace();
      const next = scanner.peek();
      if (next !== comma && next !== closeBrace) return scanner.syntax('"," or "}"');
      scanner.position++;
      if (next === closeBrace) break;
      scanner.skipSpace();
    }
  scanner.depth--;
  return true;
}
