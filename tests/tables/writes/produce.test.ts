/** produce() in SQL: records that appear with the commit. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Lake } from "../lake.ts";
import { pairs, textRecords } from "./records.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
  await lake.catalog.createTopic({ name: "plain", partitions: 2 });
  await lake.catalog.createTopic({ name: "__own", partitions: 1, internal: true });
  await lake.sql("CREATE TABLE t (id INTEGER, v VARCHAR DEFAULT 'd')");
  await lake.sql("CREATE TABLE k (id INTEGER PRIMARY KEY, v VARCHAR)");
});
afterAll(() => lake.close());

test("to a plain topic: keys, partitions, headers, nulls, places", async () => {
  const result = await lake.runner.execute(
    "SELECT produce('plain', 1, 'key ' || i, CASE WHEN i = 1 THEN NULL ELSE 'v' END, MAP {'h': 'x', 'n': NULL}) AS place FROM range(3) t(i)",
  );
  const rows: string[] = [];
  for await (const chunk of result.rows()) rows.push(...chunk);
  expect(rows).toEqual(["[1]", "[2]", "[3]"]);
  expect(result.written).toEqual([{ topic: "plain", partition: 1, base_offset: 0, records: 3 }]);
  expect(pairs(lake, "plain", 1)).toEqual(["key 0=v", "key 1=null", "key 2=v"]);
  expect(textRecords(lake, "plain", 1)[0]!.headers).toEqual([
    ["h", "x"],
    ["n", null],
  ]);
  await lake.sql("SELECT produce('plain', '\\xFF\\x00'::BLOB, 'bytes'::BLOB)");
  await lake.sql("SELECT produce('plain', NULL, 'no key')");
  expect(pairs(lake, "plain", 0).length + pairs(lake, "plain", 1).length).toBe(5);
});

test("to tables: checked as produced, rows with the commit", async () => {
  await lake.sql(`SELECT produce('t', NULL, '{"id":' || i || '}') FROM range(2) t(i)`);
  expect(lake.logged("t")).toEqual(['{"id":0,"v":"d"}', '{"id":1,"v":"d"}']);
  expect(await lake.sql("SELECT * FROM t ORDER BY id")).toEqual([
    [0, "d"],
    [1, "d"],
  ]);
  expect(await lake.state(`SELECT produce('t', NULL, '{"id":"x"}')`)).toBe("22023");
  expect(await lake.failure(`SELECT produce('t', NULL, '{"id":"x"}')`)).toContain("id");
  expect(lake.logged("t").length).toBe(2);
});

test("nothing of a transaction that is rolled back, everything of one that is committed", async () => {
  const before = pairs(lake, "plain", 0).length;
  await lake.sql("BEGIN; SELECT produce('plain', 0, 'k', 'gone', NULL); ROLLBACK");
  expect(await lake.state("BEGIN; SELECT produce('plain', 0, 'k', 'gone', NULL); SELECT nothing; COMMIT")).toBe(
    "42703",
  );
  expect(pairs(lake, "plain", 0).length).toBe(before);
  await lake.sql("BEGIN; INSERT INTO t VALUES (9, 'sql'); SELECT produce('plain', 0, 'k', 'there', NULL); COMMIT");
  expect(pairs(lake, "plain", 0).slice(before)).toEqual(["k=there"]);
  expect(lake.logged("t").at(-1)).toBe('{"id":9,"v":"sql"}');
});

test("in INSERT … SELECT", async () => {
  await lake.sql("INSERT INTO t SELECT produce('plain', 1, 'in', 'insert', NULL), 'p'");
  expect(pairs(lake, "plain", 1).at(-1)).toBe("in=insert");
});

test("outside of its rules", async () => {
  for (const [sql, state] of [
    ["SELECT produce('nowhere', 'k', 'v')", "42P01"],
    ["SELECT produce('__own', 'k', 'v')", "42501"],
    ["SELECT produce('plain', 7, 'k', 'v', NULL)", "22023"],
    ["SELECT produce('plain', -1, 'k', 'v', NULL)", "22023"],
    ["SELECT produce(NULL, 'k', 'v')", "22023"],
    ["SELECT produce('plain', 1, 'v')", "22023"],
    ["SELECT produce('plain', 'k')", "42883"],
    ["SELECT produce('plain', 'k', 'v', 'headers')", "42804"],
    ["EXPLAIN ANALYZE SELECT produce('plain', 'k', 'v')", "0A000"],
    ["BEGIN; INSERT INTO k VALUES (1, 'x'); SELECT produce('k', NULL, '{}'); COMMIT", "0A000"],
  ] as const)
    expect([sql, await lake.state(sql)]).toEqual([sql, state]);
  expect(await lake.state("CREATE VIEW produces AS SELECT produce('plain', 'k', 'v') AS p")).toBe("0A000");
  expect(await lake.state("CREATE TABLE checked (a INTEGER CHECK (produce('plain', 'k', 'v') > 0))")).toBe("0A000");
});

test("change events by produce(); a truncation is SQL's to make", async () => {
  await lake.sql("CREATE TABLE events (id INTEGER PRIMARY KEY, v VARCHAR)");
  await lake.sql("INSERT INTO events VALUES (1, 'a'), (2, 'b')");
  await lake.sql(`SELECT produce('events', NULL, '{"op":"u","before":null,"after":{"id":1,"v":"c"}}')`);
  expect(await lake.sql("SELECT * FROM events ORDER BY id")).toEqual([
    [1, "c"],
    [2, "b"],
  ]);
  expect(
    await lake.failure(`SELECT produce('events', NULL, '{"op":"t","before":null,"after":null,"source":{}}')`),
  ).toContain("TRUNCATE");
});
