/** SQL writes to keyed tables: what consumers see, and that the table is the fold of its log. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Lake } from "../lake.ts";
import { pairs } from "./records.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(() => lake.close());

test("INSERT, UPDATE, DELETE make upserts and tombstones", async () => {
  await lake.sql("CREATE TABLE u (id BIGINT PRIMARY KEY, name VARCHAR, n INTEGER DEFAULT 7)");
  expect(await lake.sql("INSERT INTO u VALUES (1, 'ann', 1), (2, 'bob', 2)")).toEqual([[2]]);
  expect(await lake.sql("INSERT INTO u (id, name) VALUES (3, 'cy') RETURNING *")).toEqual([[3, "cy", 7]]);
  expect(await lake.sql("UPDATE u SET n = n + 10 WHERE id <= 2 RETURNING id, n")).toEqual([
    [1, 11],
    [2, 12],
  ]);
  expect(await lake.sql("DELETE FROM u WHERE id = 2 RETURNING name")).toEqual([["bob"]]);
  expect(await lake.sql("SELECT * FROM u ORDER BY id")).toEqual([
    [1, "ann", 11],
    [3, "cy", 7],
  ]);
  expect(pairs(lake, "u")).toEqual([
    '{"id":1}={"id":1,"name":"ann","n":1}',
    '{"id":2}={"id":2,"name":"bob","n":2}',
    '{"id":3}={"id":3,"name":"cy","n":7}',
    '{"id":1}={"id":1,"name":"ann","n":11}',
    '{"id":2}={"id":2,"name":"bob","n":12}',
    '{"id":2}=null',
  ]);
});

test("a duplicate key is 23505 and changes nothing", async () => {
  const before = pairs(lake, "u").length;
  expect(await lake.state("INSERT INTO u VALUES (9, 'x', 1), (1, 'y', 1)")).toBe("23505");
  expect(await lake.state("INSERT INTO u VALUES (9, 'x', 1), (9, 'y', 1)")).toBe("23505");
  expect(await lake.state("UPDATE u SET id = 3 WHERE id = 1")).toBe("23505");
  expect(await lake.state("INSERT INTO u VALUES (NULL, 'x', 1)")).toBe("23502");
  expect(await lake.sql("SELECT count(*) FROM u")).toEqual([[2]]);
  expect(pairs(lake, "u").length).toBe(before);
});

test("ON CONFLICT, OR REPLACE, OR IGNORE", async () => {
  await lake.sql("CREATE TABLE c (k VARCHAR PRIMARY KEY, v INTEGER, w INTEGER CHECK (w < 100))");
  await lake.sql("INSERT INTO c VALUES ('a', 1, 1)");
  expect(
    await lake.sql(
      "INSERT INTO c VALUES ('a', 5, 5), ('b', 6, 6) ON CONFLICT (k) DO UPDATE SET v = v + excluded.v RETURNING *",
    ),
  ).toEqual(
    [
      ["b", 6, 6],
      ["a", 6, 1],
    ].sort(),
  );
  expect(await lake.sql("INSERT INTO c VALUES ('a', 0, 0), ('c', 7, 7) ON CONFLICT DO NOTHING RETURNING k")).toEqual([
    ["c"],
  ]);
  expect(await lake.sql("INSERT OR IGNORE INTO c VALUES ('a', 0, 0)")).toEqual([[0]]);
  expect(await lake.sql("INSERT OR REPLACE INTO c (k, v, w) VALUES ('a', ?, ?)", [40, 41])).toEqual([[1]]);
  expect(await lake.state("INSERT INTO c VALUES ('a', 1, 1) ON CONFLICT (k) DO UPDATE SET w = 1000")).toBe("23514");
  expect(await lake.state("UPDATE c SET w = 1000")).toBe("23514");
  expect(await lake.sql("SELECT * FROM c ORDER BY k")).toEqual([
    ["a", 40, 41],
    ["b", 6, 6],
    ["c", 7, 7],
  ]);
  expect(pairs(lake, "c").toSorted()).toEqual(
    [
      '{"k":"a"}={"k":"a","v":1,"w":1}',
      '{"k":"a"}={"k":"a","v":6,"w":1}',
      '{"k":"b"}={"k":"b","v":6,"w":6}',
      '{"k":"c"}={"k":"c","v":7,"w":7}',
      '{"k":"a"}={"k":"a","v":40,"w":41}',
    ].toSorted(),
  );
});

test("a changed key is a delete and a create", async () => {
  await lake.sql("CREATE TABLE p (a INTEGER, b VARCHAR, v INTEGER, PRIMARY KEY (b, a))");
  await lake.sql("INSERT INTO p VALUES (1, 'x', 1), (2, 'x', 2)");
  expect(await lake.sql("UPDATE p SET a = a + 1")).toEqual([[2]]);
  expect(await lake.sql("SELECT a, b, v FROM p ORDER BY a")).toEqual([
    [2, "x", 1],
    [3, "x", 2],
  ]);
  expect(pairs(lake, "p").slice(2)).toEqual([
    '{"b":"x","a":1}=null',
    '{"b":"x","a":2}={"a":2,"b":"x","v":1}',
    '{"b":"x","a":3}={"a":3,"b":"x","v":2}',
  ]);
});

test("MERGE with all its actions, and TRUNCATE", async () => {
  await lake.sql("CREATE TABLE m (id INTEGER PRIMARY KEY, v VARCHAR)");
  await lake.sql("INSERT INTO m VALUES (1, 'a'), (2, 'b')");
  await lake.sql(
    `MERGE INTO m USING (VALUES (1, NULL), (2, 'B'), (3, 'C')) AS s(id, v) ON m.id = s.id
     WHEN MATCHED AND s.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)`,
  );
  expect(pairs(lake, "m").slice(2).toSorted()).toEqual(
    ['{"id":1}=null', '{"id":2}={"id":2,"v":"B"}', '{"id":3}={"id":3,"v":"C"}'].toSorted(),
  );
  expect(
    await lake.state(
      "MERGE INTO m USING (VALUES (8), (8)) AS s(id) ON m.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    ),
  ).toBe("23505");
  expect(await lake.sql("TRUNCATE TABLE m")).toEqual([[2]]);
  expect(pairs(lake, "m").slice(5).toSorted()).toEqual(['{"id":2}=null', '{"id":3}=null']);
  expect(await lake.sql("SELECT * FROM m")).toEqual([]);
});

test("INSERT from the table itself, by name, with CTEs", async () => {
  await lake.sql("CREATE TABLE s (id INTEGER PRIMARY KEY, v VARCHAR DEFAULT 'd')");
  await lake.sql("INSERT INTO s BY NAME SELECT 1 AS id");
  await lake.sql("WITH more AS (SELECT id + 1 AS id FROM s) INSERT INTO s (id) SELECT * FROM more");
  await lake.sql("INSERT INTO s SELECT id + 10, v || v FROM s");
  expect(await lake.sql("SELECT * FROM s ORDER BY id")).toEqual([
    [1, "d"],
    [2, "d"],
    [11, "dd"],
    [12, "dd"],
  ]);
  const failure = await lake.runner.execute("INSERT INTO s VALUES (1, nothing)").then(
    () => undefined,
    (error: { position?: number; message: string }) => error,
  );
  expect(failure?.position).toBe(26);
  expect(await lake.failure("INSERT INTO s (id, v) VALUES (20, NULL), (NULL, 'x')")).toContain("s.id");
});

test("several partitions: a key's records are in the partition that producers choose for it", async () => {
  await lake.sql("CREATE TABLE parts (id INTEGER PRIMARY KEY, v INTEGER) WITH (partitions = 4)");
  await lake.sql("INSERT INTO parts SELECT range, 0 FROM range(40)");
  await lake.sql("UPDATE parts SET v = 1");
  const seen = new Map<string, Set<number>>();
  for (let partition = 0; partition < 4; partition++)
    for (const pair of pairs(lake, "parts", partition)) {
      const key = pair.split("=")[0]!;
      seen.set(key, (seen.get(key) ?? new Set()).add(partition));
    }
  expect(seen.size).toBe(40);
  expect([...seen.values()].every((partitions) => partitions.size === 1)).toBe(true);
});

test("a transaction over one key ends with what it wrote last", async () => {
  await lake.sql("CREATE TABLE last (id INTEGER PRIMARY KEY, v INTEGER)");
  await lake.sql(
    "BEGIN; INSERT INTO last VALUES (1, 1); UPDATE last SET v = 2; DELETE FROM last; INSERT INTO last VALUES (1, 3); COMMIT",
  );
  expect(pairs(lake, "last")).toEqual([
    '{"id":1}={"id":1,"v":1}',
    '{"id":1}={"id":1,"v":2}',
    '{"id":1}=null',
    '{"id":1}={"id":1,"v":3}',
  ]);
  expect(await lake.sql("SELECT * FROM last")).toEqual([[1, 3]]);
});

test("DELETE … RETURNING of rows that the same transaction put in", async () => {
  await lake.sql("CREATE TABLE local (id INTEGER PRIMARY KEY, v INTEGER)");
  await lake.sql("INSERT INTO local VALUES (1, 1)");
  const id = lake.runner.sessions.open();
  const run = async (sql: string) => {
    const result = await lake.runner.execute(sql, { session: id });
    const rows: unknown[] = [];
    for await (const chunk of result.rows()) rows.push(...chunk.map((row) => JSON.parse(row) as unknown));
    return rows;
  };
  await run("BEGIN");
  await run("INSERT INTO local VALUES (2, 2)");
  expect(await run("DELETE FROM local WHERE v > 0 RETURNING v * 10")).toEqual([[10], [20]]);
  expect(
    await run(
      "MERGE INTO local USING (VALUES (5)) s(id) ON local.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, 0)",
    ),
  ).toEqual([[1]]);
  await run("COMMIT");
  await lake.runner.sessions.close(id);
  expect(await lake.sql("SELECT * FROM local")).toEqual([[5, 0]]);
  expect(pairs(lake, "local").slice(2).toSorted()).toEqual(
    ['{"id":1}=null', '{"id":2}=null', '{"id":5}={"id":5,"v":0}'].toSorted(),
  );
});

test("sequence_by: a row that SQL deleted is not brought back by a late older one", async () => {
  await lake.sql("CREATE TABLE seq (id INTEGER PRIMARY KEY, n BIGINT, v VARCHAR) WITH (sequence_by = n)");
  await lake.sql("INSERT INTO seq VALUES (1, 10, 'a'), (2, 10, 'b')");
  await lake.sql("DELETE FROM seq WHERE id = 1");
  await lake.produce("seq", ['{"id":1,"n":9,"v":"late"}', '{"id":2,"n":9,"v":"late"}']);
  expect(await lake.sql("SELECT id, v FROM seq")).toEqual([[2, "b"]]);
  await lake.produce("seq", ['{"id":1,"n":11,"v":"new"}']);
  expect(await lake.sql("SELECT id, v FROM seq ORDER BY id")).toEqual([
    [1, "new"],
    [2, "b"],
  ]);
});

test("produce() and its macros cannot be replaced or dropped", async () => {
  expect(await lake.state("DROP MACRO produce")).toBe("42501");
  expect(await lake.state("CREATE OR REPLACE MACRO produce(a) AS a")).toBe("0A000");
});

test("the record's own columns of a keyed table follow its records", async () => {
  await lake.sql(
    "CREATE TABLE own (id INTEGER PRIMARY KEY, v INTEGER, _key VARCHAR, _timestamp TIMESTAMP, _partition INTEGER, _offset BIGINT)",
  );
  await lake.sql("INSERT INTO own (id, v, _timestamp) VALUES (1, 1, TIMESTAMP '2020-01-01'), (2, 2, NULL)");
  await lake.produce("own", ['{"id":3,"v":3}']);
  await lake.sql("UPDATE own SET v = 10 WHERE id IN (1, 3)");
  const columns = "id, v, _key, _partition, _offset, _timestamp > TIMESTAMP '2021-01-01'";
  const rows = await lake.sql(`SELECT ${columns} FROM own ORDER BY id`);
  expect(rows.map(([id, , key, partition, , isNew]) => [id, key, partition, isNew])).toEqual([
    [1, '{"id":1}', 0, true],
    [2, '{"id":2}', 0, true],
    [3, '{"id":3}', 0, true],
  ]);
  expect(rows.map(([, , , , offset]) => offset).toSorted()).toEqual([1, 3, 4]);
  const before = await lake.sqlText("SELECT * FROM own ORDER BY id");
  await lake.stop();
  lake.forgetDatabase();
  await lake.start();
  expect(await lake.sqlText("SELECT * FROM own ORDER BY id")).toEqual(before);
});
