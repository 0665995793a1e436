/** What tables need for their defaults and CHECKs is not dropped under them, before and after a restart. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Lake } from "./lake.ts";

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
  await lake.sql(`CREATE SEQUENCE drawn;
    CREATE SEQUENCE spare;
    CREATE MACRO positive(x) AS x > 0;
    CREATE MACRO unused(x) AS x;
    CREATE TYPE mood AS ENUM ('good', 'bad');
    CREATE TABLE t (a BIGINT CHECK (positive(a)), n BIGINT DEFAULT nextval('drawn'), m mood, spare INTEGER)`);
});
afterAll(() => lake.close());

const codeOf = (sql: string) =>
  lake.sql(sql).then(
    () => "done",
    (error) => error.sqlstate,
  );

async function refusals() {
  for (const [sql, code] of [
    ["DROP SEQUENCE drawn", "2BP01"],
    ["DROP SEQUENCE IF EXISTS main.DRAWN", "2BP01"],
    ["DROP SEQUENCE drawn CASCADE", "0A000"],
    ["DROP SEQUENCE spare CASCADE", "0A000"],
    ["DROP MACRO positive", "2BP01"],
    ["DROP FUNCTION IF EXISTS positive", "2BP01"],
    ["DROP TYPE mood CASCADE", "0A000"],
  ] as const)
    expect({ sql, code: await codeOf(sql) }).toEqual({ sql, code });
}

test("a drop that would break a table is refused", async () => {
  await refusals();
  expect((await lake.produce("t", ['{"a":1,"m":"good"}'])).errorMessage).toBe(null);
});

test("also once DuckDB has forgotten who needs what; other drops work", async () => {
  await lake.stop();
  await lake.start();
  await refusals();
  expect((await lake.produce("t", ['{"a":2,"m":"bad"}'])).errorMessage).toBe(null);
  expect(await lake.sql("SELECT a, n, m FROM t ORDER BY a")).toEqual([
    [1, 1, "good"],
    [2, 2, "bad"],
  ]);
  expect(await codeOf("DROP SEQUENCE spare")).toBe("done");
  expect(await codeOf("DROP MACRO unused")).toBe("done");
  expect(await codeOf("DROP SEQUENCE IF EXISTS nothing")).toBe("done");
  expect(await codeOf("DROP TABLE t")).toBe("done");
  expect(await codeOf("DROP SEQUENCE drawn")).toBe("done");
});
