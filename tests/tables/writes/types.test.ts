/** What SQL writes into the log is what producing the same row would: over all types, values and keys. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Lake } from "../lake.ts";
import { pairs } from "./records.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(() => lake.close());

/** Each type with values as SQL expressions. */
const values: Record<string, string[]> = {
  BOOLEAN: ["true", "false"],
  TINYINT: ["-128", "127"],
  UTINYINT: ["0", "255"],
  SMALLINT: ["-32768", "32767"],
  USMALLINT: ["65535"],
  INTEGER: ["-2147483648", "2147483647"],
  UINTEGER: ["4294967295"],
  BIGINT: ["-9223372036854775808", "9223372036854775807", "0"],
  UBIGINT: ["18446744073709551615"],
  HUGEINT: ["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"],
  UHUGEINT: ["340282366920938463463374607431768211455"],
  FLOAT: ["1.5", "-0.0", "3.4028235e38", "'NaN'", "'Infinity'", "0.1"],
  DOUBLE: ["1", "-0.0", "1e300", "5e-324", "'NaN'", "'-Infinity'", "0.1"],
  "DECIMAL(10,2)": ["1.5", "-99999999.99", "0"],
  "DECIMAL(38,10)": ["1234567890123456789012345678.0123456789"],
  VARCHAR: ["''", "'plain'", "'qu\"ote\\ \n\t \u2028 é 😀'", "chr(0) || 'zero'", "'null'"],
  BLOB: ["''::BLOB", "'\\x00\\xFF'::BLOB"],
  DATE: ["DATE '2024-02-29'", "DATE '0001-01-01'", "DATE '9999-12-31'"],
  TIME: ["TIME '23:59:59.999999'", "TIME '00:00:00'"],
  TIMESTAMP: ["TIMESTAMP '2024-01-02 03:04:05.000006'", "TIMESTAMP '1969-12-31 23:59:59.5'", "TIMESTAMP '1970-01-01'"],
  TIMESTAMP_S: ["TIMESTAMP_S '2024-01-02 03:04:05'"],
  TIMESTAMP_MS: ["TIMESTAMP_MS '2024-01-02 03:04:05.006'"],
  TIMESTAMP_NS: ["TIMESTAMP_NS '2024-01-02 03:04:05.000000007'"],
  TIMESTAMPTZ: ["TIMESTAMPTZ '2024-01-02 03:04:05.5+00'"],
  UUID: ["'00112233-4455-6677-8899-aabbccddeeff'"],
  "ENUM('a', 'b c', 'd\"e')": ["'a'", "'d\"e'"],
  INTERVAL: ["INTERVAL '1 year 2 days 3.5 seconds'", "INTERVAL '-1 day'"],
  JSON: [`'{"a":[1,2.50,"x",null]}'`, `'"text"'`, "'12345678901234567890'"],
  "INTEGER[]": ["[1, NULL, 3]", "[]"],
  "VARCHAR[][]": ["[['a'], []]"],
  "STRUCT(a INTEGER, b VARCHAR)": ["{'a': 1, 'b': NULL}"],
  "STRUCT(t TIMESTAMP, d DECIMAL(5,1))[]": ["[{'t': TIMESTAMP '2024-01-01', 'd': 1.5}]"],
  "MAP(VARCHAR, INTEGER)": ["MAP {'x': 1, 'y': NULL}", "MAP {}"],
  "MAP(INTEGER, BOOLEAN)": ["MAP {1: true}"],
  "JSON[]": [`['{"k":1}', '[2]']`],
};

const entries = Object.entries(values);

for (const [i, [type, expressions]] of entries.entries())
  test(`${type}: producing what SQL wrote changes nothing`, async () => {
    await lake.sql(`CREATE TABLE s${i} (n INTEGER, v ${type})`);
    await lake.sql(`CREATE TABLE p${i} (n INTEGER, v ${type})`);
    const rows = [...expressions, "NULL"].map((expression, n) => `(${n}, ${expression})`);
    await lake.sql(`INSERT INTO s${i} VALUES ${rows.join(", ")}`);
    const logged = lake.logged(`s${i}`) as string[];
    expect(logged.length).toBe(rows.length);
    const outcome = await lake.produce(`p${i}`, logged);
    expect(outcome.errorMessage).toBe(null);
    expect(lake.logged(`p${i}`)).toEqual(logged);
    const texts = (table: string) => lake.sqlText(`SELECT n, v::VARCHAR FROM ${table} ORDER BY n`);
    expect(await texts(`p${i}`)).toEqual(await texts(`s${i}`));
  });

const keyTypes = entries.filter(([type]) => /^(DECIMAL|ENUM)/.test(type) || !/\[|\(|JSON|INTERVAL/.test(type));

for (const [i, [type, expressions]] of keyTypes.entries())
  test(`${type} as a key: the same key JSON by SQL and by producing`, async () => {
    await lake.sql(`CREATE TABLE ks${i} (n INTEGER, v ${type} PRIMARY KEY)`);
    await lake.sql(`CREATE TABLE kp${i} (n INTEGER, v ${type} PRIMARY KEY)`);
    const distinct = expressions.filter((expression) => expression !== "-0.0");
    for (const [n, expression] of distinct.entries()) await lake.sql(`INSERT INTO ks${i} VALUES (${n}, ${expression})`);
    const written = pairs(lake, `ks${i}`);
    const outcome = await lake.produce(`kp${i}`, lake.logged(`ks${i}`) as string[]);
    expect(outcome.errorMessage).toBe(null);
    expect(pairs(lake, `kp${i}`)).toEqual(written);
    // Deleting by SQL makes the tombstones that delete what was produced.
    await lake.sql(`DELETE FROM ks${i}`);
    const tombstones = lake.records(`ks${i}`).slice(distinct.length);
    const deletes = tombstones.map(({ key, value }) => ({ key, value }));
    expect((await lake.produce(`kp${i}`, deletes)).errorMessage).toBe(null);
    expect(await lake.sql(`SELECT count(*) FROM kp${i}`)).toEqual([[0]]);
  });
