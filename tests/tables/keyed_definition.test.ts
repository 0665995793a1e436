/** CREATE TABLE with PRIMARY KEY: what the catalog, the topic and DuckDB get to know of the key. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Lake } from "./lake.ts";

describe("tables with a key", () => {
  let lake: Lake;
  beforeAll(async () => {
    lake = await Lake.open();
  });
  afterAll(async () => await lake.close());

  const definition = (topic: string) => lake.catalog.topic(topic)!.table!;

  test("the key of a column, and of the table in an order of its own", async () => {
    await lake.sql("CREATE TABLE one (v VARCHAR, id BIGINT PRIMARY KEY)");
    expect(definition("one").key).toEqual(["id"]);
    expect(definition("one").columns.map(({ notNull }) => notNull)).toEqual([false, true]);
    await lake.sql('CREATE TABLE two (a INTEGER, "b c" VARCHAR, d DATE, PRIMARY KEY (d, "b c", a))');
    expect(definition("two").key).toEqual(["d", "b c", "a"]);
    // DuckDB's own table has no index, which would make upserts several times as dear.
    expect(
      await lake.sql(
        "SELECT constraint_type, count(*) FROM duckdb_constraints() WHERE table_name IN ('one', 'two') GROUP BY ALL",
      ),
    ).toEqual([["NOT NULL", 4]]);
    await lake.sql("CREATE TABLE spelled (Id INTEGER, PRIMARY KEY (ID))");
    expect(definition("spelled").key).toEqual(["Id"]);
    await lake.sql("CREATE TABLE none (a INTEGER)");
    expect(definition("none").key).toBeUndefined();
  });

  test.each([
    "BOOLEAN",
    "TINYINT",
    "UBIGINT",
    "HUGEINT",
    "DOUBLE",
    "DECIMAL(30,5)",
    "VARCHAR",
    "BLOB",
    "UUID",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_NS",
    "TIMESTAMPTZ",
    "ENUM ('x', 'y')",
  ])("a key of type %s", async (type) => {
    await lake.sql(`CREATE OR REPLACE TABLE typed (k ${type} PRIMARY KEY)`);
    expect(definition("typed").key).toEqual(["k"]);
  });

  test("format and sequence_by", async () => {
    await lake.sql("CREATE TABLE s (id INTEGER PRIMARY KEY, Seq BIGINT) WITH (format = 'Debezium', sequence_by = seq)");
    expect(definition("s")).toMatchObject({ format: "debezium", sequenceBy: "Seq" });
  });

  test("the topic is compacted unless it says otherwise", async () => {
    const compacted = (topic: string) => lake.topics.settings(lake.catalog.topic(topic)!).log.compacted;
    await lake.sql("CREATE TABLE c (id INTEGER PRIMARY KEY)");
    await lake.sql("CREATE TABLE d (id INTEGER PRIMARY KEY) WITH (\"cleanup.policy\" = 'delete')");
    await lake.sql("CREATE TABLE e (id INTEGER)");
    expect([compacted("c"), compacted("d"), compacted("e")]).toEqual([true, false, false]);
  });
});
