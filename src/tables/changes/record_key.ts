/**
 * The key of a record: which row it names.
 *
 * It is an object of the key columns, or that as a payload; for a table with one key column also its plain value, as JSON or else as bare text.
 */
import { JsonScanner, nullWord, openBrace, openBracket, type JsonScanner as Scanner } from "../json/scan.ts";
import { invalidUtf8At } from "../json/utf8.ts";
import { type Conversion, shown } from "./conversion.ts";
import { EnvelopeScan, type Span } from "./envelope.ts";
import type { KeyProgram } from "./key_program.ts";
import type { Programs, SchemaEntry } from "./programs.ts";

/** A record's key as it came; a length of -1 is null. */
export interface RecordKey {
  bytes: Uint8Array;
  start: number;
  length: number;
}

/** A schema registry's prefix: a zero byte and a 4-byte schema id. */
const registryPrefixBytes = 5;

/** Length of a byte-order mark or of a schema registry's prefix. */
export function prefixLength(bytes: Uint8Array, start: number, length: number): number {
  if (length >= registryPrefixBytes && bytes[start] === 0) return registryPrefixBytes;
  return length >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf ? 3 : 0;
}

export class KeyReader {
  private readonly names: readonly string[];
  private readonly programs: Programs;
  private readonly context: Conversion;
  private readonly scanner: Scanner = new JsonScanner();
  private readonly wrapper = new EnvelopeScan();
  private program: KeyProgram;
  /** A key column is called as a wrapper's field is. */
  private readonly neverWrapped: boolean;

  /** The key gives every key column a value. */
  isWhole = false;
  /** What it gives, as a JSON object in key order; `end` is -1 for nothing. The span stays good. */
  bytes: Uint8Array = new Uint8Array(0);
  start = 0;
  end = -1;
  /** Why the key cannot be read, or "". */
  fault = "";

  constructor(names: readonly string[], programs: Programs, context: Conversion) {
    this.names = names;
    this.programs = programs;
    this.context = context;
    this.program = programs.plainKey;
    this.neverWrapped = names.includes("payload");
  }

  forget(): void {
    this.end = -1;
    this.isWhole = false;
    this.fault = "";
  }

  /** `isChange`: the record is a change event. False with a fault; a key that names no row of the table is none. */
  read(key: RecordKey, isChange: boolean): boolean {
    this.forget();
    if (this.names.length === 0 || key.length < 0) return true;
    const { scanner, context } = this;
    const start = key.start + prefixLength(key.bytes, key.start, key.length);
    const end = key.start + key.length;
    context.fault = "";
    scanner.reset(key.bytes, start, end);
    scanner.skipSpace();
    let entry: SchemaEntry | undefined;
    let payload = scanner.position;
    if (scanner.peek() === openBrace && this.maybeWrapped()) {
      const { wrapper } = this;
      if (!wrapper.read(scanner, context, this.programs, undefined)) return this.bareText(key, start, end);
      if (wrapper.isWrapper && this.atEnd()) {
        this.fault = wrapper.schemaFault && `the record's key: ${wrapper.schemaFault}`;
        if (this.fault !== "") return false;
        entry = wrapper.schema;
        payload = wrapper.payload.start;
        scanner.end = wrapper.payload.end;
      }
    }
    try {
      this.program = this.programs.keyOf(entry, isChange);
    } catch (error) {
      this.fault = `the schema of the record's key cannot be used: ${(error as Error).message}`;
      return false;
    }
    scanner.position = payload;
    scanner.depth = 0;
    const byte = scanner.peek();
    const read = byte === openBrace ? this.object() : this.plainValue(byte);
    if (read) return true;
    if (context.fault !== "") {
      this.fault = context.fault;
      return false;
    }
    return this.bareText(key, start, end);
  }

  /** The first field's name starts as "schema" and "payload" do. */
  private maybeWrapped(): boolean {
    if (this.neverWrapped) return false;
    const { bytes, position } = this.scanner;
    const sign = bytes[position + 1] === 0x22 ? bytes[position + 2] : 0x73;
    return sign === 0x73 || sign === 0x70;
  }

  private atEnd(): boolean {
    this.scanner.skipSpace();
    return this.scanner.position >= this.scanner.end;
  }

  /** False with a fault, or when the text is not JSON. */
  private object(): boolean {
    const { scanner, context, program } = this;
    if (!program.readObject(scanner, context) || !this.atEnd()) return false;
    this.isWhole = program.isWhole;
    if (program.found > 0) this.take();
    return true;
  }

  private plainValue(byte: number): boolean {
    if (this.names.length !== 1) return true;
    const { scanner, context, program } = this;
    // JSON's null and arrays are no key; text that only starts as they do is one.
    if (byte === nullWord[0] || byte === openBracket) return scanner.skipValue() && this.atEnd();
    const from = scanner.position;
    if (!scanner.skipValue() || !this.atEnd()) return false;
    scanner.position = from;
    if (!program.readValue(scanner, context)) return false;
    this.isWhole = true;
    this.take();
    return true;
  }

  private bareText(key: RecordKey, start: number, end: number): boolean {
    if (this.names.length !== 1 || start === end || invalidUtf8At(key.bytes, start, end) >= 0) return true;
    this.program.writeText(key.bytes, start, end, this.context);
    this.isWhole = true;
    this.take();
    return true;
  }

  /** Reads the key columns of the row [span); false when they are not all there, or with a fault. */
  readRow(bytes: Uint8Array, span: Span, program: KeyProgram): boolean {
    const { scanner, context } = this;
    this.forget();
    context.fault = "";
    scanner.reset(bytes, span.start, span.end);
    if (!program.readObject(scanner, context)) {
      this.fault = context.fault;
      return false;
    }
    this.isWhole = program.isWhole;
    if (program.found > 0) this.take();
    return this.isWhole;
  }

  /** Why the key last read names no row. */
  reason(key: RecordKey): string {
    if (key.length < 0) return "the record has no key";
    const text = shown(key.bytes, key.start, key.start + key.length);
    const column = this.end >= 0 || this.program.lacking !== "" ? this.program.lacking : this.names[0]!;
    return `the record's key is ${text}, which gives ${this.names.length === 1 ? "no" : "not every"} key column (${column} is missing)`;
  }

  private take(): void {
    const { splice } = this.context;
    this.bytes = splice.bytes;
    this.start = splice.start;
    this.end = splice.end;
  }
}
