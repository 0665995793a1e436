/**
 * DuckDB-WASM declares BOOLEAN columns as `arrow.bool8` (a byte a value) but writes bits, with whatever lay in memory behind them.
 * For readers of Arrow the declaration is corrected in place to Arrow's own Bool, and what is behind the bits is cleared.
 */
import type { Batch, Vector } from "./batch.ts";
import type { FlatTable } from "./flatbuffer_reader.ts";
import { readMessage } from "./schema.ts";

const typeInt = 2;
const typeBool = 6;

/** Changes the schema message: a table of type Int is read as one of type Bool, which has no fields. */
export function declareBooleans(message: Uint8Array): void {
  for (const field of readMessage(message).header.tables(1)) declareField(field);
}

function declareField(field: FlatTable): void {
  for (const child of field.tables(5)) declareField(child);
  const pairs = field.tables(6);
  if (!pairs.some((pair) => pair.text(1) === "arrow.bool8")) return;
  if (field.int8(2) !== typeInt) return;
  field.setInt8(2, typeBool);
  // An extension's name would be checked against its storage: the keys become names of nobody.
  for (const pair of pairs) pair.setFirstByte(0, 0x61);
}

/** Clears what is behind the bits of BOOLEAN columns. The batch's buffers are changed in place. */
export function clearBehindBooleans(batch: Batch): void {
  for (const column of batch.columns) clearVector(column);
}

function clearVector(vector: Vector): void {
  for (const child of vector.children) clearVector(child);
  if (vector.field.layout.kind !== "bits") return;
  const used = Math.ceil(vector.length / 8);
  const { buffer, byteOffset, byteLength } = vector.data;
  if (used < byteLength) new Uint8Array(buffer, byteOffset + used, byteLength - used).fill(0);
}
