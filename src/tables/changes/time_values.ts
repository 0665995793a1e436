/**
 * Dates, times and intervals of change events: numbers whose unit the schema's semantic name gives, or, without a schema, the column's type;
 * never their size. They become the ISO 8601 text that the plain row rules read.
 */
import { dateText, timestampText } from "../../sql/text_of_time.ts";
import { isInteger, type SqlType } from "../../sql/types.ts";
import type { ByteSink } from "../arrow/bytes.ts";
import { type JsonScanner, quote } from "../json/scan.ts";
import {
  type Conversion,
  type Convert,
  failed,
  integerRead,
  isNumberStart,
  keepValue,
  kept,
  replaced,
} from "./conversion.ts";

export type Unit = "ms" | "us" | "ns";
const perSecond: Record<Unit, number> = { ms: 1e3, us: 1e6, ns: 1e9 };
const fractionDigits: Record<Unit, number> = { ms: 3, us: 6, ns: 9 };

/** What PostgreSQL's driver makes of infinite timestamps, in milliseconds; Debezium sends it in its unit. */
const infiniteMillis = 9223372036825200n;
const minusInfiniteMillis = -9223372036832400n;

export function isTimestamp(type: SqlType): boolean {
  return type.kind.startsWith("timestamp");
}

/** A value that is kept unless it is a number. `write` gets the number, and false when it takes no such number. */
function numberAsText(
  expected: string,
  strict: boolean,
  write: (sink: ByteSink, value: number | bigint) => boolean,
): Convert {
  return (scanner, context) => {
    const start = scanner.position;
    if (!isNumberStart(scanner.peek())) {
      if (strict && scanner.peek() !== quote) return context.refuseValue(scanner, expected);
      if (!strict) return keepValue(scanner);
      // Text where a number is announced: only the placeholder may stand there, which the caller has looked for.
      return context.refuseValue(scanner, expected);
    }
    if (!scanner.scanNumber()) return failed;
    const value = integerRead(scanner);
    if (value === undefined) return context.refuse(scanner, start, expected);
    const { splice } = context;
    splice.cut(start);
    if (!write(splice.sink, value)) return context.refuse(scanner, start, expected);
    splice.resume(scanner.position);
    return replaced;
  };
}

/** Days since 1970. `strict`: the schema says that it is a number. */
export function dateDays(type: SqlType, strict: boolean): Convert | undefined {
  if (isInteger(type)) return undefined;
  const suffix = type.kind === "timestamptz" ? "T00:00:00Z" : isTimestamp(type) ? "T00:00:00" : "";
  return numberAsText("a number of days since 1970", strict, (sink, value) => {
    if (typeof value !== "number" || Math.abs(value) >= 2147483647) return false;
    sink.byte(quote);
    putDate(sink, value);
    sink.ascii(suffix);
    sink.byte(quote);
    return true;
  });
}

/** A count of `unit`s since 1970. */
export function timestampNumber(type: SqlType, unit: Unit, strict: boolean): Convert | undefined {
  if (isInteger(type)) return undefined;
  const zone = type.kind === "timestamptz" ? "Z" : "";
  const isDate = type.kind === "date";
  const perDay = perSecond[unit] * 86400;
  const wide = BigInt(perSecond[unit]);
  const digits = fractionDigits[unit];
  const toMillis = unit === "ms" ? 1n : unit === "us" ? 1000n : undefined;
  return numberAsText(`a number of ${unit} since 1970`, strict, (sink, value) => {
    sink.byte(quote);
    if (typeof value === "number") {
      const days = Math.floor(value / perDay);
      const rest = value - days * perDay;
      putDate(sink, days);
      if (!isDate || rest !== 0) {
        sink.byte(0x54);
        putClock(sink, rest, perSecond[unit], digits);
        if (zone !== "") sink.byte(0x5a);
      }
    } else if (toMillis !== undefined && value === infiniteMillis * toMillis) sink.ascii("infinity");
    else if (toMillis !== undefined && value === minusInfiniteMillis * toMillis) sink.ascii("-infinity");
    else sink.ascii(timestampText(value, wide, zone));
    sink.byte(quote);
    return true;
  });
}

/** A count of `unit`s since midnight. */
export function timeNumber(type: SqlType, unit: Unit, strict: boolean): Convert | undefined {
  if (isInteger(type)) return undefined;
  return numberAsText(`a number of ${unit} since midnight`, strict, (sink, value) => {
    if (typeof value !== "number") return false;
    sink.byte(quote);
    // MySQL's TIME may be negative and longer than a day; only an INTERVAL column takes such.
    if (value < 0) sink.byte(0x2d);
    putClock(sink, Math.abs(value), perSecond[unit], fractionDigits[unit]);
    sink.byte(quote);
    return true;
  });
}

/** A length of time in microseconds or nanoseconds. */
export function duration(type: SqlType, unit: "us" | "ns", strict: boolean): Convert | undefined {
  if (type.kind !== "interval" && type.kind !== "varchar") return undefined;
  return numberAsText(`a number of ${unit}`, strict, (sink, value) => {
    const micros = unit === "us" ? BigInt(value) : BigInt(value) / 1000n;
    sink.ascii(`"${micros} us"`);
    return true;
  });
}

/**
 * Text of a time or date with a zone behind it, for columns without one: a time moves to UTC, a date only loses its `Z`. Numbers are the
 * business of `number`.
 */
export function withoutZone(type: SqlType, number: Convert | undefined): Convert | undefined {
  if (type.kind !== "time" && type.kind !== "date") return number;
  const isTime = type.kind === "time";
  return (scanner, context) => {
    if (scanner.peek() !== quote) return number === undefined ? keepValue(scanner) : number(scanner, context);
    const start = scanner.position;
    if (!scanner.scanString()) return failed;
    if (scanner.textEscaped) return kept;
    const { bytes, textStart, textEnd } = scanner;
    if (bytes[textEnd - 1] === 0x5a) {
      context.splice.cut(textEnd - 1);
      context.splice.resume(textEnd);
      return replaced;
    }
    return isTime ? timeInUtc(scanner, context, start, textStart, textEnd) : kept;
  };
}

/** `10:34:56.789012+02:00` as `08:34:56.789012`. */
function timeInUtc(scanner: JsonScanner, context: Conversion, start: number, from: number, to: number) {
  const sign = Math.max(from, to - 9);
  let at = to - 1;
  while (at >= sign && scanner.bytes[at] !== 0x2b && scanner.bytes[at] !== 0x2d) at--;
  if (at < sign) return kept;
  const text = String.fromCharCode(...scanner.bytes.subarray(from, to));
  const match = /^(\d\d):(\d\d):(\d\d)(\.\d{1,9})?([+-])(\d\d):?(\d\d)?$/.exec(text);
  if (!match) return kept;
  const zone = (Number(match[6]) * 60 + Number(match[7] ?? 0)) * 60 * (match[5] === "-" ? -1 : 1);
  const seconds = Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3]) - zone;
  const inDay = ((seconds % 86400) + 86400) % 86400;
  const { splice } = context;
  splice.cut(start);
  splice.sink.byte(quote);
  putClock(splice.sink, inDay, 1, 0);
  splice.sink.ascii(`${match[4] ?? ""}"`);
  splice.resume(scanner.position);
  return replaced;
}

/** `2024-02-29`: days since 1970 in the proleptic Gregorian calendar (Howard Hinnant's civil_from_days). */
export function putDate(sink: ByteSink, days: number): void {
  const shifted = days + 719468;
  // Years 0 to 9999; others have a sign, and are rare.
  if (shifted < 60 || shifted > 3652424) {
    sink.ascii(dateText(days));
    return;
  }
  const era = Math.floor(shifted / 146097);
  const dayOfEra = shifted - era * 146097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const m = Math.floor((5 * dayOfYear + 2) / 153);
  const month = m < 10 ? m + 3 : m - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  putDigits(sink, year, 4);
  sink.byte(0x2d);
  putDigits(sink, month, 2);
  sink.byte(0x2d);
  putDigits(sink, dayOfYear - Math.floor((153 * m + 2) / 5) + 1, 2);
}

/** `12:34:56.789`, without zeros at the end of the fraction. `value` counts `unit`-ths of a second, `digits` of them. */
function putClock(sink: ByteSink, value: number, unit: number, digits: number): void {
  const seconds = Math.floor(value / unit);
  let rest = value - seconds * unit;
  const hours = Math.floor(seconds / 3600);
  putDigits(sink, hours, hours > 99 ? String(hours).length : 2);
  sink.byte(0x3a);
  putDigits(sink, Math.floor(seconds / 60) % 60, 2);
  sink.byte(0x3a);
  putDigits(sink, seconds % 60, 2);
  if (rest === 0) return;
  let count = digits;
  while (rest % 10 === 0) {
    rest /= 10;
    count--;
  }
  sink.byte(0x2e);
  putDigits(sink, rest, count);
}

function putDigits(sink: ByteSink, value: number, count: number): void {
  sink.reserve(count);
  const { bytes, length } = sink;
  let rest = value;
  for (let i = length + count - 1; i >= length; i--) {
    const next = Math.floor(rest / 10);
    bytes[i] = 0x30 + (rest - next * 10);
    rest = next;
  }
  sink.length = length + count;
}
