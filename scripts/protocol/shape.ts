/**
 * What a message's definition says about its structs and fields: where each can appear, whether it can be null, its
 * TypeScript type and default, and the fewest bytes that it takes.
 */
import { type Field, type FieldType, type Message, noVersions, type Struct, type Versions } from "./definitions.ts";
import { type Condition, intersect, isEmpty, within } from "./versions.ts";

export class MessageShape {
  protected readonly message: Message;
  private readonly structs: Map<string, Struct>;
  /** Every version in which a struct can appear. */
  protected readonly possible = new Map<string, Versions>();
  protected readonly compared = new Set<string>();

  constructor(message: Message) {
    this.message = message;
    this.structs = new Map(message.structs.map((struct) => [struct.name, struct]));
    this.findPossible(message.name, message.versions);
    for (const struct of message.structs) for (const field of struct.fields) this.findCompared(struct, field);
  }

  private findPossible(name: string, versions: Versions): void {
    const before = this.possible.get(name);
    const now = before
      ? { min: Math.min(before.min, versions.min), max: Math.max(before.max, versions.max) }
      : versions;
    if (before && before.min === now.min && before.max === now.max) return;
    this.possible.set(name, now);
    for (const field of this.struct(name).fields) {
      const inner = structOf(field.type);
      const present = intersect(field.versions, now);
      if (inner !== undefined && !isEmpty(present)) this.findPossible(inner, present);
    }
  }

  /** Structs whose equality with their default is asked for: tagged ones, and ones that a version may lack. */
  private findCompared(struct: Struct, field: Field): void {
    if (field.type.kind !== "struct") return;
    const possible = this.possible.get(struct.name);
    if (possible === undefined) return;
    const lacking = within(field.versions, possible) !== true && !field.ignorable;
    const tagged = within(field.taggedVersions, possible) !== false;
    if ((lacking || tagged) && field.default !== "null") this.compare(field.type.struct);
  }

  private compare(name: string): void {
    if (this.compared.has(name)) return;
    this.compared.add(name);
    for (const field of this.struct(name).fields) {
      if (field.type.kind === "struct" && field.default !== "null") this.compare(field.type.struct);
    }
  }

  private struct(name: string): Struct {
    const struct = this.structs.get(name);
    if (!struct) throw new Error(`${this.message.name}: no struct ${name}`);
    return struct;
  }

  protected flexible(field: Field | undefined, possible: Versions): Condition {
    return within(field?.flexibleVersions ?? this.message.flexibleVersions, possible);
  }

  protected nullable(field: Field): boolean {
    return (
      !isEmpty(intersect(field.nullableVersions, this.message.versions)) ||
      field.default === "null" ||
      field.type.kind === "records"
    );
  }

  protected typeText(type: FieldType): string {
    switch (type.kind) {
      case "array":
        return `${this.typeText(type.element)}[]`;
      case "struct":
        return type.struct;
      case "bool":
        return "boolean";
      case "int64":
        return "bigint";
      case "uuid":
        return "Uuid";
      case "string":
        return "string";
      case "bytes":
        return "Uint8Array";
      case "records":
        // Answers carry record data as the log reads it, possibly in several pieces; what is read is always one.
        return this.message.type === "response" ? "RecordData" : "Uint8Array";
      default:
        return "number";
    }
  }

  protected defaultText(field: Field): string {
    const { type } = field;
    if (field.default === "null" || type.kind === "records") return "null";
    switch (type.kind) {
      case "array":
        return "[]";
      case "struct":
        return `new${type.struct}()`;
      case "bool":
        return field.default === "true" ? "true" : "false";
      case "int64":
        return `${BigInt(field.default || "0")}n`;
      case "uuid":
        return "zeroUuid";
      case "string":
        return JSON.stringify(field.default);
      case "bytes":
        return "emptyBytes";
      default:
        return String(Number(field.default || "0"));
    }
  }

  /** Expression: the field of `value` equals its default. */
  protected isDefaultText(field: Field): string {
    const name = `value.${field.name}`;
    if (field.default === "null" || field.type.kind === "records") return `${name} === null`;
    const guard = this.nullable(field) ? `${name} !== null && ` : "";
    switch (field.type.kind) {
      case "array":
      case "bytes":
        return guard ? `(${guard}${name}.length === 0)` : `${name}.length === 0`;
      case "struct":
        return guard ? `(${guard}isDefault${field.type.struct}(${name}))` : `isDefault${field.type.struct}(${name})`;
      default:
        return `${name} === ${this.defaultText(field)}`;
    }
  }

  /** Fewest bytes that a value can take in any of the versions: bounds what a count may promise. */
  protected sizeMin(type: FieldType, here: Versions, compact: boolean): number {
    switch (type.kind) {
      case "bool":
      case "int8":
        return 1;
      case "int16":
      case "uint16":
        return 2;
      case "int32":
        return 4;
      case "int64":
      case "float64":
        return 8;
      case "uuid":
        return 16;
      case "string":
        return compact ? 1 : 2;
      case "bytes":
      case "records":
      case "array":
        return compact ? 1 : 4;
      case "struct": {
        const versions = compact ? intersect(here, this.message.flexibleVersions) : here;
        let size = compact ? 1 : 0;
        for (const field of this.struct(type.struct).fields) {
          if (untaggedWithin(field, versions) !== true) continue;
          const nullable = field.type.kind === "struct" && within(field.nullableVersions, versions) !== false;
          size += nullable ? 1 : this.sizeMin(field.type, versions, compact);
        }
        return Math.max(1, size);
      }
    }
  }
}

export function structOf(type: FieldType): string | undefined {
  if (type.kind === "struct") return type.struct;
  return type.kind === "array" ? structOf(type.element) : undefined;
}

export function variableName(type: FieldType): "String" | "ByteString" | undefined {
  if (type.kind === "string") return "String";
  return type.kind === "bytes" || type.kind === "records" ? "ByteString" : undefined;
}

/** Versions in which the field stands in line. Every definition tags a field in all of its versions or in none. */
export function untagged(field: Field): Versions {
  if (isEmpty(field.taggedVersions)) return field.versions;
  if (field.taggedVersions.min === field.versions.min && field.taggedVersions.max === field.versions.max)
    return noVersions;
  throw new Error(`${field.name}: tagged in only some of its versions`);
}

export function untaggedWithin(field: Field, possible: Versions): Condition {
  return within(untagged(field), possible);
}
