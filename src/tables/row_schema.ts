/**
 * A table compiled for ingest: which column comes from where, and by which codec.
 *
 * Columns named `_key`, `_value`, `_headers`, `_timestamp`, `_partition`, `_offset` receive the record's own; all others come from the
 * fields of the record's value, one JSON object. A table without such others is raw: its values are taken as they are.
 */
import { SqlError } from "../base/sql_error.ts";
import type { ColumnDefinition, TableDefinition } from "../catalog/catalog.ts";
import { parseType, quoteIdentifier, type SqlType, typeName } from "../sql/types.ts";
import { type ArrowField, encodeSchema } from "./arrow/stream.ts";
import { ColumnSets } from "./column_sets.ts";
import { compileType, storageType, UnsupportedType } from "./json/compile.ts";
import { ObjectReader } from "./json/objects.ts";
import { type RecordColumn, recordColumn } from "./record_columns.ts";

/** A column that is filled from the value's fields. */
export interface FieldColumn {
  name: string;
  type: string;
  /** Its place among all columns. */
  index: number;
  notNull: boolean;
  /** DuckDB's text of the default expression. */
  default: string | undefined;
}

export interface RowSchema {
  columns: readonly ColumnDefinition[];
  fields: readonly FieldColumn[];
  reader: ObjectReader;
  /** The record's own columns, by their place among all columns. */
  record: readonly { column: RecordColumn; name: string; index: number; notNull: boolean }[];
  raw: boolean;
  arrow: readonly ArrowField[];
  arrowSchema: Uint8Array;
  /** For each column, the SQL that turns the staged column into the table's. */
  select: readonly string[];
  /** Some of `select` is more than the column's name. */
  needsCast: boolean;
  /** Columns for rows. */
  sets: ColumnSets;
}

/** Throws SqlError when a column's type cannot be filled from records. */
export function compileTable(table: Pick<TableDefinition, "columns" | "name">): RowSchema {
  const fields: FieldColumn[] = [];
  const readers: { name: string; codec: ReturnType<typeof compileType> }[] = [];
  const record: { column: RecordColumn; name: string; index: number; notNull: boolean }[] = [];
  const arrow: ArrowField[] = [];
  const select: string[] = [];
  let needsCast = false;
  table.columns.forEach((definition, index) => {
    const { name, notNull } = definition;
    const type = parseType(definition.type);
    const quoted = quoteIdentifier(name);
    const own = recordColumn(name, type);
    if (own) {
      record.push({ column: own, name, index, notNull });
      arrow.push({ name, type: own.arrow });
      needsCast ||= own.needsCast;
      select.push(own.needsCast ? cast(quoted, type) : quoted);
      return;
    }
    const codec = compileColumn(definition.name, type);
    fields.push({ name, type: definition.type, index, notNull, default: definition.default });
    readers.push({ name, codec });
    arrow.push({ name, type: codec.arrow });
    needsCast ||= codec.needsCast;
    select.push(codec.needsCast ? cast(quoted, type) : quoted);
  });
  const raw = fields.length === 0;
  if (!raw && table.columns.some((column) => column.name === "_value"))
    throw new SqlError(
      "0A000",
      `table "${table.name}" has a column _value, which takes whole values as they are, and columns of its own, which take their fields; ` +
        "a table can have one or the other",
    );
  const reader = new ObjectReader(readers);
  return {
    columns: table.columns,
    fields,
    reader,
    record,
    raw,
    arrow,
    arrowSchema: encodeSchema(arrow),
    select,
    needsCast,
    sets: new ColumnSets({ columns: table.columns, fields, reader, record }),
  };
}

function compileColumn(name: string, type: SqlType) {
  try {
    return compileType(type);
  } catch (error) {
    if (!(error instanceof UnsupportedType)) throw error;
    throw new SqlError("0A000", `column "${name}": ${error.message}`);
  }
}

function cast(expression: string, type: SqlType): string {
  return `CAST(${expression} AS ${typeName(storageType(type))})`;
}
