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
import { RowKernel } from "./row_kernel.ts";
import { type MissingValue, RowReader, type RowTarget } from "./row_reader.ts";
import type { RowSchema } from "./row_schema.ts";

export interface DecodedBatch extends RowTarget {
  /** One for each column of the table; those that depend on the append are not filled yet. */
  columns: Vector[];
  faults: RecordFault[];
  /** Records that are at fault, more than `faults` lists when there are many. */
  faultCount: number;
  /** For each record the span of its new value in `rewritten`, -1 where the produced bytes are kept; undefined when all are. */
  newValues: Int32Array | undefined;
  rewritten: ByteSink | undefined;
}

/** A schema registry's prefix: a zero byte and a 4-byte schema id. */
export const registryPrefixBytes = 5;

export class RowDecoder {
  readonly schema: RowSchema;
  private readonly reader: RowReader;
  /** Reads the usual rows, faster; undefined when this decoder reads all. */
  private readonly kernel: RowKernel | undefined;

  constructor(schema: RowSchema, options: { kernel?: boolean } = {}) {
    this.schema = schema;
    this.reader = new RowReader(schema);
    this.kernel = options.kernel === false || schema.raw ? undefined : RowKernel.create(schema.fields);
  }

  /** `missing`: one for each field column of the schema. */
  decode(batch: RecordBatchView, partition: number, missing: readonly MissingValue[]): DecodedBatch {
    const { schema } = this;
    const { columns, children } = schema.sets.take(batch.count);
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
      if (pushRecordColumns(this.schema, batch, record + i, partition, result) === undefined) {
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
    const ownFault = pushRecordColumns(this.schema, batch, record, partition, result);
    if (ownFault !== undefined) return ownFault;
    if (this.schema.raw) return undefined;
    const length = batch.valueLength(record);
    if (length < 0) return "a null value deletes the row of its key, and this table has no primary key";
    const start = batch.valueStart(record);
    const prefix = length >= registryPrefixBytes && batch.plain[start] === 0 ? registryPrefixBytes : 0;
    const fault = this.reader.read(batch.plain, start + prefix, start + length, result, children, missing);
    if (fault !== undefined) return prefix === 0 ? fault : behindPrefix(batch, record, fault);
    if (this.reader.changed) this.rewrite(batch, record, prefix, result, children);
    return undefined;
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
    this.reader.write(sink, children, result.rows);
    newValues[record * 2 + 1] = sink.length;
  }
}

/** Fills the columns that receive the record's own parts; what is wrong with those, if anything is. */
export function pushRecordColumns(
  schema: RowSchema,
  batch: RecordBatchView,
  record: number,
  partition: number,
  result: DecodedBatch,
): string | undefined {
  for (const { column, name, index, notNull } of schema.record) {
    const vector = result.columns[index]!;
    const fault = column.push(vector, batch, record, partition);
    if (fault !== undefined) return fault;
    if (notNull && vector.length > result.rows && vector.isNull(result.rows))
      return `column "${name}": NULL does not fit: the column is NOT NULL`;
  }
  return undefined;
}

/** Where new values go; made for the first. */
export function rewriteTarget(batch: RecordBatchView, record: number, result: DecodedBatch) {
  result.rewritten ??= new ByteSink(batch.valueLength(record) * (batch.count - record) + 64);
  result.newValues ??= new Int32Array(batch.count * 2).fill(-1);
  return { sink: result.rewritten, newValues: result.newValues };
}

export function keepRewritten(
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

export function behindPrefix(batch: RecordBatchView, record: number, fault: string): string {
  return `behind a schema registry prefix (a zero byte and schema id ${schemaId(batch.plain, batch.valueStart(record))}): ${fault}`;
}

function schemaId(bytes: Uint8Array, start: number): number {
  return ((bytes[start + 1]! << 24) | (bytes[start + 2]! << 16) | (bytes[start + 3]! << 8) | bytes[start + 4]!) >>> 0;
}
