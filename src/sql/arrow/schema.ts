/**
 * The columns of an Arrow IPC schema message as DuckDB writes it with lossless conversion: which layout the buffers have
 * (`layout`), and which SQL type the values are of (`type`). Extension names tell BOOLEAN, HUGEINT, UUID, BIT, … apart.
 */
import type { NamedType, SimpleKind, SqlType } from "../types.ts";
import { FlatTable } from "./flatbuffer_reader.ts";

/** How the buffers of a column lie, after https://arrow.apache.org/docs/format/Columnar.html */
export type Layout =
  | { kind: "fixed"; bytes: number }
  | { kind: "bits" }
  | { kind: "variable"; wide: boolean }
  | { kind: "list"; wide: boolean }
  | { kind: "fixedList"; size: number }
  | { kind: "struct" }
  | { kind: "union"; dense: boolean; typeIds: readonly number[] }
  | { kind: "null" };

export interface ArrowField {
  name: string;
  type: SqlType;
  layout: Layout;
  children: readonly ArrowField[];
  /** For ENUM: bytes of an index into the type's values. The values themselves are not in the stream. */
  dictionary: boolean;
}

/** `message`: an encapsulated schema message. */
export function readSchema(message: Uint8Array): ArrowField[] {
  const { header } = readMessage(message);
  return header.tables(1).map(readField);
}

export interface ArrowMessage {
  header: FlatTable;
  /** 1 schema, 2 dictionary batch, 3 record batch. */
  kind: number;
  body: Uint8Array;
}

/** Takes an encapsulated message apart: continuation mark, metadata length, metadata, body. */
export function readMessage(bytes: Uint8Array): ArrowMessage {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  if (view.getUint32(0, true) === 0xffffffff) at = 4;
  const length = view.getInt32(at, true);
  const start = at + 4;
  const table = FlatTable.root(new DataView(bytes.buffer, bytes.byteOffset + start, length));
  const header = table.table(2);
  if (!header) throw new Error("an Arrow message without a header");
  return { header, kind: table.int8(1), body: bytes.subarray(start + length) };
}

function readField(table: FlatTable): ArrowField {
  const children = table.tables(5).map(readField);
  const metadata = new Map(table.tables(6).map((pair) => [pair.text(0) ?? "", pair.text(1) ?? ""]));
  const { type, layout } = typeOf(table.int8(2), table.table(3), children, metadata);
  const field: ArrowField = { name: table.text(0) ?? "", type, layout, children, dictionary: false };
  const dictionary = table.table(4);
  if (!dictionary) return field;
  const width = dictionary.table(1)?.int32(0, 32) ?? 32;
  return {
    ...field,
    type: { kind: "enum", values: [] },
    layout: { kind: "fixed", bytes: width / 8 },
    dictionary: true,
  };
}

type TypeAndLayout = { type: SqlType; layout: Layout };

const fixed = (kind: SimpleKind, bytes: number): TypeAndLayout => ({
  type: { kind },
  layout: { kind: "fixed", bytes },
});

/** Numbers of the union `Type` in Arrow's Schema.fbs. */
function typeOf(
  id: number,
  table: FlatTable | undefined,
  children: readonly ArrowField[],
  metadata: ReadonlyMap<string, string>,
): TypeAndLayout {
  const extension = extensionOf(metadata);
  switch (id) {
    case 1:
      return { type: { kind: "null" }, layout: { kind: "null" } };
    case 2:
      return integer(table!.int32(0), table!.int8(1) !== 0, extension);
    case 3:
      return table!.int16(0) === 1 ? fixed("float", 4) : fixed("double", 8);
    case 4:
    case 19:
      return { type: variableType(extension), layout: { kind: "variable", wide: id === 19 } };
    case 5:
    case 20:
      return {
        type: { kind: extension === "arrow.json" ? "json" : "varchar" },
        layout: { kind: "variable", wide: id === 20 },
      };
    case 6:
      return { type: { kind: "boolean" }, layout: { kind: "bits" } };
    case 7:
      return {
        type: { kind: "decimal", precision: table!.int32(0), scale: table!.int32(1) },
        layout: { kind: "fixed", bytes: table!.int32(2, 128) / 8 },
      };
    case 8:
      return fixed("date", table!.int16(0, 1) === 0 ? 4 : 8);
    case 9:
      return fixed(table!.int16(0, 1) === 3 ? "time_ns" : "time", table!.int32(1, 32) / 8);
    case 10:
      return timestamp(table!.int16(0), table!.text(1));
    case 11:
      return fixed("interval", 16);
    case 12:
    case 21:
      return {
        type: { kind: "list", child: child(children, 0) },
        layout: { kind: "list", wide: id === 21 },
      };
    case 13:
      return { type: { kind: "struct", fields: children.map(named) }, layout: { kind: "struct" } };
    case 14:
      return {
        type: { kind: "union", members: children.map(named) },
        layout: { kind: "union", dense: table!.int16(0) === 1, typeIds: unionIds(table!, children.length) },
      };
    case 15:
      return { type: fixedBinaryType(extension), layout: { kind: "fixed", bytes: table!.int32(0) } };
    case 16:
      return {
        type: { kind: "array", child: child(children, 0), size: table!.int32(0) },
        layout: { kind: "fixedList", size: table!.int32(0) },
      };
    case 17: {
      const [key, value] = children[0]!.children;
      return { type: { kind: "map", key: key!.type, value: value!.type }, layout: { kind: "list", wide: false } };
    }
    default:
      throw new Error(`Arrow type ${id} is not known here`);
  }
}

function extensionOf(metadata: ReadonlyMap<string, string>): string {
  const name = metadata.get("ARROW:extension:name") ?? "";
  if (name !== "arrow.opaque") return name;
  return String((JSON.parse(metadata.get("ARROW:extension:metadata") ?? "{}") as { type_name?: string }).type_name);
}

function integer(bits: number, signed: boolean, extension: string): TypeAndLayout {
  // Declared as bytes, and written as bits: the values really lie as those of Arrow's Bool.
  if (extension === "arrow.bool8") return { type: { kind: "boolean" }, layout: { kind: "bits" } };
  const kind = ({ 8: "tinyint", 16: "smallint", 32: "integer", 64: "bigint" } as const)[bits];
  if (!kind) throw new Error(`an Arrow integer of ${bits} bits is not known here`);
  return fixed(signed ? kind : `u${kind}`, bits / 8);
}

function variableType(extension: string): SqlType {
  if (extension === "bit" || extension === "bignum") return { kind: extension };
  if (extension === "varint") return { kind: "bignum" };
  return { kind: "blob" };
}

function fixedBinaryType(extension: string): SqlType {
  if (extension === "hugeint" || extension === "uhugeint") return { kind: extension };
  if (extension === "arrow.uuid" || extension === "uuid") return { kind: "uuid" };
  if (extension === "time_tz") return { kind: "timetz" };
  return { kind: "blob" };
}

function timestamp(unit: number, zone: string | undefined): TypeAndLayout {
  if (zone) return fixed("timestamptz", 8);
  return fixed((["timestamp_s", "timestamp_ms", "timestamp", "timestamp_ns"] as const)[unit] ?? "timestamp", 8);
}

function unionIds(table: FlatTable, count: number): number[] {
  const ids = table.int32s(1);
  return ids.length > 0 ? ids : Array.from({ length: count }, (_, index) => index);
}

function child(children: readonly ArrowField[], index: number): SqlType {
  return children[index]!.type;
}

function named(field: ArrowField): NamedType {
  return { name: field.name, type: field.type };
}
