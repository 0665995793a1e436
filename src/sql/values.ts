/**
 * JavaScript values of an Arrow column, exact: numbers for integers of up to 32 bits and floating types, bigint for larger integers,
 * text for DECIMAL, dates, times, UUID and BIT, bytes for BLOB, arrays, objects, and Map for MAP.
 */
import type { Vector } from "./arrow/batch.ts";
import { dateText, intervalText, timestampText, timeText, zonedTimeText } from "./text_of_time.ts";

export type SqlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | SqlValue[]
  | Map<SqlValue, SqlValue>
  | { [name: string]: SqlValue };

/** Reads the value of a row; null for NULL. */
export type ValueReader = (row: number) => SqlValue;

export function valueReader(vector: Vector): ValueReader {
  const read = presentReader(vector);
  const validity = vector.validity;
  if (!validity) return read;
  return (row) => (validity[row >> 3]! & (1 << (row & 7)) ? read(row) : null);
}

/** The same without a look at the validity bits. */
export function presentReader(vector: Vector): ValueReader {
  const { data, field } = vector;
  const { type } = field;
  switch (type.kind) {
    case "null":
      return () => null;
    case "boolean":
      return (row) => (data.getUint8(row >> 3) & (1 << (row & 7))) !== 0;
    case "tinyint":
      return (row) => data.getInt8(row);
    case "utinyint":
      return (row) => data.getUint8(row);
    case "smallint":
      return (row) => data.getInt16(row * 2, true);
    case "usmallint":
      return (row) => data.getUint16(row * 2, true);
    case "integer":
      return (row) => data.getInt32(row * 4, true);
    case "uinteger":
      return (row) => data.getUint32(row * 4, true);
    case "bigint":
      return (row) => data.getBigInt64(row * 8, true);
    case "ubigint":
      return (row) => data.getBigUint64(row * 8, true);
    case "hugeint":
      return (row) => signed128(data, row * 16);
    case "uhugeint":
      return (row) => (data.getBigUint64(row * 16 + 8, true) << 64n) | data.getBigUint64(row * 16, true);
    case "float":
      return (row) => data.getFloat32(row * 4, true);
    case "double":
      return (row) => data.getFloat64(row * 8, true);
    case "decimal":
      return decimalReader(vector, type.scale);
    case "enum":
      return enumReader(vector, type.values);
    case "varchar":
    case "json":
      return textReader(vector);
    case "blob":
      return blobReader(vector);
    case "bit":
      return map(blobReader(vector), bitText);
    case "bignum":
      return map(blobReader(vector), bignumValue);
    case "uuid":
      return (row) => uuidText(data, row * 16);
    default:
      return timeReader(vector) ?? nestedReader(vector);
  }
}

function map(read: (row: number) => Uint8Array, convert: (bytes: Uint8Array) => SqlValue): ValueReader {
  return (row) => convert(read(row));
}

function timeReader({ data, field }: Vector): ValueReader | undefined {
  switch (field.type.kind) {
    case "date":
      return (row) => dateText(data.getInt32(row * 4, true));
    case "time":
      return (row) => timeText(Number(data.getBigInt64(row * 8, true)) * 1000);
    case "time_ns":
      return (row) => timeText(Number(data.getBigInt64(row * 8, true)));
    case "timetz":
      return (row) => zonedTimeText(data.getBigUint64(row * 8, true));
    case "timestamp_s":
      return (row) => timestampText(data.getBigInt64(row * 8, true), 1n, "");
    case "timestamp_ms":
      return (row) => timestampText(data.getBigInt64(row * 8, true), 1_000n, "");
    case "timestamp":
      return (row) => timestampText(data.getBigInt64(row * 8, true), 1_000_000n, "");
    case "timestamp_ns":
      return (row) => timestampText(data.getBigInt64(row * 8, true), 1_000_000_000n, "");
    case "timestamptz":
      return (row) => timestampText(data.getBigInt64(row * 8, true), 1_000_000n, "Z");
    case "interval":
      return (row) => {
        const at = row * 16;
        return intervalText(
          data.getInt32(at, true),
          data.getInt32(at + 4, true),
          microsOf(data.getBigUint64(at + 8, true)),
        );
      };
    default:
      return undefined;
  }
}

/**
 * Arrow counts nanoseconds in 64 bits, so DuckDB's microseconds times 1000 may have overflowed. Dividing by 8 and multiplying with the
 * inverse of 125 modulo 2^61 undoes that for all intervals of up to 36,000 years.
 */
function microsOf(nanos: bigint): bigint {
  return BigInt.asIntN(61, (nanos >> 3n) * 2066035336255469781n);
}

function nestedReader(vector: Vector): ValueReader {
  const { type } = vector.field;
  switch (type.kind) {
    case "list":
    case "array": {
      const child = valueReader(vector.children[0]!);
      const [start, end] = bounds(vector);
      return (row) => {
        const values: SqlValue[] = [];
        for (let i = start(row); i < end(row); i++) values.push(child(i));
        return values;
      };
    }
    case "map": {
      const [key, value] = vector.children[0]!.children.map(valueReader);
      const [start, end] = bounds(vector);
      return (row) => {
        const entries = new Map<SqlValue, SqlValue>();
        for (let i = start(row); i < end(row); i++) entries.set(key!(i), value!(i));
        return entries;
      };
    }
    case "struct": {
      const children = vector.children.map((child) => [child.field.name, valueReader(child)] as const);
      return (row) => Object.fromEntries(children.map(([name, read]) => [name, read(row)]));
    }
    case "union": {
      const children = vector.children.map((child) => [child.field.name, valueReader(child)] as const);
      const [member, index] = unionPlace(vector);
      return (row) => {
        const [name, read] = children[member(row)]!;
        const value = read(index(row));
        return value === null ? null : { [name]: value };
      };
    }
    default:
      throw new Error(`no reader for type ${type.kind}`);
  }
}

/** Where the elements of a list's row start and end among its child's rows. */
export function bounds(vector: Vector): [start: (row: number) => number, end: (row: number) => number] {
  const { layout } = vector.field;
  const { offsets } = vector;
  if (layout.kind === "fixedList") {
    const { size } = layout;
    return [(row) => row * size, (row) => (row + 1) * size];
  }
  if (layout.kind === "list" && layout.wide)
    return [
      (row) => Number(offsets.getBigInt64(row * 8, true)),
      (row) => Number(offsets.getBigInt64(row * 8 + 8, true)),
    ];
  return [(row) => offsets.getInt32(row * 4, true), (row) => offsets.getInt32(row * 4 + 4, true)];
}

/** Which member a union's row holds (index among the children), and at which row of that member. */
export function unionPlace(vector: Vector): [member: (row: number) => number, index: (row: number) => number] {
  const { layout } = vector.field;
  if (layout.kind !== "union") throw new Error("not a union");
  const byId = new Map(layout.typeIds.map((id, index) => [id, index]));
  return [
    (row) => byId.get(vector.data.getInt8(row)) ?? 0,
    layout.dense ? (row) => vector.offsets.getInt32(row * 4, true) : (row) => row,
  ];
}

function signed128(data: DataView, at: number): bigint {
  return (data.getBigInt64(at + 8, true) << 64n) | data.getBigUint64(at, true);
}

function decimalReader(vector: Vector, scale: number): ValueReader {
  const { data, field } = vector;
  const bytes = field.layout.kind === "fixed" ? field.layout.bytes : 16;
  const unscaled = (row: number): bigint =>
    bytes === 16
      ? signed128(data, row * 16)
      : bytes === 8
        ? data.getBigInt64(row * 8, true)
        : BigInt(data.getInt32(row * 4, true));
  return (row) => decimalText(unscaled(row), scale);
}

export function decimalText(unscaled: bigint, scale: number): string {
  if (scale === 0) return unscaled.toString();
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, "0");
  return `${unscaled < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function enumReader({ data, field }: Vector, values: readonly string[]): ValueReader {
  const bytes = field.layout.kind === "fixed" ? field.layout.bytes : 4;
  if (bytes === 1) return (row) => values[data.getUint8(row)]!;
  if (bytes === 2) return (row) => values[data.getUint16(row * 2, true)]!;
  return (row) => values[data.getUint32(row * 4, true)]!;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export function textReader(vector: Vector): (row: number) => string {
  const read = blobReader(vector);
  return (row) => {
    const bytes = read(row);
    if (bytes.length > 24) return decoder.decode(bytes);
    // A decoder call costs more than short ASCII text takes to spell out.
    let text = "";
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (byte > 127) return decoder.decode(bytes);
      text += String.fromCharCode(byte);
    }
    return text;
  };
}

export function blobReader(vector: Vector): (row: number) => Uint8Array {
  const { data, offsets, field } = vector;
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const { layout } = field;
  if (layout.kind === "fixed") return (row) => bytes.subarray(row * layout.bytes, (row + 1) * layout.bytes);
  if (layout.kind === "variable" && layout.wide)
    return (row) =>
      bytes.subarray(Number(offsets.getBigInt64(row * 8, true)), Number(offsets.getBigInt64(row * 8 + 8, true)));
  return (row) => bytes.subarray(offsets.getInt32(row * 4, true), offsets.getInt32(row * 4 + 4, true));
}

/** DuckDB's BIT: a byte with the count of padding bits, then the bits, padding (ones) first. */
function bitText(bytes: Uint8Array): string {
  let text = "";
  for (let i = 1; i < bytes.length; i++) text += bytes[i]!.toString(2).padStart(8, "0");
  return text.slice(bytes[0]);
}

/** DuckDB's BIGNUM: three bytes of sign and length, then the magnitude, big endian; all complemented when negative. */
function bignumValue(bytes: Uint8Array): bigint {
  const negative = (bytes[0]! & 0x80) === 0;
  let hex = "";
  for (let i = 3; i < bytes.length; i++) hex += (negative ? 255 - bytes[i]! : bytes[i]!).toString(16).padStart(2, "0");
  const magnitude = hex === "" ? 0n : BigInt(`0x${hex}`);
  return negative ? -magnitude : magnitude;
}

function uuidText(data: DataView, at: number): string {
  const hex =
    data.getBigUint64(at).toString(16).padStart(16, "0") +
    data
      .getBigUint64(at + 8)
      .toString(16)
      .padStart(16, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
