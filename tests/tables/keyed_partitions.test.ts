/** Keyed tables of several partitions: each key stays where it first arrived. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Lake } from "./lake.ts";

describe("keyed tables of several partitions", () => {
  let lake: Lake;
  beforeAll(async () => {
    lake = await Lake.open();
  });
  afterAll(async () => await lake.close());

  const refusal = async (table: string, partition: number, record: string | { key: string; value: null }) => {
    const outcome = await lake.produce(table, [record], { partition });
    expect(outcome.errorCode).toBe(87);
    return outcome.recordErrors[0]!.message;
  };
  const accepted = async (table: string, partition: number, ...records: (string | { key: string; value: null })[]) => {
    const outcome = await lake.produce(table, records, { partition });
    expect(outcome.errorMessage).toBe(null);
  };

  test("a key belongs to the partition in which it first arrived, as long as the table lives", async () => {
    await lake.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, v VARCHAR) WITH (partitions = 3)");
    await accepted("t", 0, '{"id":1,"v":"a"}');
    await accepted("t", 1, '{"id":2,"v":"b"}', '{"id":3,"v":"c"}', { key: "3", value: null });
    await accepted("t", 0, '{"id":1,"v":"aa"}');
    const reason = 'key {"id":1} belongs to partition 0, where it first arrived, and this is partition 2';
    expect(await refusal("t", 2, '{"id":1,"v":"x"}')).toContain(reason);
    expect(await refusal("t", 2, { key: "1", value: null })).toContain(reason);
    // A deleted key too: the logs of two partitions have no order between them.
    expect(await refusal("t", 0, '{"id":3,"v":"x"}')).toContain("belongs to partition 1");
    await accepted("t", 1, '{"id":3,"v":"again"}');
    const rows = [
      [1, "aa"],
      [2, "b"],
      [3, "again"],
    ];
    expect(await lake.sql("FROM t ORDER BY id")).toEqual(rows);
    for (const anew of [false, true]) {
      await lake.stop();
      if (anew) lake.forgetDatabase();
      await lake.start();
      expect(await refusal("t", 1, '{"id":1,"v":"x"}')).toContain("belongs to partition 0");
      expect(await refusal("t", 0, '{"id":3,"v":"x"}')).toContain("belongs to partition 1");
      expect(await lake.sql("FROM t ORDER BY id")).toEqual(rows);
    }
  }, 120_000);

  test("SQL writes to a key's partition, and to that of Kafka's partitioner for a new one", async () => {
    await lake.sql("CREATE TABLE s (id INTEGER PRIMARY KEY, v VARCHAR) WITH (partitions = 4)");
    await accepted("s", 3, '{"id":1,"v":"a"}');
    await lake.sql("UPDATE s SET v = 'b' WHERE id = 1");
    expect(lake.logged("s", 3)).toEqual(['{"id":1,"v":"a"}', '{"id":1,"v":"b"}']);
    await lake.sql("INSERT INTO s SELECT i, 'new' FROM range(10, 30) AS r(i)");
    const where = new Map<string, number>();
    for (let partition = 0; partition < 4; partition++)
      for (const key of lake.keys("s", partition)) where.set(key!, partition);
    expect(where.size).toBe(21);
    expect(new Set(where.values()).size).toBe(4);
    const home = where.get('{"id":12}')!;
    expect(await refusal("s", (home + 1) % 4, '{"id":12,"v":"x"}')).toContain(`belongs to partition ${home}`);
    await accepted("s", home, '{"id":12,"v":"by hand"}');
    await lake.stop();
    await lake.start();
    expect(await refusal("s", (home + 1) % 4, '{"id":12,"v":"x"}')).toContain(`belongs to partition ${home}`);
    expect(await lake.sql("SELECT v FROM s WHERE id = 12")).toEqual([["by hand"]]);
  }, 60_000);

  test("a topic that gets more partitions keeps its keys in the first", async () => {
    await lake.sql("CREATE TABLE g (id INTEGER PRIMARY KEY, v VARCHAR)");
    await accepted("g", 0, '{"id":1,"v":"a"}');
    await lake.catalog.addPartitions("g", 2);
    expect(await refusal("g", 1, '{"id":1,"v":"x"}')).toContain("belongs to partition 0");
    await accepted("g", 1, '{"id":2,"v":"b"}');
    expect(await refusal("g", 0, '{"id":2,"v":"x"}')).toContain("belongs to partition 1");
    expect(await lake.sql("FROM g ORDER BY id")).toEqual([
      [1, "a"],
      [2, "b"],
    ]);
  });
});
