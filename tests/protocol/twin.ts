/**
 * A second, slow implementation of Kafka's message encoding: it interprets the schema table instead of being generated.
 * Also makes random values, and writes values as Kafka's JSON converters do, to compare with what Java printed.
 */

import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SeededRandom } from "../../src/platform/sim/random.ts";

type Range = [min: number, max: number];

export interface FieldRow {
  name: string;
  type: string;
  versions: Range;
  nullable?: Range;
  tagged?: Range;
  tag?: number;
  flexible?: Range;
  ignorable?: boolean;
  default?: string;
}

export interface MessageRow {
  name: string;
  type: string;
  apiKey?: number;
  versions: Range;
  flexible: Range;
  structs: Record<string, FieldRow[]>;
}

// biome-ignore lint/suspicious/noExplicitAny: values of any message
export type Value = any;

const vectors = join(import.meta.dirname, "../vectors/protocol");

export function loadSchema(): MessageRow[] {
  const lines = readFileSync(join(vectors, "schema.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as MessageRow);
}

/** The generated functions of a message. */
export async function loadGenerated(name: string): Promise<{
  read(r: unknown, version: number): Value;
  write(w: unknown, value: Value, version: number): void;
  fresh(from?: Value): Value;
}> {
  const file = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
  const module = (await import(`../../src/protocol/generated/${file}.ts`)) as Record<string, Value>;
  return { read: module[`read${name}`], write: module[`write${name}`], fresh: module[`new${name}`] };
}

export function has(range: Range | undefined, version: number): boolean {
  return range !== undefined && version >= range[0] && version <= range[1];
}

/** Whole numbers from 0 to below `n`, the same for the same seed. */
export type Random = (n: number) => number;

export function seeded(seed: number): Random {
  const source = new SeededRandom(seed);
  return (n) => source.below(n);
}

export class Twin {
  readonly message: MessageRow;

  constructor(message: MessageRow) {
    this.message = message;
  }

  defaults(struct = this.message.name): Value {
    return Object.fromEntries(this.fields(struct).map((field) => [field.name, this.defaultOf(field)]));
  }

  random(random: Random, version: number, unknownTags = true, struct = this.message.name, depth = 0): Value {
    const value: Value = {};
    for (const field of this.fields(struct)) {
      const keep = !has(field.versions, version) || (field.tagged && random(2) === 0);
      if (keep) value[field.name] = this.defaultOf(field);
      else if (has(field.nullable, version) && random(4) === 0) value[field.name] = null;
      else value[field.name] = this.randomOf(random, field.type, version, unknownTags, depth);
    }
    if (unknownTags && has(this.message.flexible, version) && random(5) === 0) {
      value.unknownTaggedFields = [{ tag: 100 + random(1000), data: randomBytes(random, random(5)) }];
    }
    return value;
  }

  /** A value whose fields mostly hold their defaults. */
  sparse(random: Random, version: number, struct = this.message.name): Value {
    const value = this.random(random, version, false, struct, 1);
    for (const field of this.fields(struct)) {
      if (random(4) > 0) value[field.name] = this.defaultOf(field);
      else if (field.type.startsWith("[]") && /[A-Z]/.test(field.type) && value[field.name] !== null) {
        value[field.name] = [this.sparse(random, version, field.type.slice(2))];
      }
    }
    return value;
  }

  write(value: Value, version: number): Uint8Array {
    const out: number[] = [];
    this.writeStruct(out, this.message.name, value, version);
    return Uint8Array.from(out);
  }

  /** As Kafka's XDataJsonConverter.write; whole numbers of 16 digits and more as text, record data left out. */
  json(value: Value, version: number, struct = this.message.name): Value {
    const json: Value = {};
    for (const field of this.fields(struct)) {
      const item = value[field.name];
      if (!has(field.versions, version) || field.type === "records") continue;
      if (field.tagged && this.isDefault(field, item)) continue;
      json[field.name] = this.jsonOf(field.type, item, version);
    }
    return json;
  }

  private jsonOf(type: string, value: Value, version: number): Value {
    if (value === null) return null;
    if (type.startsWith("[]")) return value.map((item: Value) => this.jsonOf(type.slice(2), item, version));
    if (type === "bytes") return Buffer.from(value).toString("base64");
    if (type === "int64") return value.toString().replace("-", "").length >= 16 ? value.toString() : Number(value);
    return /^[A-Z]/.test(type) ? this.json(value, version, type) : value;
  }

  private fields(struct: string): FieldRow[] {
    return this.message.structs[struct]!;
  }

  private defaultOf(field: FieldRow): Value {
    const { type } = field;
    if (field.default === "null" || type === "records") return null;
    if (type.startsWith("[]")) return [];
    if (/^[A-Z]/.test(type)) return this.defaults(type);
    if (type === "string") return field.default ?? "";
    if (type === "bytes") return new Uint8Array(0);
    if (type === "uuid") return "AAAAAAAAAAAAAAAAAAAAAA";
    if (type === "bool") return field.default === "true";
    return type === "int64" ? BigInt(field.default ?? "0") : Number(field.default ?? "0");
  }

  private isDefault(field: FieldRow, value: Value): boolean {
    return canonical(value) === canonical(this.defaultOf(field));
  }

  private randomOf(random: Random, type: string, version: number, tags: boolean, depth: number): Value {
    if (type.startsWith("[]")) {
      const length = random(depth > 1 ? 2 : 3);
      return Array.from({ length }, () => this.randomOf(random, type.slice(2), version, tags, depth + 1));
    }
    switch (type) {
      case "bool":
        return random(2) === 1;
      case "int8":
        return random(256) - 128;
      case "int16":
        return random(65536) - 32768;
      case "uint16":
        return random(65536);
      case "int32":
        return random(3) === 0 ? random(100) : random(2 ** 32) - 2 ** 31;
      case "int64":
        return BigInt.asIntN(64, (BigInt(random(2 ** 32)) << 32n) | BigInt(random(2 ** 32))) >> BigInt(random(64));
      case "float64":
        return (random(2 ** 32) - 2 ** 31) / 64;
      case "uuid":
        return Buffer.from(randomBytes(random, 16)).toString("base64url");
      case "string":
        return randomText(random);
      case "bytes":
      case "records":
        return randomBytes(random, random(12));
      default:
        return this.random(random, version, tags, type, depth);
    }
  }

  private writeStruct(out: number[], struct: string, value: Value, version: number): void {
    const fields = this.fields(struct).filter((field) => has(field.versions, version));
    for (const field of fields) {
      if (!has(field.tagged, version)) this.writeField(out, field, value[field.name], version);
    }
    if (!has(this.message.flexible, version)) return;
    const tags: [number, number[]][] = [];
    for (const field of fields) {
      if (!has(field.tagged, version) || this.isDefault(field, value[field.name])) continue;
      const inner: number[] = [];
      this.writeField(inner, field, value[field.name], version);
      tags.push([field.tag!, inner]);
    }
    for (const { tag, data } of value.unknownTaggedFields ?? []) tags.push([tag, [...data]]);
    varint(out, tags.length);
    for (const [tag, data] of tags.sort((a, b) => a[0] - b[0])) {
      varint(out, tag);
      varint(out, data.length);
      out.push(...data);
    }
  }

  private writeField(out: number[], field: FieldRow, value: Value, version: number): void {
    const flexible = has(field.flexible ?? this.message.flexible, version);
    if (value === null && !has(field.nullable, version)) throw new Error(`${field.name} is null`);
    this.writeValue(out, field.type, value, version, flexible, has(field.nullable, version));
  }

  private writeValue(out: number[], type: string, value: Value, version: number, flexible: boolean, nullable = false) {
    const length = (size: number | null, bytes: number) => {
      if (flexible) varint(out, size === null ? 0 : size + 1);
      else integer(out, BigInt(size ?? -1), bytes);
    };
    if (type.startsWith("[]")) {
      length(value?.length ?? null, 4);
      for (const item of value ?? []) this.writeValue(out, type.slice(2), item, version, flexible);
      return;
    }
    if (type === "string") {
      const bytes = value === null ? null : Buffer.from(value, "utf8");
      length(bytes?.length ?? null, 2);
      out.push(...(bytes ?? []));
    } else if (type === "bytes" || type === "records") {
      length(value?.length ?? null, 4);
      out.push(...(value ?? []));
    } else if (type === "bool") out.push(value ? 1 : 0);
    else if (type === "uuid") out.push(...Buffer.from(value, "base64url"));
    else if (type === "float64") {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleBE(value);
      out.push(...bytes);
    } else if (/^u?int/.test(type)) integer(out, BigInt(value), Number(type.replace(/\D/g, "")) / 8);
    else {
      if (nullable) out.push(value === null ? 255 : 1);
      if (value !== null) this.writeStruct(out, type, value, version);
    }
  }
}

function integer(out: number[], value: bigint, bytes: number): void {
  for (let i = bytes - 1; i >= 0; i--) out.push(Number((value >> BigInt(8 * i)) & 255n));
}

function varint(out: number[], value: number): void {
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) out.push((left % 128) + 128);
  out.push(left);
}

/** Text of a value in which equal values are equal: bytes as hex, whole numbers alike. */
export function canonical(value: Value): string {
  return JSON.stringify(value, (_key, item) => {
    if (item instanceof Uint8Array) return `bytes ${Buffer.from(item).toString("hex")}`;
    return typeof item === "bigint" ? `int ${item}` : item;
  });
}

function randomBytes(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random(256));
}

const texts = [
  "",
  "a",
  "topic-1",
  "grüße",
  "日本",
  "🐘 long text that is more than one hundred and twenty-six letters ".repeat(3),
];

function randomText(random: Random): string {
  const pick = random(10);
  if (pick < texts.length - 1) return texts[pick]!;
  if (random(20) === 0) return texts[texts.length - 1]!;
  return Array.from({ length: random(10) }, () => String.fromCharCode(97 + random(26))).join("");
}
