/**
 * ENUM columns come from DuckDB-WASM as numbers whose dictionary is never sent. The values stand in the type's name, which DESCRIBE
 * tells; so only statements that have such a column pay for it.
 */
import { SqlError } from "../base/sql_error.ts";
import type { ArrowField } from "./arrow/schema.ts";
import type { EngineCore } from "./engine_core.ts";
import { parseType, quoteIdentifier, type SqlType, typeName } from "./types.ts";

export function withEnumValues(core: EngineCore, fields: readonly ArrowField[], sql: string): readonly ArrowField[] {
  if (!fields.some(hasDictionary)) return fields;
  let rows: ReturnType<EngineCore["rows"]>;
  const connection = core.connect();
  try {
    rows = core.rows(`DESCRIBE ${sql}`, connection);
  } catch {
    throw new SqlError("0A000", "the values of an ENUM column cannot be told for this statement; cast it to VARCHAR");
  } finally {
    core.calls.disconnect(connection);
  }
  return fields.map((field, index) => filled(field, parseType(String(rows[index]?.[1]))));
}

/** A statement that gives the ENUM columns as text, for readers of Arrow; the same statement when there are none. */
export function withoutEnums(core: EngineCore, fields: readonly ArrowField[], sql: string): string {
  if (!fields.some(hasDictionary)) return sql;
  const names = fields.map((_field, index) => `c${index}`);
  const casts = withEnumValues(core, fields, sql).map((field, index) => {
    const column = hasDictionary(field) ? `CAST(c${index} AS ${typeName(enumAsText(field.type))})` : `c${index}`;
    return `${column} AS ${quoteIdentifier(field.name)}`;
  });
  return `SELECT ${casts.join(", ")} FROM (${sql}) AS t(${names.join(", ")})`;
}

function enumAsText(type: SqlType): SqlType {
  switch (type.kind) {
    case "enum":
      return { kind: "varchar" };
    case "list":
    case "array":
      return { ...type, child: enumAsText(type.child) };
    case "map":
      return { kind: "map", key: enumAsText(type.key), value: enumAsText(type.value) };
    case "struct":
      return {
        kind: "struct",
        fields: type.fields.map(({ name, type: field }) => ({ name, type: enumAsText(field) })),
      };
    case "union":
      return {
        kind: "union",
        members: type.members.map(({ name, type: member }) => ({ name, type: enumAsText(member) })),
      };
    default:
      return type;
  }
}

function hasDictionary(field: ArrowField): boolean {
  return field.dictionary || field.children.some(hasDictionary);
}

/** The field with the type that DESCRIBE gave, down to its children. */
function filled(field: ArrowField, type: SqlType): ArrowField {
  if (!hasDictionary(field)) return field;
  return {
    ...field,
    type,
    children: field.children.map((child, index) => filled(child, childType(field, type, index))),
  };
}

function childType(field: ArrowField, type: SqlType, index: number): SqlType {
  switch (type.kind) {
    case "list":
    case "array":
      return type.child;
    case "struct":
      return type.fields[index]!.type;
    case "union":
      return type.members[index]!.type;
    // Arrow's map is a list of structs of key and value.
    case "map":
      return {
        kind: "struct",
        fields: [
          { name: "key", type: type.key },
          { name: "value", type: type.value },
        ],
      };
    default:
      return field.children[index]!.type;
  }
}
