/** Which codec a column type has. */
import { type SqlType, typeName } from "../../sql/types.ts";
import type { ValueCodec } from "./codec.ts";
import { ListCodec, MapCodec, StructCodec } from "./nested_codecs.ts";
import { BooleanCodec, DecimalCodec, FloatCodec, IntegerCodec, type IntegerShape } from "./number_codecs.ts";
import { BlobCodec, EnumCodec, IntervalCodec, JsonCodec, UuidCodec, VarcharCodec } from "./text_codecs.ts";
import { DateCodec, TimeCodec, TimestampCodec } from "./time_codecs.ts";

/** The column's type has no JSON form here. */
export class UnsupportedType extends Error {
  override name = "UnsupportedType";
}

function signed(name: string, bytes: IntegerShape["width"]): IntegerShape {
  const bits = BigInt(bytes * 8);
  return { name, width: bytes, min: -(1n << (bits - 1n)), max: (1n << (bits - 1n)) - 1n };
}

function unsigned(name: string, bytes: IntegerShape["width"]): IntegerShape {
  return { name, width: bytes, min: 0n, max: (1n << BigInt(bytes * 8)) - 1n };
}

const integers: Partial<Record<SqlType["kind"], IntegerShape>> = {
  tinyint: signed("TINYINT", 1),
  smallint: signed("SMALLINT", 2),
  integer: signed("INTEGER", 4),
  bigint: signed("BIGINT", 8),
  hugeint: signed("HUGEINT", 16),
  utinyint: unsigned("UTINYINT", 1),
  usmallint: unsigned("USMALLINT", 2),
  uinteger: unsigned("UINTEGER", 4),
  ubigint: unsigned("UBIGINT", 8),
  uhugeint: unsigned("UHUGEINT", 16),
};

/** Throws UnsupportedType. */
export function compileType(type: SqlType): ValueCodec {
  const integer = integers[type.kind];
  if (integer) return new IntegerCodec(integer);
  switch (type.kind) {
    case "boolean":
      return new BooleanCodec();
    case "float":
      return new FloatCodec(32);
    case "double":
      return new FloatCodec(64);
    case "decimal":
      return new DecimalCodec(type.precision, type.scale);
    case "varchar":
      return new VarcharCodec();
    case "json":
      return new JsonCodec();
    case "blob":
      return new BlobCodec();
    case "uuid":
      return new UuidCodec();
    case "enum":
      return new EnumCodec(type.values);
    case "interval":
      return new IntervalCodec();
    case "date":
      return new DateCodec();
    case "time":
      return new TimeCodec();
    case "timestamp":
      return new TimestampCodec("us", false);
    case "timestamp_s":
      return new TimestampCodec("s", false);
    case "timestamp_ms":
      return new TimestampCodec("ms", false);
    case "timestamp_ns":
      return new TimestampCodec("ns", false);
    case "timestamptz":
      return new TimestampCodec("us", true);
    case "list":
      return new ListCodec(compileType(type.child));
    case "array":
      return new ListCodec(compileType(type.child), type.size);
    case "struct":
      return new StructCodec(type.fields.map((field) => ({ name: field.name, codec: compileType(field.type) })));
    case "map":
      return new MapCodec(compileType(type.key), compileType(type.value));
    default:
      throw new UnsupportedType(`${typeName(type)} cannot be filled from JSON`);
  }
}

/** The type as DuckDB-WASM stores it: JSON is VARCHAR there. */
export function storageType(type: SqlType): SqlType {
  switch (type.kind) {
    case "json":
      return { kind: "varchar" };
    case "list":
      return { kind: "list", child: storageType(type.child) };
    case "array":
      return { kind: "array", child: storageType(type.child), size: type.size };
    case "struct":
      return { kind: "struct", fields: type.fields.map(({ name, type: of }) => ({ name, type: storageType(of) })) };
    case "map":
      return { kind: "map", key: storageType(type.key), value: storageType(type.value) };
    default:
      return type;
  }
}
