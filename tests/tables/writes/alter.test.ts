/** ALTER TABLE: rows and records before and after, crashes between catalog and DuckDB, tables made anew from logs of several versions. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Lake } from "../lake.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(() => lake.close());

const rows = (table: string, columns = "*") => lake.sqlText(`SELECT ${columns} FROM ${table} ORDER BY ALL`);

/** The same rows after DuckDB's files were lost. */
async function sameAfterRebuild(...tables: string[]): Promise<void> {
  const before = await Promise.all(tables.map((table) => rows(table)));
  await lake.stop();
  lake.forgetDatabase();
  await lake.start();
  expect(await Promise.all(tables.map((table) => rows(table)))).toEqual(before);
}

test("columns come, go and get other names; old records are read by their version", async () => {
  await lake.sql("CREATE TABLE t (id INTEGER, a VARCHAR, b INTEGER)");
  await lake.produce("t", ['{"id":1,"a":"x","b":1}']);
  await lake.sql("ALTER TABLE t ADD COLUMN c VARCHAR DEFAULT 'none'");
  await lake.produce("t", ['{"id":2,"a":"y","b":2}', '{"id":3,"a":"z","b":3,"c":"given"}']);
  await lake.sql("ALTER TABLE t RENAME COLUMN a TO name");
  await lake.produce("t", ['{"id":4,"name":"n","a":"dropped","b":4,"c":null}']);
  await lake.sql("ALTER TABLE t DROP COLUMN b");
  await lake.sql("ALTER TABLE t ADD COLUMN a JSON");
  await lake.sql(`INSERT INTO t VALUES (5, 'sql', 'c', '{"k":1}')`);
  expect(await rows("t", "id, name, c, a")).toEqual([
    '[1,"x","none",null]',
    '[2,"y","none",null]',
    '[3,"z","given",null]',
    '[4,"n",null,null]',
    '[5,"sql","c","{\\"k\\":1}"]',
  ]);
  expect(lake.logged("t")).toEqual([
    '{"id":1,"a":"x","b":1}',
    '{"id":2,"a":"y","b":2,"c":"none"}',
    '{"id":3,"a":"z","b":3,"c":"given"}',
    '{"id":4,"name":"n","b":4,"c":null}',
    '{"id":5,"name":"sql","c":"c","a":{"k":1}}',
  ]);
  await sameAfterRebuild("t");
});

test("NOT NULL, defaults, wider types", async () => {
  await lake.sql("CREATE TABLE n (id INTEGER, v SMALLINT, d DECIMAL(5,2))");
  await lake.produce("n", ['{"id":1,"v":1,"d":1.5}']);
  expect(await lake.state("ALTER TABLE n ALTER COLUMN v TYPE TINYINT")).toBe("0A000");
  expect(await lake.state("ALTER TABLE n ALTER COLUMN d TYPE DOUBLE")).toBe("0A000");
  await lake.sql("ALTER TABLE n ALTER COLUMN v TYPE BIGINT");
  await lake.sql("ALTER TABLE n ALTER d SET DATA TYPE DECIMAL(12,4)");
  await lake.sql("ALTER TABLE n ALTER COLUMN v SET NOT NULL");
  expect((await lake.produce("n", ['{"id":2}'])).errorCode).not.toBe(0);
  await lake.sql("ALTER TABLE n ALTER COLUMN v SET DEFAULT 40 + 2");
  expect((await lake.produce("n", ['{"id":2}'])).errorMessage).toBe(null);
  await lake.sql("ALTER TABLE n ALTER COLUMN v DROP DEFAULT");
  await lake.sql("ALTER TABLE n ALTER COLUMN v DROP NOT NULL");
  await lake.sql("INSERT INTO n (id) VALUES (3)");
  expect(await lake.state("ALTER TABLE n ALTER COLUMN v SET NOT NULL")).toBe("23502");
  await lake.produce("n", ['{"id":4,"v":9000000000}']);
  expect(await rows("n")).toEqual(["[1,1,1.5000]", "[2,42,null]", "[3,null,null]", "[4,9000000000,null]"]);
  await sameAfterRebuild("n", "t");
});

test("keyed tables keep their key", async () => {
  await lake.sql("CREATE TABLE k (id INTEGER PRIMARY KEY, v VARCHAR, w INTEGER CHECK (w > 0))");
  await lake.sql("INSERT INTO k VALUES (1, 'a', 1), (2, 'b', 2)");
  for (const sql of [
    "ALTER TABLE k RENAME COLUMN id TO key",
    "ALTER TABLE k DROP COLUMN id",
    "ALTER TABLE k ALTER COLUMN id TYPE BIGINT",
    "ALTER TABLE k RENAME TO other",
    "ALTER TABLE k ADD CONSTRAINT c CHECK (id > 0)",
    "ALTER TABLE k ADD COLUMN r INTEGER DEFAULT random()",
    "ALTER TABLE k ADD COLUMN _offset BIGINT",
    "ALTER VIEW v RENAME TO w",
  ])
    expect([sql, await lake.state(sql)]).toEqual([sql, "0A000"]);
  expect(await lake.state("ALTER TABLE k ADD COLUMN n INTEGER NOT NULL")).toBe("23502");
  expect(await lake.state("ALTER TABLE k ADD COLUMN v INTEGER")).toBe("42701");
  expect(await lake.state("ALTER TABLE k DROP COLUMN nothing")).toBe("42703");
  expect(await lake.state("ALTER TABLE nothing DROP COLUMN v")).toBe("42P01");
  expect(await lake.state("ALTER TABLE k DROP COLUMN w")).not.toBe("it did not fail");
  await lake.sql("ALTER TABLE IF EXISTS nothing DROP COLUMN v");
  await lake.sql("ALTER TABLE k DROP COLUMN IF EXISTS nothing");
  await lake.sql("ALTER TABLE k ADD COLUMN IF NOT EXISTS v INTEGER");
  await lake.sql("ALTER TABLE k RENAME COLUMN v TO text");
  await lake.sql("ALTER TABLE k ADD COLUMN e ENUM('x', 'y') DEFAULT 'x'");
  await lake.sql("UPDATE k SET e = 'y' WHERE id = 2");
  await lake.produce("k", [{ key: '{"id":1}', value: null }, { value: '{"id":3,"text":"t","w":3}' }]);
  expect(await rows("k")).toEqual(['[2,"b",2,"y"]', '[3,"t",3,"x"]']);
  expect(await lake.state("INSERT INTO k VALUES (9, '', -1, 'x')")).toBe("23514");
  await sameAfterRebuild("k");
});

test("a crash between the catalog and DuckDB is put right at the next start", async () => {
  await lake.sql("CREATE TABLE c (id INTEGER)");
  await lake.produce("c", ['{"id":1}']);
  const { openSession } = lake.engine!;
  // The catalog has it, DuckDB's commit is lost.
  lake.engine!.openSession = async function (this: typeof lake.engine) {
    const session = await openSession.call(this!);
    session.commit = async () => {
      await session.rollback();
    };
    return session;
  } as typeof openSession;
  await lake.sql("ALTER TABLE c ADD COLUMN v INTEGER DEFAULT 7");
  await lake.stop();
  await lake.start();
  await lake.produce("c", ['{"id":2}']);
  expect(await rows("c")).toEqual(["[1,7]", "[2,7]"]);
});

test("a node that is killed has its alterations from DuckDB's log", async () => {
  const directory = mkdtempSync(join(tmpdir(), "rowlog-alter-"));
  const script = fileURLToPath(new URL("./alter_child.ts", import.meta.url));
  const child = spawn(process.execPath, [script, directory], { stdio: "inherit" });
  await new Promise((resolve) => child.on("close", resolve));
  expect(child.signalCode).toBe("SIGKILL");
  const killed = await Lake.open(undefined, directory);
  const expected = ['[1,"x",1]', '[2,"y",2]', '[3,"z",null]'];
  expect(await killed.sqlText("SELECT * FROM t ORDER BY id")).toEqual(expected);
  expect(await killed.state("INSERT INTO t (id) VALUES (4)")).toBe("23502");
  expect(await killed.sql("SELECT comment FROM duckdb_tables() WHERE table_name = 't'")).toEqual([["altered"]]);
  await killed.stop();
  killed.forgetDatabase();
  await killed.start();
  expect(await killed.sqlText("SELECT * FROM t ORDER BY id")).toEqual(expected);
  await killed.close();
});

test("batches in flight meet one version each", async () => {
  await lake.sql("CREATE TABLE f (id INTEGER)");
  const outcomes: Promise<{ errorMessage: string | null }>[] = [];
  let stopped = false;
  const producing = (async () => {
    for (let id = 0; !stopped; id++) {
      outcomes.push(lake.produce("f", [`{"id":${id}}`, `{"id":${id}}`]));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  for (let i = 0; i < 4; i++) await lake.sql(`ALTER TABLE f ADD COLUMN c${i} INTEGER DEFAULT ${i}`);
  stopped = true;
  await producing;
  for (const outcome of await Promise.all(outcomes)) expect(outcome.errorMessage).toBe(null);
  const columns = lake.logged("f").map((value) => Object.keys(JSON.parse(value!) as object).length);
  expect(columns).toEqual(columns.toSorted((a, b) => a - b));
  expect(await lake.sql("SELECT count(*), sum(c0 + c1 + c2 + c3) FROM f")).toEqual([
    [columns.length, columns.length * 6],
  ]);
  await sameAfterRebuild("f");
});

test("COMMENT ON", async () => {
  await lake.sql("COMMENT ON TABLE f IS 'numbers'");
  await lake.sql("COMMENT ON COLUMN f.id IS 'the id'");
  expect(await lake.sql("SELECT comment FROM duckdb_tables() WHERE table_name = 'f'")).toEqual([["numbers"]]);
  await lake.stop();
  await lake.start();
  expect(await lake.sql("SELECT comment FROM duckdb_columns() WHERE table_name = 'f' AND column_name = 'id'")).toEqual([
    ["the id"],
  ]);
});
