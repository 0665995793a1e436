/** Sessions over HTTP: transactions over several requests, what others see meanwhile, and what becomes of forgotten ones. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startTestNode, type TestNode } from "../../harness/node.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode({ sqlIdleTimeoutMs: "300ms" });
  await sql("CREATE TABLE t (id BIGINT PRIMARY KEY, v INTEGER)");
  await sql("INSERT INTO t VALUES (1, 1), (2, 2)");
});
afterAll(() => node.remove());

interface Answer {
  status: number;
  rows?: unknown[][];
  written?: { topic: string; base_offset: number; records: number }[];
  code?: string;
  detail?: string;
}

const url = (path: string) => `http://127.0.0.1:${node.httpPort}${path}`;

async function sql(text: string, session?: string): Promise<Answer> {
  const response = await fetch(url("/v1/sql"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: text, session }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}

async function open(): Promise<string> {
  const response = await fetch(url("/v1/sessions"), { method: "POST" });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

const close = async (id: string) => (await fetch(url(`/v1/sessions/${id}`), { method: "DELETE" })).status;

test("a transaction over several requests: others see it once it is committed, and the answer has the offsets", async () => {
  const id = await open();
  expect((await sql("BEGIN", id)).status).toBe(200);
  expect((await sql("UPDATE t SET v = 10 WHERE id = 1", id)).rows).toEqual([[1]]);
  expect((await sql("SELECT v FROM t WHERE id = 1", id)).rows).toEqual([[10]]);
  expect((await sql("SELECT v FROM t WHERE id = 1")).rows).toEqual([[1]]);
  const committed = await sql("COMMIT", id);
  expect(committed.written).toEqual([{ topic: "t", partition: 0, base_offset: 2, records: 1 }] as never);
  expect((await sql("SELECT v FROM t WHERE id = 1")).rows).toEqual([[10]]);
  expect(await close(id)).toBe(204);
  expect((await sql("SELECT 1", id)).code).toBe("08003");
  expect(await close(id)).toBe(404);
});

test("closing a session rolls back", async () => {
  const id = await open();
  await sql("BEGIN; DELETE FROM t", id);
  expect(await close(id)).toBe(204);
  expect((await sql("SELECT count(*) FROM t")).rows).toEqual([[2]]);
});

test("a forgotten transaction is rolled back, and its session told why", async () => {
  const id = await open();
  await sql("BEGIN", id);
  await sql("UPDATE t SET v = 99", id);
  // Waits for the turn that the forgotten one has.
  expect((await sql("UPDATE t SET v = 3 WHERE id = 2")).rows).toEqual([[1]]);
  const late = await sql("SELECT 1", id);
  expect([late.status, late.code]).toEqual([409, "25P03"]);
  expect((await sql("COMMIT", id)).code).toBe("25P02");
  expect((await sql("SELECT v FROM t ORDER BY id", id)).rows).toEqual([[10], [3]]);
  await close(id);
});

test("after an error everything but the end is refused", async () => {
  const id = await open();
  await sql("BEGIN", id);
  await sql("UPDATE t SET v = 7", id);
  expect((await sql("SELECT nothing", id)).code).toBe("42703");
  expect((await sql("SELECT 1", id)).code).toBe("25P02");
  expect((await sql("ROLLBACK", id)).status).toBe(200);
  expect((await sql("SELECT v FROM t ORDER BY id", id)).rows).toEqual([[10], [3]]);
  await close(id);
});

test("a transaction that only reads has one view of everything", async () => {
  const id = await open();
  await sql("BEGIN", id);
  const before = (await sql("SELECT sum(v) FROM t", id)).rows;
  await sql("UPDATE t SET v = v + 1");
  expect((await sql("SELECT sum(v) FROM t", id)).rows).toEqual(before!);
  expect((await sql("UPDATE t SET v = 0", id)).code).toBe("40001");
  await sql("ROLLBACK", id);
  expect((await sql("SELECT sum(v) FROM t", id)).rows).not.toEqual(before!);
  await close(id);
});

test("definitions wait for no transaction of their own session", async () => {
  const id = await open();
  await sql("BEGIN", id);
  expect((await sql("CREATE TABLE inside (a INTEGER)", id)).code).toBe("25001");
  await sql("ROLLBACK", id);
  await sql("BEGIN", id);
  await sql("UPDATE t SET v = 0", id);
  const made = sql("CREATE TABLE outside (a INTEGER)");
  await sql("ROLLBACK", id);
  expect((await made).status).toBe(200);
  await close(id);
});
