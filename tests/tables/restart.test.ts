import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { Lake } from "./lake.ts";

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
  await lake.sql(`CREATE TYPE colour AS ENUM ('red', 'blue');
    CREATE SCHEMA s;
    CREATE TABLE a (n BIGINT, c colour DEFAULT 'blue', _offset BIGINT);
    CREATE TABLE s.b (j JSON, made TIMESTAMP DEFAULT now(), CHECK (length(j) < 100)) WITH (partitions = 2);
    CREATE VIEW total AS SELECT sum(n) AS sum FROM a`);
});
afterAll(() => lake.close());

const produceTo = async (n: number) => {
  expect((await lake.produce("a", [`{"n":${n}}`, `{"n":${n},"c":"red"}`])).errorMessage).toBe(null);
  expect((await lake.produce("s.b", [`{"j":{"n":${n}}}`], { partition: n % 2 })).errorMessage).toBe(null);
};
const state = async () => ({
  a: await lake.sql("SELECT n, c, _offset FROM a ORDER BY _offset"),
  b: await lake.sql("SELECT j, made FROM s.b ORDER BY ALL"),
  total: await lake.sql("FROM total"),
});

test("a clean stop and start", async () => {
  for (let n = 0; n < 4; n++) await produceTo(n);
  const before = await state();
  expect(before.a.length).toBe(8);
  expect(before.a[7]).toEqual([3, "red", 7]);
  await lake.stop();
  await lake.start();
  // Produced before the engine is up: checked without it, applied once it is.
  const early = await lake.produce("a", ['{"n":9}']);
  expect(early.errorCode).toBe(0);
  const after = await state();
  expect(after.a).toEqual([...before.a, [9, "blue", 8]]);
  expect(after.b).toEqual(before.b);
});

test("the engine's worker dies: committed rows stay, the others come from the log", async () => {
  const before = await state();
  const engine = lake.engine as unknown as { broke(reason: string): void };
  const produced = produceTo(20);
  engine.broke("the test ends it");
  await produced.catch(() => undefined);
  await produceTo(21);
  const after = await state();
  expect(after.a.filter(([n]) => n === 21)).toEqual([
    [21, "blue", 11],
    [21, "red", 12],
  ]);
  expect(after.a.slice(0, before.a.length)).toEqual(before.a);
  expect(after.a.map(([, , offset]) => offset)).toEqual(after.a.map((_, i) => i));
});

test("a database that is gone is rebuilt from the catalog and the logs", async () => {
  const before = await state();
  await lake.stop();
  rmSync(`${lake.directory}/tables.duckdb`);
  rmSync(`${lake.directory}/tables.duckdb.wal`, { force: true });
  await lake.start();
  expect(await lake.sql("SELECT n, c, _offset FROM a ORDER BY _offset")).toEqual(before.a);
  expect(await lake.sql("SELECT j, made FROM s.b ORDER BY ALL")).toEqual(before.b);
});

test("tables that only DuckDB knows are removed, those of another topic made anew", async () => {
  const { engine } = lake;
  await engine!.query("CREATE TABLE leftover (x INTEGER)");
  await engine!.query("DELETE FROM _rowlog.cursors");
  await engine!.query("INSERT INTO a VALUES (1000, 'red', 1000)");
  const topicRows = lake.logged("a").length;
  await lake.stop();
  await lake.start();
  expect(await lake.sql("SELECT count(*), max(n) FROM a")).toEqual([[topicRows, 21]]);
  expect(await lake.failure("FROM leftover")).toContain("leftover");
});
