import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Lake } from "./lake.ts";

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
  await lake.tables.engine();
});
afterAll(() => lake.close());

describe("typed tables", () => {
  test("rows produced are rows selected", async () => {
    await lake.sql("CREATE TABLE events (user VARCHAR, amount BIGINT, _key VARCHAR, _timestamp TIMESTAMP)");
    const records = [0, 1, 2, 3, 4].map((n) => ({
      key: `u${n % 2}`,
      value: `{"user": "u${n % 2}", "amount": ${n}}`,
      timestamp: 1_700_000_000_000 + n,
    }));
    expect((await lake.produce("events", records)).errorCode).toBe(0);
    expect(await lake.sql("SELECT user, amount, _key, _timestamp FROM events ORDER BY amount LIMIT 2")).toEqual([
      ["u0", 0, "u0", "2023-11-14T22:13:20"],
      ["u1", 1, "u1", "2023-11-14T22:13:20.001"],
    ]);
    expect(lake.logged("events")).toEqual(records.map((record) => record.value));
    for (let n = 5; n < 30; n++) {
      await lake.produce("events", [`{"user":"x","amount":${n}}`]);
      expect(await lake.sql("SELECT count(*), max(amount) FROM events")).toEqual([[n + 1, n]]);
    }
  });

  test("a refused batch leaves nothing", async () => {
    const outcome = await lake.produce("events", ['{"amount": 100}', '{"amount": 1.5}', "nonsense"]);
    expect(outcome.errorCode).toBe(87);
    expect(outcome.recordErrors.map((fault) => fault.index)).toEqual([1, 2]);
    expect(outcome.errorMessage).toContain("2 of 3 records");
    expect(await lake.sql("SELECT count(*) FROM events WHERE amount = 100")).toEqual([[0]]);
    expect(lake.lines.filter((line) => line.includes("efused")).length).toBe(1);
  });
});

describe("raw tables", () => {
  test("any value as it is", async () => {
    await lake.sql("CREATE TABLE lines (_key VARCHAR, _value VARCHAR, _timestamp TIMESTAMP)");
    const values = ['{"event": "a",  "n": 1}', "not json", "", null, "é\u0000"];
    const outcome = await lake.produce(
      "lines",
      values.map((value, i) => ({ key: i === 1 ? null : `k${i}`, value })),
    );
    expect(outcome.errorCode).toBe(0);
    expect(await lake.sql("SELECT _key, _value FROM lines ORDER BY _key NULLS FIRST")).toEqual([
      [null, "not json"],
      ["k0", '{"event": "a",  "n": 1}'],
      ["k2", ""],
      ["k3", null],
      ["k4", "é\u0000"],
    ]);
    expect(lake.logged("lines")).toEqual(values);
  });
  test("bytes that are not UTF-8", async () => {
    const bytes = new Uint8Array([0xff, 0]);
    const refused = await lake.produce("lines", [{ value: bytes }]);
    expect(refused.errorCode).toBe(87);
    expect(refused.recordErrors[0]!.message).toContain("not valid UTF-8 at byte 0");
    expect((await lake.produce("lines", [{ key: bytes, value: "x" }])).errorCode).toBe(87);
    await lake.sql(
      "CREATE TABLE bytes (_key BLOB, _value BLOB, _partition INTEGER, _offset BIGINT) WITH (partitions = 2)",
    );
    for (const partition of [1, 0]) await lake.produce("bytes", [{ key: bytes, value: bytes }], { partition });
    expect(await lake.sql("FROM bytes ORDER BY _partition")).toEqual([
      ["/wA=", "/wA=", 0, 0],
      ["/wA=", "/wA=", 1, 0],
    ]);
  });
  test("JSON must be JSON", async () => {
    await lake.sql("CREATE TABLE docs (_value JSON)");
    expect((await lake.produce("docs", ['{"a": 1}', " [1] "])).errorCode).toBe(0);
    const refused = await lake.produce("docs", ["x"]);
    expect(refused.recordErrors[0]!.message).toContain("not valid JSON");
    expect(await lake.sql("SELECT count(*) FROM docs")).toEqual([[2]]);
  });
  test("headers keep their order and repeats; null, empty and text stay apart", async () => {
    await lake.sql("CREATE TABLE h (_value BLOB, _headers STRUCT(key VARCHAR, value BLOB)[], _key BLOB)");
    const headers = [
      { key: "b", value: "1" },
      { key: "a", value: null },
      { key: "b", value: "" },
      { key: "", value: "2" },
    ];
    await lake.produce("h", [
      { value: "x", key: "", headers },
      { value: "", key: null, headers: [] },
    ]);
    expect(await lake.sql("FROM h")).toEqual([
      [
        "eA==",
        [
          { key: "b", value: "MQ==" },
          { key: "a", value: null },
          { key: "b", value: "" },
          { key: "", value: "Mg==" },
        ],
        "",
      ],
      ["", [], null],
    ]);
    await lake.sql("CREATE TABLE hm (_value BLOB, _headers MAP(VARCHAR, VARCHAR))");
    await lake.produce("hm", [{ value: "x", headers: headers.map(({ key, value }) => ({ key, value })) }]);
    expect(await lake.sql("SELECT _headers FROM hm")).toEqual([[{ b: "", a: null, "": "2" }]]);
  });
});

describe("defaults and checks", () => {
  test("constants, expressions, sequences", async () => {
    await lake.sql("CREATE SEQUENCE ids START 10");
    await lake.sql(`CREATE TABLE d (a INTEGER DEFAULT 7, b VARCHAR DEFAULT 'x''y', id BIGINT DEFAULT nextval('ids'), u UUID DEFAULT uuid(),
      t TIMESTAMPTZ DEFAULT now(), j JSON DEFAULT '{"k": [1]}', l INTEGER[] DEFAULT [1, 2], s STRUCT(x INTEGER) DEFAULT {'x': 1},
      dec DECIMAL(6,2) DEFAULT 1.5, n INTEGER, day DATE DEFAULT DATE '2024-01-01', up VARCHAR DEFAULT upper('abc'))`);
    const outcome = await lake.produce("d", ["{}", '{"a":null,"id":1,"j":null}', '{"n":3}']);
    expect(outcome.errorMessage).toBe(null);
    const rows = await lake.sql(
      "SELECT a, b, id, j, l, s, dec, n, day, up, u IS NOT NULL, t > TIMESTAMPTZ '2024-01-01 00:00:00+00' FROM d",
    );
    expect(rows.map((row) => row.slice(0, 3))).toEqual([
      [7, "x'y", 10],
      [null, "x'y", 1],
      [7, "x'y", 11],
    ]);
    expect(rows[0]!.slice(3)).toEqual(['{"k": [1]}', [1, 2], { x: 1 }, 1.5, null, "2024-01-01", "ABC", true, true]);
    expect(rows[1]![3]).toBe(null);
    expect(await lake.sql("SELECT count(DISTINCT u) FROM d")).toEqual([[3]]);
    const logged = lake.logged("d").map((value) => JSON.parse(value!) as Record<string, unknown>);
    expect(Object.keys(logged[0]!)).toEqual(["a", "b", "id", "u", "t", "j", "l", "s", "dec", "n", "day", "up"]);
    expect(logged.map((row) => row.id)).toEqual([10, 1, 11]);
    expect(logged[0]!.j).toEqual({ k: [1] });
    expect(logged[0]!.u).toBe((await lake.sql("SELECT u FROM d"))[0]![0]);
  });
  test("CHECK", async () => {
    await lake.sql(
      "CREATE TABLE c (a INTEGER CHECK (a > 0), b INTEGER, _key VARCHAR, CHECK (b IS NULL OR a < c.b), CHECK (100 / (a - 5) < 1000))",
    );
    expect((await lake.produce("c", ['{"a":1,"b":2}', '{"a":1}', '{"a":null,"b":1}'])).errorCode).toBe(0);
    const refused = await lake.produce("c", ['{"a":1}', '{"a":-1}', '{"a":3,"b":2}']);
    expect(refused.recordErrors).toEqual([
      { index: 1, message: "CHECK ((a > 0)) is false" },
      { index: 2, message: "CHECK (((b IS NULL) OR (a < c.b))) is false" },
    ]);
    expect(await lake.sql("SELECT count(*) FROM c")).toEqual([[3]]);
    expect(await lake.failure("CREATE TABLE c2 (_offset BIGINT CHECK (_offset > 1), x INTEGER)")).toContain(
      "cannot use _offset",
    );
  });
  test("a CHECK that depends on the time holds when the record is produced, and not again when its row is applied", async () => {
    await lake.sql("CREATE TABLE now_only (a INTEGER, s VARCHAR DEFAULT ',(', CHECK (a < 3 + random()))");
    expect((await lake.produce("now_only", ['{"a":1}', '{"a":3}'])).errorCode).toBe(0);
    expect((await lake.produce("now_only", ['{"a":4}'])).errorCode).toBe(87);
    expect(await lake.sql("FROM now_only")).toEqual([
      [1, ",("],
      [3, ",("],
    ]);
    expect(lake.catalog.topic("now_only")!.table!.sql).toContain("CHECK");
    expect(await lake.sql("SELECT count(*) FROM duckdb_constraints() WHERE table_name = 'now_only'")).toEqual([[0]]);
  });
  test("generated columns", async () => {
    await lake.sql("CREATE TABLE g (a INTEGER, twice INTEGER GENERATED ALWAYS AS (a * 2))");
    await lake.produce("g", ['{"a": 4}', '{"a": 5, "twice": 1}']);
    expect(await lake.sql("FROM g")).toEqual([
      [4, 8],
      [5, 10],
    ]);
    expect(lake.logged("g")).toEqual(['{"a": 4}', '{"a":5}']);
    // One that fails would make every later read of the table fail.
    await lake.sql("CREATE TABLE gx (a VARCHAR, n INTEGER GENERATED ALWAYS AS (CAST(a AS INTEGER)), b INTEGER)");
    expect((await lake.produce("gx", ['{"a":"7","b":1}'])).errorCode).toBe(0);
    const refused = await lake.produce("gx", ['{"a":"8"}', '{"a":"x"}', '{"a":"12"}']);
    expect(refused.recordErrors.map((fault) => fault.index)).toEqual([1]);
    expect(refused.recordErrors[0]!.message).toContain("Could not convert string 'x' to INT32");
    expect(await lake.sql("FROM gx")).toEqual([["7", 7, 1]]);
  });
});

describe("definitions", () => {
  const refusals: [sql: string, state: string, words: string, position?: number][] = [
    ["CREATE TABLE events (a INTEGER)", "42P07", "exists already", 14],
    ["CREATE TABLE Events (a INTEGER)", "42P07", "differs from it only in case", 14],
    ['CREATE TABLE "a b" (a INTEGER)', "42602", "ASCII alphanumerics"],
    [`CREATE TABLE ${"x".repeat(250)} (a INTEGER)`, "42602", "249"],
    ["CREATE TABLE p (_key VARCHAR PRIMARY KEY, a INTEGER)", "0A000", "_key receives the record's own"],
    ["CREATE TABLE p (a INTEGER PRIMARY KEY, PRIMARY KEY (a))", "42601", "more than one primary key"],
    ["CREATE TABLE p (a INTEGER, PRIMARY KEY (b))", "42703", "does not have a column"],
    ["CREATE TABLE p (a INTEGER[] PRIMARY KEY)", "42704", "Invalid type"],
    ["CREATE TABLE p (a INTEGER) WITH (format = 'xml')", "22023", "'json', 'debezium', 'auto'"],
    ["CREATE TABLE p (a INTEGER) WITH (sequence_by = a)", "22023", "PRIMARY KEY"],
    ["CREATE TABLE p (a INTEGER PRIMARY KEY) WITH (sequence_by = b)", "22023", "no such column"],
    ["CREATE TABLE p (a INTEGER PRIMARY KEY, b INTEGER[]) WITH (sequence_by = b)", "22023", "no order"],
    ["CREATE TABLE p (_value VARCHAR) WITH (format = 'debezium')", "22023", "interprets nothing"],
    ["CREATE TABLE p (a INTEGER UNIQUE)", "0A000", "UNIQUE (a)"],
    ["CREATE TABLE p AS SELECT nothing", "42703", "nothing"],
    ["CREATE TEMP TABLE p (a INTEGER)", "0A000", "temporary"],
    ["CREATE TABLE p (a NOTYPE)", "42704", "NOTYPE"],
    ["CREATE TABLE p (a INTEGER", "42601", "not closed"],
    ["CREATE TABLE p (a INTEGER,, b INTEGER)", "42601", "syntax error", 27],
    ["CREATE TABLE p (a INTEGER) WITH (partitions = 0)", "22023", "partitions"],
    ["CREATE TABLE p (a INTEGER) WITH (colour = 1)", "22023", "colour"],
    ["CREATE TABLE p (a INTEGER, _value VARCHAR)", "0A000", "_value"],
    ["CREATE TABLE p (a INTEGER, _key INTEGER)", "42804", "VARCHAR or BLOB"],
    ["CREATE TABLE p (a UNION(x INTEGER))", "0A000", "cannot be filled from JSON"],
    ["CREATE TABLE p (j JSON DEFAULT 'x')", "22P02", "does not fit JSON"],
    ["CREATE TABLE nowhere.p (a INTEGER)", "3F000", "nowhere"],
    ["CREATE TABLE _rowlog.p (a INTEGER)", "42501", "belongs to the node"],
    ["INSERT INTO nothing VALUES (1)", "42P01", "no table", 13],
    ["UPDATE events SET nothing = 1", "42703", "nothing"],
    ["DELETE FROM _rowlog.cursors", "42501", "belongs to the node", 13],
    ["SAVEPOINT s", "42601", "no statement begins so"],
    ["ALTER TABLE events ADD CHECK (amount > 0)", "0A000", "constraints"],
    ["COPY events FROM 'x.csv'", "0A000", "COPY"],
    ["EXPLAIN ANALYZE DELETE FROM events", "0A000", "EXPLAIN"],
    ["SELECT 1; INSERT INTO nothing VALUES (1)", "42P01", "nothing", 23],
    ["SELECT nothing FROM events", "42703", "nothing", 8],
    ["SELECT 1; SELECT nothing FROM events", "42703", "nothing", 18],
    ["DROP TABLE nothing", "42P01", "does not exist", 12],
    ["CREATE VIEW events AS SELECT 1", "42P07", "would hide it", 13],
    ["", "42601", "no statement"],
    ["-- nothing", "42601", "no statement"],
  ];
  for (const [sql, sqlstate, words, position] of refusals)
    test(`refuses ${sql.slice(0, 60)}`, async () => {
      const error = await lake.sql(sql).then(
        () => undefined,
        (failure: { sqlstate: string; message: string; position?: number }) => failure,
      );
      expect(error?.message).toContain(words);
      expect(error?.sqlstate).toBe(sqlstate);
      if (position !== undefined) expect(error?.position).toBe(position);
    });

  test("names with dots, dashes, quotes; schemas", async () => {
    await lake.sql('CREATE TABLE "postgres.public.data" (a INTEGER)');
    await lake.sql('CREATE TABLE "my-topic" ("from" INTEGER, "a ""b""" INTEGER, "ünï" VARCHAR)');
    await lake.sql("CREATE SCHEMA s; CREATE TABLE s.t (a INTEGER)");
    await lake.produce("postgres.public.data", ['{"a":1}']);
    await lake.produce("my-topic", ['{"from":1,"a \\"b\\"":2,"ünï":"x"}', '{"ünï":"y"}']);
    await lake.produce("s.t", ['{"a":3}']);
    expect(await lake.sql('FROM "postgres.public.data"')).toEqual([[1]]);
    expect(await lake.sql('SELECT "from", "a ""b""", ünï FROM "my-topic"')).toEqual([
      [1, 2, "x"],
      [null, null, "y"],
    ]);
    expect(lake.logged("my-topic")[1]).toBe('{"from":null,"a \\"b\\"":null,"ünï":"y"}');
    expect(await lake.sql("SELECT a FROM s.t")).toEqual([[3]]);
    expect(await lake.failure('CREATE TABLE "s.t" (a INTEGER)')).toContain('is that of table "t" in schema "s"');
    expect(await lake.failure("DROP SCHEMA s CASCADE")).toContain("has tables");
  });

  test("IF NOT EXISTS, OR REPLACE, DROP", async () => {
    await lake.sql("CREATE TABLE IF NOT EXISTS r (a INTEGER)");
    await lake.produce("r", ['{"a":1}']);
    await lake.sql("CREATE TABLE IF NOT EXISTS r (b VARCHAR)");
    expect(await lake.sql("FROM r")).toEqual([[1]]);
    const before = lake.catalog.topic("r")!.id;
    await lake.sql('CREATE OR REPLACE TABLE r (b VARCHAR) WITH (partitions = 3, "retention.ms" = 1000)');
    expect(await lake.sql("FROM r")).toEqual([]);
    const topic = lake.catalog.topic("r")!;
    expect(topic.id).not.toBe(before);
    expect([topic.partitions, topic.configs.get("retention.ms")]).toEqual([3, "1000"]);
    await lake.produce("r", ['{"b":"x"}'], { partition: 2 });
    expect(await lake.sql("FROM r")).toEqual([["x"]]);
    await lake.sql("DROP TABLE r");
    await lake.sql("DROP TABLE IF EXISTS r");
    expect(lake.catalog.topic("r")).toBe(undefined);
    expect(await lake.failure("FROM r")).toContain("r");
    await lake.sql("CREATE TABLE r (c INTEGER)");
    expect(await lake.sql("FROM r")).toEqual([]);
  });

  test("a topic deleted by Kafka's API takes its table along", async () => {
    await lake.sql("CREATE TABLE gone (a INTEGER)");
    await lake.produce("gone", ['{"a":1}']);
    await lake.topics.remove(lake.catalog.topic("gone")!);
    await lake.tables.settled();
    expect(await lake.failure("FROM gone")).toContain("gone");
  });

  test("views, macros, types and sequences; SHOW, DESCRIBE, EXPLAIN, SUMMARIZE, WITH, VALUES", async () => {
    await lake.sql("CREATE VIEW v AS SELECT user, sum(amount) AS total FROM events GROUP BY user");
    await lake.sql("CREATE TYPE mood AS ENUM ('ok', 'bad'); CREATE MACRO twice(x) AS x * 2");
    await lake.sql("CREATE TABLE moods (m mood, n INTEGER DEFAULT twice(4))");
    await lake.produce("moods", ['{"m":"bad"}']);
    expect((await lake.produce("moods", ['{"m":"worse"}'])).errorCode).toBe(87);
    expect(await lake.sql("SELECT m, n FROM moods")).toEqual([["bad", 8]]);
    expect((await lake.sql("FROM v")).length).toBeGreaterThan(0);
    expect((await lake.sql("SHOW TABLES")).flat()).toContain("moods");
    expect((await lake.sql("DESCRIBE moods"))[0]!.slice(0, 2)).toEqual(["m", "ENUM('ok', 'bad')"]);
    for (const sql of ["EXPLAIN SELECT 1", "SUMMARIZE moods", "WITH x AS (SELECT 1 AS a) FROM x", "VALUES (1)"])
      expect((await lake.sql(sql)).length).toBeGreaterThan(0);
    expect(await lake.sql("SELECT ? + 1, ?", [41, "a'b"])).toEqual([[42, "a'b"]]);
    await lake.sql("DROP VIEW v; DROP SEQUENCE IF EXISTS none");
  });
});

describe("plain topics", () => {
  test("a scan shows keys, values and headers, and follows the log", async () => {
    await lake.catalog.createTopic({ name: "plain.t", partitions: 2 });
    expect(await lake.sql('FROM "plain.t"')).toEqual([]);
    await lake.produce("plain.t", [
      {
        key: "k",
        value: '{"a":1}',
        headers: [
          { key: "h", value: null },
          { key: "h", value: "v" },
        ],
      },
    ]);
    await lake.produce("plain.t", [{ value: null }, { key: "", value: "x" }], { partition: 1, codec: 1 });
    expect(await lake.sql('FROM "plain.t" ORDER BY _partition, _offset')).toEqual([
      [
        0,
        0,
        "2023-11-14T22:13:20",
        "aw==",
        "eyJhIjoxfQ==",
        [
          { key: "h", value: null },
          { key: "h", value: "dg==" },
        ],
      ],
      [1, 0, "2023-11-14T22:13:20", null, null, []],
      [1, 1, "2023-11-14T22:13:20", "", "eA==", []],
    ]);
    await lake.produce("plain.t", ["2", "3"]);
    expect(await lake.sql(`SELECT decode(_value) FROM "plain.t" WHERE _partition = 0 ORDER BY _offset`)).toEqual([
      ['{"a":1}'],
      ["2"],
      ["3"],
    ]);
    await lake.sql('CREATE VIEW pv AS SELECT count(*) AS n FROM "plain.t"');
    await lake.produce("plain.t", ["4"]);
    expect(await lake.sql("FROM pv")).toEqual([[6]]);
    expect(await lake.sql('SELECT n FROM pv, (SELECT 1 FROM "plain.t" LIMIT 1)')).toEqual([[6]]);
  });
  test("lists of tables name those that nobody has read yet, and not those that are gone", async () => {
    const listed = async () => (await lake.sql("SHOW TABLES")).flat();
    await lake.catalog.createTopic({ name: "unread.1", partitions: 1 });
    await lake.produce("unread.1", ["1", "2"]);
    expect(await listed()).toContain("unread.1");
    // Empty for the list, whole for a read.
    expect(await lake.sql('SELECT count(*) FROM "unread.1"')).toEqual([[2]]);
    expect(await listed()).toContain("unread.1");
    const columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'unread.2' LIMIT 2";
    expect(await lake.sql(columns)).toEqual([]);
    for (const name of ["unread.2", "unread.3"]) await lake.catalog.createTopic({ name, partitions: 1 });
    expect(await lake.sql(columns)).toEqual([["_partition"], ["_offset"]]);
    await lake.catalog.deleteTopic("unread.1");
    const left = await listed();
    expect([1, 2, 3].map((n) => left.includes(`unread.${n}`))).toEqual([false, true, true]);
    for (const name of ["unread.2", "unread.3"]) await lake.catalog.deleteTopic(name);
  });
  test("names that differ only in case", async () => {
    await lake.catalog.createTopic({ name: "Case", partitions: 1 });
    await lake.catalog.createTopic({ name: "cASE", partitions: 1 });
    await lake.produce("Case", ["1"]);
    await lake.produce("cASE", ["2", "3"]);
    expect(await lake.sql('SELECT count(*) FROM "Case"')).toEqual([[1]]);
    expect(await lake.sql('SELECT count(*) FROM "cASE"')).toEqual([[2]]);
    expect(await lake.sql('SELECT count(*) FROM "Case"')).toEqual([[1]]);
    expect(await lake.failure('FROM "case"')).toContain("write the exact name");
    expect(await lake.failure('FROM "Case", "cASE"')).toContain("differ only in case");
  });
  test("a name that differs only in case from a table's", async () => {
    const refused = await lake.catalog.createTopic({ name: "EVENTS", partitions: 1 }).then(
      () => "it was made",
      (error: Error) => error.message,
    );
    expect(refused).toContain("differs only in case from table 'events'");
  });
  test("deleted and made anew", async () => {
    await lake.catalog.createTopic({ name: "again", partitions: 1 });
    await lake.produce("again", ["1"]);
    expect(await lake.sql("SELECT count(*) FROM again")).toEqual([[1]]);
    await lake.topics.remove(lake.catalog.topic("again")!);
    expect(await lake.failure("FROM again")).toContain("again");
    await lake.catalog.createTopic({ name: "again", partitions: 1 });
    expect(await lake.sql("SELECT count(*) FROM again")).toEqual([[0]]);
  });
  test("records removed from the log are gone", async () => {
    await lake.catalog.createTopic({ name: "cut", partitions: 1 });
    for (let i = 0; i < 5; i++) await lake.produce("cut", [`${i}`]);
    expect(await lake.sql("SELECT count(*) FROM cut")).toEqual([[5]]);
    await lake.topics.log(lake.catalog.topic("cut")!, 0).deleteRecords(3);
    expect(await lake.sql("SELECT min(_offset), count(*) FROM cut")).toEqual([[3, 2]]);
  });
});

test("the ends of every type's range reach DuckDB and come back as they are logged", async () => {
  const values: [type: string, values: string[]][] = [
    ["BOOLEAN", ["true", "false"]],
    ["TINYINT", ["-128"]],
    ["SMALLINT", ["-32768"]],
    ["INTEGER", ["-2147483648"]],
    ["BIGINT", ["-9223372036854775808", "9223372036854775807"]],
    ["UTINYINT", ["255"]],
    ["USMALLINT", ["65535"]],
    ["UINTEGER", ["4294967295"]],
    ["UBIGINT", ["18446744073709551615"]],
    ["HUGEINT", ["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"]],
    ["UHUGEINT", ["340282366920938463463374607431768211455"]],
    ["DECIMAL(4,1)", ["-999.9"]],
    ["DECIMAL(38,38)", ["0.99999999999999999999999999999999999999"]],
    ["DECIMAL(38,0)", ["-99999999999999999999999999999999999999"]],
    ["FLOAT", ["3.4028235e+38", '"NaN"', '"-Infinity"']],
    ["DOUBLE", ["1.7976931348623157e+308", "5e-324", '"Infinity"']],
    ["DATE", ['"infinity"', '"-5877641-06-25"', '"+5881580-07-10"', '"0000-01-01"']],
    ["TIME", ['"24:00:00"', '"23:59:59.999999"']],
    ["TIMESTAMP", ['"-infinity"', '"+294247-01-10T04:00:54.775806"', '"-290308-12-22T00:00:00"']],
    ["TIMESTAMPTZ", ['"infinity"', '"+294247-01-10T04:00:54.775806Z"']],
    ["TIMESTAMP_S", ['"1969-12-31T23:59:59"', '"+294247-01-10T04:00:54"']],
    ["TIMESTAMP_MS", ['"-290308-12-22T00:00:00.001"']],
    ["TIMESTAMP_NS", ['"2262-04-11T23:47:16.854775806"', '"1677-09-22T00:00:00"']],
    ["INTERVAL", ['"178956970 years 7 months"', '"-2147483647 days"', '"999:59:59.999999"']],
    ["UUID", ['"ffffffff-ffff-ffff-ffff-ffffffffffff"']],
    ["BLOB", ['""', '"AP8="']],
    ["VARCHAR", ['"\\u0000"', '""', '"😀"']],
    ["ENUM('a b', 'c''d')", ['"c\'d"']],
    ["HUGEINT[]", ["[1,null]", "[]"]],
    ["INTEGER[3]", ["[1,2,null]"]],
    ["STRUCT(u UUID, m MAP(VARCHAR, HUGEINT))", ['{"u":null,"m":{"a":1,"b":null}}', '{"u":null,"m":{}}']],
    ["MAP(INTEGER, STRUCT(a INTERVAL[], b DATE))", ['{"1":{"a":["1 day",null],"b":"2024-02-29"}}']],
    ["STRUCT(a INTEGER)[2][]", ['[[{"a":1},null]]']],
  ];
  await lake.sql(`CREATE TABLE ends (row INTEGER, ${values.map(([type], i) => `c${i} ${type}`).join(", ")})`);
  const records = values.flatMap(([, list], i) => list.map((value) => [i, value] as const));
  const outcome = await lake.produce(
    "ends",
    records.map(([i, value], row) => `{"row":${row},"c${i}":${value}}`),
  );
  expect(outcome.errorMessage).toBe(null);
  // One more batch: what is merged from several chunks is the same.
  await lake.produce(
    "ends",
    records.map(([i, value], row) => `{"row":${row + records.length},"c${i}":${value}}`),
  );
  const selected = await lake.sqlText("FROM ends ORDER BY row");
  const logged = lake.logged("ends");
  expect(selected.length).toBe(logged.length);
  for (let row = 0; row < logged.length; row++) {
    const cells = logged[row]!.replace(/"(row|c\d+)":/g, "").slice(1, -1);
    expect(selected[row]).toBe(`[${cells}]`);
    expect(logged[row]).toContain(`:${records[row % records.length]![1]}`);
  }
});
