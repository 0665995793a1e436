/** The applier's transaction, results of any size, cancellation, memory, and a worker that breaks. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Int32, Int64, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { silentLogger } from "../../src/base/log.ts";
import { SqlEngine } from "../../src/sql/engine.ts";
import { failure, startEngine, type TestEngine } from "./support.ts";

let running: TestEngine;
let engine: SqlEngine;
beforeAll(async () => {
  running = await startEngine({ memoryBytesMax: 128 * 1024 * 1024 });
  engine = running.engine;
  await engine.query("CREATE TABLE t (a BIGINT, b VARCHAR, c INTEGER NOT NULL)");
  await engine.query("CREATE TABLE d (c DECIMAL(10, 2), at_ TIMESTAMP, u UUID)");
}, 60_000);
afterAll(() => running.stop());

function rows(count: number, c: (row: number) => number | null = (row) => row): Uint8Array {
  const index = Array.from({ length: count }, (_, row) => row);
  return tableToIPC(
    new Table({
      a: vectorFromArray(index.map(BigInt), new Int64()),
      b: vectorFromArray(
        index.map((row) => `x${row}`),
        new Utf8(),
      ),
      c: vectorFromArray(index.map(c), new Int32()),
    }),
    "stream",
  );
}

const cursor = (nextOffset: number) => ({ topicId: "topic", partition: 0, nextOffset });
const count = async (table = "t") => (await engine.query(`SELECT count(*) FROM ${table}`)).rows[0];

test("rows and cursors are one transaction: all or nothing", async () => {
  await engine.apply({ inserts: [{ table: "t", arrow: rows(3) }], cursors: [cursor(3)] });
  expect([await count(), await engine.cursors()]).toEqual(["[3]", [cursor(3)]]);
  const bad = { table: "t", arrow: rows(2, () => null) };
  const error = await failure(engine.apply({ inserts: [{ table: "t", arrow: rows(5) }, bad], cursors: [cursor(10)] }));
  expect(error.sqlstate).toBe("23502");
  expect([await count(), await engine.cursors()]).toEqual(["[3]", [cursor(3)]]);
  await engine.apply({ inserts: [{ table: "t", arrow: rows(5) }], cursors: [cursor(8)] });
  expect([await count(), await engine.cursors()]).toEqual(["[8]", [cursor(8)]]);
});

test("a malformed or cut-off stream does no harm to the next", async () => {
  const whole = rows(4);
  for (const arrow of [
    whole.subarray(0, whole.length - 60),
    whole.subarray(0, 40),
    Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
  ]) {
    await engine.apply({ inserts: [{ table: "t", arrow }], cursors: [] }).catch(() => {});
    await engine.apply({ inserts: [], statements: ["SELECT * FROM nosuch"], cursors: [] }).catch(() => {});
  }
  const before = Number(JSON.parse((await count())!)[0]);
  await engine.apply({ inserts: [{ table: "t", arrow: whole }], cursors: [] });
  expect(await count()).toBe(`[${before + 4}]`);
});

test("no rows, and rows through a staging table with casts", async () => {
  await engine.apply({ inserts: [{ table: "t", arrow: rows(0) }], cursors: [] });
  const staged = tableToIPC(
    new Table({
      c: vectorFromArray(["1.23", "4.567"], new Utf8()),
      at_: vectorFromArray([1700000000000000n, 1n], new Int64()),
      u: vectorFromArray(["7f39d203-1bab-4862-abad-95a031ded1c5", null], new Utf8()),
    }),
    "stream",
  );
  const staging = { columns: ["c", "at_", "u"], select: ["c", "make_timestamp(at_)", "u::UUID"] };
  await engine.apply({ inserts: [{ table: "d", arrow: staged, staging }], cursors: [] });
  expect((await engine.query("SELECT * FROM d")).rows).toEqual([
    '[1.23,"2023-11-14T22:13:20","7f39d203-1bab-4862-abad-95a031ded1c5"]',
    '[4.57,"1970-01-01T00:00:00.000001",null]',
  ]);
});

test("a reader sees what was committed when it began, while the applier goes on", async () => {
  await engine.query("CREATE TABLE wide AS SELECT range AS n, repeat('x', 100) AS s FROM range(50000)");
  const stream = await engine.stream("SELECT n, s FROM wide");
  let read = 0;
  for await (const chunk of stream.rows()) {
    if (read === 0) await engine.apply({ inserts: [], statements: ["DELETE FROM wide"], cursors: [cursor(9)] });
    read += chunk.length;
  }
  expect([read, await count("wide")]).toEqual([50_000, "[0]"]);
  await engine.checkpoint();
  expect((await engine.status()).logBytes).toBe(0);
});

test("a result that is not read to its end is dropped, and a checkpoint goes through", async () => {
  const stream = await engine.stream("SELECT range, repeat('x', 1000) FROM range(1000000)");
  for await (const chunk of stream.rows()) if (chunk.length > 0) break;
  stream.close();
  await engine.checkpoint();
});

test("a statement ends at its time limit, and when its signal says so", async () => {
  const endless = "SELECT sum(a.range * b.range * c.range) FROM range(3000) a, range(3000) b, range(3000) c";
  expect((await failure(engine.query(endless, { timeoutMs: 100 }))).sqlstate).toBe("57014");
  const all = Array.from({ length: 30 }, async (_, i) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), i * 5);
    return (await failure(engine.query(endless, { signal: controller.signal }))).sqlstate;
  });
  expect(new Set(await Promise.all(all))).toEqual(new Set(["57014"]));
  const write = "CREATE TABLE never AS SELECT a.range FROM range(100000) a, range(1000000) b";
  expect((await failure(engine.query(write, { timeoutMs: 100 }))).sqlstate).toBe("57014");
  // Its transaction is over: with one open a checkpoint fails.
  await engine.checkpoint();
  expect((await failure(engine.query("FROM never"))).sqlstate).toBe("42P01");
});

test("a statement that exhausts the memory fails alone", async () => {
  const beside = engine.query("SELECT count(*) FROM range(3000000)");
  const error = await failure(engine.query("SELECT list(range) FROM range(100000000)"));
  expect(error.sqlstate).toBe("53200");
  expect(error.message).not.toContain("SET ");
  expect((await beside).rows).toEqual(["[3000000]"]);
  await engine.apply({ inserts: [{ table: "t", arrow: rows(10) }], cursors: [cursor(11)] });
});

test("a worker that breaks is started again with all that was committed", async () => {
  const before = await count();
  let restarts = 0;
  engine.onRestart(() => restarts++);
  const pending = failure(
    engine.query("SELECT sum(a.range * b.range * c.range) FROM range(3000) a, range(3000) b, range(3000) c"),
  );
  await engine.status();
  // biome-ignore lint/complexity/useLiteralKeys: what the engine does when its worker says that it is broken.
  engine["broke"]("a test says so");
  expect((await pending).sqlstate).toBe("57P02");
  expect([await count(), await engine.cursors()]).toEqual([before, [cursor(11)]]);
  expect(restarts).toBe(1);
}, 60_000);

test("an engine that cannot start says why, and one that is closed takes no calls", async () => {
  const missing = { path: `${running.path}/no/such/folder/db`, logger: silentLogger };
  const error = await failure(SqlEngine.start(missing));
  expect(error.sqlstate).toMatch(/^58/);
  expect(error.message).toContain("no/such/folder");
  const other = await startEngine();
  await other.stop();
  expect((await failure(other.engine.query("SELECT 1"))).sqlstate).toBe("57P01");
  expect((await failure(other.engine.cursors())).sqlstate).toBe("57P01");
}, 60_000);
