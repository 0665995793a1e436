/**
 * The one rule by which rows become JSON (the log, HTTP and the CLI follow it): exact digits for every integer and DECIMAL, the shortest
 * digits that read back as the same DOUBLE or FLOAT (`1.0` keeps its point), "NaN" and "Infinity" as text, ISO 8601 for dates and
 * times with `Z` for TIMESTAMPTZ alone, base64 for BLOB, an array for LIST, an object for STRUCT and MAP, `{"member": value}` for UNION.
 */
import type { Batch, Vector } from "./arrow/batch.ts";
import { cellSeparator } from "./messages.ts";
import { blobReader, bounds, presentReader, textReader, unionPlace } from "./values.ts";

/** The JSON text of a row's value. */
export type JsonCell = (row: number) => string;

/** Each row as the text of a JSON array without spaces. */
export function rowsOf(batch: Batch): string[] {
  const cells = batch.columns.map(jsonCell);
  const rows: string[] = [];
  for (let row = 0; row < batch.rows; row++) {
    let text = "[";
    for (let i = 0; i < cells.length; i++) text += i === 0 ? cells[i]!(row) : `,${cells[i]!(row)}`;
    rows.push(`${text}]`);
  }
  return rows;
}

/** Each row as the JSON texts of its values, with `cellSeparator` between them. */
export function cellsOf(batch: Batch): string[] {
  const cells = batch.columns.map(jsonCell);
  const rows: string[] = [];
  for (let row = 0; row < batch.rows; row++) {
    let text = "";
    for (let i = 0; i < cells.length; i++) text += i === 0 ? cells[i]!(row) : cellSeparator + cells[i]!(row);
    rows.push(text);
  }
  return rows;
}

export function jsonCell(vector: Vector): JsonCell {
  const write = presentCell(vector);
  const validity = vector.validity;
  if (!validity) return write;
  return (row) => (validity[row >> 3]! & (1 << (row & 7)) ? write(row) : "null");
}

function presentCell(vector: Vector): JsonCell {
  const { field, data } = vector;
  switch (field.type.kind) {
    case "boolean":
    case "tinyint":
    case "utinyint":
    case "smallint":
    case "usmallint":
    case "integer":
    case "uinteger":
    case "bigint":
    case "ubigint":
    case "hugeint":
    case "uhugeint":
    case "bignum":
    case "decimal":
    case "null": {
      const read = presentReader(vector);
      return (row) => `${read(row)}`;
    }
    case "float":
      return (row) => floatText(data.getFloat32(row * 4, true));
    case "double":
      return (row) => doubleText(data.getFloat64(row * 8, true));
    case "varchar": {
      const read = textReader(vector);
      return (row) => JSON.stringify(read(row));
    }
    case "json": {
      const read = textReader(vector);
      // On one line: within the strings of a JSON text there are no control characters.
      return (row) => oneLine(read(row));
    }
    case "enum": {
      const read = presentReader(vector) as (row: number) => string;
      return (row) => JSON.stringify(read(row));
    }
    case "blob": {
      const read = blobReader(vector);
      return (row) => `"${base64(read(row))}"`;
    }
    case "list":
    case "array":
      return listCell(vector);
    case "struct":
      return structCell(vector);
    case "map":
      return mapCell(vector);
    case "union":
      return unionCell(vector);
    default: {
      // Times, UUID and BIT: text that needs no escapes.
      const read = presentReader(vector);
      return (row) => `"${read(row)}"`;
    }
  }
}

function oneLine(text: string): string {
  for (let i = 0; i < text.length; i++)
    if (text.charCodeAt(i) < 0x20) return text.replaceAll(/\p{Cc}/gu, (sign) => (sign < " " ? " " : sign));
  return text;
}

function listCell(vector: Vector): JsonCell {
  const child = jsonCell(vector.children[0]!);
  const [start, end] = bounds(vector);
  return (row) => {
    let text = "[";
    const first = start(row);
    for (let i = first; i < end(row); i++) text += i === first ? child(i) : `,${child(i)}`;
    return `${text}]`;
  };
}

function structCell(vector: Vector): JsonCell {
  const names = vector.children.map((child) => `${JSON.stringify(child.field.name)}:`);
  const children = vector.children.map(jsonCell);
  return (row) => {
    let text = "{";
    for (let i = 0; i < children.length; i++) text += (i === 0 ? "" : ",") + names[i]! + children[i]!(row);
    return `${text}}`;
  };
}

/** Names in JSON are text: a key that is a number, say, becomes its digits as text. */
function mapCell(vector: Vector): JsonCell {
  const [key, value] = vector.children[0]!.children.map(jsonCell);
  const [start, end] = bounds(vector);
  return (row) => {
    let text = "{";
    const first = start(row);
    for (let i = first; i < end(row); i++) {
      const name = key!(i);
      text += `${i === first ? "" : ","}${name.startsWith('"') ? name : JSON.stringify(name)}:${value!(i)}`;
    }
    return `${text}}`;
  };
}

function unionCell(vector: Vector): JsonCell {
  const names = vector.children.map((child) => JSON.stringify(child.field.name));
  const children = vector.children.map(jsonCell);
  const [member, index] = unionPlace(vector);
  return (row) => {
    const value = children[member(row)]!(index(row));
    // A NULL union and a NULL member look the same in Arrow, as they do when DuckDB prints them.
    return value === "null" ? value : `{${names[member(row)]}:${value}}`;
  };
}

export function doubleText(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  if (!Number.isFinite(value)) return `"${text}"`;
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}

/** Shortest digits that read back as the same 32-bit float. */
export function floatText(value: number): string {
  if (!Number.isFinite(value) || value === 0) return doubleText(value);
  // Six digits lose their zeros as numbers do; only a subnormal float can be told by fewer.
  for (let digits = Math.abs(value) < 1.1754943508222875e-38 ? 1 : 6; digits < 10; digits++) {
    const near = Number(value.toPrecision(digits));
    if (Math.fround(near) === value) return doubleText(near);
  }
  return doubleText(value);
}

export function base64(bytes: Uint8Array): string {
  // Pieces of a multiple of three bytes, small enough for the call's arguments.
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8190) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 8190));
  }
  return btoa(binary);
}
