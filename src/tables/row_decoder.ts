/**
 * Record batches to rows: one pass over a batch checks every record against its table, builds the columns for DuckDB, and writes anew the
 * values that the table stores differently from how they were produced. The same code reads rows back from the log.
 *
 * Invariant: either every record of the batch is a row, or `faults` names the records that are not and the rest is to be thrown away.
 */
import { limits } from "../base/limits.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import type { RecordFault } from "../protocol/records/record_errors.ts";
import { ByteSink } from "./arrow/bytes.ts";
import type { Vector } from "./arrow/vectors.ts";
import { JsonScanner, openBrace } from "./json/scan.ts";
import { decodeUtf8 } from "./json/utf8.ts";

import { RowKernel } from "./row_kernel.ts";
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

export interface DecodedBatch {
  rows: number;
  /** One for each column of the table; those that depend on the append are not filled yet. */
  columns: Vector[];
  faults: RecordFault[];
  /** Records that are at fault, more than `faults` lists when there are many. */
  faultCount: number;
  /** For each record the span of its new value in `rewritten`, -1 where the produced bytes are kept; undefined when all are. */
  newValues: Int32Array | undefined;
  rewritten: ByteSink | undefined;
  /** For each field with a computed default, how many rows lack it; undefined when no row does. */
  missing: Map<number, number> | undefined;
}

/** A schema registry's prefix: a zero byte and a 4-byte schema id. */
const registryPrefixBytes = 5;

export class RowDecoder {
  readonly schema: RowSchema;
  private readonly scanner = new JsonScanner();
  private readonly defaultScanner = new JsonScanner();
  /** Reads the usual rows, faster; undefined when this decoder reads all. */
  private readonly kernel: RowKernel | undefined;

  constructor(schema: RowSchema, options: { kernel?: boolean } = {}) {
    this.schema = schema;
    this.kernel = options.kernel === false || schema.raw ? undefined : RowKernel.create(schema.fields);
  }

  /** `missing`: one for each field column of the schema. */
  decode(batch: RecordBatchView, partition: number, missing: readonly MissingValue[]): DecodedBatch {
    const { schema } = this;
    const columns: Vector[] = new Array(schema.columns.length);
    const children = schema.reader.newChildren(batch.count);
    schema.fields.forEach((field, i) => {
      columns[field.index] = children[i]!;
    });
    for (const { column, index } of schema.record) columns[index] = column.newVector(batch.count);
    const result: DecodedBatch = {
      rows: 0,
      columns,
      faults: [],
      faultCount: 0,
      newValues: undefined,
      rewritten: undefined,
      missing: undefined,
    };
    if (this.kernel !== undefined) {
      const mayMiss = schema.fields.map(({ notNull }, i) => !notNull && missing[i]!.kind === "null");
      this.kernel.begin(children, mayMiss, (...rows) => keepRewritten(batch, result, ...rows));
    }
    for (let record = 0; record < batch.count; record++) {
      for (let taken = -1; taken !== 0; record += taken) taken = this.takeRows(batch, record, partition, result);
      if (record === batch.count) break;
      const fault = this.decodeRecord(batch, record, partition, result, children, missing);
      if (fault === undefined) {
        result.rows++;
        continue;
      }
      result.faultCount++;
      if (result.faults.length < limits.recordErrorsMax) result.faults.push({ index: record, message: fault });
      for (const column of columns) column.truncate(Math.min(column.length, result.rows));
    }
    return result;
  }

  /** Rows from `record` on that the kernel reads; how many. */
  private takeRows(batch: RecordBatchView, record: number, partition: number, result: DecodedBatch): number {
    const taken = this.kernel?.take(batch, record) ?? 0;
    if (taken === 0 || this.schema.record.length === 0) {
      result.rows += taken;
      return taken;
    }
    for (let i = 0; i < taken; i++) {
      if (this.pushRecord(batch, record + i, partition, result) === undefined) {
        result.rows++;
        continue;
      }
      // That record's own parts are at fault: it is read again alone, and so are some of those behind it.
      this.kernel?.putOff(record + i);
      for (const column of result.columns) column.truncate(Math.min(column.length, result.rows));
      return i;
    }
    return taken;
  }

  private decodeRecord(
    batch: RecordBatchView,
    record: number,
    partition: number,
    result: DecodedBatch,
    children: readonly Vector[],
    missing: readonly MissingValue[],
  ): string | undefined {
    const ownFault = this.pushRecord(batch, record, partition, result);
    if (ownFault !== undefined) return ownFault;
    if (this.schema.raw) return undefined;
    const length = batch.valueLength(record);
    if (length < 0) return "a null value deletes the row of its key, and this table has no primary key";
    const start = batch.valueStart(record);
    const prefix = length >= registryPrefixBytes && batch.plain[start] === 0 ? registryPrefixBytes : 0;
    const fault = this.readRow(batch.plain, start + prefix, start + length, result, children, missing);
    if (fault !== undefined)
      return prefix === 0
        ? fault
        : `behind a schema registry prefix (a zero byte and schema id ${schemaId(batch.plain, start)}): ${fault}`;
    if (this.scanner.changed) this.rewrite(batch, record, prefix, result, children);
    return undefined;
  }

  /** The columns that receive the record's own parts. */
  private pushRecord(
    batch: RecordBatchView,
    record: number,
    partition: number,
    result: DecodedBatch,
  ): string | undefined {
    for (const { column, name, index, notNull } of this.schema.record) {
      const vector = result.columns[index]!;
      const fault = column.push(vector, batch, record, partition);
      if (fault !== undefined) return fault;
      if (notNull && vector.length > result.rows && vector.isNull(result.rows))
        return `column "${name}": NULL does not fit: the column is NOT NULL`;
    }
    return undefined;
  }

  private readRow(
    bytes: Uint8Array,
    start: number,
    end: number,
    result: DecodedBatch,
    children: readonly Vector[],
    missing: readonly MissingValue[],
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
    if (!reader.read(scanner, children, result.rows)) return this.explain(start);
    scanner.skipSpace();
    if (scanner.position < end) {
      scanner.syntax("the end of the value");
      return this.explain(start);
    }
    return this.completeRow(result, children, missing);
  }

  /** Gives the fields that the row lacks their defaults, and checks NOT NULL. */
  private completeRow(
    result: DecodedBatch,
    children: readonly Vector[],
    missing: readonly MissingValue[],
  ): string | undefined {
    const { fields, reader } = this.schema;
    const row = result.rows;
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i]!;
      const child = children[i]!;
      let pending = false;
      if (!reader.wasSeen(i)) {
        this.scanner.changed = true;
        pending = this.pushMissing(result, i, child, missing[i]!);
      }
      if (field.notNull && !pending && child.isNull(row)) {
        const lacks = reader.wasSeen(i) ? "null" : "a missing value";
        return `column "${field.name}": ${lacks} does not fit: the column is NOT NULL`;
      }
    }
    return undefined;
  }

  /** True when the value is not known yet. */
  private pushMissing(result: DecodedBatch, field: number, child: Vector, source: MissingValue): boolean {
    let json: Uint8Array | undefined;
    if (source.kind === "constant") json = source.json;
    else if (source.kind === "native") json = source.next();
    else if (source.kind === "computed") {
      result.missing ??= new Map();
      const before = result.missing.get(field) ?? 0;
      result.missing.set(field, before + 1);
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

  private rewrite(
    batch: RecordBatchView,
    record: number,
    prefix: number,
    result: DecodedBatch,
    children: readonly Vector[],
  ): void {
    const { sink, newValues } = rewriteTarget(batch, record, result);
    newValues[record * 2] = sink.length;
    const start = batch.valueStart(record);
    sink.copy(batch.plain, start, start + prefix);
    this.schema.reader.write(sink, children, result.rows);
    newValues[record * 2 + 1] = sink.length;
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

/** Where new values go; made for the first. */
function rewriteTarget(batch: RecordBatchView, record: number, result: DecodedBatch) {
  result.rewritten ??= new ByteSink(batch.valueLength(record) * (batch.count - record) + 64);
  result.newValues ??= new Int32Array(batch.count * 2).fill(-1);
  return { sink: result.rewritten, newValues: result.newValues };
}

function keepRewritten(
  batch: RecordBatchView,
  result: DecodedBatch,
  record: number,
  count: number,
  text: Uint8Array,
  ends: Int32Array,
): void {
  const { sink, newValues } = rewriteTarget(batch, record, result);
  const base = sink.length;
  sink.copy(text, 0, text.length);
  let start = 0;
  for (let i = 0; i < count; i++) {
    const end = ends[i]!;
    if (end === start) continue;
    newValues[(record + i) * 2] = base + start;
    newValues[(record + i) * 2 + 1] = base + end;
    start = end;
  }
}

function isNullText(json: Uint8Array): boolean {
  return json.length === 4 && json[0] === 0x6e;
}

function schemaId(bytes: Uint8Array, start: number): number {
  return ((bytes[start + 1]! << 24) | (bytes[start + 2]! << 16) | (bytes[start + 3]! << 8) | bytes[start + 4]!) >>> 0;
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
