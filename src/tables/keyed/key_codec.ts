/**
 * The key of a table's rows as the log has it: compact JSON of the key's columns in the key's order.
 *
 * Invariant: rows that DuckDB takes for the same key have the same bytes here, and others have not.
 */

import { parseType } from "../../sql/types.ts";
import { ByteSink } from "../arrow/bytes.ts";
import { encodeSchema } from "../arrow/stream.ts";
import type { FixedVector, Vector } from "../arrow/vectors.ts";
import { writeJsonString } from "../json/codec.ts";
import { ObjectReader } from "../json/objects.ts";
import { JsonScanner, openBrace } from "../json/scan.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import type { RowSchema } from "../row_schema.ts";

export class KeyCodec {
  /** The key's columns by their place among the schema's fields. */
  readonly fields: readonly number[];
  /** The key's columns by their place among the table's columns. */
  readonly columns: readonly number[];
  /** The schema of a stream of the key's columns. */
  readonly arrowSchema: Uint8Array;
  private readonly names: readonly string[];
  private readonly labels: readonly Uint8Array[];
  private readonly reader: ObjectReader;
  /** For each column, 4 or 8 for FLOAT and DOUBLE: minus zero is zero there. */
  private readonly floats: readonly (0 | 4 | 8)[];
  private readonly scanner = new JsonScanner();

  constructor(schema: RowSchema, key: readonly string[]) {
    this.names = key;
    this.fields = key.map((name) => schema.fields.findIndex((field) => field.name === name));
    this.columns = this.fields.map((field) => schema.fields[field]!.index);
    this.arrowSchema = encodeSchema(this.columns.map((column) => schema.arrow[column]!));
    this.reader = new ObjectReader(this.fields.map((field) => schema.reader.fields[field]!));
    this.labels = key.map((name, i) => {
      const sink = new ByteSink();
      sink.byte(i === 0 ? 0x7b : 0x2c);
      const bytes = new TextEncoder().encode(name);
      writeJsonString(sink, bytes, 0, bytes.length);
      sink.byte(0x3a);
      return sink.take();
    });
    this.floats = this.fields.map((field) => {
      const { kind } = parseType(schema.fields[field]!.type);
      return kind === "double" ? 8 : kind === "float" ? 4 : 0;
    });
  }

  newVectors(capacity: number): Vector[] {
    return this.reader.newChildren(capacity);
  }

  /** Writes the key that the vectors of `at` hold in `row`. */
  write(sink: ByteSink, at: (column: number) => Vector, row: number): void {
    for (let i = 0; i < this.labels.length; i++) {
      const label = this.labels[i]!;
      sink.copy(label, 0, label.length);
      this.reader.fields[i]!.codec.write(sink, at(i), row);
    }
    sink.byte(0x7d);
  }

  /** Minus zero equals zero in DuckDB, so a key has zero. True when there was one. */
  dropSigns(at: (column: number) => Vector, row: number): boolean {
    let changed = false;
    for (let i = 0; i < this.floats.length; i++) {
      const width = this.floats[i]!;
      if (width === 0) continue;
      const vector = at(i) as FixedVector;
      if (!Object.is(width === 8 ? vector.getDouble(row) : vector.getFloat(row), -0)) continue;
      vector.bytes.fill(0, row * width, (row + 1) * width);
      changed = true;
    }
    return changed;
  }

  /** Reads the JSON object [start, end) of key columns as value `index` of the vectors. The text of what is wrong with it otherwise. */
  read(bytes: Uint8Array, start: number, end: number, vectors: readonly Vector[], index: number): string | undefined {
    const { scanner, reader } = this;
    scanner.reset(bytes, start, end);
    scanner.skipSpace();
    if (scanner.peek() !== openBrace) return "a JSON object is expected";
    if (reader.read(scanner, vectors, index)) return undefined;
    for (const vector of vectors) vector.truncate(Math.min(vector.length, index));
    if (scanner.syntaxError !== "") return `the record's key: ${scanner.syntaxError}`;
    const value = decodeUtf8(bytes, scanner.faultStart, Math.min(scanner.faultEnd, scanner.faultStart + 60));
    return `the record's key: column "${scanner.faultPath.slice(1)}": ${value} does not fit: ${scanner.fault}`;
  }

  /** The first column that the object last read lacks or has null. */
  lacking(vectors: readonly Vector[], index: number): string | undefined {
    for (let i = 0; i < this.names.length; i++)
      if (!this.reader.wasSeen(i) || vectors[i]!.isNull(index)) return this.names[i];
    return undefined;
  }

  /** The object last read has this column of the key. */
  wasSeen(column: number): boolean {
    return this.reader.wasSeen(column);
  }

  codec(column: number) {
    return this.reader.fields[column]!.codec;
  }
}
