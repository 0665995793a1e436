/**
 * Arrow IPC stream writer (https://arrow.apache.org/docs/format/Columnar.html, metadata version 5): one schema message, one record
 * batch, end of stream. Written for one reader, DuckDB; uncompressed, little-endian, buffers aligned to 8 bytes.
 */
import { quoteIdentifier } from "../../sql/types.ts";
import { type ColumnBuffer, collectColumn } from "./column_buffers.ts";
import { FlatBuffer, type TableField } from "./flatbuffer.ts";
import type { Vector } from "./vectors.ts";

/** Arrow's types, as far as columns are staged in them. */
export type ArrowType =
  | { kind: "bool" | "utf8" | "binary" | "date" }
  | { kind: "int"; bits: 8 | 16 | 32 | 64; signed: boolean }
  | { kind: "float"; bits: 32 | 64 }
  | { kind: "decimal"; precision: number; scale: number }
  /** 64 bits since midnight. */
  | { kind: "time"; unit: TimeUnit }
  | { kind: "timestamp"; unit: TimeUnit; zone?: string }
  | { kind: "list"; child: ArrowField }
  | { kind: "struct"; children: readonly ArrowField[] }
  /** Laid out as a list of structs; `child` is the struct of `key` and `value`. */
  | { kind: "map"; child: ArrowField };

export type TimeUnit = "s" | "ms" | "us" | "ns";

export interface ArrowField {
  name: string;
  type: ArrowType;
  /** Never null: what Arrow wants of a map's entries and keys. */
  required?: boolean;
}

/** The SQL type that DuckDB gives a column of this Arrow type. */
export function stagedType(type: ArrowType): string {
  switch (type.kind) {
    case "bool":
      return "BOOLEAN";
    case "utf8":
      return "VARCHAR";
    case "binary":
      return "BLOB";
    case "date":
      return "DATE";
    case "time":
      return "TIME";
    case "int":
      return `${type.signed ? "" : "U"}${{ 8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT" }[type.bits]}`;
    case "float":
      return type.bits === 32 ? "FLOAT" : "DOUBLE";
    case "decimal":
      return `DECIMAL(${type.precision}, ${type.scale})`;
    case "timestamp":
      if (type.zone !== undefined) return "TIMESTAMP WITH TIME ZONE";
      return type.unit === "us" ? "TIMESTAMP" : `TIMESTAMP_${type.unit.toUpperCase()}`;
    case "list":
      return `${stagedType(type.child.type)}[]`;
    case "struct":
      return `STRUCT(${type.children.map((child) => `${quoteIdentifier(child.name)} ${stagedType(child.type)}`).join(", ")})`;
    case "map": {
      const [key, value] = (type.child.type as { children: readonly ArrowField[] }).children;
      return `MAP(${stagedType(key!.type)}, ${stagedType(value!.type)})`;
    }
  }
}

const timeUnits: Record<TimeUnit, number> = { s: 0, ms: 1, us: 2, ns: 3 };
const metadataVersion5 = 4;
const header = { schema: 1, recordBatch: 3 };

/** The schema message with its frame; the same for every stream of a table, so encode it once. */
export function encodeSchema(fields: readonly ArrowField[]): Uint8Array {
  const flat = new FlatBuffer();
  const list = flat.references(fields.map((field) => writeField(flat, field)));
  const schema = flat.table([[1, 0, list]]);
  return frame(message(flat, header.schema, schema, 0));
}

/** Columns of some rows; of each column the first `rows` values count. */
export interface ColumnChunk {
  columns: readonly Vector[];
  rows: number;
}

/** A whole stream: `schema` from encodeSchema, then the columns, each of `rowCount` values. */
export function encodeStream(schema: Uint8Array, columns: readonly Vector[], rowCount: number): Uint8Array {
  return encodeChunks(schema, [{ columns, rows: rowCount }], (length) => new Uint8Array(length));
}

/**
 * The rows of several chunks as one stream with one record batch, each value copied once. `allocate` gives the stream's memory, 8-byte
 * aligned; what is in it does not matter.
 */
export function encodeChunks(
  schema: Uint8Array,
  chunks: readonly ColumnChunk[],
  allocate: (length: number) => Uint8Array,
): Uint8Array {
  const counts = chunks.map((chunk) => chunk.rows);
  const nodes: number[] = [];
  const buffers: ColumnBuffer[] = [];
  for (let i = 0; i < chunks[0]!.columns.length; i++)
    collectColumn(
      chunks.map((chunk) => chunk.columns[i]!),
      counts,
      nodes,
      buffers,
    );
  const spans: number[] = [];
  let bodyLength = 0;
  for (const { length } of buffers) {
    spans.push(bodyLength, length);
    bodyLength += (length + 7) & ~7;
  }
  const flat = new FlatBuffer(256 + spans.length * 8 + nodes.length * 8);
  const spanVector = flat.longStructs(spans, 2);
  const nodeVector = flat.longStructs(nodes, 2);
  const rowCount = counts.reduce((sum, count) => sum + count, 0);
  const batch = flat.table([
    [0, 8, rowCount],
    [1, 0, nodeVector],
    [2, 0, spanVector],
  ]);
  const head = frame(message(flat, header.recordBatch, batch, bodyLength));
  const stream = allocate(schema.length + head.length + bodyLength + 8);
  stream.set(schema);
  stream.set(head, schema.length);
  const body = schema.length + head.length;
  for (const [i, { length, write }] of buffers.entries())
    if (length > 0) write(stream.subarray(body + spans[i * 2]!, body + spans[i * 2]! + length));
  // The end of the stream: a mark and a length of 0.
  stream.fill(0xff, body + bodyLength, body + bodyLength + 4);
  stream.fill(0, body + bodyLength + 4);
  return stream;
}

function message(flat: FlatBuffer, type: number, content: number, bodyLength: number): Uint8Array {
  const root = flat.table([
    [0, 2, metadataVersion5],
    [1, 1, type],
    [2, 0, content],
    [3, 8, bodyLength],
  ]);
  return flat.finish(root);
}

/** Continuation marker, length, metadata; the metadata is a multiple of 8 long already. */
function frame(metadata: Uint8Array): Uint8Array {
  const framed = new Uint8Array(8 + metadata.length);
  const view = new DataView(framed.buffer);
  view.setInt32(0, -1, true);
  view.setInt32(4, metadata.length, true);
  framed.set(metadata, 8);
  return framed;
}

function writeField(flat: FlatBuffer, field: ArrowField): number {
  const children = childFields(field.type).map((child) => writeField(flat, child));
  const childList = flat.references(children);
  const [typeId, type] = writeType(flat, field.type);
  const name = flat.text(field.name);
  return flat.table([
    [0, 0, name],
    [1, 1, field.required ? 0 : 1],
    [2, 1, typeId],
    [3, 0, type],
    [5, 0, childList],
  ]);
}

function childFields(type: ArrowType): readonly ArrowField[] {
  if (type.kind === "list" || type.kind === "map") return [type.child];
  return type.kind === "struct" ? type.children : [];
}

/** The number of the type in Arrow's Type union, and its table. */
function writeType(flat: FlatBuffer, type: ArrowType): [id: number, table: number] {
  const table = (...fields: TableField[]) => flat.table(fields);
  switch (type.kind) {
    case "int":
      return [2, table([0, 4, type.bits], [1, 1, type.signed ? 1 : 0])];
    case "float":
      return [3, table([0, 2, type.bits === 32 ? 1 : 2])];
    case "binary":
      return [4, table()];
    case "utf8":
      return [5, table()];
    case "bool":
      return [6, table()];
    case "decimal":
      return [7, table([0, 4, type.precision], [1, 4, type.scale], [2, 4, 128])];
    case "date":
      return [8, table([0, 2, 0])];
    case "time":
      return [9, table([0, 2, timeUnits[type.unit]], [1, 4, 64])];
    case "timestamp": {
      const zone = type.zone === undefined ? undefined : flat.text(type.zone);
      const unit: TableField = [0, 2, timeUnits[type.unit]];
      return [10, zone === undefined ? table(unit) : table(unit, [1, 0, zone])];
    }
    case "list":
      return [12, table()];
    case "struct":
      return [13, table()];
    case "map":
      return [17, table()];
  }
}
