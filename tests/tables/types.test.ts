import { describe, expect, test } from "bun:test";
import { parseType, typeName } from "../../src/sql/types.ts";

describe("SQL type texts", () => {
  // Texts as DuckDB 1.4.3 prints them in duckdb_columns().data_type.
  const printed = [
    "BOOLEAN",
    "BIGINT",
    "UHUGEINT",
    "DECIMAL(18,3)",
    "TIMESTAMP WITH TIME ZONE",
    "TIME WITH TIME ZONE",
    "TIMESTAMP_NS",
    "VARCHAR[]",
    "INTEGER[3][]",
    "ENUM('a', 'b''c', 'd, e')",
    "MAP(VARCHAR, INTEGER[])",
  ];
  for (const text of printed) test(`round trip of ${text}`, () => expect(typeName(parseType(text))).toBe(text));

  test("struct with quoted names", () => {
    const type = parseType(`STRUCT(x INTEGER, "Y z" VARCHAR[], "q""q" STRUCT(a DATE))[3]`);
    expect(type).toEqual({
      kind: "array",
      size: 3,
      child: {
        kind: "struct",
        fields: [
          { name: "x", type: { kind: "integer" } },
          { name: "Y z", type: { kind: "list", child: { kind: "varchar" } } },
          { name: 'q"q', type: { kind: "struct", fields: [{ name: "a", type: { kind: "date" } }] } },
        ],
      },
    });
    expect(parseType(typeName(type))).toEqual(type);
  });

  test("spellings that people type", () => {
    expect(parseType("int8")).toEqual({ kind: "bigint" });
    expect(parseType("double precision")).toEqual({ kind: "double" });
    expect(parseType("varchar(10)")).toEqual({ kind: "varchar" });
    expect(parseType("numeric(5)")).toEqual({ kind: "decimal", precision: 5, scale: 0 });
    expect(parseType("timestamp without time zone")).toEqual({ kind: "timestamp" });
    expect(parseType("json[]")).toEqual({ kind: "list", child: { kind: "json" } });
    expect(parseType("GEOMETRY")).toEqual({ kind: "other", text: "GEOMETRY" });
  });

  for (const text of [
    "",
    "STRUCT(",
    "ENUM('a'",
    "INTEGER[",
    "MAP(VARCHAR)",
    "INTEGER x",
    "'a'",
    `${"STRUCT(a ".repeat(200)}INTEGER`,
  ])
    test(`refuses ${text.slice(0, 20)}`, () => expect(() => parseType(text)).toThrow(SyntaxError));
});
