/** Events that need what the table holds, plain rows and SQL writes on one keyed table at the same time: the table is the fold of its log. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { RecordToEncode } from "../../src/protocol/records/encode.ts";
import { Random, seed } from "../hotpath/random.ts";
import { Lake } from "./lake.ts";

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(async () => await lake.close());

const unavailable = "__debezium_unavailable_value";

function foldOfLog(table: string): string[] {
  const rows = new Map<string, string>();
  for (const { key, value } of lake.records(table)) {
    const name = new TextDecoder().decode(key!);
    if (value === null) rows.delete(name);
    else {
      const { id, n, big } = JSON.parse(new TextDecoder().decode(value)) as Record<string, unknown>;
      rows.set(name, JSON.stringify([id, n, big]));
    }
  }
  return [...rows.values()].sort();
}

test(`producers, events and SQL by turns and at once (seed ${seed})`, async () => {
  const random = new Random(seed);
  await lake.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, big VARCHAR)");
  const event = (id: number, n: number): RecordToEncode => {
    const kind = random.below(24);
    if (kind === 0) return { value: '{"op":"t","before":null,"after":null,"source":{}}' };
    const after = { id, n, big: kind < 12 ? unavailable : `big ${n}` };
    return { key: JSON.stringify({ id }), value: JSON.stringify({ op: "u", before: null, after, source: {} }) };
  };
  const plain = (id: number, n: number): RecordToEncode =>
    random.below(4) === 0 ? { key: String(id), value: null } : { value: JSON.stringify({ id, n, big: `plain ${n}` }) };
  let n = 0;
  for (let round = 0; round < 25; round++) {
    const work: Promise<unknown>[] = [];
    for (let i = 1 + random.below(6); i > 0; i--) {
      const make = random.below(2) === 0 ? event : plain;
      const records = Array.from({ length: 1 + random.below(8) }, () => make(random.below(10), n++));
      if (random.below(3) > 0) work.push(lake.produce("t", records).then(({ errorMessage }) => errorMessage));
      else
        work.push(
          lake
            .sql(
              [
                `UPDATE t SET n = n + 1000 WHERE id < ${random.below(10)}`,
                `DELETE FROM t WHERE id = ${random.below(10)}`,
                `INSERT OR REPLACE INTO t VALUES (${random.below(10)}, ${n++}, 'sql')`,
              ][random.below(3)]!,
            )
            .then(() => null),
        );
    }
    for (const outcome of await Promise.all(work)) expect(outcome).toBe(null);
    const rows = (await lake.sql("SELECT id, n, big FROM t")).map((row) => JSON.stringify(row)).sort();
    expect(rows).toEqual(foldOfLog("t"));
  }
  await lake.stop();
  lake.forgetDatabase();
  await lake.start();
  const rows = (await lake.sql("SELECT id, n, big FROM t")).map((row) => JSON.stringify(row)).sort();
  expect(rows).toEqual(foldOfLog("t"));
}, 180_000);
