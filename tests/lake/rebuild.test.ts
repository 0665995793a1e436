/** `rowlog rebuild`: tables anew from their logs, and those that their logs do not tell refused by name. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "../../src/base/log.ts";
import { SqlEngine } from "../../src/sql/engine.ts";
import { rowlog, TestLake } from "./commands.ts";

setDefaultTimeout(300_000);

let lake: TestLake;
beforeEach(async () => {
  lake = new TestLake();
  await lake.start();
  await lake.sql("CREATE TABLE rows (id BIGINT NOT NULL, name VARCHAR)");
  await lake.sql("CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR)");
  await lake.sql("CREATE TABLE notes (text VARCHAR)");
  await lake.sql("CREATE VIEW names AS SELECT name FROM rows");
  await lake.produce("rows", [{ id: 1, name: "a" }]);
  await lake.sql("INSERT INTO rows VALUES (2, 'b'), (3, 'c')");
  await lake.sql("INSERT INTO users VALUES (1, 'x'), (2, 'y')");
  await lake.sql("UPDATE users SET name = 'z' WHERE id = 2");
  await lake.sql("INSERT INTO notes VALUES ('a'), ('b')");
  await lake.sql("DELETE FROM notes WHERE text = 'a'");
  await lake.stop();
});
afterEach(() => lake.remove());

const contents = async () => [
  await lake.sql("SELECT id, name FROM rows ORDER BY id"),
  await lake.sql("SELECT id, name FROM users ORDER BY id"),
  await lake.sql("SELECT text FROM notes"),
  await lake.sql("SELECT count(*) FROM names"),
];
const before = [
  [
    [1, "a"],
    [2, "b"],
    [3, "c"],
  ],
  [
    [1, "x"],
    [2, "z"],
  ],
  [["b"]],
  [[3]],
];

test("tables that somebody damaged are as their logs tell again, what SQL wrote included", async () => {
  const engine = await SqlEngine.start({ path: join(lake.lake, "tables.duckdb"), logger: silentLogger });
  await engine.query("DELETE FROM rowlog.main.rows WHERE id < 3");
  await engine.query("UPDATE rowlog.main.users SET name = 'wrong'");
  await engine.close();
  expect((await rowlog("check", lake.lake)).code).toBe(1);
  const some = await rowlog("rebuild", lake.lake, "rows");
  expect(some).toMatchObject({ code: 0, err: "", out: "table rows: 3 rows from 3 offsets\n" });
  const all = await rowlog("rebuild", lake.lake);
  expect(all.code).toBe(1);
  expect(all.err).toBe(
    'rowlog: table "notes" stays as it is: SQL has updated or deleted rows of it, which its log does not tell\n',
  );
  expect(all.out).toContain("table users: 2 rows from");
  expect((await rowlog("check", lake.lake)).code).toBe(0);
  await lake.start();
  expect((await contents()) as unknown).toEqual(before);
  // SQL goes on to write, with its records behind the others.
  await lake.sql("INSERT INTO rows VALUES (4, 'd')");
  await lake.sql("UPDATE users SET name = 'w' WHERE id = 1");
  await lake.stop();
  expect((await rowlog("check", lake.lake)).code).toBe(0);
});

test("a table whose log has lost its begin is refused", async () => {
  await lake.start();
  const { kafka_address: address } = (await (await lake.http("GET", "/version")).json()) as { kafka_address: string };
  const trimmed = await rowlog("topic", "trim-prefix", "rows", "--offset", "2", "-b", address);
  expect(trimmed.code).toBe(0);
  await lake.stop();
  const refused = await rowlog("rebuild", lake.lake, "rows");
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('table "rows" stays as it is: its log no longer has the records before offset 2');
  await lake.start();
  expect((await contents()) as unknown).toEqual(before);
});

test("a database that cannot be opened is put aside when asked for", async () => {
  const path = join(lake.lake, "tables.duckdb");
  writeFileSync(path, new Uint8Array(readFileSync(path)).fill(0x55, 0, 12_288));
  const refused = await rowlog("rebuild", lake.lake);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("--discard-database");
  const made = await rowlog("rebuild", lake.lake, "--discard-database");
  expect(made).toMatchObject({ code: 0 });
  expect(made.out).toContain("table notes: 2 rows from 2 offsets");
  expect(readdirSync(lake.lake).filter((name) => name.includes(".discarded-")).length).toBeGreaterThan(0);
  await lake.start();
  expect((await lake.sql("SELECT id, name FROM rows ORDER BY id")) as unknown).toEqual(before[0]);
});

test("unknown tables are told", async () => {
  const { code, err } = await rowlog("rebuild", lake.lake, "nobody");
  expect([code, err]).toEqual([1, 'rowlog: there is no table "nobody"; there are rows, users, notes\n']);
});
