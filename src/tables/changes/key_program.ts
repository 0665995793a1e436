/** Reads a record's key: finds the key columns in it and writes them as one JSON object, in key order. */
import { writeJsonString } from "../json/codec.ts";
import { closeBrace, comma, type JsonScanner, openBrace, quote } from "../json/scan.ts";
import { type Conversion, type Convert, failed, kept, type Outcome } from "./conversion.ts";
import { FieldNames } from "./field_names.ts";

export class KeyProgram {
  private readonly columns: readonly { name: string; label: string; convert: Convert | undefined }[];
  private readonly names: FieldNames;
  private readonly converting: boolean;
  private readonly starts: Int32Array;
  private readonly ends: Int32Array;

  /** How many key columns the object last read gives a value; null is none. */
  found = 0;
  /** The first one that it gives none. */
  lacking = "";

  constructor(columns: readonly { name: string; convert: Convert | undefined }[]) {
    this.columns = columns.map(({ name, convert }) => ({ name, label: `${JSON.stringify(name)}:`, convert }));
    this.names = new FieldNames(columns.map(({ name }) => name));
    this.converting = columns.some(({ convert }) => convert !== undefined);
    this.starts = new Int32Array(columns.length);
    this.ends = new Int32Array(columns.length);
  }

  get isWhole(): boolean {
    return this.found === this.columns.length;
  }

  /** The only key column's text as an object, from the plain value at the position. False with a fault or a syntax error. */
  readValue(scanner: JsonScanner, context: Conversion): boolean {
    this.starts[0] = scanner.position;
    if (!scanner.skipValue()) return false;
    this.ends[0] = scanner.position;
    this.found = 1;
    return this.write(scanner, context);
  }

  /** Reads the object at the position into the context's splice. False with a fault or a syntax error. */
  readObject(scanner: JsonScanner, context: Conversion): boolean {
    const { columns, starts, ends } = this;
    const start = scanner.position;
    starts.fill(-1);
    // The text is the key as it stands when its fields are the key columns in order and nothing is between them.
    let exact = true;
    if (!scanner.enter()) return false;
    let expected = scanner.position;
    scanner.skipSpace();
    let position = 0;
    if (scanner.peek() === closeBrace) scanner.position++;
    else
      for (; ; position++) {
        if (scanner.peek() !== quote) return scanner.syntax("a field name in quotes");
        if (scanner.position !== expected) exact = false;
        if (!scanner.scanString()) return false;
        const column = this.names.find(scanner, position);
        if (column !== position || scanner.textEscaped) exact = false;
        expected = scanner.position + 1;
        if (!scanner.nameEnd()) return false;
        if (scanner.position !== expected) exact = false;
        const from = scanner.position;
        const isNull = scanner.peek() === 0x6e;
        if (!scanner.skipValue()) return false;
        if (column >= 0) {
          starts[column] = isNull ? -1 : from;
          ends[column] = scanner.position;
        }
        expected = scanner.position + 1;
        scanner.skipSpace();
        const next = scanner.peek();
        if (next !== comma && next !== closeBrace) return scanner.syntax('"," or "}"');
        scanner.position++;
        if (scanner.position !== expected) exact = false;
        if (next === closeBrace) break;
        scanner.skipSpace();
      }
    scanner.depth--;
    this.count();
    if (exact && this.isWhole && position === columns.length - 1) return this.inPlace(scanner, context, start);
    return this.write(scanner, context);
  }

  /** The key as it stands, but for values that are converted. */
  private inPlace(scanner: JsonScanner, context: Conversion, start: number): boolean {
    const { splice } = context;
    const end = scanner.position;
    splice.begin(scanner.bytes, start);
    if (this.converting)
      for (let i = 0; i < this.columns.length; i++) if (this.converted(i, scanner, context) === failed) return false;
    splice.finish(end);
    scanner.position = end;
    return true;
  }

  private converted(column: number, scanner: JsonScanner, context: Conversion): Outcome {
    const { name, convert } = this.columns[column]!;
    if (convert === undefined) return kept;
    scanner.position = this.starts[column]!;
    const outcome = convert(scanner, context);
    if (outcome === failed && context.fault !== "") context.fault = `key column "${name}": ${context.fault}`;
    return outcome;
  }

  private count(): void {
    this.found = 0;
    this.lacking = "";
    for (let i = 0; i < this.columns.length; i++)
      if (this.starts[i]! >= 0) this.found++;
      else if (this.lacking === "") this.lacking = this.columns[i]!.name;
  }

  private write(scanner: JsonScanner, context: Conversion): boolean {
    const { splice } = context;
    const end = scanner.position;
    splice.begin(scanner.bytes, end);
    splice.cut(end);
    splice.sink.byte(openBrace);
    let first = true;
    for (let i = 0; i < this.columns.length; i++) {
      const from = this.starts[i]!;
      if (from < 0) continue;
      if (!first) splice.sink.byte(comma);
      first = false;
      splice.sink.text(this.columns[i]!.label);
      splice.resume(from);
      const outcome = this.converted(i, scanner, context);
      if (outcome === failed) return false;
      if (outcome === kept) splice.cut(this.ends[i]!);
    }
    splice.sink.byte(closeBrace);
    splice.finishSink();
    scanner.position = end;
    return true;
  }

  /** Text that is no JSON, as the value of the only key column. */
  writeText(bytes: Uint8Array, start: number, end: number, context: Conversion): void {
    const { splice } = context;
    splice.begin(bytes, start);
    splice.cut(start);
    splice.sink.byte(openBrace);
    splice.sink.text(this.columns[0]!.label);
    writeJsonString(splice.sink, bytes, start, end);
    splice.sink.byte(closeBrace);
    splice.finishSink();
    this.found = 1;
  }
}
