/** Produce to tables with a key: rows that replace rows, deletes, keys in every form, and what the log and DuckDB hold after them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { RecordToEncode } from "../../src/protocol/records/encode.ts";
import { Lake } from "./lake.ts";

describe("tables with a key", () => {
  let lake: Lake;
  let made = 0;
  beforeAll(async () => {
    lake = await Lake.open();
  });
  afterAll(async () => await lake.close());

  /** A new table; its name. */
  async function table(columns: string): Promise<string> {
    const name = `t${made++}`;
    await lake.sql(`CREATE TABLE ${name} ${columns}`);
    return name;
  }

  async function accepted(name: string, records: readonly (RecordToEncode | string)[]): Promise<void> {
    const outcome = await lake.produce(name, records);
    expect(outcome.errorMessage).toBe(null);
  }

  /** What is wrong with each record that is refused, by its number. */
  async function refused(name: string, records: readonly (RecordToEncode | string)[]): Promise<string[]> {
    const outcome = await lake.produce(name, records);
    expect(outcome.errorCode).toBe(87);
    return outcome.recordErrors.map(({ index, message }) => `${index}: ${message}`);
  }

  test("the last row of a key counts, within a batch and between batches", async () => {
    const users = await table("(id BIGINT PRIMARY KEY, name VARCHAR, balance DECIMAL(10,1))");
    await accepted(users, ['{"id":1,"name":"ann","balance":10.0}', '{"id":2,"name":"bob","balance":5.0}']);
    await accepted(users, [
      '{"id":2,"name":"bob","balance":6.0}',
      '{"id":3,"name":"cy","balance":1.0}',
      '{"id":2,"name":"bobby","balance":7.0}',
    ]);
    expect(await lake.sql(`FROM ${users} ORDER BY id`)).toEqual([
      [1, "ann", 10],
      [2, "bobby", 7],
      [3, "cy", 1],
    ]);
    expect(lake.keys(users)).toEqual(['{"id":1}', '{"id":2}', '{"id":2}', '{"id":3}', '{"id":2}']);
  });

  test("a null value deletes by key; one for no row does no harm", async () => {
    const t = await table("(id INTEGER PRIMARY KEY, v VARCHAR)");
    await accepted(t, ['{"id":1,"v":"a"}', '{"id":2,"v":"b"}', { key: '{"id":1}', value: null }]);
    expect(await lake.sql(`FROM ${t}`)).toEqual([[2, "b"]]);
    await accepted(t, [
      { key: "2", value: null },
      { key: '{"id": 77}', value: null },
      '{"id":3,"v":"c"}',
      { key: ' {"id": "3"} ', value: null },
      '{"id":3,"v":"again"}',
    ]);
    expect(await lake.sql(`FROM ${t}`)).toEqual([[3, "again"]]);
    expect(lake.keys(t).slice(3)).toEqual(['{"id":2}', '{"id":77}', '{"id":3}', '{"id":3}', '{"id":3}']);
    expect(lake.logged(t).slice(2)).toEqual([null, null, null, '{"id":3,"v":"c"}', null, '{"id":3,"v":"again"}']);
  });

  test("the key comes from the record's key where the value lacks it", async () => {
    const t = await table("(a INTEGER, b VARCHAR, v INTEGER, PRIMARY KEY (b, a))");
    await accepted(t, [
      { key: '{"a":1,"b":"x"}', value: '{"v":10}' },
      { key: '{"a":1}', value: '{"b":"y","v":11}' },
      { key: '{"b":"z","a":2}', value: '{"a":2,"b":"z","v":12}' },
      { value: '{"a":3,"b":"w","v":13}' },
    ]);
    expect(lake.keys(t)).toEqual(['{"b":"x","a":1}', '{"b":"y","a":1}', '{"b":"z","a":2}', '{"b":"w","a":3}']);
    expect(lake.logged(t)[0]).toBe('{"a":1,"b":"x","v":10}');
    expect(await lake.sql(`FROM ${t} ORDER BY v`)).toEqual([
      [1, "x", 10],
      [1, "y", 11],
      [2, "z", 12],
      [3, "w", 13],
    ]);
    const one = await table("(id VARCHAR PRIMARY KEY, v INTEGER)");
    await accepted(one, [
      { key: "plain", value: '{"v":1}' },
      { key: '"quoted"', value: '{"v":2}' },
      { key: "12", value: '{"v":3}' },
      { key: "plain", value: '{"id":"plain","v":4}' },
    ]);
    expect(await lake.sql(`FROM ${one} ORDER BY v`)).toEqual([
      ["quoted", 2],
      ["12", 3],
      ["plain", 4],
    ]);
    expect(lake.keys(one)).toEqual(['{"id":"plain"}', '{"id":"quoted"}', '{"id":"12"}', '{"id":"plain"}']);
  });

  test("a key and a value that disagree are refused, and nothing of their batch is stored", async () => {
    const t = await table("(id BIGINT PRIMARY KEY, v INTEGER)");
    const faults = await refused(t, [
      '{"id":1,"v":1}',
      { key: '{"id":5}', value: '{"id":6,"v":1}' },
      { key: "7", value: '{"id":7,"v":1}' },
      { key: "8", value: '{"id":9,"v":1}' },
    ]);
    expect(faults).toEqual([
      '1: column "id": the record\'s key says 5 and its value 6',
      '3: column "id": the record\'s key says 8 and its value 9',
    ]);
    expect(await lake.sql(`FROM ${t}`)).toEqual([]);
    await accepted(t, ['{"id":1,"v":1}']);
    expect(lake.logged(t)).toEqual(['{"id":1,"v":1}']);
  });

  test("bad keys are refused with their reasons", async () => {
    const t = await table("(id INTEGER PRIMARY KEY, v INTEGER)");
    const faults = await refused(t, [
      { key: null, value: null },
      { key: "abc", value: null },
      { key: '{"x":1}', value: null },
      { key: '{"id":3000000000}', value: null },
      '{"v":1}',
      '{"id":null,"v":1}',
      { key: '{"id":"x"}', value: '{"id":1,"v":1}' },
    ]);
    expect(faults.map((fault) => fault.slice(0, 3))).toEqual(["0: ", "1: ", "2: ", "3: ", "4: ", "5: ", "6: "]);
    expect(faults[0]).toContain("no key");
    expect(faults[1]).toContain('column "id"');
    expect(faults[2]).toContain("id is missing");
    expect(faults[3]).toContain("3000000000");
    expect(faults[4]).toContain("NOT NULL");
    expect(faults[5]).toContain("NOT NULL");
    expect(faults[6]).toContain('column "id"');
    const two = await table("(a INTEGER, b INTEGER, PRIMARY KEY (a, b))");
    expect(
      await refused(two, [
        { key: "1", value: null },
        { key: '{"a":1}', value: null },
      ]),
    ).toEqual([expect.stringContaining("key"), expect.stringContaining("b is missing")]);
    const none = await table("(v INTEGER)");
    expect((await refused(none, [{ key: "1", value: null }]))[0]).toContain("no primary key");
    // The next good record goes through.
    await accepted(t, ['{"id":1,"v":1}']);
    expect(await lake.sql(`FROM ${t}`)).toEqual([[1, 1]]);
  });

  test.each([
    ["BOOLEAN", ["true", "false"], ["true", "false"]],
    ["HUGEINT", ['"170141183460469231731687303715884105727"', "5"], ["170141183460469231731687303715884105727", "5"]],
    ["DOUBLE", ["1e0", "-0.0", "0", '"NaN"', "0.1"], ["1.0", "0.0", "0.0", '"NaN"', "0.1"]],
    ["FLOAT", ["-0.0", "0.5"], ["0.0", "0.5"]],
    ["DECIMAL(10,2)", ["1.5", "1.50", '"1.500"', "-2"], ["1.50", "1.50", "1.50", "-2.00"]],
    ["VARCHAR", ['"a\\u0041"', '"aA"', '"\\""', '""'], ['"aA"', '"aA"', '"\\""', '""']],
    ["BLOB", ['"AAE="', '"AAE="'], ['"AAE="', '"AAE="']],
    [
      "UUID",
      ['"9D1C2F0E-0000-4000-8000-00000000000A"', '"9d1c2f0e00004000800000000000000a"'],
      ['"9d1c2f0e-0000-4000-8000-00000000000a"', '"9d1c2f0e-0000-4000-8000-00000000000a"'],
    ],
    ["DATE", ['"2026-01-31"', "0"], ['"2026-01-31"', '"1970-01-01"']],
    ["TIME", ['"12:00:00"', '"12:00:00.500"'], ['"12:00:00"', '"12:00:00.5"']],
    [
      "TIMESTAMP",
      ['"2026-01-31T12:00:00.500Z"', '"2026-01-31T12:00:00.5"', '"2026-01-31 12:00:00.5"'],
      ['"2026-01-31T12:00:00.5"', '"2026-01-31T12:00:00.5"', '"2026-01-31T12:00:00.5"'],
    ],
    [
      "TIMESTAMPTZ",
      ['"2026-01-31T12:00:00Z"', '"2026-01-31T14:00:00+02:00"'],
      ['"2026-01-31T12:00:00Z"', '"2026-01-31T12:00:00Z"'],
    ],
    ["ENUM ('x', 'y')", ['"x"', '"y"', '"x"'], ['"x"', '"y"', '"x"']],
  ])(
    "a key of type %s: one text for one key, one row for one key, and it can be deleted",
    async (type, given, keys) => {
      const t = await table(`(n INTEGER, k ${type} PRIMARY KEY)`);
      await accepted(
        t,
        given.map((key, n) => `{"n":${n},"k":${key}}`),
      );
      expect(lake.keys(t)).toEqual(keys.map((key) => `{"k":${key}}`));
      const last = new Map(keys.map((key, n) => [key, n]));
      expect((await lake.sql(`SELECT n FROM ${t} ORDER BY n`)).flat()).toEqual([...last.values()].sort());
      for (const key of last.keys()) await accepted(t, [{ key: `{"k":${key}}`, value: null }]);
      expect(await lake.sql(`SELECT count(*) FROM ${t}`)).toEqual([[0]]);
    },
  );

  test("rows are the same after a restart, and when DuckDB begins anew from the log", async () => {
    const t = await table(
      "(id INTEGER PRIMARY KEY, v VARCHAR DEFAULT 'none', _offset BIGINT, _key VARCHAR, l INTEGER[])",
    );
    await accepted(t, [
      '{"id":1,"v":"a","l":[1,2]}',
      { key: "2", value: '{"v":"b","l":[]}' },
      '{"id":1}',
      { key: "3", value: null },
      { key: '{"id": 4}', value: '{"id":4,"l":[7,8,9]}' },
    ]);
    await accepted(t, [{ key: "2", value: null }, '{"id":5,"l":[5]}', '{"id":2,"v":"again"}']);
    const expected = [
      [1, "none", 2, '{"id":1}', null],
      [2, "again", 7, '{"id":2}', null],
      [4, "none", 4, '{"id":4}', [7, 8, 9]],
      [5, "none", 6, '{"id":5}', [5]],
    ];
    const rows = async () => await lake.sql(`FROM ${t} ORDER BY id`);
    expect(await rows()).toEqual(expected);
    await lake.stop();
    await lake.start();
    expect(await rows()).toEqual(expected);
    await lake.stop();
    lake.forgetDatabase();
    await lake.start();
    expect(await rows()).toEqual(expected);
  }, 120_000);

  test("CHECK and computed defaults hold for keyed tables", async () => {
    await lake.sql("CREATE SEQUENCE numbers");
    const t = await table(
      "(id INTEGER PRIMARY KEY, n INTEGER DEFAULT nextval('numbers'), v INTEGER CHECK (v > 0), w INTEGER AS (v * 2))",
    );
    await accepted(t, ['{"id":1,"v":1}', { key: "9", value: null }, '{"id":2,"v":2,"n":77}', '{"id":1,"v":3}']);
    expect(await lake.sql(`FROM ${t} ORDER BY id`)).toEqual([
      [1, 2, 3, 6],
      [2, 77, 2, 4],
    ]);
    const faults = await refused(t, [{ key: "1", value: null }, '{"id":3,"v":1}', '{"id":4,"v":-1}']);
    expect(faults).toEqual([expect.stringMatching(/^2: CHECK .* is false$/)]);
    expect(await lake.sql(`SELECT count(*) FROM ${t}`)).toEqual([[2]]);
  });

  test("batches that are in the table's form already are kept as they are", async () => {
    const t = await table("(id INTEGER PRIMARY KEY, v VARCHAR)");
    await accepted(t, [
      { key: '{"id":1}', value: '{"id":1, "v":"spaces stay"}', headers: [{ key: "h", value: "1" }] },
      { key: '{"id":1}', value: null },
    ]);
    expect(lake.logged(t)).toEqual(['{"id":1, "v":"spaces stay"}', null]);
  });
});
