import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeBatch, decodeBatches } from "../../src/protocol/records/decode.ts";
import { validateProduceBatch } from "../../src/protocol/records/validate.ts";

const vector = (name: string) => new Uint8Array(readFileSync(join(import.meta.dir, `../vectors/records/${name}`)));
const text = (bytes: Uint8Array | null) => (bytes === null ? null : new TextDecoder().decode(bytes));

/** What Generate.java puts into record `i`. */
function written(i: number, appendTime?: number) {
  const key = i % 3 === 0 ? null : i % 3 === 1 ? "" : `key-${i}`;
  const value = i % 4 === 3 ? null : `${"value ".repeat(i % 50)}é`;
  const headers = [
    ["h", `x${i}`],
    ["", null],
    ["h", ""],
  ];
  const timestamp = appendTime ?? 1_700_000_000_000 + i * 1000 - (i === 5 ? 100_000 : 0);
  return { offset: 100 + i, timestamp, key, value, headers: i % 2 === 0 ? headers : [] };
}

describe("batches written by Apache Kafka", () => {
  for (const [name, count] of [
    ["none", 40],
    ["gzip", 40],
    ["snappy", 400],
    ["lz4", 400],
    ["zstd", 40],
    ["appendtime", 3],
  ] as const) {
    test(name, () => {
      const batch = vector(`batch-${name}.bin`);
      const view = decodeBatch(batch);
      expect(view.header).toMatchObject({
        baseOffset: 100,
        producerId: 1234567890123n,
        producerEpoch: 5,
        baseSequence: 77,
      });
      expect(view.header).toMatchObject({ partitionLeaderEpoch: 9, recordCount: count, lastOffsetDelta: count - 1 });
      const records = view.records.map(({ offset, timestamp, key, value, headers }) => {
        const pairs = headers.map((header) => [header.key, text(header.value)]);
        return { offset, timestamp, key: text(key), value: text(value), headers: pairs };
      });
      const appendTime = name === "appendtime" ? 1_800_000_000_000 : undefined;
      expect(records).toEqual(Array.from({ length: count }, (_, i) => written(i, appendTime)) as typeof records);
    });
  }

  test("a run of batches, the last one cut", () => {
    const parts = ["none", "lz4", "gzip"].map((name) => vector(`batch-${name}.bin`));
    const run = new Uint8Array(Buffer.concat(parts)).slice(0, -1);
    expect([...decodeBatches(run)].map((view) => view.count)).toEqual([40, 400]);
  });

  test("a produced one keeps its time and producer", () => {
    const batch = vector("batch-lz4.bin");
    batch.fill(0, 0, 8);
    const produced = validateProduceBatch(batch, {
      maxBytes: 100_000,
      timestampType: "CreateTime",
      nowMs: 1_700_000_500_000,
      beforeMaxMs: Number.MAX_VALUE,
      afterMaxMs: 3_600_000,
    });
    expect(produced).toMatchObject({ count: 400, codec: 3, maxTimestamp: 1_700_000_399_000 });
    expect(produced.plain).toBeUndefined();
  });
});
