/**
 * A table of all generated messages for the tests, which read and write by interpreting it: a second implementation to
 * compare the generated one with. One JSON line per message.
 */
import type { Field, FieldType, Message, Versions } from "./definitions.ts";

export function emitSchema(messages: Message[]): string {
  const sorted = [...messages].sort((a, b) => (a.name < b.name ? -1 : 1));
  return `${sorted.map((message) => JSON.stringify(messageRow(message))).join("\n")}\n`;
}

function messageRow(message: Message): unknown {
  return {
    name: message.name,
    type: message.type,
    apiKey: message.apiKey,
    versions: pair(message.versions),
    flexible: pair(message.flexibleVersions),
    structs: Object.fromEntries(message.structs.map((struct) => [struct.name, struct.fields.map(fieldRow)])),
  };
}

function fieldRow(field: Field): unknown {
  return {
    name: field.name,
    type: typeText(field.type),
    versions: pair(field.versions),
    ...(field.nullableVersions.max >= field.nullableVersions.min && { nullable: pair(field.nullableVersions) }),
    ...(field.tag >= 0 && { tagged: pair(field.taggedVersions), tag: field.tag }),
    ...(field.flexibleVersions && { flexible: pair(field.flexibleVersions) }),
    ...(field.ignorable && { ignorable: true }),
    ...(field.default !== "" && { default: field.default }),
  };
}

function pair(versions: Versions): [number, number] {
  return [versions.min, versions.max];
}

function typeText(type: FieldType): string {
  if (type.kind === "array") return `[]${typeText(type.element)}`;
  return type.kind === "struct" ? type.struct : type.kind;
}
