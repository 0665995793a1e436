/**
 * Producers and SQL on the same keyed table, at random: in the end the table, the fold of its log, and the fold of what a consumer saw are the
 * same. `ROWLOG_ORDERING_SEED` repeats a run; `ROWLOG_ORDERING_SECONDS` makes it long.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { decodeBatches } from "../../../src/protocol/records/decode.ts";
import { Random } from "../../hotpath/random.ts";
import { Lake } from "../lake.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

const seed = Number(process.env.ROWLOG_ORDERING_SEED ?? Math.floor(Math.random() * 2 ** 31));
const seconds = Number(process.env.ROWLOG_ORDERING_SECONDS ?? 4);
const keys = 40;

let lake: Lake;
beforeAll(async () => {
  lake = await Lake.open();
});
afterAll(() => lake.close());

for (const partitions of [1, 3])
  test(`${partitions} partitions, seed ${seed}`, async () => {
    const table = `t${partitions}`;
    await lake.sql(
      `CREATE TABLE ${table} (id INTEGER PRIMARY KEY, v INTEGER, who VARCHAR) WITH (partitions = ${partitions})`,
    );
    const consumer = consume(table, partitions);
    const until = performance.now() + (seconds / 2) * 1000;
    const counts = { produced: 0, written: 0 };
    const workers = [0, 1, 2].map((i) => produceUntil(table, partitions, until, new Random(seed + i), counts));
    const writers = [0, 1].map((i) => writeUntil(table, until, new Random(seed + 10 + i), counts));
    const reader = readUntil(table, until);
    await Promise.all([...workers, ...writers, reader]);
    const rows = (await lake.sqlText(`SELECT id, v, who FROM ${table} ORDER BY id`)).map((row) => row);
    const folded = fold(table, partitions);
    expect(rows).toEqual(folded);
    expect(await consumer.stop()).toEqual(folded);
    expect(counts.produced).toBeGreaterThan(0);
    expect(counts.written).toBeGreaterThan(0);
    // A database made anew from the log has the same.
    await lake.stop();
    lake.forgetDatabase();
    await lake.start();
    expect(await lake.sqlText(`SELECT id, v, who FROM ${table} ORDER BY id`)).toEqual(folded);
  });

/** Where SQL would put a key, so that producers and SQL agree. */
async function partitionOf(id: number, partitions: number): Promise<number> {
  const { partitionOfKey } = await import("../../../src/protocol/partitioner.ts");
  return partitionOfKey(new TextEncoder().encode(`{"id":${id}}`), partitions);
}

async function produceUntil(
  table: string,
  partitions: number,
  until: number,
  random: Random,
  counts: { produced: number },
): Promise<void> {
  while (performance.now() < until) {
    const partition = random.below(partitions);
    const records: { key: string; value: string | null }[] = [];
    for (let i = random.below(8); i >= 0; i--) {
      const id = random.below(keys);
      if ((await partitionOf(id, partitions)) !== partition) continue;
      const key = `{"id":${id}}`;
      const isDelete = random.below(5) === 0;
      records.push({ key, value: isDelete ? null : `{"id":${id},"v":${random.below(1000)},"who":"p"}` });
    }
    if (records.length === 0) continue;
    const outcome = await lake.produce(table, records, { partition });
    expect(outcome.errorMessage).toBe(null);
    counts.produced++;
  }
}

async function writeUntil(table: string, until: number, random: Random, counts: { written: number }): Promise<void> {
  while (performance.now() < until) {
    const id = random.below(keys);
    const statements = [
      `UPDATE ${table} SET v = v + 1, who = 's' WHERE id % 7 = ${id % 7}`,
      `DELETE FROM ${table} WHERE id = ${id}`,
      `INSERT INTO ${table} VALUES (${id}, 0, 'i') ON CONFLICT (id) DO UPDATE SET v = -1`,
      `BEGIN; INSERT OR REPLACE INTO ${table} VALUES (${id}, 5, 'r'); UPDATE ${table} SET v = 6 WHERE id = ${id}; COMMIT`,
      `MERGE INTO ${table} USING (VALUES (${id})) AS s(id) ON ${table}.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1, 'm')`,
      `BEGIN; DELETE FROM ${table} WHERE id < 3; ROLLBACK`,
    ];
    await lake.sql(statements[random.below(statements.length)]!);
    counts.written++;
  }
}

/** A key has one row at every moment. */
async function readUntil(table: string, until: number): Promise<void> {
  while (performance.now() < until)
    expect(await lake.sql(`SELECT id FROM ${table} GROUP BY id HAVING count(*) > 1`)).toEqual([]);
}

type State = Map<string, string | null>;

function fold(table: string, partitions: number): string[] {
  const state: State = new Map();
  for (let partition = 0; partition < partitions; partition++)
    for (const { key, value } of lake.records(table, partition)) put(state, key, value);
  return rowsOf(state);
}

function put(state: State, key: Uint8Array | null, value: Uint8Array | null): void {
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (value === null) state.delete(text(key!));
  else state.set(text(key!), text(value));
}

function rowsOf(state: State): string[] {
  const rows = [...state.values()].map((value) => JSON.parse(value!) as { id: number; v: number; who: string });
  return rows.toSorted((a, b) => a.id - b.id).map(({ id, v, who }) => JSON.stringify([id, v, who]));
}

/** Reads what is durable as it comes, as a fetch does. */
function consume(table: string, partitions: number): { stop(): Promise<string[]> } {
  const state: State = new Map();
  const topic = lake.catalog.topic(table)!;
  const logs = Array.from({ length: partitions }, (_, partition) => lake.topics.log(topic, partition));
  const next = logs.map(() => 0);
  const catchUp = () => {
    logs.forEach((log, i) => {
      while (next[i]! < log.highWatermark)
        for (const part of log.read(next[i]!, { maxBytes: 1 << 20, minOneBatch: true, isolation: "highWatermark" }))
          for (const batch of decodeBatches(part)) {
            for (const { key, value, offset } of batch) {
              expect(offset).toBeGreaterThanOrEqual(next[i]!);
              put(state, key, value);
            }
            next[i] = batch.header.lastOffset + 1;
          }
    });
  };
  const timer = setInterval(catchUp, 3);
  return {
    async stop() {
      clearInterval(timer);
      catchUp();
      return rowsOf(state);
    },
  };
}
