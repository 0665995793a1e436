/**
 * The value that a connector sends in place of a large one that an update did not touch (Debezium's `unavailable.value.placeholder`).
 *
 * Text columns have it as it is, binary ones in base64 (or hex), arrays as their only element, integer arrays as its bytes, and hstore as an
 * object of one field that has it as name and value.
 */
import { Buffer } from "node:buffer";
import { backslash, closeBracket, comma, type JsonScanner, openBrace, openBracket, quote } from "../json/scan.ts";

export const usualPlaceholder = "__debezium_unavailable_value";

export class Placeholder {
  private readonly forms: readonly Uint8Array[];
  private readonly plain: Uint8Array;
  /** Lengths that a form has. */
  private readonly lengths = new Set<number>();
  /** First bytes that a form has. */
  private readonly firsts = new Uint8Array(256);

  constructor(text: string = usualPlaceholder) {
    const plain = Buffer.from(text, "utf8");
    const hstore = (space: string) => `{${JSON.stringify(text)}:${space}${JSON.stringify(text)}}`;
    const forms = [
      text,
      plain.toString("base64"),
      plain.toString("base64url"),
      plain.toString("hex"),
      hstore(""),
      hstore(" "),
    ];
    this.plain = new Uint8Array(plain);
    this.forms = forms.map((form) => new TextEncoder().encode(form));
    for (const form of this.forms) {
      this.lengths.add(form.length);
      this.firsts[form[0]!] = 1;
    }
  }

  /** Whether the value at the position, which is text, an array or an object, is a placeholder. The position stays there. */
  isHere(scanner: JsonScanner): boolean {
    const byte = scanner.peek();
    if (byte === openBracket) return this.inArray(scanner);
    if (byte === openBrace) return this.inObject(scanner);
    const start = scanner.position;
    const next = start + 1 < scanner.end ? scanner.bytes[start + 1]! : 0;
    if (this.firsts[next] === 0 && next !== backslash) return false;
    const found = scanner.scanString() && this.inText(scanner);
    scanner.position = start;
    scanner.syntaxError = "";
    return found;
  }

  /** Whether the string last read is a placeholder. */
  private inText(scanner: JsonScanner): boolean {
    if (!scanner.textEscaped) {
      return (
        this.lengths.has(scanner.textEnd - scanner.textStart) &&
        this.isForm(scanner.bytes, scanner.textStart, scanner.textEnd)
      );
    }
    scanner.plainSpan();
    return (
      this.lengths.has(scanner.spanEnd - scanner.spanStart) &&
      this.isForm(scanner.spanBytes, scanner.spanStart, scanner.spanEnd)
    );
  }

  private isForm(bytes: Uint8Array, start: number, end: number): boolean {
    return this.forms.some((form) => same(form, bytes, start, end));
  }

  /** Whether the array whose opening bracket is at the position is a placeholder. */
  private inArray(scanner: JsonScanner): boolean {
    const start = scanner.position;
    scanner.position++;
    scanner.skipSpace();
    const first = scanner.peek();
    let found = false;
    if (first === quote) {
      if (scanner.scanString() && this.inText(scanner)) {
        scanner.skipSpace();
        found = scanner.peek() === closeBracket;
      }
    } else if (first >= 0x30 && first <= 0x39) found = this.isByteList(scanner);
    scanner.position = start;
    // A text that is not JSON is found out again by whoever reads the array.
    scanner.syntaxError = "";
    return found;
  }

  private isByteList(scanner: JsonScanner): boolean {
    for (let i = 0; i < this.plain.length; i++) {
      if (i > 0) {
        if (scanner.peek() !== comma) return false;
        scanner.position++;
        scanner.skipSpace();
      }
      const byte = scanner.peek();
      if (byte < 0x30 || byte > 0x39 || !scanner.scanNumber()) return false;
      if (scanner.mantissa !== this.plain[i] || scanner.fractionDigits > 0 || scanner.hasExponent) return false;
      scanner.skipSpace();
    }
    return scanner.peek() === closeBracket;
  }

  /** Whether the object whose opening brace is at the position is a placeholder (hstore as a map). */
  private inObject(scanner: JsonScanner): boolean {
    const start = scanner.position;
    scanner.position++;
    scanner.skipSpace();
    const found =
      scanner.peek() === quote &&
      scanner.scanString() &&
      this.inText(scanner) &&
      scanner.nameEnd() &&
      scanner.peek() === quote &&
      scanner.scanString() &&
      this.inText(scanner);
    scanner.position = start;
    scanner.syntaxError = "";
    return found;
  }
}

function same(form: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (form.length !== end - start) return false;
  for (let i = 0; i < form.length; i++) if (form[i] !== bytes[start + i]) return false;
  return true;
}
