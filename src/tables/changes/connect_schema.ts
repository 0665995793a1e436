/**
 * The schema block that Kafka Connect's JsonConverter puts before a payload, as a tree.
 *
 * The same block comes with every record of a topic, so what is made from one is kept by its bytes and found again by comparing them.
 */
import { Buffer } from "node:buffer";
import { limits } from "../../base/limits.ts";

export interface ConnectSchema {
  /** Connect's type: int8 … int64, float, double, boolean, string, bytes, array, map, struct. */
  type: string;
  /** The semantic name, such as `io.debezium.time.MicroTime`. */
  name: string | undefined;
  parameters: Readonly<Record<string, string>>;
  fields: readonly { name: string; schema: ConnectSchema }[];
  items: ConnectSchema | undefined;
  values: ConnectSchema | undefined;
}

/** Throws Error with what is wrong. `text` is valid JSON, and no deeper than `limits.jsonDepthMax`. */
export function parseConnectSchema(text: string): ConnectSchema | undefined {
  const json: unknown = JSON.parse(text);
  return json === null ? undefined : schemaOf(json, "schema");
}

function schemaOf(json: unknown, path: string): ConnectSchema {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Error(`${path} is no object`);
  const { type, name, parameters, fields, items, values } = json as Record<string, unknown>;
  if (typeof type !== "string") throw new Error(`${path} has no type`);
  if (type === "struct" && !Array.isArray(fields)) throw new Error(`${path} is a struct without fields`);
  if (type === "array" && items === undefined) throw new Error(`${path} is an array without items`);
  return {
    type,
    name: typeof name === "string" ? name : undefined,
    parameters: isRecord(parameters)
      ? Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, String(value)]))
      : {},
    fields: type === "struct" ? (fields as unknown[]).map((field, i) => fieldOf(field, `${path}.fields[${i}]`)) : [],
    items: type === "array" ? schemaOf(items, `${path}.items`) : undefined,
    values: type === "map" && values !== undefined ? schemaOf(values, `${path}.values`) : undefined,
  };
}

function fieldOf(json: unknown, path: string): { name: string; schema: ConnectSchema } {
  const schema = schemaOf(json, path);
  const { field } = json as { field?: unknown };
  if (typeof field !== "string") throw new Error(`${path} has no name in "field"`);
  return { name: field, schema };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is made from schema blocks, found by their bytes; the last used come first. */
export class SchemaCache<T> {
  private readonly entries: { text: Buffer; value: T }[] = [];
  /** Bytes of all texts. */
  private held = 0;
  private seen: Uint8Array | undefined;
  private view: Buffer = Buffer.alloc(0);

  /** The entry whose text stands at `start`, and its length; undefined when none does. A JSON object's text is never the start of another one's. */
  find(bytes: Uint8Array, start: number, end: number): { text: Buffer; value: T } | undefined {
    if (this.entries.length === 0) return undefined;
    if (this.seen !== bytes) {
      this.seen = bytes;
      this.view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    for (let i = 0; i < this.entries.length; i++) {
      const entry = this.entries[i]!;
      const stop = start + entry.text.length;
      if (stop > end || this.view.compare(entry.text, 0, entry.text.length, start, stop) !== 0) continue;
      if (i > 0) {
        this.entries.splice(i, 1);
        this.entries.unshift(entry);
      }
      return entry;
    }
    return undefined;
  }

  add(bytes: Uint8Array, start: number, end: number, value: T): void {
    this.held += end - start;
    while (
      this.entries.length >= limits.changeSchemasMax ||
      (this.held > limits.changeSchemaBytesMax && this.entries.length > 0)
    )
      this.held -= this.entries.pop()!.text.length;
    this.entries.unshift({ text: Buffer.from(bytes.slice(start, end)), value });
  }
}
