/** Recorded events, produced as they are, make tables equal to PostgreSQL's. The statements that were run there stand beside the values. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { Lake } from "../lake.ts";
import { expectedRow, type TypeCase, typeCases } from "./postgres_types.ts";
import { type RecordedEvent, recorded } from "./recorded.ts";

let lake: Lake;
let made = 0;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(async () => await lake.close());

async function table(columns: string): Promise<string> {
  const name = `t${made++}`;
  await lake.sql(`CREATE TABLE ${name} ${columns}`);
  return name;
}

const asRecord = ({ key, value, headers }: RecordedEvent) => ({
  key,
  value,
  headers: headers.map(([name, text]) => ({ key: name, value: new TextEncoder().encode(text) })),
});

/** Produces the events as batches of so many records; fails when one is refused. */
async function produce(name: string, events: readonly RecordedEvent[], perBatch = 1_000): Promise<void> {
  for (let i = 0; i < events.length; i += perBatch) {
    const outcome = await lake.produce(name, events.slice(i, i + perBatch).map(asRecord));
    expect(outcome.errorMessage).toBe(null);
  }
}

/** A table of those columns after a recording's events of one topic, in one batch and again one by one: the same both ways. */
async function rowsOf(columns: string, file: string, topic = "", order = "1"): Promise<unknown[][]> {
  const events = recorded(file, topic);
  const results: unknown[][][] = [];
  for (const perBatch of [1_000, 1]) {
    const name = await table(columns);
    await produce(name, events, perBatch);
    results.push(await lake.sql(`FROM ${name} ORDER BY ${order}`));
  }
  expect(results[1]).toEqual(results[0]!);
  return results[0]!;
}

describe("operations", () => {
  // create table data (id serial primary key, value int, key int unique);
  // snapshot of (1, 10, 1), (2, 20, 2), (3, 30, 3); insert (40, 4); update data set value = 21 where key = 2; delete from data where key = 3
  const data = "(id INTEGER PRIMARY KEY, value INTEGER, key INTEGER)";
  const left = [
    [1, 10, 1],
    [2, 21, 2],
    [4, 40, 4],
  ];
  for (const file of [
    "simple_default_skip",
    "simple_no_tombstone",
    "simple_unwrap_schemas",
    "simple_unwrap_plain",
    "simple_unwrap_rewrite",
  ])
    test(file, async () => expect(await rowsOf(data, file)).toEqual(left));
  for (const file of ["simple_schemas", "simple_plain"])
    test(`${file}: the truncation at the end empties the table`, async () => {
      const name = await table(data);
      const events = recorded(file);
      await produce(name, events.slice(0, -1));
      expect(await lake.sql(`FROM ${name} ORDER BY id`)).toEqual(left);
      await produce(name, events.slice(-1));
      expect(await lake.sql(`FROM ${name}`)).toEqual([]);
      expect(await rowsOf(data, file)).toEqual([]);
    });
  test("incremental_snapshot", async () =>
    expect(await rowsOf(data, "incremental_snapshot", ".data")).toEqual([
      [1, 10, 1],
      [2, 20, 2],
      [3, 30, 3],
    ]));
  test("multi_row: transactions and a savepoint", async () => {
    // insert 1..5; update all, delete id > 3 in one transaction; insert 9, savepoint, insert 10, rollback to it, insert 11
    expect(await rowsOf("(id INTEGER PRIMARY KEY, name VARCHAR)", "multi_row")).toEqual([
      [1, "n1!"],
      [2, "n2!"],
      [3, "n3!"],
      [9, "a"],
      [11, "c"],
    ]);
  });
});

describe("keys", () => {
  const item = "(id INTEGER PRIMARY KEY, name VARCHAR)";
  // update item set id = 2, name = 'two' where id = 1
  for (const file of ["key_update", "key_update_default_identity"])
    test(file, async () => expect(await rowsOf(item, file)).toEqual([[2, "two"]]));
  test("composite_key", async () => {
    const line =
      "(note VARCHAR, order_id INTEGER, line_no SMALLINT, amount DECIMAL(8,3), PRIMARY KEY (order_id, line_no))";
    expect(await rowsOf(line, "composite_key", ".line")).toEqual([[null, 1, 2, 0.5]]);
    const reversed = "(a INTEGER, b INTEGER, c INTEGER, PRIMARY KEY (c, a))";
    expect(await rowsOf(reversed, "composite_key", ".reversed")).toEqual([[1, 2, 3]]);
  });
  test("unique_index_key", async () => {
    expect(await rowsOf("(a INTEGER PRIMARY KEY, b VARCHAR)", "unique_index_key", ".u")).toEqual([
      [1, "x"],
      [2, "y"],
    ]);
    // (1, x), (2, y); update v set b = 'z' where a = 2; delete from v where a = 1
    expect(await rowsOf("(a INTEGER, b VARCHAR, PRIMARY KEY (a, b))", "unique_index_key", ".v")).toEqual([[2, "z"]]);
  });
  test("message_key_columns: at and message, which PostgreSQL has no key for", async () =>
    expect(
      await rowsOf('("at" INTEGER, message VARCHAR, n INTEGER, PRIMARY KEY ("at", message))', "message_key_columns"),
    ).toEqual([[2, "before", 2]]));
  test("identity_default: a delete that knows its key only", async () =>
    expect(
      await rowsOf("(id INTEGER PRIMARY KEY, name VARCHAR, n INTEGER NOT NULL DEFAULT 5)", "identity_default"),
    ).toEqual([]));
  test("partitioned_root: a row that moves between partitions", async () =>
    expect(await rowsOf("(id INTEGER, region VARCHAR, PRIMARY KEY (id, region))", "partitioned_root", ".p")).toEqual([
      [1, "a"],
      [2, "b"],
      [3, "b"],
    ]));
  test("names that SQL has to quote", async () => {
    const columns =
      '("Id" INTEGER PRIMARY KEY, "Some Column" VARCHAR, "1st" INTEGER, "dotted.name" INTEGER, "tägen" INTEGER, "$dollar" INTEGER)';
    expect(await rowsOf(columns, "names", ".Mixed.Case")).toEqual([[1, "x", 2, 2, 3, 4]]);
  });
  test("a table without a key takes rows, and refuses deletes with the reason logged once", async () => {
    const log = await table('("at" TIMESTAMPTZ, message VARCHAR)');
    const events = recorded("no_key", ".log_full");
    await produce(log, events.slice(0, 2));
    expect(await lake.sql(`FROM ${log} ORDER BY 1`)).toEqual([
      ["2024-01-01T00:00:00Z", "before"],
      ["2024-01-02T00:00:00Z", "after"],
    ]);
    const lines = lake.lines.length;
    const outcome = await lake.produce(log, events.slice(3).map(asRecord));
    expect(outcome.errorCode).toBe(87);
    expect(outcome.recordErrors.map(({ message }) => message)).toEqual([
      "a delete needs a primary key, and this table has none",
      "a null value deletes the row of its key, and this table has no primary key",
    ]);
    expect(lake.lines.slice(lines).filter((line) => line.includes("a delete needs a primary key"))).toHaveLength(1);
    expect(await lake.sql(`SELECT count(*) FROM ${log}`)).toEqual([[2]]);
  });
});

describe("records beside rows", () => {
  test("transaction_metadata: rows in their topics, BEGIN and END leave holes", async () => {
    const rows = [
      [1, "x"],
      [2, "z"],
      [3, "x"],
    ];
    const columns = "(id INTEGER PRIMARY KEY, t VARCHAR)";
    for (const file of ["transaction_metadata", "transaction_metadata_plain"]) {
      expect(await rowsOf(columns, file, ".a")).toEqual(rows);
      // All of one connector's records in one table: the other kinds are passed over.
      const name = await table(columns);
      await produce(name, [...recorded(file, ".transaction"), ...recorded(file, ".a")]);
      expect(await lake.sql(`FROM ${name} ORDER BY id`)).toEqual(rows);
      expect(lake.logged(name)).toHaveLength(4);
    }
  });
  test("heartbeats and messages", async () => {
    const name = await table("(id INTEGER PRIMARY KEY)");
    await produce(name, recorded("heartbeat", "__debezium-heartbeat.heartbeat"));
    await produce(name, recorded("logical_message", ".message"), 1);
    expect(lake.logged(name)).toEqual([]);
    await produce(name, recorded("heartbeat", ".item"));
    expect(await lake.sql(`FROM ${name} ORDER BY id`)).toEqual([[1], [2]]);
    expect(lake.logged(name)).toEqual(['{"id":1}', '{"id":2}']);
  });
});

describe("values that an update did not send", () => {
  const columns = "(id INTEGER PRIMARY KEY, n INTEGER, big VARCHAR, raw BLOB, doc JSON, list VARCHAR[])";
  const digests = (letter: string) =>
    Array.from({ length: 120 }, (_, i) =>
      createHash("md5")
        .update(`${letter}${i + 1}`)
        .digest("hex"),
    ).join("");
  const big = `${digests("a")}x`;
  const raw = Buffer.from(`${digests("b")}${digests("e")}01`, "hex").toString("base64");
  const doc = `{"v": "${digests("c")}", "w": 1}`;
  const list = [digests("d"), "x"];
  const first = `{"id":1,"n":1,"big":"${big}","raw":"${raw}","doc":${doc},"list":${JSON.stringify(list)}}`;

  test("they stay", async () => {
    const name = await table(columns);
    await lake.produce(name, [first]);
    const [update, gone, tombstone, created] = recorded("toast", ".toast");
    await produce(name, [update!]);
    expect(await lake.sql(`FROM ${name}`)).toEqual([[1, 2, big, raw, doc, list]]);
    // A row of a new key comes without them, and nothing here has them: PostgreSQL's row is not to be had from its events.
    await produce(name, [gone!, tombstone!, created!]);
    expect(await lake.sql(`FROM ${name}`)).toEqual([[2, 2, null, null, null, null]]);
  });
  test("two in one batch, after the row's own insert in that batch", async () => {
    const name = await table(columns);
    const [update] = recorded("toast", ".toast");
    const outcome = await lake.produce(name, [{ key: '{"id":1}', value: first }, asRecord(update!), asRecord(update!)]);
    expect(outcome.errorMessage).toBe(null);
    expect(await lake.sql(`FROM ${name}`)).toEqual([[1, 2, big, raw, doc, list]]);
    // The log, too, has whole rows.
    expect((JSON.parse(lake.logged(name)[2]!) as { big: string }).big).toBe(big);
  });
  test("with REPLICA IDENTITY FULL all values come", async () => {
    const name = await table(columns);
    await produce(name, recorded("toast", ".toast_full"));
    expect(await lake.sql(`FROM ${name}`)).toEqual([[1, 2, big, raw, doc, list]]);
  });
  test("a marker of the connector's own", async () => {
    const name = await table(`${columns} WITH (unavailable_value = 'not-sent')`);
    await lake.produce(name, [first]);
    await produce(name, recorded("toast_placeholder"));
    // Debezium sends null for bytea in this combination, which nothing tells from a null.
    expect(await lake.sql(`FROM ${name}`)).toEqual([[1, 2, big, null, doc, list]]);
    const failure = await lake.failure("CREATE TABLE no (id INTEGER PRIMARY KEY) WITH (unavailable_value = '')");
    expect(failure).toContain("an empty text is a value like any other");
  });
  test("of a NOT NULL column", async () => {
    const name = await table("(id INTEGER PRIMARY KEY, n INTEGER, big VARCHAR NOT NULL DEFAULT 'none')");
    await lake.produce(name, [JSON.stringify({ id: 1, n: 1, big })]);
    await produce(name, recorded("toast", ".toast_not_null"));
    expect(await lake.sql(`FROM ${name}`)).toEqual([[1, 2, big]]);
  });
});

describe("every PostgreSQL type", () => {
  const bySchema: Record<string, Partial<TypeCase>> = {};
  // What only the schema tells: that a time is in milliseconds, and how long bits are.
  const byColumn: Record<string, Partial<TypeCase>> = {
    c_bit_5: { type: "BLOB", normal: '"FQ=="', lowest: '""' },
    c_varbit: { type: "BLOB", normal: '"Cw=="', lowest: '""' },
    c_time_3: { type: "INTEGER", normal: "45296789", lowest: "0", highest: "86400000" },
  };
  for (const [file, changes] of [
    ["types_schemas", bySchema],
    ["types_plain", byColumn],
  ] as const)
    test(file, async () => {
      const cases = typeCases.map((one) => ({ ...one, ...changes[one.column] }));
      const name = await table(
        `(id INTEGER PRIMARY KEY, ${cases.map(({ column, type }) => `${column} ${type}`).join(", ")})`,
      );
      await produce(name, recorded(file));
      const ids = [1, 2, 3, 4, 11, 12, 13, 14];
      for (const { column, type } of [{ column: "id", type: "INTEGER" }, ...cases]) {
        // As text: DuckDB hands out intervals in nanoseconds, which the longest do not fit.
        const cell = column === "c_interval" ? `${column}::VARCHAR` : column;
        const rows = await lake.sqlText(`SELECT ${cell} FROM ${name} ORDER BY id`);
        // SQL has the text of a JSON column.
        const texts = rows.map((row) =>
          type === "JSON" && row !== "[null]" ? (JSON.parse(row) as string[])[0]! : row.slice(1, -1),
        );
        expect([column, texts]).toEqual([column, ids.map((id) => expectedRow(id, cases)[column]!)]);
      }
    });
});
