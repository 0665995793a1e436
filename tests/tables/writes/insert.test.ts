/** INSERT into tables without a key: rows and records together. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Lake } from "../lake.ts";
import { textRecords } from "./records.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(() => lake.close());

test("rows that INSERT adds are records of the topic", async () => {
  await lake.sql("CREATE TABLE plain (id BIGINT, name VARCHAR, score DOUBLE)");
  expect(await lake.sql("INSERT INTO plain VALUES (1, 'ann', 1.5), (2, NULL, 2)")).toEqual([[2]]);
  await lake.produce("plain", ['{"id":3,"name":"cy","score":0.5}']);
  expect(await lake.sql("SELECT * FROM plain ORDER BY id")).toEqual([
    [1, "ann", 1.5],
    [2, null, 2],
    [3, "cy", 0.5],
  ]);
  expect(lake.logged("plain")).toEqual([
    '{"id":1,"name":"ann","score":1.5}',
    '{"id":2,"name":null,"score":2.0}',
    '{"id":3,"name":"cy","score":0.5}',
  ]);
});

test("a restart neither doubles nor loses them; a database made anew has them from the log", async () => {
  await lake.stop();
  await lake.start();
  expect(await lake.sql("SELECT count(*) FROM plain")).toEqual([[3]]);
  expect(lake.logged("plain").length).toBe(3);
  await lake.stop();
  lake.forgetDatabase();
  await lake.start();
  expect(await lake.sql("SELECT count(*), sum(score) FROM plain")).toEqual([[3, 4]]);
  await lake.sql("INSERT INTO plain VALUES (4, 'new', 1)");
  expect(await lake.sql("SELECT count(*) FROM plain")).toEqual([[4]]);
  expect(lake.logged("plain").length).toBe(4);
});

test("RETURNING, DEFAULT VALUES, BY NAME, SELECT, parameters", async () => {
  await lake.sql("CREATE SEQUENCE ids START 10");
  await lake.sql(
    "CREATE TABLE d (id BIGINT DEFAULT nextval('ids'), v VARCHAR DEFAULT 'x', g BIGINT GENERATED ALWAYS AS (id * 2))",
  );
  expect(await lake.sql("INSERT INTO d DEFAULT VALUES RETURNING *")).toEqual([[10, "x", 20]]);
  expect(await lake.sql("INSERT INTO d BY NAME SELECT 'y' AS v RETURNING id, upper(v)")).toEqual([[11, "Y"]]);
  expect(await lake.sql("INSERT INTO d (id, v) SELECT id + 100, v FROM d")).toEqual([[2]]);
  expect(await lake.sql("INSERT INTO d (id, v) VALUES (?, ?) RETURNING v, id", [7, "p"])).toEqual([["p", 7]]);
  expect(lake.logged("d")).toEqual([
    '{"id":10,"v":"x"}',
    '{"id":11,"v":"y"}',
    '{"id":110,"v":"x"}',
    '{"id":111,"v":"y"}',
    '{"id":7,"v":"p"}',
  ]);
});

test("constraints refuse the whole statement with their SQLSTATE", async () => {
  await lake.sql("CREATE TABLE c (a INTEGER CHECK (a > 0), b INTEGER NOT NULL)");
  expect(await lake.state("INSERT INTO c VALUES (1, 1), (-1, 1)")).toBe("23514");
  expect(await lake.state("INSERT INTO c VALUES (1, NULL)")).toBe("23502");
  expect(await lake.state("INSERT INTO c VALUES ('x', 1)")).toBe("22P02");
  expect(await lake.state("INSERT INTO nothing VALUES (1)")).toBe("42P01");
  expect(await lake.state("INSERT INTO _rowlog.cursors VALUES ('a', 0, 0)")).toBe("42501");
  expect(await lake.sql("SELECT count(*) FROM c")).toEqual([[0]]);
  expect(lake.logged("c")).toEqual([]);
  await lake.sql("INSERT INTO c VALUES (1, 1)");
  expect(lake.logged("c").length).toBe(1);
});

test("several statements and tables in one transaction, all or nothing", async () => {
  await lake.sql("CREATE TABLE one (a INTEGER)");
  await lake.sql("CREATE TABLE two (a INTEGER)");
  await lake.sql("BEGIN; INSERT INTO one VALUES (1); INSERT INTO two SELECT a + 1 FROM one; COMMIT");
  expect(await lake.sql("SELECT * FROM one, two")).toEqual([[1, 2]]);
  await lake.sql("BEGIN; INSERT INTO one VALUES (5); ROLLBACK");
  expect(await lake.state("BEGIN; INSERT INTO one VALUES (5)")).toBe("25000");
  expect(await lake.state("BEGIN; INSERT INTO one VALUES (5); INSERT INTO two VALUES ('x'); COMMIT")).toBe("22P02");
  expect(await lake.state("COMMIT")).toBe("25P01");
  expect(await lake.state("BEGIN; BEGIN")).toBe("25001");
  expect(await lake.state("BEGIN; CREATE TABLE three (a INTEGER)")).toBe("25001");
  expect(await lake.sql("SELECT count(*) FROM one")).toEqual([[1]]);
  expect([...lake.logged("one"), ...lake.logged("two")]).toEqual(['{"a":1}', '{"a":2}']);
});

test("UPDATE, DELETE and TRUNCATE of a table without a key change its rows and leave its log as it is", async () => {
  await lake.sql("CREATE TABLE h (a INTEGER, b VARCHAR CHECK (b <> 'bad'))");
  await lake.sql("INSERT INTO h VALUES (1, 'x'), (2, 'y'), (3, 'z')");
  expect(await lake.sql("UPDATE h SET b = 'w' WHERE a = 2 RETURNING a, b")).toEqual([[2, "w"]]);
  expect(await lake.state("UPDATE h SET b = 'bad'")).toBe("23514");
  expect(await lake.sql("DELETE FROM h WHERE a = 1")).toEqual([[1]]);
  expect(await lake.sql("SELECT * FROM h ORDER BY a")).toEqual([
    [2, "w"],
    [3, "z"],
  ]);
  expect(await lake.sql("TRUNCATE h")).toEqual([[2]]);
  expect(lake.logged("h").length).toBe(3);
  const unfolded = await lake.sql("SELECT count(*) FROM _rowlog.unfolded").catch(() => []);
  expect(unfolded).toEqual([[1]]);
});

test("the record's own columns", async () => {
  await lake.sql(
    "CREATE TABLE r (_key VARCHAR, _headers MAP(VARCHAR, VARCHAR), _timestamp TIMESTAMP, _partition INTEGER, _offset BIGINT, a INTEGER)",
  );
  await lake.sql(
    "INSERT INTO r (_key, _headers, _timestamp, a) VALUES ('k', MAP {'h': 'v'}, TIMESTAMP '2024-01-02 03:04:05', 1), (NULL, NULL, NULL, 2)",
  );
  await lake.sql("INSERT INTO r (a) VALUES (3)");
  expect(await lake.sql("SELECT _key, _headers, _partition, _offset, a, _timestamp IS NULL FROM r ORDER BY a")).toEqual(
    [
      ["k", { h: "v" }, 0, 0, 1, false],
      [null, null, 0, 1, 2, false],
      [null, null, 0, 2, 3, false],
    ],
  );
  expect(await lake.state("INSERT INTO r (_offset, a) VALUES (7, 4)")).toBe("428C9");
  const [first] = textRecords(lake, "r");
  expect(first).toMatchObject({
    key: "k",
    value: '{"a":1}',
    timestamp: Date.UTC(2024, 0, 2, 3, 4, 5),
    headers: [["h", "v"]],
  });
});

test("Arrow is for queries: a write that asks for it is refused before it writes", async () => {
  await lake.sql("CREATE TABLE arrow (a INTEGER)");
  const state = await lake.runner.execute("INSERT INTO arrow VALUES (1) RETURNING a", { form: "arrow" }).then(
    () => "",
    (error: { sqlstate: string }) => error.sqlstate,
  );
  expect([state, await lake.sql("SELECT count(*) FROM arrow")]).toEqual(["0A000", [[0]]]);
});

test("raw tables: _key and _value make the record", async () => {
  await lake.sql("CREATE TABLE raw (_key BLOB, _value VARCHAR)");
  await lake.sql("INSERT INTO raw VALUES ('\\x01\\x02'::BLOB, 'any text'), (NULL, NULL)");
  expect(textRecords(lake, "raw").map(({ key, value }) => [key, value])).toEqual([
    ["\u0001\u0002", "any text"],
    [null, null],
  ]);
});

test("MERGE into a table without a key", async () => {
  await lake.sql("CREATE TABLE m (a INTEGER, b VARCHAR)");
  await lake.sql("INSERT INTO m VALUES (1, 'x')");
  expect(
    await lake.sql(
      "MERGE INTO m USING (VALUES (1, 'p'), (2, 'q')) AS s(a, b) ON m.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b) RETURNING merge_action, a",
    ),
  ).toEqual([
    ["UPDATE", 1],
    ["INSERT", 2],
  ]);
  expect(lake.logged("m")).toEqual(['{"a":1,"b":"x"}', '{"a":2,"b":"q"}']);
});
