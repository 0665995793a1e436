/**
 * Exact decimals of change events: base64 of a big-endian two's complement integer, whose scale is the schema's, the value's own, or, without
 * a schema, the column's. They become numbers in digits; no double on the way.
 */
import { Buffer } from "node:buffer";
import { limits } from "../../base/limits.ts";
import type { SqlType } from "../../sql/types.ts";
import type { ByteSink } from "../arrow/bytes.ts";
import { decimalText } from "../json/numbers.ts";
import { closeBrace, comma, type JsonScanner, openBrace, quote } from "../json/scan.ts";
import {
  type Conversion,
  type Convert,
  failed,
  integerRead,
  isNumberStart,
  keepValue,
  kept,
  type Outcome,
  replaced,
} from "./conversion.ts";

const base64Value = new Int8Array(256).fill(-1);
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
for (let i = 0; i < 64; i++) base64Value[alphabet.charCodeAt(i)] = i;

const tooLong = `a decimal of at most ${limits.changeDecimalBytesMax} bytes`;

/** Columns that take a decimal as a number; all others but text keep what stands there. */
function takesNumber(type: SqlType): boolean {
  return type.kind !== "varchar" && type.kind !== "blob" && type.kind !== "struct";
}

/** `org.apache.kafka.connect.data.Decimal`: base64, or a number (the converter's `decimal.format=NUMERIC`). */
export function decimalOfScale(type: SqlType, scale: number): Convert | undefined {
  if (type.kind === "blob") return undefined;
  const asText = !takesNumber(type);
  return (scanner, context) => {
    if (scanner.peek() !== quote) {
      if (scanner.peek() === openBrace) return context.refuseValue(scanner, "a decimal");
      return keepValue(scanner);
    }
    const start = scanner.position;
    if (!scanner.scanString()) return failed;
    return putBase64(scanner, context, start, scanner.textStart, scanner.textEnd, scale, asText);
  };
}

/** `io.debezium.data.VariableScaleDecimal`: an object of scale and value. */
export function variableScaleDecimal(type: SqlType): Convert | undefined {
  if (!takesNumber(type) && type.kind !== "varchar") return undefined;
  return (scanner, context) => {
    if (scanner.peek() !== openBrace) return context.refuseValue(scanner, "an object of scale and value");
    return putVariable(scanner, context, scanner.position, type.kind === "varchar");
  };
}

/**
 * Without a schema, in a DECIMAL or integer column: text is base64 of the column's scale unless it can be none, when it is left to the plain
 * rules, as the digits of a number; an object is a scale and a value.
 */
export function decimalOfColumn(scale: number): Convert {
  return (scanner, context) => {
    const byte = scanner.peek();
    if (byte === openBrace) return putVariable(scanner, context, scanner.position, false);
    if (byte !== quote) return keepValue(scanner);
    const start = scanner.position;
    if (!scanner.scanString()) return failed;
    const { bytes, textStart, textEnd } = scanner;
    if (!isBase64(bytes, textStart, textEnd)) return kept;
    return putBase64(scanner, context, start, textStart, textEnd, scale, false);
  };
}

/** Floating columns: text NAN as Debezium spells it in decimals sent as strings; an object of scale and value. */
export function floatOfColumn(scanner: JsonScanner, context: Conversion): Outcome {
  const byte = scanner.peek();
  if (byte === openBrace) return putVariable(scanner, context, scanner.position, false);
  if (byte !== quote) return keepValue(scanner);
  const start = scanner.position;
  if (!scanner.scanString()) return failed;
  const { bytes, textStart, textEnd } = scanner;
  if (textEnd - textStart !== 3 || bytes[textStart] !== 0x4e || bytes[textStart + 1] !== 0x41) return kept;
  context.splice.cut(start);
  context.splice.sink.ascii('"NaN"');
  context.splice.resume(scanner.position);
  return replaced;
}

function isBase64(bytes: Uint8Array, start: number, end: number): boolean {
  if ((end - start) % 4 !== 0 || end === start) return false;
  const last = bytes[end - 1] !== 0x3d ? end : bytes[end - 2] !== 0x3d ? end - 1 : end - 2;
  for (let i = start; i < last; i++) if (base64Value[bytes[i]!]! < 0) return false;
  return true;
}

/** Replaces the value [start, position) by the decimal whose base64 stands at [from, to). */
function putBase64(
  scanner: JsonScanner,
  context: Conversion,
  start: number,
  from: number,
  to: number,
  scale: number,
  asText: boolean,
): Outcome {
  const { bytes } = scanner;
  if (!isBase64(bytes, from, to)) return context.refuse(scanner, start, "a decimal in base64");
  const { splice } = context;
  const digits = ((to - from) / 4) * 3;
  if (digits > limits.changeDecimalBytesMax + 2) return context.refuse(scanner, start, tooLong);
  splice.cut(start);
  if (asText) splice.sink.byte(quote);
  putUnscaled(splice.sink, bytes, from, to, scale);
  if (asText) splice.sink.byte(quote);
  splice.resume(scanner.position);
  return replaced;
}

function putUnscaled(sink: ByteSink, bytes: Uint8Array, from: number, to: number, scale: number): void {
  // Up to eight base64 characters hold six bytes, which a double holds exactly.
  if (to - from <= 8 && scale >= 0 && scale <= 14) {
    let value = 0;
    let bits = 0;
    for (let i = from; i < to && bytes[i] !== 0x3d; i++) {
      value = value * 64 + base64Value[bytes[i]!]!;
      bits += 6;
    }
    const extra = bits % 8;
    value = Math.floor(value / 2 ** extra);
    const bound = 2 ** (bits - extra);
    if (value >= bound / 2) value -= bound;
    putDecimal(sink, value, scale);
    return;
  }
  const raw = Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1"), "base64");
  const unsigned = raw.length === 0 ? 0n : BigInt(`0x${raw.toString("hex")}`);
  const value = BigInt.asIntN(raw.length * 8, unsigned);
  sink.ascii(scale >= 0 ? decimalText(value, scale) : (value * 10n ** BigInt(-scale)).toString());
}

/** `unscaled` / 10^`scale`, in digits. */
function putDecimal(sink: ByteSink, unscaled: number, scale: number): void {
  let rest = Math.abs(unscaled);
  if (unscaled < 0) sink.byte(0x2d);
  let digits = 1;
  for (let power = 10; power <= rest; power *= 10) digits++;
  const whole = Math.max(digits, scale + 1);
  const count = scale > 0 ? whole + 1 : whole;
  sink.reserve(count);
  const { bytes, length } = sink;
  let at = length + count;
  for (let i = 0; i < whole; i++) {
    if (i === scale && scale > 0) bytes[--at] = 0x2e;
    const next = Math.floor(rest / 10);
    bytes[--at] = 0x30 + (rest - next * 10);
    rest = next;
  }
  sink.length = length + count;
}

/** Replaces the object at the position, of a scale and a value. */
function putVariable(scanner: JsonScanner, context: Conversion, start: number, asText: boolean): Outcome {
  const expected = 'an object of a number "scale" and a base64 text "value"';
  let scale: number | undefined;
  let from = -1;
  let to = -1;
  if (!scanner.enter()) return failed;
  scanner.skipSpace();
  for (;;) {
    if (scanner.peek() !== quote) {
      scanner.syntax("a field name in quotes");
      return failed;
    }
    if (!scanner.scanString()) return failed;
    const first = scanner.bytes[scanner.textStart];
    const named = scanner.textEnd - scanner.textStart === 5;
    if (!scanner.nameEnd()) return failed;
    const byte = scanner.peek();
    if (!scanner.skipValue()) return failed;
    if (named && first === 0x73) scale = isNumberStart(byte) ? Number(integerRead(scanner)) : undefined;
    else if (named && first === 0x76 && byte === quote) {
      from = scanner.textStart;
      to = scanner.textEnd;
    }
    scanner.skipSpace();
    if (scanner.peek() === closeBrace) break;
    if (scanner.peek() !== comma) {
      scanner.syntax('"," or "}"');
      return failed;
    }
    scanner.position++;
    scanner.skipSpace();
  }
  scanner.position++;
  scanner.depth--;
  if (scale === undefined || from < 0 || !(Math.abs(scale) <= limits.changeDecimalScaleMax))
    return context.refuse(scanner, start, expected);
  return putBase64(scanner, context, start, from, to, scale, asText);
}

/** Without a schema, in a text column: an object of exactly a scale and a value becomes its digits; other objects are the business of `object`. */
export function textOfColumn(object: Convert): Convert {
  return (scanner, context) => {
    if (scanner.peek() !== openBrace) return keepValue(scanner);
    const { position, depth } = scanner;
    if (looksVariable(scanner)) {
      const outcome = putVariable(scanner, context, position, true);
      if (outcome !== failed || scanner.syntaxError !== "") return outcome;
      context.fault = "";
      scanner.position = position;
      scanner.depth = depth;
    }
    return object(scanner, context);
  };
}

/** Whether the object at the position starts with a field `scale`, as Connect writes such decimals. The position stays. */
function looksVariable(scanner: JsonScanner): boolean {
  const { position } = scanner;
  const start = '{"scale":';
  for (let i = 0; i < start.length; i++) if (scanner.bytes[position + i] !== start.charCodeAt(i)) return false;
  return position + start.length < scanner.end;
}
