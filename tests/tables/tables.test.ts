import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Lake } from "./lake.ts";

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
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
