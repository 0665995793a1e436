/**
 * The columns that receive a record's own parts: `_key`, `_value`, `_headers`, `_timestamp`, `_partition`, `_offset`.
 *
 * Offsets, and times on topics that stamp records themselves, are known only after the append: a produced batch gets those by `fill`.
 */
import { SqlError } from "../base/sql_error.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import { type SqlType, typeName } from "../sql/types.ts";
import type { ArrowType, TimeUnit } from "./arrow/stream.ts";
import { BytesVector, FixedVector, ListVector, StructVector, type Vector } from "./arrow/vectors.ts";
import { mapArrow } from "./json/nested_codecs.ts";
import { JsonScanner } from "./json/scan.ts";
import { TimestampCodec } from "./json/time_codecs.ts";
import { invalidUtf8At } from "./json/utf8.ts";

export abstract class RecordColumn {
  abstract readonly arrow: ArrowType;
  readonly needsCast: boolean = false;
  abstract newVector(capacity: number): Vector;
  /** Appends the part of one record; the text of what is wrong with it otherwise, and then nothing is appended. */
  abstract push(vector: Vector, batch: RecordBatchView, record: number, partition: number): string | undefined;
  /**
   * Completes the column of a batch once it is in the log; `appendTimeMs` is -1 unless the topic stamps records. `deltas`: each row's place
   * among the batch's offsets; absent when there is a row for each.
   */
  fill(_vector: Vector, _rows: number, _baseOffset: number, _appendTimeMs: number, _deltas?: Int32Array): void {}
}

const names = ["_key", "_value", "_headers", "_timestamp", "_partition", "_offset"] as const;
export type RecordColumnName = (typeof names)[number];

export function isRecordColumn(name: string): name is RecordColumnName {
  return (names as readonly string[]).includes(name);
}

/** Undefined for a column of the user's own; throws SqlError when the type cannot hold the record's part. */
export function recordColumn(name: string, type: SqlType): RecordColumn | undefined {
  if (!isRecordColumn(name)) return undefined;
  const column = build(name, type);
  if (column === undefined)
    throw new SqlError(
      "42804",
      `column ${name} receives the record's own and can be ${allowed[name]}, not ${typeName(type)}`,
    );
  return column;
}

const allowed: Record<RecordColumnName, string> = {
  _key: "VARCHAR or BLOB",
  _value: "VARCHAR, JSON or BLOB",
  _headers: "STRUCT(key VARCHAR, value BLOB)[] or MAP(VARCHAR, BLOB), with VARCHAR for BLOB where values are text",
  _timestamp: "a TIMESTAMP of any precision, TIMESTAMPTZ, or BIGINT for milliseconds",
  _partition: "INTEGER or BIGINT",
  _offset: "BIGINT",
};

function build(name: RecordColumnName, type: SqlType): RecordColumn | undefined {
  switch (name) {
    case "_key":
      return type.kind === "varchar" || type.kind === "blob" ? new BytesColumn("key", type.kind) : undefined;
    case "_value":
      return type.kind === "varchar" || type.kind === "blob" || type.kind === "json"
        ? new BytesColumn("value", type.kind)
        : undefined;
    case "_headers":
      return headersColumn(type);
    case "_timestamp": {
      const unit = timestampUnits[type.kind];
      if (unit !== undefined) return new TimestampColumn(new TimestampCodec(unit, type.kind === "timestamptz"));
      return type.kind === "bigint" ? new MillisColumn() : undefined;
    }
    case "_partition":
      return type.kind === "integer" || type.kind === "bigint"
        ? new PartitionColumn(type.kind === "bigint")
        : undefined;
    default:
      return type.kind === "bigint" ? new OffsetColumn() : undefined;
  }
}

const timestampUnits: Partial<Record<SqlType["kind"], TimeUnit>> = {
  timestamp: "us",
  timestamptz: "us",
  timestamp_s: "s",
  timestamp_ms: "ms",
  timestamp_ns: "ns",
};

/** `_key` and `_value`. Text must be UTF-8, JSON must be valid; bytes are taken as they are. */
class BytesColumn extends RecordColumn {
  override readonly arrow: ArrowType;
  private readonly part: "key" | "value";
  private readonly kind: "varchar" | "blob" | "json";
  private readonly scanner = new JsonScanner();

  constructor(part: "key" | "value", kind: "varchar" | "blob" | "json") {
    super();
    this.part = part;
    this.kind = kind;
    this.arrow = { kind: kind === "blob" ? "binary" : "utf8" };
  }

  override newVector(capacity: number): BytesVector {
    return new BytesVector(capacity, capacity * (this.part === "key" ? 16 : 64));
  }

  override push(vector: BytesVector, batch: RecordBatchView, record: number): string | undefined {
    const isKey = this.part === "key";
    const length = isKey ? batch.keyLength(record) : batch.valueLength(record);
    if (length < 0) {
      vector.pushNull();
      return undefined;
    }
    const start = isKey ? batch.keyStart(record) : batch.valueStart(record);
    if (this.kind !== "blob") {
      const at = invalidUtf8At(batch.plain, start, start + length);
      if (at >= 0)
        return `the record's ${this.part} is not valid UTF-8 at byte ${at - start}, which column _${this.part} ${this.kind.toUpperCase()} needs; BLOB takes any bytes`;
    }
    if (this.kind === "json") {
      const fault = this.jsonFault(batch.plain.subarray(start, start + length));
      if (fault !== undefined)
        return `the record's value is ${fault}, which column _value JSON needs; VARCHAR takes any text`;
    }
    vector.pushBytes(batch.plain, start, start + length);
    return undefined;
  }

  private jsonFault(value: Uint8Array): string | undefined {
    const { scanner } = this;
    scanner.reset(value, 0, value.length);
    scanner.skipSpace();
    if (!scanner.skipValue()) return scanner.syntaxError;
    scanner.skipSpace();
    if (scanner.position < scanner.end) scanner.syntax("the end of the value");
    return scanner.syntaxError === "" ? undefined : scanner.syntaxError;
  }
}

class TimestampColumn extends RecordColumn {
  override readonly arrow: ArrowType;
  private readonly codec: TimestampCodec;

  constructor(codec: TimestampCodec) {
    super();
    this.codec = codec;
    this.arrow = codec.arrow;
  }

  override newVector(capacity: number): FixedVector {
    return this.codec.newVector(capacity);
  }

  override push(vector: FixedVector, batch: RecordBatchView, record: number): string | undefined {
    this.pushMillis(vector, batch.timestamp(record));
    return undefined;
  }

  override fill(vector: FixedVector, rows: number, _baseOffset: number, appendTimeMs: number): void {
    if (appendTimeMs < 0) return;
    vector.truncate(0);
    for (let i = 0; i < rows; i++) this.pushMillis(vector, appendTimeMs);
  }

  /** -1 is Kafka's "no timestamp"; a time that the type cannot hold is as good as none. */
  private pushMillis(vector: FixedVector, millis: number): void {
    if (millis < 0 || !this.codec.pushMillisNumber(vector, millis)) vector.pushNull();
  }
}

class MillisColumn extends RecordColumn {
  override readonly arrow: ArrowType = { kind: "int", bits: 64, signed: true };

  override newVector(capacity: number): FixedVector {
    return new FixedVector(8, capacity);
  }

  override push(vector: FixedVector, batch: RecordBatchView, record: number): string | undefined {
    const millis = batch.timestamp(record);
    if (millis < 0) vector.pushNull();
    else vector.pushLong(millis);
    return undefined;
  }

  override fill(vector: FixedVector, rows: number, _baseOffset: number, appendTimeMs: number): void {
    if (appendTimeMs < 0) return;
    vector.truncate(0);
    for (let i = 0; i < rows; i++) vector.pushLong(appendTimeMs);
  }
}

class PartitionColumn extends RecordColumn {
  override readonly arrow: ArrowType;
  private readonly wide: boolean;

  constructor(wide: boolean) {
    super();
    this.wide = wide;
    this.arrow = { kind: "int", bits: wide ? 64 : 32, signed: true };
  }

  override newVector(capacity: number): FixedVector {
    return new FixedVector(this.wide ? 8 : 4, capacity);
  }

  override push(vector: FixedVector, _batch: RecordBatchView, _record: number, partition: number): string | undefined {
    if (this.wide) vector.pushLong(partition);
    else vector.pushWord(partition);
    return undefined;
  }
}

class OffsetColumn extends RecordColumn {
  override readonly arrow: ArrowType = { kind: "int", bits: 64, signed: true };

  override newVector(capacity: number): FixedVector {
    return new FixedVector(8, capacity);
  }

  override push(vector: FixedVector, batch: RecordBatchView, record: number): string | undefined {
    vector.pushLong(batch.offset(record));
    return undefined;
  }

  override fill(vector: FixedVector, rows: number, baseOffset: number, _timeMs: number, deltas?: Int32Array): void {
    for (let i = 0; i < rows; i++) vector.setLong(i, baseOffset + (deltas === undefined ? i : deltas[i]!));
  }
}

function headersColumn(type: SqlType): RecordColumn | undefined {
  if (type.kind === "map") {
    const { value } = type;
    if (type.key.kind !== "varchar" || (value.kind !== "varchar" && value.kind !== "blob")) return undefined;
    return new HeadersColumn(value.kind, true);
  }
  if (type.kind !== "list" || type.child.kind !== "struct") return undefined;
  const [key, value] = type.child.fields;
  if (type.child.fields.length !== 2 || key?.name !== "key" || value?.name !== "value") return undefined;
  if (key.type.kind !== "varchar" || (value.type.kind !== "varchar" && value.type.kind !== "blob")) return undefined;
  return new HeadersColumn(value.type.kind, false);
}

/** `_headers`: a list keeps order and repeats; a map keeps the last of a repeated name. */
class HeadersColumn extends RecordColumn {
  override readonly arrow: ArrowType;
  private readonly valueKind: "varchar" | "blob";
  private readonly isMap: boolean;

  constructor(valueKind: "varchar" | "blob", isMap: boolean) {
    super();
    this.valueKind = valueKind;
    this.isMap = isMap;
    const value: ArrowType = { kind: valueKind === "blob" ? "binary" : "utf8" };
    const children = [
      { name: "key", type: { kind: "utf8" } as const },
      { name: "value", type: value },
    ];
    this.arrow = isMap
      ? mapArrow({ kind: "utf8" }, value)
      : { kind: "list", child: { name: "item", type: { kind: "struct", children } } };
  }

  override newVector(capacity: number): ListVector {
    return new ListVector(new StructVector([new BytesVector(capacity), new BytesVector(capacity)], capacity), capacity);
  }

  override push(vector: ListVector, batch: RecordBatchView, record: number): string | undefined {
    if (batch.headerCount(record) === 0) {
      vector.finish();
      return undefined;
    }
    let headers = batch.headers(record);
    if (this.isMap) headers = [...new Map(headers.map((header) => [header.key, header])).values()];
    if (this.valueKind === "varchar")
      for (const { key, value } of headers)
        if (value !== null && invalidUtf8At(value, 0, value.length) >= 0)
          return `header ${JSON.stringify(key)} is not valid UTF-8, which a VARCHAR in _headers needs; BLOB takes any bytes`;
    const entries = vector.child as StructVector;
    const [keys, values] = entries.children as readonly [BytesVector, BytesVector];
    for (const { key, value } of headers) {
      keys.pushText(key);
      if (value === null) values.pushNull();
      else values.pushBytes(value, 0, value.length);
      entries.finish();
    }
    vector.finish();
    return undefined;
  }
}
