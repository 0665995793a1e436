/** Every type of DuckDB on its way out: exact values in row JSON, and DuckDB's names of the types. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tableFromIPC } from "apache-arrow";
import type { SqlEngine } from "../../src/sql/engine.ts";
import { startEngine, type TestEngine } from "./support.ts";

let test_: TestEngine;
let engine: SqlEngine;
beforeAll(async () => {
  test_ = await startEngine();
  engine = test_.engine;
}, 60_000);
afterAll(() => test_.stop());

/** [expression, type, JSON] */
const cases: [string, string, string][] = [
  ["true", "BOOLEAN", "true"],
  ["false", "BOOLEAN", "false"],
  ["(-128)::TINYINT", "TINYINT", "-128"],
  ["(-32768)::SMALLINT", "SMALLINT", "-32768"],
  ["(-2147483648)::INTEGER", "INTEGER", "-2147483648"],
  ["(-9223372036854775808)::BIGINT", "BIGINT", "-9223372036854775808"],
  ["9007199254740993", "BIGINT", "9007199254740993"],
  ["(-170141183460469231731687303715884105728)::HUGEINT", "HUGEINT", "-170141183460469231731687303715884105728"],
  ["-1::HUGEINT", "HUGEINT", "-1"],
  ["255::UTINYINT", "UTINYINT", "255"],
  ["65535::USMALLINT", "USMALLINT", "65535"],
  ["4294967295::UINTEGER", "UINTEGER", "4294967295"],
  ["18446744073709551615::UBIGINT", "UBIGINT", "18446744073709551615"],
  ["340282366920938463463374607431768211455::UHUGEINT", "UHUGEINT", "340282366920938463463374607431768211455"],
  [
    "'-123456789012345678901234567890123456789012345'::BIGNUM",
    "BIGNUM",
    "-123456789012345678901234567890123456789012345",
  ],
  [
    "'123456789012345678901234567890123456789012345'::BIGNUM",
    "BIGNUM",
    "123456789012345678901234567890123456789012345",
  ],
  ["0::BIGNUM", "BIGNUM", "0"],
  ["1::FLOAT", "FLOAT", "1.0"],
  ["0.1::FLOAT", "FLOAT", "0.1"],
  ["16777217::FLOAT", "FLOAT", "16777216.0"],
  ["3.4028235e38::FLOAT", "FLOAT", "3.4028235e+38"],
  ["'nan'::FLOAT", "FLOAT", '"NaN"'],
  ["1::DOUBLE", "DOUBLE", "1.0"],
  ["0.1::DOUBLE", "DOUBLE", "0.1"],
  ["-0.0::DOUBLE", "DOUBLE", "-0.0"],
  ["1e300", "DOUBLE", "1e+300"],
  ["5e-324", "DOUBLE", "5e-324"],
  ["'inf'::DOUBLE", "DOUBLE", '"Infinity"'],
  ["'-inf'::DOUBLE", "DOUBLE", '"-Infinity"'],
  ["12.34::DECIMAL(4,2)", "DECIMAL(4,2)", "12.34"],
  ["-0.01::DECIMAL(9,2)", "DECIMAL(9,2)", "-0.01"],
  ["1234567890123456.78::DECIMAL(18,2)", "DECIMAL(18,2)", "1234567890123456.78"],
  [
    "'-99999999999999999999999999999999999.999'::DECIMAL(38,3)",
    "DECIMAL(38,3)",
    "-99999999999999999999999999999999999.999",
  ],
  ["7::DECIMAL(5,0)", "DECIMAL(5,0)", "7"],
  ["sum(9223372036854775807) FROM range(3)", "HUGEINT", "27670116110564327421"],
  ["'é\"\\' || chr(10)", "VARCHAR", '"é\\"\\\\\\n"'],
  ["''", "VARCHAR", '""'],
  ["'{\"a\":1}'::JSON", "VARCHAR", '"{\\"a\\":1}"'],
  ["'\\x00\\xFFab'::BLOB", "BLOB", '"AP9hYg=="'],
  ["''::BLOB", "BLOB", '""'],
  ["'0101'::BIT", "BIT", '"0101"'],
  ["'111100001'::BIT", "BIT", '"111100001"'],
  ["'7f39d203-1bab-4862-abad-95a031ded1c5'::UUID", "UUID", '"7f39d203-1bab-4862-abad-95a031ded1c5"'],
  ["'00000000-0000-0000-0000-000000000000'::UUID", "UUID", '"00000000-0000-0000-0000-000000000000"'],
  ["'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", "UUID", '"ffffffff-ffff-ffff-ffff-ffffffffffff"'],
  ["DATE '2020-02-29'", "DATE", '"2020-02-29"'],
  ["DATE '0001-01-01'", "DATE", '"0001-01-01"'],
  ["DATE '12345-06-07'", "DATE", '"+12345-06-07"'],
  ["'infinity'::DATE", "DATE", '"infinity"'],
  ["'-infinity'::DATE", "DATE", '"-infinity"'],
  ["TIME '23:59:59.999999'", "TIME", '"23:59:59.999999"'],
  ["TIME '24:00:00'", "TIME", '"24:00:00"'],
  ["TIME '12:00:00'", "TIME", '"12:00:00"'],
  ["'12:34:56.5+02'::TIMETZ", "TIME WITH TIME ZONE", '"12:34:56.5+02:00"'],
  ["'12:34:56-05:30'::TIMETZ", "TIME WITH TIME ZONE", '"12:34:56-05:30"'],
  ["TIMESTAMP '2020-01-01 00:00:00.120000'", "TIMESTAMP", '"2020-01-01T00:00:00.12"'],
  ["TIMESTAMP '1969-12-31 23:59:59.999999'", "TIMESTAMP", '"1969-12-31T23:59:59.999999"'],
  ["TIMESTAMP '294247-01-10 04:00:54.775806'", "TIMESTAMP", '"+294247-01-10T04:00:54.775806"'],
  ["'infinity'::TIMESTAMP", "TIMESTAMP", '"infinity"'],
  ["'2020-01-01 00:00:00'::TIMESTAMP_S", "TIMESTAMP_S", '"2020-01-01T00:00:00"'],
  ["'2020-01-01 00:00:00.001'::TIMESTAMP_MS", "TIMESTAMP_MS", '"2020-01-01T00:00:00.001"'],
  ["'1700-01-01 00:00:00.123456789'::TIMESTAMP_NS", "TIMESTAMP_NS", '"1700-01-01T00:00:00.123456789"'],
  ["'2020-01-01 02:00:00+02'::TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", '"2020-01-01T00:00:00Z"'],
  ["INTERVAL '14 months 3 days 04:05:06.789'", "INTERVAL", '"1 year 2 months 3 days 04:05:06.789"'],
  ["INTERVAL '-1 day -1 second'", "INTERVAL", '"-1 day -00:00:01"'],
  ["INTERVAL '0 days'", "INTERVAL", '"00:00:00"'],
  ["to_microseconds(1000000000000000000)", "INTERVAL", '"277777777:46:40"'],
  ["to_microseconds(-1000000000000000007)", "INTERVAL", '"-277777777:46:40.000007"'],
  ["'b'::ENUM('a', 'b')", "ENUM('a', 'b')", '"b"'],
  ["['x'::ENUM('x', 'it''s')]", "ENUM('x', 'it''s')[]", '["x"]'],
  ["[1, NULL, 3]", "INTEGER[]", "[1,null,3]"],
  ["[[1], NULL, []]", "INTEGER[][]", "[[1],null,[]]"],
  ["[true, false, NULL]", "BOOLEAN[]", "[true,false,null]"],
  ["[1.5, 2.5]::DOUBLE[2]", "DOUBLE[2]", "[1.5,2.5]"],
  [
    "{'a': 1, 'b c': 'x', 'n': NULL::BIGINT}",
    'STRUCT("a" INTEGER, "b c" VARCHAR, "n" BIGINT)',
    '{"a":1,"b c":"x","n":null}',
  ],
  ["MAP {'k': [1], 'l': NULL}", "MAP(VARCHAR, INTEGER[])", '{"k":[1],"l":null}'],
  ["MAP {10: true, 2: false}", "MAP(INTEGER, BOOLEAN)", '{"10":true,"2":false}'],
  [
    "MAP {'7f39d203-1bab-4862-abad-95a031ded1c5'::UUID: -1::HUGEINT}",
    "MAP(UUID, HUGEINT)",
    '{"7f39d203-1bab-4862-abad-95a031ded1c5":-1}',
  ],
  ["[MAP {'a': 'x'::BLOB, 'b': NULL}]", "MAP(VARCHAR, BLOB)[]", '[{"a":"eA==","b":null}]'],
  ["MAP {'a'::ENUM('a', 'b'): [true, NULL]}", "MAP(ENUM('a', 'b'), BOOLEAN[])", '{"a":[true,null]}'],
  ["union_value(num := 2)", 'UNION("num" INTEGER)', '{"num":2}'],
  ["NULL", "INTEGER", "null"],
  ["NULL::STRUCT(a INT)", 'STRUCT("a" INTEGER)', "null"],
];

describe("one value of each type", () => {
  for (const [expression, type, json] of cases) {
    test(`${expression} is ${json}`, async () => {
      const { columns, rows } = await engine.query(`SELECT ${expression}`);
      expect(columns[0]!.type).toBe(type);
      expect(rows).toEqual([`[${json}]`]);
    });
  }
});

test("values and NULLs of every type stay in their rows through many batches", async () => {
  const sql = `SELECT n, n % 3 = 0 AS b, CASE WHEN n % 5 <> 0 THEN n::DECIMAL(20,3) END AS d, CASE WHEN n % 7 <> 0 THEN n::VARCHAR END AS v,
    CASE WHEN n % 2 = 0 THEN [n % 3 = 0, n % 4 = 0] END AS l, {'x': n % 3 = 0} AS s FROM range(10000) t(n)`;
  const { rows } = await engine.query(sql);
  expect(rows.length).toBe(10_000);
  rows.forEach((row, n) => {
    const d = n % 5 !== 0 ? `${n}.000` : "null";
    const v = n % 7 !== 0 ? `"${n}"` : "null";
    const l = n % 2 === 0 ? `[${n % 3 === 0},${n % 4 === 0}]` : "null";
    expect(row).toBe(`[${n},${n % 3 === 0},${d},${v},${l},{"x":${n % 3 === 0}}]`);
  });
});

test("enums of many values, and unions of several members", async () => {
  const values = Array.from({ length: 300 }, (_, i) => `'v${i}'`).join(", ");
  await engine.query(`CREATE TYPE many AS ENUM (${values})`);
  const result = await engine.query("SELECT 'v299'::many AS e, union_value(a := 1)::UNION(a INTEGER, b VARCHAR) AS u");
  expect(result.rows).toEqual(['["v299",{"a":1}]']);
  expect(
    (
      await engine.query(
        "SELECT u FROM (VALUES (union_value(a := 1)::UNION(a INTEGER, b VARCHAR)), ('x'), (NULL)) t(u)",
      )
    ).rows,
  ).toEqual(['[{"a":1}]', '[{"b":"x"}]', "[null]"]);
});

test("an Arrow stream is one that apache-arrow reads, booleans and enums included", async () => {
  const stream = await engine.stream(
    "SELECT n % 2 = 0 AS b, [n % 3 = 0] AS l, n, CASE WHEN n > 5 THEN 'x'::ENUM('x', 'y') END AS e FROM range(3000) t(n)",
    { form: "arrow" },
  );
  const parts: Uint8Array[] = [];
  for await (const part of stream.arrow()) parts.push(part);
  const table = tableFromIPC(Buffer.concat(parts));
  expect(table.numRows).toBe(3000);
  expect(table.schema.fields.map((field) => String(field.type))).toEqual(["Bool", "List<Bool>", "Int64", "Utf8"]);
  for (const n of [0, 1, 7, 2047, 2048, 2999]) {
    const row = table.get(n)!.toJSON();
    expect([row.b, [...row.l], row.n, row.e]).toEqual([n % 2 === 0, [n % 3 === 0], BigInt(n), n > 5 ? "x" : null]);
  }
});
