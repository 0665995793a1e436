/**
 * How one value of a change event becomes a value that the plain row rules read: it is kept as it stands, replaced, or found to be the
 * placeholder of a value that the source did not send.
 */
import { JsonScanner } from "../json/scan.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import type { Placeholder } from "./placeholder.ts";
import { Splice } from "./splice.ts";

/** The value stands as it is; the position is behind it. */
export const kept = 0;
/** The splice holds its replacement. */
export const replaced = 1;
/** The value is the placeholder. */
export const unchanged = 2;
/** The context's fault or the scanner's syntax error says what is wrong; the position is anywhere. */
export const failed = 3;
export type Outcome = 0 | 1 | 2 | 3;

/** Reads the value at the position, which is not null. */
export type Convert = (scanner: JsonScanner, context: Conversion) => Outcome;

/** Characters of a value that a message shows. */
const shownMax = 60;

export class Conversion {
  readonly splice = new Splice();
  readonly placeholder: Placeholder;
  /** For JSON inside of a text. */
  readonly inner = new JsonScanner();
  fault = "";

  constructor(placeholder: Placeholder) {
    this.placeholder = placeholder;
  }

  /** Refuses the value [start, position). */
  refuse(scanner: JsonScanner, start: number, expected: string): Outcome {
    if (this.fault === "") this.fault = `${shown(scanner.bytes, start, scanner.position)} is not ${expected}`;
    return failed;
  }

  /** Passes over the value at the position and refuses it. */
  refuseValue(scanner: JsonScanner, expected: string): Outcome {
    const start = scanner.position;
    if (!scanner.skipValue()) return failed;
    return this.refuse(scanner, start, expected);
  }
}

/** Passes over the value at the position and keeps it. */
export function keepValue(scanner: JsonScanner): Outcome {
  return scanner.skipValue() ? kept : failed;
}

export function isNumberStart(byte: number): boolean {
  return byte === 0x2d || (byte >= 0x30 && byte <= 0x39);
}

/** A number that was just read as an integer, exact: a bigint where a double is not. Undefined when it has a fraction or an exponent. */
export function integerRead(scanner: JsonScanner): number | bigint | undefined {
  if (scanner.fractionDigits > 0 || scanner.hasExponent) return undefined;
  if (scanner.mantissa <= Number.MAX_SAFE_INTEGER) return scanner.negative ? -scanner.mantissa : scanner.mantissa;
  // Past the digits of any 128-bit number; a text of millions of digits is not worth a conversion.
  if (scanner.digits > 40) return undefined;
  return BigInt(scanner.numberText());
}

/** The start of a value's text, cut between characters. */
export function shown(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= shownMax) return decodeUtf8(bytes, start, end);
  let cut = start + shownMax;
  while (cut > start && (bytes[cut]! & 0xc0) === 0x80) cut--;
  return `${decodeUtf8(bytes, start, cut)}… (${end - start} bytes)`;
}
