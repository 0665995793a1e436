/**
 * Arrow IPC stream writer (https://arrow.apache.org/docs/format/Columnar.html, metadata version 5): one schema message, one record
 * batch, end of stream. Written for one reader, DuckDB; uncompressed, little-endian, buffers aligned to 8 bytes.
 */
import { quoteIdentifier } from "../../sql/types.ts";
import { FlatBuffer, type TableField } from "./flatbuffer.ts";
import { BytesVector, FixedVector, ListVector, StructVector, type Vector } from "./vectors.ts";

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

/** A whole stream: `schema` from encodeSchema, then the columns, each of `rowCount` values. */
export function encodeStream(schema: Uint8Array, columns: readonly Vector[], rowCount: number): Uint8Array {
  const nodes: number[] = [];
  const buffers: Uint8Array[] = [];
  for (const column of columns) collect(column, nodes, buffers);
  const spans: number[] = [];
  let bodyLength = 0;
  for (const buffer of buffers) {
    spans.push(bodyLength, buffer.length);
    bodyLength += (buffer.length + 7) & ~7;
  }
  const flat = new FlatBuffer(256 + spans.length * 8 + nodes.length * 8);
  const spanVector = flat.longStructs(spans, 2);
  const nodeVector = flat.longStructs(nodes, 2);
  const batch = flat.table([
    [0, 8, rowCount],
    [1, 0, nodeVector],
    [2, 0, spanVector],
  ]);
  const head = frame(message(flat, header.recordBatch, batch, bodyLength));
  const stream = new Uint8Array(schema.length + head.length + bodyLength + 8);
  stream.set(schema);
  stream.set(head, schema.length);
  const body = schema.length + head.length;
  for (let i = 0; i < buffers.length; i++) stream.set(buffers[i]!, body + spans[i * 2]!);
  stream.fill(0xff, body + bodyLength, body + bodyLength + 4);
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

/** Field nodes (length, null count) and buffers in Arrow's order: depth first, validity before data. */
function collect(vector: Vector, nodes: number[], buffers: Uint8Array[]): void {
  const count = vector.length;
  const nulls = vector.nullCount();
  nodes.push(count, nulls);
  buffers.push(nulls === 0 ? empty : packBits(vector.valid!, count));
  if (vector instanceof FixedVector) {
    buffers.push(vector.width === 0 ? packBits(vector.bytes, count) : vector.bytes.subarray(0, count * vector.width));
  } else if (vector instanceof BytesVector) {
    buffers.push(offsetBytes(vector.offsets, count), vector.data.subarray(0, vector.offsets[count]));
  } else if (vector instanceof ListVector) {
    buffers.push(offsetBytes(vector.offsets, count));
    collect(vector.child, nodes, buffers);
  } else if (vector instanceof StructVector) {
    for (const child of vector.children) collect(child, nodes, buffers);
  }
}

const empty = new Uint8Array(0);

function offsetBytes(offsets: Int32Array, count: number): Uint8Array {
  return new Uint8Array(offsets.buffer, offsets.byteOffset, (count + 1) * 4);
}

function packBits(bytes: Uint8Array, count: number): Uint8Array {
  const bits = new Uint8Array((count + 7) >> 3);
  for (let i = 0; i < count; i++) if (bytes[i] !== 0) bits[i >> 3]! |= 1 << (i & 7);
  return bits;
}
