/** SQLSTATE, position, what is refused before DuckDB sees it, parameters, and telling statements apart. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SqlEngine } from "../../src/sql/engine.ts";
import { failure, startEngine, type TestEngine } from "./support.ts";

let running: TestEngine;
let engine: SqlEngine;
beforeAll(async () => {
  running = await startEngine();
  engine = running.engine;
  await engine.query("CREATE TABLE t (a INTEGER NOT NULL, b INTEGER UNIQUE, CHECK (a > 0))");
  await engine.query("INSERT INTO t VALUES (1, 1)");
}, 60_000);
afterAll(() => running.stop());

/** [statement, SQLSTATE, position] */
const failures: [string, string, number?][] = [
  ["selec 1", "42601", 1],
  ["SELECT * FROM nosuch", "42P01", 15],
  ["SELECT 'é', nosuch FROM t", "42703", 13],
  ["SELECT 1,\n  nosuch\nFROM t", "42703", 13],
  ["SELECT nosuch(1)", "42883", 8],
  ["SELECT b FROM t x JOIN t y ON x.a = y.a", "42702"],
  ["CREATE TABLE t (a INTEGER)", "42P07"],
  ["CREATE TABLE u (a NOSUCHTYPE)", "42704"],
  ["SELECT CAST('x' AS INTEGER)", "22P02"],
  ["SELECT 300::TINYINT", "22003"],
  ["SELECT 9223372036854775807::BIGINT + 1", "22003"],
  ["SELECT 'x'::DATE", "22007"],
  ["INSERT INTO t VALUES (NULL, 2)", "23502"],
  ["INSERT INTO t VALUES (2, 1)", "23505"],
  ["INSERT INTO t VALUES (-1, 3)", "23514"],
  ["SELECT a, count(*) FROM t", "42803"],
  ["SELECT * FROM nosuch.t", "42P01"],
  ["SELECT nextval('nosuch')", "42704"],
  ["", "42601"],
  ["SELECT 1; SELECT 2", "42601", 11],
  ["INSTALL json", "0A000", 1],
  ["LOAD json", "0A000", 1],
  ["ATTACH '/tmp/x.db'", "0A000", 1],
  ["COPY t TO '/tmp/rowlog-must-not-exist.csv'", "0A000", 1],
  ["EXPORT DATABASE '/tmp/x'", "0A000", 1],
  ["PRAGMA version", "0A000", 1],
  ["SET threads = 4", "0A000", 1],
  ["CHECKPOINT", "0A000", 1],
  ["FORCE CHECKPOINT", "0A000", 1],
  ["BEGIN", "0A000", 1],
  ["EXPLAIN ANALYZE COPY t TO '/tmp/x'", "0A000", 1],
  ["SELECT * FROM read_csv('/etc/passwd')", "0A000", 15],
  ["SELECT * FROM \"read_text\"('/etc/passwd')", "0A000", 15],
  ["SELECT * FROM query('SELECT 1')", "0A000", 15],
  ["CALL force_checkpoint()", "0A000", 6],
  ["SELECT * FROM 'x.csv'", "42501"],
  ["SELECT * FROM 'https://example.com/x.csv'", "42501"],
  ["SELECT to_json(1)", "0A000"],
  ["SELECT date_trunc('day', now())", "0A000"],
  ["SELECT timezone('Europe/Paris', now())", "0A000"],
  ["SELECT 'a' COLLATE de", "0A000"],
];

describe("each fails at once with its code", () => {
  for (const [sql, sqlstate, position] of failures) {
    test(sql.replaceAll("\n", " "), async () => {
      const error = await failure(engine.query(sql));
      expect([error.sqlstate, error.message]).toEqual([sqlstate, error.message]);
      if (position !== undefined) expect(error.position).toBe(position);
      expect(error.message).not.toContain("INSTALL json;");
      expect(error.message).not.toContain("LINE ");
    });
  }
});

test("parameters keep exact values of every type", async () => {
  const bytes = Uint8Array.of(0, 255, 39);
  const { rows } = await engine.query(
    "SELECT $1, $2, ?3, $4, $5, $6, $7, $8, typeof($1), typeof($2), typeof($4), typeof($6)",
    { params: [9007199254740993n, 170141183460469231731687303715884105727n, "it's \0 é", 1.5, null, true, bytes, -5] },
  );
  expect(rows).toEqual([
    '[9007199254740993,170141183460469231731687303715884105727,"it\'s \\u0000 é",1.5,null,true,"AP8n",-5,"BIGINT","HUGEINT","DOUBLE","BOOLEAN"]',
  ]);
  const named = await engine.query("SELECT $x, $y, '$x', $x -- $nosuch", {
    params: { x: "1'; DROP TABLE t; --", y: -0 },
  });
  expect(named.rows).toEqual(['["1\'; DROP TABLE t; --",-0.0,"$x","1\'; DROP TABLE t; --"]']);
  const large = "x".repeat(10_000_000);
  expect((await engine.query("SELECT length($1)", { params: [large] })).rows).toEqual(["[10000000]"]);
  expect((await failure(engine.query("SELECT $1, $2", { params: [1] }))).sqlstate).toBe("42P02");
  expect((await failure(engine.query("SELECT $1", { params: [1, 2] }))).sqlstate).toBe("08P01");
  const shifted = await failure(engine.query("SELECT $1, nosuch", { params: ["a long text before the fault"] }));
  expect([shifted.sqlstate, shifted.position]).toEqual(["42703", 12]);
});

test("statements are cut and told apart by token", async () => {
  const sql = `SELECT 'a;b', "c;d", $$e;f$$ -- ;
    ; /* ; */ CREATE TEMP TABLE x AS SELECT 1;;
    WITH w AS (SELECT 1) INSERT INTO é SELECT * FROM w; (FROM t); EXPLAIN ANALYZE DELETE FROM t; drop view if exists v`;
  const statements = await engine.statements(sql);
  expect(statements.map(({ kind }) => kind)).toEqual([
    "select",
    "create_table",
    "insert",
    "select",
    "explain",
    "drop_view",
  ]);
  for (const { text, offset } of statements) expect(sql.slice(offset, offset + text.length)).toBe(text);
  expect(statements[1]!.temporary).toBe(true);
  expect(statements[4]!.explained).toBe("delete");
  expect(statements[1]!.text).toBe("CREATE TEMP TABLE x AS SELECT 1");
  expect(await engine.statements(" -- nothing\n;")).toEqual([]);
});

test("table names come from DuckDB, whatever the parameters", async () => {
  expect(await engine.tableNames('SELECT * FROM a, (SELECT 1 FROM s."b.c" WHERE x IN (SELECT $1 FROM d))')).toEqual([
    "a",
    "b.c",
    "d",
  ]);
});
