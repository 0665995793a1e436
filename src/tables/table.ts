/** A table as the node runs it: its topic, its compiled schema, and what fills the fields that a row lacks. */
import type { TopicEntry } from "../catalog/catalog.ts";
import type { TableDefinition } from "../catalog/entries.ts";
import type { Vector } from "./arrow/vectors.ts";
import { nativeDefault } from "./native_defaults.ts";
import { RowDecoder } from "./row_decoder.ts";
import type { MissingValue } from "./row_reader.ts";
import { compileTable, type RowSchema } from "./row_schema.ts";

/** Rows of one record batch, on their way into DuckDB. */
export interface RowChunk {
  baseOffset: number;
  /** The offset behind the batch. */
  nextOffset: number;
  rows: number;
  columns: Vector[];
  /** For the bounds of queues. */
  bytes: number;
}

export class Table {
  readonly topic: TopicEntry;
  readonly definition: TableDefinition;
  readonly schema: RowSchema;
  readonly decoder: RowDecoder;
  /** What fills each field that a row lacks; computed ones have no values yet. */
  readonly missing: readonly MissingValue[];
  /** When reading the log, every field is there; should one not be, it is NULL. */
  readonly missingInLog: readonly MissingValue[];
  /** Staged columns are the table's own, in order and type, so that rows need no staging table. */
  readonly insertsDirectly: boolean;
  /** DuckDB has a say about each batch (computed.ts). */
  readonly needsEngine: boolean;

  /** `defaults`: the JSON text of each default that is a constant, by column name; other defaults are computed. */
  constructor(
    topic: TopicEntry,
    definition: TableDefinition,
    defaults: ReadonlyMap<string, Uint8Array>,
    nowMs: () => number = Date.now,
  ) {
    this.topic = topic;
    this.definition = definition;
    this.schema = compileTable(definition);
    this.decoder = new RowDecoder(this.schema);
    this.missing = this.schema.fields.map((field): MissingValue => {
      if (field.default === undefined) return { kind: "null" };
      const json = defaults.get(field.name);
      if (json !== undefined) return { kind: "constant", json };
      const next = nativeDefault(field, nowMs);
      return next === undefined ? { kind: "computed", values: undefined } : { kind: "native", next };
    });
    this.missingInLog = this.schema.fields.map(() => ({ kind: "null" }));
    const hasGenerated = (definition.generated ?? []).length > 0;
    this.insertsDirectly = !hasGenerated && !this.schema.needsCast;
    this.needsEngine = hasGenerated || definition.checks.length > 0 || definition.unique.length > 0;
  }

  /** Completes a produced batch of `rows` rows that was appended at `baseOffset`; `appendTimeMs` is -1 unless the topic stamps records. */
  appendedChunk(columns: Vector[], rows: number, baseOffset: number, appendTimeMs: number): RowChunk {
    for (const { column, index } of this.schema.record) column.fill(columns[index]!, rows, baseOffset, appendTimeMs);
    return { baseOffset, nextOffset: baseOffset + rows, rows, columns, bytes: bytesOf(columns) };
  }

  newColumns(capacity: number): Vector[] {
    const columns: Vector[] = new Array(this.schema.columns.length);
    const children = this.schema.reader.newChildren(capacity);
    this.schema.fields.forEach((field, i) => {
      columns[field.index] = children[i]!;
    });
    for (const { column, index } of this.schema.record) columns[index] = column.newVector(capacity);
    return columns;
  }
}

export function bytesOf(columns: readonly Vector[]): number {
  let bytes = 0;
  for (const column of columns) bytes += column.byteLength();
  return bytes;
}
