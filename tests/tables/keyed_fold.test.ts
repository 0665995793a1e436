/**
 * Random changes of keyed tables: the table, the fold of its log, and a model that applies each change as it was meant agree, whatever the
 * transactions of the applier were, and again when the table is made anew from its log.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import type { RecordToEncode } from "../../src/protocol/records/encode.ts";
import { Lake } from "./lake.ts";

const seed = Number(process.env.ROWLOG_SEED ?? Date.now() % 1_000_000);

const source = new SeededRandom(seed);
const random = (below: number): number => source.below(below);
const pick = <T>(values: readonly T[]): T => source.pick(values);

interface Row {
  a: number;
  b: string;
  v: string | null;
}

const partitions = 3;
/** A key's partition, as a producer would choose it. */
const homeOf = (a: number, b: string) => (a + b.length) % partitions;

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(async () => await lake.close());

/** One change in one of the forms that it may have, applied to the model. */
function change(model: Map<string, Row>): { partition: number; record: RecordToEncode } {
  const a = random(12);
  const b = pick(["", "x", "über", 'q"uote', "\u0000"]);
  const key = JSON.stringify({ b, a });
  const given = pick([key, `{ "a" : ${a} , "b" : ${JSON.stringify(b)} }`, `{"schema":null,"payload":${key}}`]);
  const partition = homeOf(a, b);
  const kind = random(10);
  if (kind < 3) {
    model.delete(key);
    const value = pick([null, JSON.stringify({ before: { a, b }, after: null, source: {}, op: "d", ts_ms: 1 })]);
    return { partition, record: { key: given, value } };
  }
  const v = pick([null, `value ${random(1_000)}`, "\u{1f600}"]);
  model.set(key, { a, b, v });
  const row = { a, b, v };
  const value = pick([
    JSON.stringify(row),
    JSON.stringify({ v, b, a, other: [1, { x: 2 }] }),
    JSON.stringify({ before: null, after: row, source: {}, op: pick(["c", "u", "r"]), ts_ms: 1 }),
  ]);
  if (kind === 3) return { partition, record: { key: given, value: JSON.stringify({ v }) } };
  if (kind === 4) return { partition, record: { value } };
  return { partition, record: { key: given, value } };
}

function foldOfLog(table: string): Map<string, Row> {
  const rows = new Map<string, Row>();
  const places = new Map<string, number>();
  for (let partition = 0; partition < partitions; partition++)
    for (const { key, value } of lake.records(table, partition)) {
      const text = new TextDecoder().decode(key!);
      expect(places.get(text) ?? partition).toBe(partition);
      places.set(text, partition);
      if (value === null) rows.delete(text);
      else rows.set(text, JSON.parse(new TextDecoder().decode(value)) as Row);
    }
  return rows;
}

function sorted(rows: Iterable<Row>): string[] {
  return [...rows].map(({ a, b, v }) => JSON.stringify([a, b, v])).sort();
}

test(`table, log and model agree (seed ${seed})`, async () => {
  await lake.sql(
    `CREATE TABLE t (a INTEGER, b VARCHAR, v VARCHAR, PRIMARY KEY (b, a)) WITH (partitions = ${partitions})`,
  );
  const model = new Map<string, Row>();
  const check = async () => {
    const rows = (await lake.sql("SELECT a, b, v FROM t")).map(([a, b, v]) => ({ a, b, v }) as Row);
    expect(sorted(rows)).toEqual(sorted(model.values()));
    expect(sorted(foldOfLog("t").values())).toEqual(sorted(model.values()));
  };
  for (let round = 0; round < 60; round++) {
    const batches: RecordToEncode[][] = [[], [], []];
    for (let i = random(200); i >= 0; i--) {
      const { partition, record } = change(model);
      batches[partition]!.push(record);
    }
    const produced = batches.map((records, partition) =>
      records.length === 0 ? undefined : lake.produce("t", records, { partition, codec: pick([0, 3]) }),
    );
    for (const outcome of await Promise.all(produced)) if (outcome) expect(outcome.errorMessage).toBe(null);
    if (random(4) === 0) await check();
  }
  await check();
  await lake.stop();
  lake.forgetDatabase();
  await lake.start();
  await check();
}, 180_000);
