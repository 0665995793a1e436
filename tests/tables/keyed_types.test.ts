/** Columns of every type, as the key and beside it, through what reads the table back: values that were not sent, and truncations. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Lake } from "./lake.ts";

let lake: Lake;
let made = 0;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(async () => await lake.close());

const unavailable = "__debezium_unavailable_value";

async function accepted(table: string, value: unknown): Promise<void> {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  expect((await lake.produce(table, [text])).errorMessage).toBe(null);
}

const values: [type: string, json: string][] = [
  ["BOOLEAN", "true"],
  ["TINYINT", "-5"],
  ["UBIGINT", "18446744073709551615"],
  ["HUGEINT", '"170141183460469231731687303715884105727"'],
  ["DOUBLE", "0.1"],
  ["DOUBLE", "-0.0"],
  ["DOUBLE", '"NaN"'],
  ["FLOAT", "0.1"],
  ["DECIMAL(30,5)", "12345.67890"],
  ["VARCHAR", '"it\'s \\"q\\" \\u0000 \\n"'],
  ["BLOB", '"AAEC/w=="'],
  ["UUID", '"9d1c2f0e-0000-4000-8000-00000000000a"'],
  ["DATE", '"2026-01-31"'],
  ["TIME", '"12:00:00.5"'],
  ["TIMESTAMP", '"2026-01-31T12:00:00.123456"'],
  ["TIMESTAMP_NS", '"2026-01-31T12:00:00.123456789"'],
  ["TIMESTAMP_S", '"2026-01-31T12:00:00"'],
  ["TIMESTAMPTZ", '"2026-01-31T12:00:00.5Z"'],
  ["ENUM ('x', 'y')", '"x"'],
  ["JSON", '{"a": 1}'],
];

describe.each(values)("%s %s", (type, json) => {
  async function check(columns: string, key: string, big: string): Promise<void> {
    const table = `t${made++}`;
    await lake.sql(`CREATE TABLE ${table} (${columns})`);
    await accepted(table, `{"k":${key},"big":${big},"n":1}`);
    const before = await lake.sqlText(`SELECT k, big FROM ${table}`);
    await accepted(
      table,
      `{"op":"u","before":null,"after":{"k":${key},"big":"${unavailable}","n":2},"source":{},"ts_ms":1}`,
    );
    expect(await lake.sqlText(`SELECT k, big FROM ${table}`)).toEqual(before);
    expect(await lake.sql(`SELECT n FROM ${table}`)).toEqual([[2]]);
    await accepted(table, { op: "t", before: null, after: null, source: {} });
    expect(await lake.sql(`SELECT count(*) FROM ${table}`)).toEqual([[0]]);
    const keys = lake.keys(table);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  }

  test("as the key", () => check(`k ${type} PRIMARY KEY, big VARCHAR, n INTEGER`, json, '"large"'));
  test("as a value that is not sent", () => check(`k INTEGER PRIMARY KEY, big ${type}, n INTEGER`, "1", json));
});

test("an append time goes into the rows of a keyed table", async () => {
  await lake.sql(
    "CREATE TABLE stamped (id INTEGER PRIMARY KEY, _timestamp TIMESTAMP, _offset BIGINT) WITH (\"message.timestamp.type\" = 'LogAppendTime')",
  );
  const heartbeat = { key: '{"serverName":"s"}', value: '{"ts_ms":1}' };
  const outcome = await lake.produce("stamped", [heartbeat, '{"id":1}', { key: "2", value: null }, '{"id":3}']);
  const time = new Date(outcome.logAppendTimeMs).toISOString().replace(/\.?0*Z$/, "");
  expect(await lake.sql("FROM stamped ORDER BY id")).toEqual([
    [1, time, 1],
    [3, time, 3],
  ]);
});

test("minus zero is the key zero, also where SQL writes it", async () => {
  await lake.sql("CREATE TABLE signed (k DOUBLE PRIMARY KEY, v INTEGER)");
  await accepted("signed", '{"k":0.0,"v":1}');
  await lake.sql("INSERT OR REPLACE INTO signed VALUES ('-0.0'::DOUBLE, 2)");
  await accepted("signed", '{"k":-0.0,"v":3}');
  expect(await lake.sql("SELECT v FROM signed")).toEqual([[3]]);
  expect(new Set(lake.keys("signed"))).toEqual(new Set(['{"k":0.0}']));
});
