/** The engine's worker ends in the middle of transactions: they are rolled back, or found committed. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { EngineSession } from "../../../src/sql/engine_session.ts";
import { Lake } from "../lake.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
  await lake.sql("CREATE TABLE k (id INTEGER PRIMARY KEY, v INTEGER)");
  await lake.sql("INSERT INTO k VALUES (1, 1)");
});
afterAll(() => lake.close());

const breakEngine = () => (lake.engine as unknown as { broke(reason: string): void }).broke("a test ends it");

async function run(sql: string, session?: string): Promise<unknown[]> {
  const result = await lake.runner.execute(sql, { session });
  const rows: unknown[] = [];
  for await (const chunk of result.rows()) rows.push(...chunk.map((row) => JSON.parse(row) as unknown));
  return rows;
}

test("an open transaction ends with 57P02, and gives back what it held", async () => {
  const session = lake.runner.sessions.open();
  await run("BEGIN", session);
  await run("UPDATE k SET v = 2", session);
  breakEngine();
  expect(await lake.state("UPDATE k SET v = 3", session)).toBe("57P02");
  expect(await lake.state("SELECT 1", session)).toBe("25P02");
  await run("ROLLBACK", session);
  expect((await lake.produce("k", ['{"id":2,"v":2}'])).errorMessage).toBe(null);
  expect(await run("BEGIN; UPDATE k SET v = v + 10; COMMIT; SELECT * FROM k ORDER BY id", session)).toEqual([
    [1, 11],
    [2, 12],
  ]);
  await lake.runner.sessions.close(session);
});

for (const moment of ["before", "after"] as const)
  test(`a commit whose answer is lost ${moment} it took place`, async () => {
    const before = (await run("SELECT v FROM k WHERE id = 1"))[0] as [number];
    const records = lake.records("k").length;
    const { commit } = EngineSession.prototype;
    EngineSession.prototype.commit = async function (request) {
      if (moment === "after") await commit.call(this, request);
      breakEngine();
      return await commit.call(this, request);
    };
    const state = await lake.state("UPDATE k SET v = 100 WHERE id = 1");
    EngineSession.prototype.commit = commit;
    const took = moment === "after";
    expect(state).toBe(took ? "it did not fail" : "57P02");
    expect(await run("SELECT v FROM k WHERE id = 1")).toEqual([took ? [100] : before]);
    expect(lake.records("k").length).toBe(records + (took ? 1 : 0));
    // And what comes next goes through, in order.
    await run("UPDATE k SET v = 5 WHERE id = 1");
    expect((await lake.produce("k", ['{"id":3,"v":3}'])).errorMessage).toBe(null);
    expect(await run("SELECT id, v FROM k WHERE id IN (1, 3) ORDER BY id")).toEqual([
      [1, 5],
      [3, 3],
    ]);
  });
