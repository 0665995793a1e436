/**
 * Reads one row: a JSON object into one value of each column, with defaults for what it lacks and NOT NULL checked.
 */
import type { ByteSink } from "./arrow/bytes.ts";
import type { Vector } from "./arrow/vectors.ts";
import { JsonScanner, openBrace } from "./json/scan.ts";
import { decodeUtf8 } from "./json/utf8.ts";
import type { RowSchema } from "./row_schema.ts";

/** What gives a field that a row lacks its value. */
export type MissingValue =
  | { kind: "null" }
  /** The JSON text of a constant. */
  | { kind: "constant"; json: Uint8Array }
  /** Makes the JSON text of the next value. */
  | { kind: "native"; next: () => Uint8Array }
  /** The JSON texts of an expression, one a row that lacks the field; when absent, such rows are only counted. */
  | { kind: "computed"; values: readonly Uint8Array[] | undefined };

/** Rows under construction. */
export interface RowTarget {
  /** Those that are complete. */
  rows: number;
  /** For each field with a computed default, how many rows lack it; undefined when no row does. */
  missing: Map<number, number> | undefined;
}

export class RowReader {
  readonly schema: RowSchema;
  private readonly scanner = new JsonScanner();
  private readonly defaultScanner = new JsonScanner();

  constructor(schema: RowSchema) {
    this.schema = schema;
  }

  /** The row last read is stored differently from how it was written. */
  get changed(): boolean {
    return this.scanner.changed;
  }

  /** The field was in the row last read. */
  wasSeen(field: number): boolean {
    return this.schema.reader.wasSeen(field);
  }

  /**
   * Appends the object in `bytes` from `start` to `end` as row `target.rows` to the children; the text of what is wrong with it otherwise, and
   * then the children may hold a part of it. `missing`: one for each field. `fill` may give a field that the row lacks its value.
   */
  read(
    bytes: Uint8Array,
    start: number,
    end: number,
    target: RowTarget,
    children: readonly Vector[],
    missing: readonly MissingValue[],
    fill?: (field: number, child: Vector) => boolean,
  ): string | undefined {
    const { scanner } = this;
    scanner.reset(bytes, start, end);
    if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf && end - start >= 3) {
      scanner.position += 3;
      scanner.changed = true;
    }
    scanner.skipSpace();
    if (scanner.peek() !== openBrace) return this.notAnObject(start);
    const { reader } = this.schema;
    if (!reader.read(scanner, children, target.rows)) return this.explain(start);
    scanner.skipSpace();
    if (scanner.position < end) {
      scanner.syntax("the end of the value");
      return this.explain(start);
    }
    return this.completeRow(target, children, missing, fill);
  }

  /** Gives the fields that the row lacks their defaults, and checks NOT NULL. */
  private completeRow(
    target: RowTarget,
    children: readonly Vector[],
    missing: readonly MissingValue[],
    fill: ((field: number, child: Vector) => boolean) | undefined,
  ): string | undefined {
    const { fields, reader } = this.schema;
    const row = target.rows;
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i]!;
      const child = children[i]!;
      let pending = false;
      if (!reader.wasSeen(i)) {
        this.scanner.changed = true;
        if (fill?.(i, child)) continue;
        pending = this.pushMissing(target, i, child, missing[i]!);
      }
      if (field.notNull && !pending && child.isNull(row)) {
        const lacks = reader.wasSeen(i) ? "null" : "a missing value";
        return `column "${field.name}": ${lacks} does not fit: the column is NOT NULL`;
      }
    }
    return undefined;
  }

  /** True when the value is not known yet. */
  private pushMissing(target: RowTarget, field: number, child: Vector, source: MissingValue): boolean {
    let json: Uint8Array | undefined;
    if (source.kind === "constant") json = source.json;
    else if (source.kind === "native") json = source.next();
    else if (source.kind === "computed") {
      target.missing ??= new Map();
      const before = target.missing.get(field) ?? 0;
      target.missing.set(field, before + 1);
      if (source.values === undefined) {
        child.pushNull();
        return true;
      }
      json = source.values[before];
    }
    if (json === undefined || isNullText(json)) {
      child.pushNull();
      return false;
    }
    const scanner = this.defaultScanner;
    scanner.reset(json, 0, json.length);
    if (!this.schema.reader.fields[field]!.codec.read(scanner, child))
      throw new Error(
        `the default of column ${this.schema.fields[field]!.name} is no value of its type: ${scanner.fault}${scanner.syntaxError}`,
      );
    return false;
  }

  /** Writes row `row` as the table stores it. */
  write(sink: ByteSink, children: readonly Vector[], row: number): void {
    this.schema.reader.write(sink, children, row);
  }

  private notAnObject(start: number): string {
    const { scanner } = this;
    if (scanner.position >= scanner.end) return "the value is empty: a JSON object is expected";
    const from = scanner.position;
    if (!scanner.skipValue()) return this.explain(start);
    return `the value is ${shown(scanner.bytes, from, scanner.position)}: a JSON object is expected`;
  }

  private explain(start: number): string {
    const { scanner } = this;
    if (scanner.syntaxError !== "")
      return scanner.syntaxError.replace(/at byte (\d+)/, (_all, at: string) => `at byte ${Number(at) - start}`);
    const path = scanner.faultPath.slice(1);
    const top = this.schema.fields.find(
      (field) => path === field.name || path.startsWith(`${field.name}.`) || path.startsWith(`${field.name}[`),
    );
    const value = shown(scanner.bytes, scanner.faultStart, scanner.faultEnd);
    return `column "${path}": ${value} does not fit ${top?.type ?? "its type"}: ${scanner.fault}`;
  }
}

function isNullText(json: Uint8Array): boolean {
  return json.length === 4 && json[0] === 0x6e;
}

/** Characters of a value that a message shows. */
const shownMax = 60;

function shown(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= shownMax) return decodeUtf8(bytes, start, end);
  // Cut between characters.
  let cut = start + shownMax;
  while (cut > start && (bytes[cut]! & 0xc0) === 0x80) cut--;
  return `${decodeUtf8(bytes, start, cut)}… (${end - start} bytes)`;
}
