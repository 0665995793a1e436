import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Lake } from "../lake.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
  await lake.sql("CREATE TABLE source (id INTEGER, name VARCHAR, m ENUM('x', 'y'))");
  await lake.sql("INSERT INTO source VALUES (1, 'ann', 'x'), (2, 'bob', 'y')");
});
afterAll(() => lake.close());

test("CREATE TABLE AS has the query's columns and rows, in its log too", async () => {
  expect(await lake.sql("CREATE TABLE made AS SELECT id * 10 AS ten, name, m FROM source ORDER BY id")).toEqual([[2]]);
  expect(await lake.sql("SELECT ten, name, m FROM made ORDER BY ten")).toEqual([
    [10, "ann", "x"],
    [20, "bob", "y"],
  ]);
  expect(lake.logged("made")).toEqual(['{"ten":10,"name":"ann","m":"x"}', '{"ten":20,"name":"bob","m":"y"}']);
  await lake.sql("CREATE TABLE IF NOT EXISTS made AS SELECT 1 AS other");
  expect(lake.logged("made").length).toBe(2);
  await lake.sql("CREATE OR REPLACE TABLE made (n) WITH (partitions = 2) AS SELECT ? + 1", [41]);
  expect(await lake.sql("SELECT n FROM made")).toEqual([[42]]);
  expect(lake.catalog.topic("made")?.partitions).toBe(2);
});

test("a query that fails leaves no table", async () => {
  expect(await lake.state("CREATE TABLE broken AS SELECT nothing")).toBe("42703");
  expect(await lake.state("CREATE TABLE broken AS SELECT error('no') AS a FROM source")).not.toBe("it did not fail");
  expect(await lake.state("CREATE OR REPLACE TABLE source AS SELECT * FROM source")).toBe("0A000");
  expect(await lake.state("CREATE TABLE made AS SELECT 1 AS a")).toBe("42P07");
  expect(lake.catalog.topic("broken")).toBe(undefined);
  expect(await lake.sql("SELECT count(*) FROM source")).toEqual([[2]]);
});
