/**
 * JSON text as UTF-8 bytes where DuckDB keeps it: checked by the grammar of RFC 8259 and searched by a path in one pass, without
 * decoding. What is found is a range of the same bytes, so numbers keep all their digits.
 *
 * Nesting is followed without recursion, down to the limit that holds for all JSON of this program.
 */
import { limits } from "../../base/limits.ts";
import { type JsonPath, namesKey } from "./path.ts";

export type JsonKind = "object" | "array" | "string" | "number" | "true" | "false" | "null";

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/** 1 for an object, 0 for an array, by depth. */
const nesting = new Uint8Array(limits.jsonDepthMax + 1);

/** One text at a time; what `find` found stands in `kind`, `start` and `end`. */
export class JsonScanner {
  kind: JsonKind = "null";
  start = 0;
  end = 0;
  /** The string that was found has escapes, so it must be decoded. */
  escaped = false;

  /** The string last read had escapes. */
  private escapesRead = false;
  private bytes: Uint8Array = new Uint8Array(0);
  private at = 0;
  private stop = 0;
  private found = false;

  /** "invalid" for text that is not one JSON value; "missing" when the path leads nowhere. */
  find(bytes: Uint8Array, start: number, end: number, path: JsonPath): "found" | "missing" | "invalid" {
    this.bytes = bytes;
    this.at = start;
    this.stop = end;
    this.found = false;
    this.space();
    if (!this.follow(path, 0)) return "invalid";
    this.space();
    if (this.at !== this.stop) return "invalid";
    return this.found ? "found" : "missing";
  }

  /** Elements of the array that was found. */
  arrayLength(): number {
    return this.elements(this.start).length;
  }

  /** The names of the object that was found, as ranges between their quotes. */
  keys(visit: (start: number, end: number, escaped: boolean) => void): void {
    this.at = this.start + 1;
    this.space();
    while (this.bytes[this.at] !== closeBrace) {
      const start = this.at + 1;
      this.string();
      visit(start, this.at - 1, this.escapesRead);
      this.space();
      this.at++;
      this.space();
      this.skip();
      this.space();
      if (this.bytes[this.at] === comma) this.at++;
      this.space();
    }
  }

  /** Reads the value at hand; what the path's steps from `step` on lead to is noted. False when it is malformed. */
  private follow(path: JsonPath, step: number): boolean {
    if (this.found || step === path.length) {
      const start = this.at;
      if (!this.skip()) return false;
      if (!this.found) this.note(start);
      return true;
    }
    const { key, index } = path[step]!;
    const first = this.peek();
    if (first === openBrace && key !== undefined) return this.followObject(path, step, key);
    if (first === openBracket && index !== undefined) return this.followArray(path, step, index);
    return this.skip();
  }

  private followObject(path: JsonPath, step: number, key: Uint8Array): boolean {
    this.at++;
    this.space();
    if (this.peek() === closeBrace) return this.pass();
    for (;;) {
      const start = this.at + 1;
      if (this.peek() !== quote || !this.string()) return false;
      const matches = namesKey(this.bytes, start, this.at - 1, this.escapesRead, key);
      this.space();
      if (this.peek() !== colon) return false;
      this.at++;
      this.space();
      if (!(matches ? this.follow(path, step + 1) : this.skip())) return false;
      this.space();
      const sign = this.peek();
      this.at++;
      if (sign === closeBrace) return true;
      if (sign !== comma) return false;
      this.space();
    }
  }

  private followArray(path: JsonPath, step: number, index: number): boolean {
    const start = this.at;
    if (!this.skip()) return false;
    if (this.found) return true;
    const end = this.at;
    const starts = this.elements(start);
    const element = starts[index < 0 ? starts.length + index : index];
    if (element !== undefined) {
      this.at = element;
      this.follow(path, step + 1);
    }
    this.at = end;
    return true;
  }

  /** Where the elements of a well-formed array start. */
  private elements(start: number): number[] {
    const starts: number[] = [];
    this.at = start + 1;
    this.space();
    while (this.bytes[this.at] !== closeBracket) {
      starts.push(this.at);
      this.skip();
      this.space();
      if (this.bytes[this.at] === comma) this.at++;
      this.space();
    }
    return starts;
  }

  private note(start: number): void {
    this.found = true;
    this.start = start;
    this.end = this.at;
    const first = this.bytes[start]!;
    this.kind = kindsByFirstByte[first] ?? "number";
    if (first === quote) this.escaped = this.bytes.subarray(start, this.at).includes(backslash);
  }

  /** Passes over one value of any depth; false when it is malformed. */
  private skip(): boolean {
    let depth = 0;
    for (;;) {
      // At the start of a value.
      const first = this.peek();
      if (first === openBrace || first === openBracket) {
        if (depth === limits.jsonDepthMax) return false;
        nesting[depth++] = first === openBrace ? 1 : 0;
        this.at++;
        this.space();
        if (this.peek() === (first === openBrace ? closeBrace : closeBracket)) {
          this.at++;
          depth--;
        } else if (first === openBrace) {
          if (!this.name()) return false;
          continue;
        } else continue;
      } else if (!this.scalar(first)) return false;
      // Behind a value.
      for (;;) {
        if (depth === 0) return true;
        this.space();
        const object = nesting[depth - 1] === 1;
        const sign = this.peek();
        this.at++;
        if (sign === comma) {
          this.space();
          if (object && !this.name()) return false;
          break;
        }
        if (sign !== (object ? closeBrace : closeBracket)) return false;
        depth--;
      }
    }
  }

  /** A name with its colon, up to the value. */
  private name(): boolean {
    if (this.peek() !== quote || !this.string()) return false;
    this.space();
    if (this.peek() !== colon) return false;
    this.at++;
    this.space();
    return true;
  }

  private scalar(first: number): boolean {
    switch (first) {
      case quote:
        return this.string();
      case 0x74:
        return this.word("true");
      case 0x66:
        return this.word("false");
      case 0x6e:
        return this.word("null");
      default:
        return this.number(first);
    }
  }

  private string(): boolean {
    const { bytes, stop } = this;
    let at = this.at + 1;
    this.escapesRead = false;
    while (at < stop) {
      const byte = bytes[at++]!;
      if (byte === quote) {
        this.at = at;
        return true;
      }
      if (byte < 0x20) return false;
      if (byte !== backslash) continue;
      this.escapesRead = true;
      const sign = bytes[at++]!;
      if (at > stop) return false;
      if (sign === 0x75) {
        for (let i = 0; i < 4; i++) if (at >= stop || !isHexDigit(bytes[at++]!)) return false;
      } else if (!isShortEscape(sign)) return false;
    }
    return false;
  }

  private number(first: number): boolean {
    if (first === 0x2d) this.at++;
    const lead = this.peek();
    if (lead === 0x30) this.at++;
    else if (!this.digits()) return false;
    if (this.peek() === 0x2e) {
      this.at++;
      if (!this.digits()) return false;
    }
    if ((this.peek() | 0x20) === 0x65) {
      this.at++;
      const sign = this.peek();
      if (sign === 0x2b || sign === 0x2d) this.at++;
      if (!this.digits()) return false;
    }
    return true;
  }

  private digits(): boolean {
    const start = this.at;
    while (this.at < this.stop && isDigit(this.bytes[this.at]!)) this.at++;
    return this.at > start;
  }

  private word(word: string): boolean {
    if (this.at + word.length > this.stop) return false;
    for (let i = 0; i < word.length; i++) if (this.bytes[this.at + i] !== word.charCodeAt(i)) return false;
    this.at += word.length;
    return true;
  }

  private pass(): boolean {
    this.at++;
    return true;
  }

  /** The byte at hand; 0, which starts nothing, at the end. */
  private peek(): number {
    return this.at < this.stop ? this.bytes[this.at]! : 0;
  }

  private space(): void {
    while (this.at < this.stop) {
      const byte = this.bytes[this.at]!;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.at++;
    }
  }
}

const kindsByFirstByte: Record<number, JsonKind> = {
  [openBrace]: "object",
  [openBracket]: "array",
  [quote]: "string",
  116: "true",
  102: "false",
  110: "null",
};

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}

/** `" \ / b f n r t` */
function isShortEscape(byte: number): boolean {
  return (
    byte === quote ||
    byte === backslash ||
    byte === 0x2f ||
    byte === 0x62 ||
    byte === 0x66 ||
    byte === 0x6e ||
    byte === 0x72 ||
    byte === 0x74
  );
}
