/**
 * Changed rows as the records that a producer would have sent: JSON of the row, JSON of the key, null for a delete; the record's own columns
 * where the table has them.
 */
import { SqlError } from "../../base/sql_error.ts";
import type { ColumnDefinition, TableDefinition } from "../../catalog/entries.ts";
import { parseType, type SqlType } from "../../sql/types.ts";
import { sequenceHeader } from "../keyed/sequence_order.ts";
import { isRecordColumn } from "../record_columns.ts";

export interface RowRecord {
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: { key: Uint8Array; value: Uint8Array | null }[];
  /** Milliseconds; undefined: the transaction's time. */
  timestamp: number | undefined;
}

const utf8 = new TextEncoder();

export class RowRecords {
  private readonly definition: TableDefinition;
  /** All columns that records fill, in table order: `record` takes a cell for each. */
  readonly columns: readonly ColumnDefinition[];
  /** Places of the key's columns among `columns`, in the key's order. */
  readonly keyPlaces: readonly number[];
  private readonly keyNames: readonly string[];
  private readonly fields: readonly { name: string; place: number }[];
  private readonly hasJson: boolean;

  constructor(definition: TableDefinition) {
    this.definition = definition;
    this.columns = definition.columns;
    const key = definition.key ?? [];
    this.keyPlaces = key.map((name) => definition.columns.findIndex((column) => column.name === name));
    this.keyNames = key.map((name, i) => `${i === 0 ? "" : ","}${JSON.stringify(name)}:`);
    const fields = definition.columns.flatMap((column, place) =>
      isRecordColumn(column.name) ? [] : [{ name: column.name, place }],
    );
    this.fields = fields.map(({ name, place }, i) => ({
      name: `${i === 0 ? "" : ","}${JSON.stringify(name)}:`,
      place,
    }));
    this.hasJson = definition.columns.some((column) => hasJson(parseType(column.type)));
  }

  /** `cells`: JSON texts of all columns. `withTime`: `_timestamp` goes into the record. Throws SqlError 22P02 for a JSON column whose text is not JSON. */
  record(cells: readonly string[], withTime = true): RowRecord {
    return {
      key:
        this.keyPlaces.length > 0 ? this.key(this.keyPlaces.map((place) => cells[place]!)) : this.bytes(cells, "_key"),
      value: this.definition.raw ? this.bytes(cells, "_value") : this.value(cells),
      headers: this.headers(cells),
      timestamp: withTime ? this.timestamp(cells) : undefined,
    };
  }

  /** `cells`: JSON texts of the key's columns, in the key's order. `sequence`: of the deleted row, where the table has one. */
  tombstone(cells: readonly string[], sequence?: string): RowRecord {
    const headers = sequence === undefined ? [] : [{ key: utf8.encode(sequenceHeader), value: utf8.encode(sequence) }];
    return { key: this.key(cells), value: null, headers, timestamp: undefined };
  }

  private key(cells: readonly string[]): Uint8Array {
    let text = "{";
    // Minus zero equals zero, and equal keys have equal bytes.
    for (let i = 0; i < cells.length; i++) text += this.keyNames[i]! + (cells[i] === "-0.0" ? "0.0" : cells[i]!);
    return utf8.encode(`${text}}`);
  }

  private value(cells: readonly string[]): Uint8Array {
    let text = "{";
    for (const { name, place } of this.fields) text += name + cells[place]!;
    text += "}";
    if (this.hasJson) this.checkJson(text, cells);
    return utf8.encode(text);
  }

  private checkJson(text: string, cells: readonly string[]): void {
    try {
      JSON.parse(text);
    } catch {
      const place = cells.findIndex((cell) => !isJson(cell));
      throw new SqlError("22P02", `column "${this.columns[place]?.name}": the text is not JSON`);
    }
  }

  private cell(cells: readonly string[], name: string): { cell: string; type: SqlType } | undefined {
    const place = this.columns.findIndex((column) => column.name === name);
    if (place < 0 || cells[place] === "null") return undefined;
    return { cell: cells[place]!, type: parseType(this.columns[place]!.type) };
  }

  private bytes(cells: readonly string[], name: "_key" | "_value"): Uint8Array | null {
    const found = this.cell(cells, name);
    if (found === undefined) return null;
    if (found.type.kind === "json") return utf8.encode(found.cell);
    const text = JSON.parse(found.cell) as string;
    return found.type.kind === "blob" ? unbase64(text) : utf8.encode(text);
  }

  private headers(cells: readonly string[]): RowRecord["headers"] {
    const found = this.cell(cells, "_headers");
    if (found === undefined) return [];
    const { type } = found;
    const parsed = JSON.parse(found.cell) as Record<string, string | null> | { key: string; value: string | null }[];
    const pairs = Array.isArray(parsed) ? parsed : Object.entries(parsed).map(([key, value]) => ({ key, value }));
    const valueType = headerValueType(type);
    return pairs.map(({ key, value }) => ({
      key: utf8.encode(key),
      value: value === null ? null : valueType.kind === "blob" ? unbase64(value) : utf8.encode(value),
    }));
  }

  private timestamp(cells: readonly string[]): number | undefined {
    const found = this.cell(cells, "_timestamp");
    if (found === undefined) return undefined;
    if (found.type.kind === "bigint") return Number(found.cell);
    const text = JSON.parse(found.cell) as string;
    const millis = Date.parse(text.endsWith("Z") ? text : `${text}Z`);
    if (!(millis >= 0)) throw new SqlError("22008", `_timestamp: a record cannot have the time ${text}`);
    return millis;
  }
}

/** Of a MAP(VARCHAR, …) or a STRUCT(key …, value …)[]. */
function headerValueType(type: SqlType): SqlType {
  if (type.kind === "map") return type.value;
  if (type.kind === "list" && type.child.kind === "struct") return type.child.fields[1]!.type;
  return type;
}

function hasJson(type: SqlType): boolean {
  switch (type.kind) {
    case "json":
      return true;
    case "list":
    case "array":
      return hasJson(type.child);
    case "struct":
      return type.fields.some((field) => hasJson(field.type));
    case "map":
      return hasJson(type.key) || hasJson(type.value);
    default:
      return false;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function unbase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
}
