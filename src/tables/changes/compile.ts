/**
 * How the values of one column are converted: by the schema's semantic name where a record brings a schema (Kafka Connect's and Debezium's
 * types), else by the column's type.
 *
 * | column, without a schema | a number is | text is |
 * |---|---|---|
 * | TIMESTAMP, TIMESTAMPTZ | microseconds since 1970 | ISO 8601 |
 * | TIMESTAMP_S, TIMESTAMP_MS | milliseconds | ISO 8601 |
 * | TIMESTAMP_NS | nanoseconds | ISO 8601 |
 * | TIME | microseconds since midnight | ISO 8601, moved to UTC where it has a zone |
 * | DATE | days since 1970 | ISO 8601 |
 * | INTERVAL | microseconds | an interval |
 * | DECIMAL, integers | itself | base64 of the unscaled number, of the column's scale; where it can be none, digits |
 * | BOOLEAN | 0 or 1 | |
 * | JSON, lists, structs, maps | itself | the JSON that it holds |
 * | BLOB | | base64, of either alphabet |
 *
 * An object of `scale` and `value` is a decimal, one of `x`, `y`, `wkb` a point, for columns that can take it so.
 */
import { isInteger, type SqlType } from "../../sql/types.ts";
import type { ConnectSchema } from "./connect_schema.ts";
import { type Convert, keepValue } from "./conversion.ts";
import {
  decimalOfColumn,
  decimalOfScale,
  floatOfColumn,
  textOfColumn,
  variableScaleDecimal,
} from "./decimal_values.ts";
import { binaryText, bits, flag, jsonInText, list, map, pointText, struct } from "./other_values.ts";
import { dateDays, duration, isTimestamp, timeNumber, timestampNumber, type Unit, withoutZone } from "./time_values.ts";

/** Undefined: the value stays as it is. */
export function compileConversion(type: SqlType, schema: ConnectSchema | undefined): Convert | undefined {
  if (schema === undefined) return byColumn(type);
  const named = schema.name === undefined ? undefined : semantic[schema.name];
  return named === undefined ? byConnectType(type, schema) : named(type, schema);
}

type Compile = (type: SqlType, schema: ConnectSchema) => Convert | undefined;

const timestamps =
  (unit: Unit): Compile =>
  (type) =>
    timestampNumber(type, unit, true);
const times =
  (unit: Unit): Compile =>
  (type) =>
    timeNumber(type, unit, true);
const days: Compile = (type) => dateDays(type, true);
const zoned: Compile = (type) => withoutZone(type, undefined);

const semantic: Record<string, Compile | undefined> = {
  "org.apache.kafka.connect.data.Decimal": (type, schema) => {
    const scale = Number(schema.parameters.scale ?? Number.NaN);
    if (!Number.isSafeInteger(scale)) throw new Error("a Decimal has no scale among its parameters");
    return decimalOfScale(type, scale);
  },
  "org.apache.kafka.connect.data.Date": days,
  "org.apache.kafka.connect.data.Time": times("ms"),
  "org.apache.kafka.connect.data.Timestamp": timestamps("ms"),
  "io.debezium.data.VariableScaleDecimal": (type) => variableScaleDecimal(type),
  "io.debezium.data.Json": (type) => (takesJson(type) ? jsonInText(true) : undefined),
  "io.debezium.data.Bits": (type, schema) => bits(type, Number(schema.parameters.length ?? 0), isInteger(type)),
  "io.debezium.data.geometry.Point": geometry,
  "io.debezium.data.geometry.Geometry": geometry,
  "io.debezium.data.geometry.Geography": geometry,
  "io.debezium.time.Date": days,
  "io.debezium.time.IsoDate": zoned,
  "io.debezium.time.Time": times("ms"),
  "io.debezium.time.MicroTime": times("us"),
  "io.debezium.time.NanoTime": times("ns"),
  "io.debezium.time.IsoTime": zoned,
  "io.debezium.time.ZonedTime": zoned,
  "io.debezium.time.Timestamp": timestamps("ms"),
  "io.debezium.time.MicroTimestamp": timestamps("us"),
  "io.debezium.time.NanoTimestamp": timestamps("ns"),
  "io.debezium.time.MicroDuration": (type) => duration(type, "us", true),
  "io.debezium.time.NanoDuration": (type) => duration(type, "ns", true),
};

function geometry(type: SqlType): Convert | undefined {
  if (type.kind === "varchar") return pointText;
  return type.kind === "blob" ? binaryText : undefined;
}

/** Columns into which text that holds JSON goes as that JSON. */
function takesJson(type: SqlType): boolean {
  return (
    type.kind === "json" ||
    type.kind === "list" ||
    type.kind === "array" ||
    type.kind === "struct" ||
    type.kind === "map"
  );
}

function byConnectType(type: SqlType, schema: ConnectSchema): Convert | undefined {
  switch (schema.type) {
    case "array":
      return ofElements(type, schema.items);
    case "map":
      return ofValues(type, schema.values);
    case "struct":
      return ofFields(type, (name) => schema.fields.find((field) => field.name === name)?.schema);
    case "string":
      if (type.kind === "float" || type.kind === "double") return floatOfColumn;
      return type.kind === "blob" ? binaryText : undefined;
    case "int8":
    case "int16":
    case "int32":
    case "int64":
      return type.kind === "boolean" ? flag : undefined;
    default:
      return undefined;
  }
}

function byColumn(type: SqlType): Convert | undefined {
  if (isInteger(type)) return decimalOfColumn(0);
  switch (type.kind) {
    case "decimal":
      return decimalOfColumn(type.scale);
    case "boolean":
      return flag;
    case "float":
    case "double":
      return floatOfColumn;
    case "varchar":
      return textOfColumn(pointText);
    case "blob":
      return binaryText;
    case "date":
      return withoutZone(type, dateDays(type, false));
    case "time":
      return withoutZone(type, timeNumber(type, "us", false));
    case "interval":
      return duration(type, "us", false);
    case "timestamp_ns":
      return timestampNumber(type, "ns", false);
    case "timestamp_s":
    case "timestamp_ms":
      return timestampNumber(type, "ms", false);
    case "json":
      return jsonInText(false);
    case "list":
    case "array":
      return either(ofElements(type, undefined));
    case "struct":
      return either(ofFields(type, () => undefined));
    case "map":
      return either(ofValues(type, undefined));
    default:
      return isTimestamp(type) ? timestampNumber(type, "us", false) : undefined;
  }
}

/** Text that holds JSON, or a value that is JSON itself. */
function either(convert: Convert | undefined): Convert {
  const text = jsonInText(false);
  return (scanner, context) => {
    if (scanner.peek() === 0x22) return text(scanner, context);
    return convert === undefined ? keepValue(scanner) : convert(scanner, context);
  };
}

function ofElements(type: SqlType, items: ConnectSchema | undefined): Convert | undefined {
  if (type.kind !== "list" && type.kind !== "array") return undefined;
  const element = compileConversion(type.child, items);
  return element === undefined ? undefined : list(element);
}

function ofValues(type: SqlType, values: ConnectSchema | undefined): Convert | undefined {
  if (type.kind !== "map") return undefined;
  const value = compileConversion(type.value, values);
  return value === undefined ? undefined : map(value);
}

function ofFields(type: SqlType, schemaOf: (name: string) => ConnectSchema | undefined): Convert | undefined {
  if (type.kind !== "struct") return undefined;
  const fields = type.fields.map((field) => ({
    name: field.name,
    convert: compileConversion(field.type, schemaOf(field.name)),
  }));
  return fields.some(({ convert }) => convert !== undefined) ? struct(fields) : undefined;
}
