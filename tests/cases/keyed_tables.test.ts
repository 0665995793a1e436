/** Cases from the field about tables with a key: several changes of one key at once, changed keys, values that are not there. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { RecordToEncode } from "../../src/protocol/records/encode.ts";
import { Lake } from "../tables/lake.ts";

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(async () => await lake.close());

async function accepted(table: string, records: readonly (RecordToEncode | string)[]): Promise<void> {
  const outcome = await lake.produce(table, records);
  expect(outcome.errorMessage).toBe(null);
}

describe("C07: several changes of one key in one batch: the last wins", () => {
  test("on an empty table, and on one that has the key", async () => {
    await lake.sql("CREATE TABLE c07 (id INTEGER PRIMARY KEY, v VARCHAR)");
    const changes = ["a", "b", "c"].map((v) => JSON.stringify({ id: 1, v }));
    await accepted("c07", changes);
    expect(await lake.sql("FROM c07")).toEqual([[1, "c"]]);
    await accepted("c07", [...changes, '{"id":1,"v":"d"}']);
    expect(await lake.sql("FROM c07")).toEqual([[1, "d"]]);
  });

  test("thousands of rows apart, with deletes between", async () => {
    await lake.sql("CREATE TABLE far (id INTEGER PRIMARY KEY, v INTEGER)");
    const records = Array.from({ length: 9_000 }, (_, n): RecordToEncode | string =>
      n % 7 === 6 ? { key: String(n % 3_000), value: null } : JSON.stringify({ id: n % 3_000, v: n }),
    );
    await accepted("far", records);
    const model = new Map<number, number>();
    for (let n = 0; n < 9_000; n++)
      if (n % 7 === 6) model.delete(n % 3_000);
      else model.set(n % 3_000, n);
    expect(await lake.sql("SELECT count(*), sum(v), sum(id) FROM far")).toEqual([
      [model.size, [...model.values()].reduce((a, b) => a + b), [...model.keys()].reduce((a, b) => a + b)],
    ]);
  });
});

describe("C26: one transaction that deletes a key and puts it in again", () => {
  test("deletes and rows by turns, in one batch and in several that are applied together", async () => {
    await lake.sql("CREATE TABLE c26 (id INTEGER PRIMARY KEY, v VARCHAR)");
    await accepted("c26", ['{"id":1,"v":"first"}']);
    expect(await lake.sql("FROM c26")).toEqual([[1, "first"]]);
    await accepted("c26", [{ key: "1", value: null }, '{"id":1,"v":"again"}']);
    expect(await lake.sql("FROM c26")).toEqual([[1, "again"]]);
    const turns = Array.from({ length: 20 }, (_, n): RecordToEncode | string =>
      n % 2 === 0 ? { key: '{"id":1}', value: null } : JSON.stringify({ id: 1, v: `turn ${n}` }),
    );
    await Promise.all(turns.map((record) => lake.produce("c26", [record])));
    expect(await lake.sql("FROM c26")).toEqual([[1, "turn 19"]]);
  });

  test("a batch that is nothing for the table does not harm later ones, and a row of 10 MB goes through", async () => {
    await lake.sql('CREATE TABLE empty (id INTEGER PRIMARY KEY, v VARCHAR) WITH ("max.message.bytes" = 20000000)');
    await accepted("empty", [{ key: '{"serverName":"s"}', value: '{"ts_ms":1}' }]);
    await accepted("empty", [{ key: "5", value: null }]);
    const v = "x".repeat(10_000_000);
    await accepted("empty", [JSON.stringify({ id: 1, v })]);
    await accepted("empty", ['{"id":2,"v":"small"}']);
    expect(await lake.sql("SELECT id, length(v) FROM empty ORDER BY id")).toEqual([
      [1, 10_000_000],
      [2, 5],
    ]);
  });
});

describe("C51: a missing field, an explicit null and a default", () => {
  test("each row replaces the whole row before it", async () => {
    await lake.sql("CREATE TABLE c51 (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER DEFAULT 9)");
    const row = async () => await lake.sql("SELECT a, b FROM c51");
    await accepted("c51", ['{"id":1,"a":1,"b":2}']);
    expect(await row()).toEqual([[1, 2]]);
    await accepted("c51", ['{"id":1,"a":3}']);
    expect(await row()).toEqual([[3, 9]]);
    await accepted("c51", ['{"id":1,"a":null,"b":4}']);
    expect(await row()).toEqual([[null, 4]]);
    await accepted("c51", ['{"id":1,"b":null}']);
    expect(await row()).toEqual([[null, null]]);
    await accepted("c51", ['{"id":7,"a":1,"a":2,"id":1,"b":1}']);
    expect(await row()).toEqual([[2, 1]]);
    expect(lake.keys("c51").at(-1)).toBe('{"id":1}');
  });
});

describe("C34: null and empty", () => {
  test("an empty text is a key and a value, null and an empty value are not", async () => {
    await lake.sql("CREATE TABLE c34 (id VARCHAR PRIMARY KEY, v VARCHAR)");
    await accepted("c34", ['{"id":"","v":""}', { key: '{"id":""}', value: '{"v":null}' }, '{"id":" ","v":""}']);
    expect(await lake.sql("FROM c34 ORDER BY id")).toEqual([
      ["", null],
      [" ", ""],
    ]);
    expect((await lake.produce("c34", [{ key: '{"id":"x"}', value: "" }])).errorCode).toBe(87);
    await accepted("c34", [{ key: '""', value: null }]);
    expect(await lake.sql("SELECT id FROM c34")).toEqual([[" "]]);
  });
});

describe("C55: old values are partial or absent", () => {
  const event = (op: string, key: unknown, before: unknown, after: unknown): RecordToEncode => ({
    key: key === null ? null : JSON.stringify(key),
    value: JSON.stringify({ op, before, after, source: {}, ts_ms: 1 }),
  });

  test("no old row, the key alone, and the whole row, with and without a key of the record", async () => {
    await lake.sql("CREATE TABLE c55 (id INTEGER PRIMARY KEY, v VARCHAR NOT NULL)");
    for (const [n, [key, before]] of (
      [
        [{ id: 1 }, null],
        [{ id: 1 }, { id: 1 }],
        [{ id: 1 }, { id: 1, v: null }],
        [{ id: 1 }, { id: 1, v: "old" }],
        [null, { id: 1 }],
        [null, { id: 1, v: "old" }],
      ] as const
    ).entries()) {
      await accepted("c55", [event("c", { id: 1 }, null, { id: 1, v: "old" })]);
      await accepted("c55", [event("u", key, before, { id: 1, v: `new ${n}` })]);
      expect(await lake.sql("FROM c55")).toEqual([[1, `new ${n}`]]);
      await accepted("c55", [event("d", key, before, null)]);
      expect(await lake.sql("FROM c55")).toEqual([]);
    }
  });

  test("a table without a key gets inserts, and says why it cannot get deletes", async () => {
    await lake.sql("CREATE TABLE c55n (id INTEGER, v VARCHAR)");
    await accepted("c55n", [event("c", null, null, { id: 1, v: "a" })]);
    const outcome = await lake.produce("c55n", [event("d", null, { id: 1, v: "a" }, null)]);
    expect(outcome.recordErrors[0]!.message).toContain("a delete needs a primary key, and this table has none");
    expect(await lake.sql("FROM c55n")).toEqual([[1, "a"]]);
  });
});
