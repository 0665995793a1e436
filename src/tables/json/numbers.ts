/**
 * Exact numbers from JSON digits, and back. Digits never pass through a double unless the double is exact.
 */
import { asciiText, type JsonScanner } from "./scan.ts";

/** Powers of ten that a double holds exactly. */
export const exactPowersOfTen = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));

/** Digits past which an exponent cannot fit any type (UHUGEINT and DECIMAL have 39). */
const exponentMax = 400;

/**
 * The number last read times 10^`scale` as an integer, rounded half away from zero as DuckDB's DECIMAL casts do.
 * `exact` tells whether nothing was rounded off. Undefined for magnitudes beyond any type.
 */
export function scaledInteger(scanner: JsonScanner, scale: number): { value: bigint; exact: boolean } | undefined {
  const start = scanner.numberStart + (scanner.negative ? 1 : 0);
  let digits = mantissaDigits(scanner.bytes, start, scanner.numberEnd).replace(/^0+/, "");
  if (digits === "") return { value: 0n, exact: true };
  const shift = scanner.exponent - scanner.fractionDigits + scale;
  // The most significant digit decides whether the number can fit, or rounds to nothing.
  if (digits.length + shift > exponentMax) return undefined;
  if (digits.length + shift < 0) return { value: 0n, exact: false };
  let exact = true;
  let value: bigint;
  if (shift >= 0) value = BigInt(digits + "0".repeat(shift));
  else {
    const kept = digits.length + shift;
    const dropped = digits.slice(kept);
    digits = digits.slice(0, kept);
    value = digits === "" ? 0n : BigInt(digits);
    if (dropped.charCodeAt(0) >= 0x35) value += 1n;
    exact = /^0*$/.test(dropped);
  }
  return { value: scanner.negative ? -value : value, exact };
}

/** All digits of the number, without sign, point and exponent. */
function mantissaDigits(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if ((byte | 0x20) === 0x65) break;
    if (byte !== 0x2e) text += String.fromCharCode(byte);
  }
  return text;
}

/** The double nearest to the number last read; infinite when out of range. */
export function nearestDouble(scanner: JsonScanner): number {
  if (scanner.digits <= 15) {
    // Both operands are exact, so one rounding gives the nearest double (Clinger 1990).
    const power = scanner.exponent - scanner.fractionDigits;
    const value = scanner.negative ? -scanner.mantissa : scanner.mantissa;
    if (power === 0) return value;
    if (power > 0 && power <= 22) return value * exactPowersOfTen[power]!;
    if (power < 0 && power >= -22) return value / exactPowersOfTen[-power]!;
  }
  return Number(asciiText(scanner.bytes, scanner.numberStart, scanner.numberEnd));
}

/** Whether two decimal texts name the same number. */
export function sameNumber(a: string, b: string): boolean {
  return normalized(a) === normalized(b);
}

/** Sign, digits without zeros at either end, and the power of ten of the first digit. */
function normalized(text: string): string {
  const match = /^(-?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text);
  if (!match) return text;
  const digits = match[2]! + match[3]!;
  const significant = digits.replace(/^0+/, "");
  const power = match[2]!.length + Number(match[4] ?? 0) - (digits.length - significant.length);
  const trimmed = significant.replace(/0+$/, "");
  return trimmed === "" ? `${match[1]}0` : `${match[1]}${trimmed}e${power}`;
}

/** A DECIMAL's digits: `unscaled` / 10^scale with exactly `scale` digits after the point. */
export function decimalText(unscaled: bigint, scale: number): string {
  const negative = unscaled < 0n;
  const digits = (negative ? -unscaled : unscaled).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  const text = scale === 0 ? whole : `${whole}.${digits.slice(digits.length - scale)}`;
  return negative ? `-${text}` : text;
}
