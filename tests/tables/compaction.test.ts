/** Compacted logs of tables and topics, as SQL sees them: the fold of what is left is the table, also of one that is made anew from it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { Lake } from "./lake.ts";

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(async () => await lake.close());

/** Each batch a second apart, so that with a segment.ms below that each is a segment of its own. */
const second = 1_000;
const start = Date.now();
const compactAtOnce = `"segment.ms" = 500, "min.cleanable.dirty.ratio" = 0.01`;

function foldOf(topic: string): Map<string, string> {
  const decoder = new TextDecoder();
  const fold = new Map<string, string>();
  for (const { key, value } of lake.records(topic)) {
    if (value === null) fold.delete(decoder.decode(key!));
    else fold.set(decoder.decode(key!), decoder.decode(value));
  }
  return fold;
}

test("a consumer from the beginning of a compacted keyed table ends with the table's rows", async () => {
  await lake.sql(`CREATE TABLE kv (k BIGINT PRIMARY KEY, v VARCHAR) WITH (${compactAtOnce})`);
  const random = new SeededRandom(11);
  let time = start;
  let produced = 0;
  const produce = async () => {
    const records = Array.from({ length: 1 + random.below(5) }, () => {
      const k = random.below(20);
      return random.chance(0.3) ? { key: `{"k":${k}}`, value: null } : { value: `{"k":${k},"v":"v${produced}"}` };
    });
    produced += records.length;
    time += second;
    expect(await lake.produce("kv", records, { timestamp: time })).toMatchObject({ errorCode: 0 });
  };
  const check = async () => {
    const rows = await lake.sql("SELECT k, v FROM kv ORDER BY k");
    const fold = [...foldOf("kv").values()].map((value) => JSON.parse(value) as { k: number; v: string });
    expect(fold.map(({ k, v }) => [k, v]).sort((a, b) => Number(a[0]) - Number(b[0]))).toEqual(
      rows as [number, string][],
    );
    return rows;
  };
  let left = 0;
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 60; n++) await produce();
    await lake.sql("UPDATE kv SET v = v || '!' WHERE k < 5");
    await lake.sql("SELECT 1 FROM kv");
    await lake.logs.compact();
    await check();
    left = lake.records("kv").length;
    expect(left).toBeLessThan(60);
  }
  expect(produced).toBeGreaterThan(400);
  const rows = await check();
  await lake.stop();
  lake.forgetDatabase();
  await lake.start();
  expect(await lake.sql("SELECT k, v FROM kv ORDER BY k")).toEqual(rows);
});

test("SELECT over a plain topic shows what its compaction left", async () => {
  const configs = new Map(
    Object.entries({ "cleanup.policy": "compact", "segment.ms": "500", "min.cleanable.dirty.ratio": "0.01" }),
  );
  await lake.catalog.createTopic({ name: "plain", partitions: 1, configs });
  const select = () => lake.sql(`SELECT _offset, decode(_value) FROM "plain" ORDER BY _offset`);
  for (const [n, key] of ["a", "b", "a", "c"].entries())
    await lake.produce("plain", [{ key, value: `${key}${n}` }], { timestamp: start + n * second });
  expect(await select()).toEqual([
    [0, "a0"],
    [1, "b1"],
    [2, "a2"],
    [3, "c3"],
  ]);
  await lake.logs.compact();
  expect(await select()).toEqual([
    [1, "b1"],
    [2, "a2"],
    [3, "c3"],
  ]);
});

test("a table without a key takes only records with one while its topic is compacted", async () => {
  await lake.sql(`CREATE TABLE keyless (v INTEGER, _key VARCHAR) WITH ("cleanup.policy" = 'compact')`);
  expect(await lake.produce("keyless", [{ key: "a", value: `{"v":1}` }])).toMatchObject({ errorCode: 0 });
  const refused = await lake.produce("keyless", [{ key: "a", value: `{"v":2}` }, `{"v":3}`]);
  expect(refused).toMatchObject({ errorCode: 87, recordErrors: [{ index: 1 }] });
  expect(await lake.sql("SELECT v FROM keyless")).toEqual([[1]]);
});

test("SQL writes no row without a record key to a compacted topic", async () => {
  await lake.sql(`CREATE TABLE history (v INTEGER, _key VARCHAR) WITH ("cleanup.policy" = 'compact')`);
  await lake.sql(`INSERT INTO history VALUES (1, 'a')`);
  expect(await lake.state("INSERT INTO history VALUES (2, NULL)")).toBe("23502");
  expect(await lake.sql("SELECT v FROM history")).toEqual([[1]]);
});

test("produce() gives a compacted topic only records with a key", async () => {
  await lake.catalog.createTopic({
    name: "keyed-only",
    partitions: 1,
    configs: new Map([["cleanup.policy", "compact"]]),
  });
  expect(await lake.failure(`SELECT produce('keyed-only', NULL, 'v')`)).toMatch(/needs a key/);
  await lake.sql(`SELECT produce('keyed-only', 'k', 'v')`);
  expect(lake.keys("keyed-only")).toEqual(["k"]);
});
