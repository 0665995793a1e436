/**
 * Reads JSON text (RFC 8259) from UTF-8 bytes, token by token, without building values.
 *
 * Strict: a number with a leading zero, a bare NaN, a control character in a string, bytes that are not UTF-8 are refused. Nothing recurses:
 * a value that nobody wants is skipped with a counter, so that its depth cannot exhaust the stack.
 */
import { limits } from "../../base/limits.ts";
import type { BytesVector } from "../arrow/vectors.ts";
import { decodeUtf8, putUtf8, utf8Length } from "./utf8.ts";

export const quote = 0x22;
export const backslash = 0x5c;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const comma = 0x2c;
export const colon = 0x3a;
export const minus = 0x2d;

/** Bytes that stand in a string as they are: ASCII but quote, backslash and control characters. */
const plain = new Uint8Array(256);
for (let i = 0x20; i < 0x80; i++) plain[i] = i === quote || i === backslash ? 0 : 1;

const hexDigit = new Int8Array(256).fill(-1);
for (let i = 0; i < 16; i++) {
  hexDigit["0123456789abcdef".charCodeAt(i)] = i;
  hexDigit["0123456789ABCDEF".charCodeAt(i)] = i;
}

export class JsonScanner {
  bytes: Uint8Array = new Uint8Array(0);
  position = 0;
  end = 0;
  /** Objects and arrays that are open around the position. */
  depth = 0;
  /** What is wrong with the text as JSON, or "". Once set, the value is refused whatever follows. */
  syntaxError = "";
  /** What is wrong with a value for its column, or "". */
  fault = "";
  /** Where inside of the column's value the fault is, such as `.tags[3]`. */
  faultPath = "";
  faultStart = 0;
  faultEnd = 0;
  /** Set when what is stored differs in meaning from what was read, so that the record must be written anew. */
  changed = false;

  /** The string last read, without its quotes. */
  textStart = 0;
  textEnd = 0;
  textEscaped = false;

  /** The number last read: its span, its digits as an integer (exact up to 15 digits), and its shape. */
  numberStart = 0;
  numberEnd = 0;
  negative = false;
  mantissa = 0;
  digits = 0;
  fractionDigits = 0;
  /** The power of ten after `e`; 0 without one. Magnitudes past 100,000 are cut there. */
  exponent = 0;
  hasExponent = false;

  private scratch = new Uint8Array(256);
  /** One entry for each open container that is being skipped: 1 for an object. */
  private readonly containers = new Uint8Array(limits.jsonDepthMax + 1);

  reset(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.depth = 0;
    this.syntaxError = "";
    this.clearFault();
    this.changed = false;
  }

  clearFault(): void {
    this.fault = "";
    this.faultPath = "";
  }

  /** The byte at the position, or -1 at the end. */
  peek(): number {
    return this.position < this.end ? this.bytes[this.position]! : -1;
  }

  skipSpace(): void {
    const bytes = this.bytes;
    let i = this.position;
    while (i < this.end) {
      const byte = bytes[i]!;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      i++;
    }
    this.position = i;
  }

  /** Notes a syntax error at the position; always false. */
  syntax(expected: string): false {
    if (this.syntaxError === "") {
      const found = this.position < this.end ? byteName(this.bytes[this.position]!) : "the end of the value";
      this.syntaxError = `not valid JSON at byte ${this.position}: expected ${expected}, found ${found}`;
    }
    return false;
  }

  /** Notes that the value [start, position) does not suit its column; always false. */
  refuse(start: number, rule: string): false {
    if (this.fault === "") {
      this.fault = rule;
      this.faultStart = start;
      this.faultEnd = this.position;
    }
    return false;
  }

  /** Enters an object or array whose opening sign is at the position. */
  enter(): boolean {
    if (++this.depth > limits.jsonDepthMax) return this.tooDeep();
    this.position++;
    return true;
  }

  private tooDeep(): false {
    if (this.syntaxError === "") this.syntaxError = `nested deeper than ${limits.jsonDepthMax} levels`;
    return false;
  }

  /** Reads the string whose opening quote is at the position; checks escapes and UTF-8. */
  scanString(): boolean {
    const bytes = this.bytes;
    const end = this.end;
    let i = this.position + 1;
    this.textStart = i;
    this.textEscaped = false;
    for (;;) {
      while (i < end && plain[bytes[i]!] === 1) i++;
      if (i >= end) {
        this.position = end;
        return this.syntax("the closing quote of a string");
      }
      const byte = bytes[i]!;
      if (byte === quote) break;
      if (byte === backslash) {
        this.textEscaped = true;
        const next = i + 1 < end ? bytes[i + 1]! : 0;
        if (next === 0x75) {
          if (i + 6 > end || this.hex4(i + 2) < 0) {
            this.position = i;
            return this.syntax("four hexadecimal digits after \\u");
          }
          i += 6;
        } else if (escapes[next] !== 0) i += 2;
        else {
          this.position = i + 1;
          return this.syntax("an escape sequence");
        }
      } else if (byte < 0x20) {
        this.position = i;
        return this.syntax("no unescaped control character in a string");
      } else {
        const length = utf8Length(bytes, i, end);
        if (length === 0) {
          this.position = i;
          if (this.syntaxError === "") this.syntaxError = `not valid UTF-8 at byte ${i}`;
          return false;
        }
        i += length;
      }
    }
    this.textEnd = i;
    this.position = i + 1;
    return true;
  }

  private hex4(at: number): number {
    const bytes = this.bytes;
    const a = hexDigit[bytes[at]!]!;
    const b = hexDigit[bytes[at + 1]!]!;
    const c = hexDigit[bytes[at + 2]!]!;
    const d = hexDigit[bytes[at + 3]!]!;
    return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d;
  }

  /** Appends the string last read to `target` as one value, escapes resolved. A lone surrogate becomes U+FFFD. */
  pushText(target: BytesVector): void {
    if (!this.textEscaped) {
      target.pushBytes(this.bytes, this.textStart, this.textEnd);
      return;
    }
    target.reserve(this.textEnd - this.textStart);
    target.used = this.unescape(target.data, target.used);
    target.finish();
  }

  /** The string last read with its escapes resolved, as a span of `spanBytes`. */
  spanBytes: Uint8Array = this.bytes;
  spanStart = 0;
  spanEnd = 0;
  plainSpan(): void {
    if (!this.textEscaped) {
      this.spanBytes = this.bytes;
      this.spanStart = this.textStart;
      this.spanEnd = this.textEnd;
      return;
    }
    const needed = this.textEnd - this.textStart;
    if (this.scratch.length < needed) this.scratch = new Uint8Array(needed * 2);
    this.spanBytes = this.scratch;
    this.spanStart = 0;
    this.spanEnd = this.unescape(this.scratch, 0);
  }

  /** The string last read as a JavaScript string. */
  textValue(): string {
    this.plainSpan();
    return decodeUtf8(this.spanBytes, this.spanStart, this.spanEnd);
  }

  /** Writes the string with escapes resolved; never longer than its source. Returns the position after it. */
  private unescape(target: Uint8Array, to: number): number {
    const bytes = this.bytes;
    let at = to;
    let i = this.textStart;
    while (i < this.textEnd) {
      const byte = bytes[i]!;
      if (byte !== backslash) {
        target[at++] = byte;
        i++;
        continue;
      }
      const sign = bytes[i + 1]!;
      if (sign !== 0x75) {
        target[at++] = escapes[sign]!;
        i += 2;
        continue;
      }
      let code = this.hex4(i + 2);
      i += 6;
      if ((code & 0xf800) === 0xd800) {
        const low =
          code < 0xdc00 && i + 6 <= this.textEnd && bytes[i] === backslash && bytes[i + 1] === 0x75
            ? this.hex4(i + 2)
            : -1;
        if ((low & 0xfc00) === 0xdc00) {
          code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
          i += 6;
        } else {
          code = 0xfffd;
          this.changed = true;
        }
      }
      at = putUtf8(target, at, code);
    }
    return at;
  }

  /** Reads a number at the position. */
  scanNumber(): boolean {
    const bytes = this.bytes;
    const end = this.end;
    let i = this.position;
    this.numberStart = i;
    this.negative = bytes[i] === minus;
    if (this.negative) i++;
    let mantissa = 0;
    let byte = i < end ? bytes[i]! : 0;
    if (byte < 0x30 || byte > 0x39) {
      this.position = i;
      return this.syntax("a digit");
    }
    const first = i;
    if (byte === 0x30) i++;
    else
      while (byte >= 0x30 && byte <= 0x39) {
        mantissa = mantissa * 10 + (byte - 0x30);
        byte = ++i < end ? bytes[i]! : 0;
      }
    this.digits = i - first;
    this.fractionDigits = 0;
    this.exponent = 0;
    this.hasExponent = false;
    if (i < end && bytes[i] === 0x2e) {
      const start = ++i;
      byte = i < end ? bytes[i]! : 0;
      while (byte >= 0x30 && byte <= 0x39) {
        mantissa = mantissa * 10 + (byte - 0x30);
        byte = ++i < end ? bytes[i]! : 0;
      }
      this.fractionDigits = i - start;
      this.digits += i - start;
      if (i === start) {
        this.position = i;
        return this.syntax("a digit after the decimal point");
      }
    }
    this.mantissa = mantissa;
    if (i < end && (bytes[i]! | 0x20) === 0x65) {
      i = this.scanExponent(i + 1);
      if (i < 0) return false;
    }
    this.numberEnd = i;
    this.position = i;
    return true;
  }

  private scanExponent(start: number): number {
    const bytes = this.bytes;
    let i = start;
    const sign = bytes[i];
    if (i < this.end && (sign === 0x2b || sign === minus)) i++;
    const first = i;
    let value = 0;
    while (i < this.end && bytes[i]! >= 0x30 && bytes[i]! <= 0x39) {
      value = Math.min(value * 10 + (bytes[i]! - 0x30), 100_000);
      i++;
    }
    if (i === first) {
      this.position = i;
      this.syntax("a digit in the exponent");
      return -1;
    }
    this.exponent = sign === minus && value !== 0 ? -value : value;
    this.hasExponent = true;
    return i;
  }

  /** Reads the string last read as a number that it must be as a whole; the position stays after the string. */
  numberInText(): boolean {
    if (this.textEscaped) return false;
    const position = this.position;
    const end = this.end;
    this.position = this.textStart;
    this.end = this.textEnd;
    const first = this.peek();
    const whole =
      (first === minus || (first >= 0x30 && first <= 0x39)) && this.scanNumber() && this.position === this.textEnd;
    this.position = position;
    this.end = end;
    this.syntaxError = "";
    return whole;
  }

  /** Reads true, false or null at the position, whichever is `word`. */
  scanWord(word: Uint8Array<ArrayBuffer>): boolean {
    const start = this.position;
    for (let i = 0; i < word.length; i++) {
      if (start + i >= this.end || this.bytes[start + i] !== word[i]) {
        this.position = Math.min(start + i, this.end);
        return this.syntax(wordNames.get(word)!);
      }
    }
    this.position = start + word.length;
    return true;
  }

  /** Passes over the value at the position, checking its syntax. */
  skipValue(): boolean {
    const outer = this.depth;
    for (;;) {
      const byte = this.peek();
      if (byte === openBrace || byte === openBracket) {
        if (!this.enter()) return false;
        const isObject = byte === openBrace;
        this.containers[this.depth] = isObject ? 1 : 0;
        this.skipSpace();
        if (this.peek() === (isObject ? closeBrace : closeBracket)) {
          this.position++;
          this.depth--;
        } else {
          if (isObject && !this.skipName()) return false;
          continue;
        }
      } else if (!this.skipScalar(byte)) return false;
      // A value has ended: close what ends with it, until one expects another value.
      for (;;) {
        if (this.depth === outer) return true;
        this.skipSpace();
        const isObject = this.containers[this.depth] === 1;
        const next = this.peek();
        if (next === comma) {
          this.position++;
          this.skipSpace();
          if (isObject && !this.skipName()) return false;
          break;
        }
        if (next !== (isObject ? closeBrace : closeBracket)) return this.syntax(isObject ? '"," or "}"' : '"," or "]"');
        this.position++;
        this.depth--;
      }
    }
  }

  private skipName(): boolean {
    if (this.peek() !== quote) return this.syntax("a field name in quotes");
    return this.scanString() && this.nameEnd();
  }

  /** Passes over the colon after a field's name and the space around it. */
  nameEnd(): boolean {
    this.skipSpace();
    if (this.peek() !== colon) return this.syntax('":" after a field name');
    this.position++;
    this.skipSpace();
    return true;
  }

  private skipScalar(byte: number): boolean {
    if (byte === quote) return this.scanString();
    if (byte === minus || (byte >= 0x30 && byte <= 0x39)) return this.scanNumber();
    if (byte === 0x74) return this.scanWord(trueWord);
    if (byte === 0x66) return this.scanWord(falseWord);
    if (byte === 0x6e) return this.scanWord(nullWord);
    return this.syntax("a value");
  }

  /** The number last read, in its own characters. */
  numberText(): string {
    return asciiText(this.bytes, this.numberStart, this.numberEnd);
  }
}

const ascii = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
export const trueWord = ascii("true");
export const falseWord = ascii("false");
export const nullWord = ascii("null");
const wordNames = new Map<Uint8Array, string>([
  [trueWord, "true"],
  [falseWord, "false"],
  [nullWord, "null"],
]);

/** What the sign after a backslash stands for; 0 for none. */
const escapes = new Uint8Array(256);
for (const [sign, value] of [
  ['"', 0x22],
  ["\\", 0x5c],
  ["/", 0x2f],
  ["b", 8],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
] as const)
  escapes[sign.charCodeAt(0)] = value;

function byteName(byte: number): string {
  return byte > 0x20 && byte < 0x7f
    ? JSON.stringify(String.fromCharCode(byte))
    : `byte 0x${byte.toString(16).padStart(2, "0")}`;
}

export function asciiText(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}
