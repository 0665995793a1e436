/**
 * Types that the Arrow schema of DuckDB-WASM does not tell: ENUM columns come as numbers whose dictionary is never sent, and keys and
 * values of MAPs lose what marks BOOLEAN, HUGEINT, UUID, BIT. DESCRIBE tells them; so only statements with such a column pay for it.
 */
import { SqlError } from "../base/sql_error.ts";
import type { ArrowField } from "./arrow/schema.ts";
import type { EngineCore } from "./engine_core.ts";
import { parseType, quoteIdentifier, type SqlType, typeName } from "./types.ts";

/** The fields with their exact types. Throws SqlError 0A000 for a statement that DuckDB cannot describe. */
export function withExactTypes(core: EngineCore, fields: readonly ArrowField[], sql: string): readonly ArrowField[] {
  if (!fields.some(isUnclear)) return fields;
  let rows: ReturnType<EngineCore["rows"]>;
  const connection = core.connect();
  try {
    rows = core.rows(`DESCRIBE ${sql}`, connection);
  } catch {
    throw new SqlError(
      "0A000",
      "the values of an ENUM or MAP column cannot be told for this statement; cast it to VARCHAR",
    );
  } finally {
    core.calls.disconnect(connection);
  }
  return fields.map((field, index) => filled(field, parseType(String(rows[index]?.[1]))));
}

/** The fields with the types given for the first of them. Throws SqlError 0A000 where one of the others cannot be told. */
export function withGivenTypes(fields: readonly ArrowField[], types: readonly string[]): readonly ArrowField[] {
  return fields.map((field, index) => {
    const type = types[index];
    if (type !== undefined) return filled(field, parseType(type));
    if (!isUnclear(field)) return field;
    throw new SqlError("0A000", `the values of an ENUM or MAP cannot be told here: cast ${field.name} to VARCHAR`);
  });
}

/** A statement whose columns any reader of Arrow understands; the same statement when they are so. */
export function withPlainTypes(core: EngineCore, fields: readonly ArrowField[], sql: string): string {
  if (!fields.some(isUnclear)) return sql;
  const exact = withExactTypes(core, fields, sql);
  const names = exact.map((_field, index) => `c${index}`);
  const columns = exact.map((field, index) => {
    const plain = typeName(plainType(field.type, false));
    const column = plain === typeName(field.type) ? `c${index}` : `CAST(c${index} AS ${plain})`;
    return `${column} AS ${quoteIdentifier(field.name)}`;
  });
  return `SELECT ${columns.join(", ")} FROM (${sql}) AS t(${names.join(", ")})`;
}

function isUnclear(field: ArrowField): boolean {
  if (field.dictionary) return true;
  if (field.type.kind === "map")
    return field.children[0]!.children.some((child) => isMapped(child) || isUnclear(child));
  return field.children.some(isUnclear);
}

/** A key or value of a map in a layout that several types share. */
function isMapped({ type, layout }: ArrowField): boolean {
  return type.kind === "tinyint" || type.kind === "blob" || (layout.kind === "fixed" && type.kind === "boolean");
}

/** The field with the type that DESCRIBE gave, down to its children. */
function filled(field: ArrowField, type: SqlType): ArrowField {
  const children = field.children.map((child, index) => filled(child, childType(field, type, index)));
  const layout = type.kind === "boolean" ? ({ kind: "bits" } as const) : field.layout;
  return { ...field, type, layout, children };
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

/** ENUM as text, and BOOLEAN in a MAP as a number. `mapped`: a key or value of a map. */
function plainType(type: SqlType, mapped: boolean): SqlType {
  switch (type.kind) {
    case "enum":
      return { kind: "varchar" };
    case "boolean":
      return mapped ? { kind: "tinyint" } : type;
    case "list":
    case "array":
      return { ...type, child: plainType(type.child, false) };
    case "map":
      return { kind: "map", key: plainType(type.key, true), value: plainType(type.value, true) };
    case "struct":
      return { kind: "struct", fields: type.fields.map((field) => ({ ...field, type: plainType(field.type, false) })) };
    case "union":
      return {
        kind: "union",
        members: type.members.map((member) => ({ ...member, type: plainType(member.type, false) })),
      };
    default:
      return type;
  }
}
