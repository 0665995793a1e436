/**
 * Ties the WebAssembly row kernel to a table's columns: it takes the usual rows, RowDecoder the others, with the same result.
 */
import { type JsonField, JsonRowKernel, type RowKernelOptions, type RowSink } from "../hotpath/json_rows.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import { parseType, type SqlType } from "../sql/types.ts";
import type { BytesVector, FixedVector, Vector } from "./arrow/vectors.ts";
import type { FieldColumn } from "./row_schema.ts";

/** Records that the decoder reads itself after the kernel took fewer than that in a row: trying costs a copy of the batch's slice. */
const pauseRecordsMin = 16;
const pauseRecordsMax = 1024;

export class RowKernel implements RowSink {
  private readonly kernel: JsonRowKernel;
  private children: readonly Vector[] = [];
  private mayMiss: readonly boolean[] = [];
  private onRewritten: RewrittenRows = () => undefined;
  private onKeys: KeysOfRows = () => undefined;
  private record = 0;
  private nextTry = 0;
  private pause = pauseRecordsMin;

  private constructor(kernel: JsonRowKernel) {
    this.kernel = kernel;
  }

  /** Undefined for tables with a column that the kernel does not know. */
  static create(fields: readonly FieldColumn[], options: RowKernelOptions = {}): RowKernel | undefined {
    const described: JsonField[] = [];
    for (const { name, type, notNull } of fields) {
      const shape = shapeOf(parseType(type));
      if (shape === undefined) return undefined;
      described.push({ name, notNull, ...shape });
    }
    const kernel = JsonRowKernel.create(described, options);
    return kernel && new RowKernel(kernel);
  }

  /**
   * Before the first record of a batch. `mayMiss`: for each field, whether a row without it has null there. `onRewritten` gets the new
   * values of rows that `take` takes; the bytes are to be copied.
   */
  begin(
    children: readonly Vector[],
    mayMiss: readonly boolean[],
    onRewritten: RewrittenRows,
    onKeys: KeysOfRows = () => undefined,
  ): void {
    this.children = children;
    this.onKeys = onKeys;
    this.mayMiss = mayMiss;
    this.onRewritten = onRewritten;
    this.nextTry = 0;
    this.pause = pauseRecordsMin;
  }

  /**
   * Appends the rows of records from `record` on to the columns; how many it took, 0 for none. `index`: the batch's record index, or one like it
   * whose values are other parts of the batch, up to record `to`; the rows found there all count as rewritten.
   */
  take(batch: RecordBatchView, record: number, index: Int32Array = batch.fields, to = batch.count): number {
    if (record < this.nextTry) return 0;
    this.record = record;
    const taken = this.kernel.take(batch.plain, index, record, to, this.mayMiss, this, index !== batch.fields);
    if (taken >= pauseRecordsMin) this.pause = pauseRecordsMin;
    else if (record + taken < to) this.putOff(record + taken);
    return taken;
  }

  /** `record` and some behind it are read by the decoder, the more often this happens the more. */
  putOff(record: number): void {
    this.nextTry = record + this.pause;
    this.pause = Math.min(this.pause * 2, pauseRecordsMax);
  }

  textBase(field: number): number {
    return (this.children[field] as BytesVector).used;
  }

  fixed(field: number, count: number, values: Uint8Array, valid: Uint8Array | undefined): void {
    (this.children[field] as FixedVector).appendValues(values, count, valid);
  }

  text(field: number, count: number, text: Uint8Array, ends: Int32Array, valid: Uint8Array | undefined): void {
    (this.children[field] as BytesVector).appendTexts(text, ends, count, valid);
  }

  keys(count: number, text: Uint8Array, words: Int32Array): void {
    this.onKeys(this.record, count, text, words);
  }

  rewritten(count: number, text: Uint8Array, ends: Int32Array): void {
    this.onRewritten(this.record, count, text, ends);
  }
}

/** `count` rows from `record` on: `ends` says where each one's new value ends in `text`; it is empty for a row that is kept. */
export type RewrittenRows = (record: number, count: number, text: Uint8Array, ends: Int32Array) => void;

/** `count` rows from `record` on, as RowSink.keys has them. */
export type KeysOfRows = (record: number, count: number, text: Uint8Array, words: Int32Array) => void;

type Shape = Omit<JsonField, "name" | "notNull">;

const integerWidths: Partial<Record<SqlType["kind"], Shape["width"]>> = {
  tinyint: 1,
  smallint: 2,
  integer: 4,
  bigint: 8,
  utinyint: 1,
  usmallint: 2,
  uinteger: 4,
  ubigint: 8,
};
const timestampDigits: Partial<Record<SqlType["kind"], number>> = {
  timestamp_s: 0,
  timestamp_ms: 3,
  timestamp: 6,
  timestamptz: 6,
  timestamp_ns: 9,
};

function shapeOf(type: SqlType): Shape | undefined {
  const width = integerWidths[type.kind];
  if (width !== undefined) return { kind: type.kind.startsWith("u") ? "unsigned" : "signed", width };
  const fractionDigits = timestampDigits[type.kind];
  if (fractionDigits !== undefined)
    return { kind: "timestamp", width: 8, fractionDigits, zoned: type.kind === "timestamptz" };
  switch (type.kind) {
    case "boolean":
      return { kind: "boolean", width: 1 };
    case "float":
      return { kind: "float", width: 4 };
    case "double":
      return { kind: "float", width: 8 };
    case "decimal":
      return { kind: "decimal", width: 16, precision: type.precision, scale: type.scale };
    case "varchar":
    case "json":
      return { kind: type.kind, width: 0 };
    case "date":
      return { kind: "date", width: 4 };
    case "time":
      return { kind: "time", width: 8 };
    default:
      return undefined;
  }
}
