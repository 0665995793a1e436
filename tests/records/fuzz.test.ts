import { expect, test } from "bun:test";
import { BufferPool } from "../../src/base/buffer_pool.ts";
import { KafkaError } from "../../src/base/kafka_error.ts";
import type { Codec } from "../../src/hotpath/codecs.ts";
import { kernels } from "../../src/hotpath/kernels.ts";
import { crc32cTwin } from "../../src/hotpath/twins/crc32c.ts";
import { fieldsPerRecord, walkTwin } from "../../src/hotpath/twins/walk.ts";
import { checkAndIndexBatch, indexRecords, walkRecords } from "../../src/hotpath/walk.ts";
import { BatchHeader, batchHeaderBytes, batchSizeAt } from "../../src/protocol/records/batch.ts";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch, type RecordToEncode } from "../../src/protocol/records/encode.ts";
import { validateProduceBatch } from "../../src/protocol/records/validate.ts";
import { guarded } from "../hotpath/guarded.ts";
import { Random, roundsFactor, seed } from "../hotpath/random.ts";

function randomRecords(random: Random): RecordToEncode[] {
  const part = () =>
    random.below(4) === 0 ? null : random.bytes(random.below(3) === 0 ? random.size(2000) : random.below(80));
  return Array.from({ length: 1 + random.below(12) }, () => ({
    key: part(),
    value: part(),
    timestamp: 1_700_000_000_000 + random.below(1_000_000) - 500_000,
    headers: Array.from({ length: random.below(3) }, () => ({ key: `h${random.below(9)}`, value: part() })),
  }));
}

test("walk: kernel and twin answer alike on mutated records and stay within their buffers", () => {
  const random = new Random(seed + 10);
  const faults = new Set<number>();
  let good = 0;
  for (let i = 0; i < 20_000 * roundsFactor; i++) {
    const records = randomRecords(random);
    let plain = encodeBatch(records).subarray(batchHeaderBytes);
    if (i % 8 !== 0) plain = random.mutate(plain);
    const count = i % 5 === 0 ? random.below(20) : records.length;
    const [high, low] = i % 7 === 0 ? [random.below(2 ** 32) | 0, random.below(2 ** 32) | 0] : [395, 1_000_000];
    const dense = i % 3 === 0;
    const output = { fields: new Int32Array(count * fieldsPerRecord), timestamps: new Float64Array(count) };
    const twin = walkTwin(plain, 0, plain.length, count, high, low, dense, output);
    expect([i, walkRecords(plain, 0, plain.length, count, high, low, dense)]).toEqual([i, twin]);
    const checked = checkAndIndexBatch(plain, 0, 0, count, high, low);
    if (dense) expect([i, checked.summary]).toEqual([i, twin]);
    expect(checked.crc).toBe(crc32cTwin(plain, 0, plain.length));
    const index = indexRecords(plain, 0, plain.length, count, high, low, dense);
    expect([i, index.summary]).toEqual([i, twin]);
    if (twin.fault === 0) {
      good++;
      expect(index.output).toEqual(output);
      if (dense) expect(checked.output).toEqual(output);
    }
    faults.add(twin.fault);
    if (i % 10 === 0) {
      const fieldBytes = count * fieldsPerRecord * 4;
      guarded(plain, fieldBytes + count * 8, (source, target) =>
        kernels.instance!.call.walk(source, plain.length, count, high, low, 0, target, target + fieldBytes),
      );
    }
  }
  expect([...faults].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(good).toBeGreaterThan(1000);
});

test("whole batches, mutated with the CRC made right: refused with a Kafka error or stored sound", () => {
  const random = new Random(seed + 11);
  const options = {
    maxBytes: 1 << 20,
    timestampType: "CreateTime",
    nowMs: 1_700_000_500_000,
    beforeMaxMs: 1e300,
  } as const;
  const pool = new BufferPool(1 << 20);
  const names = new Map<string, number>();
  for (let i = 0; i < 10_000 * roundsFactor; i++) {
    const codec = (i % 5) as Codec;
    const batch = random.mutate(encodeBatch(randomRecords(random), { codec }));
    const size = batchSizeAt(batch, 0);
    if (size >= batchHeaderBytes && i % 8 !== 0) new BatchHeader(batch).renewCrc();
    let name = "ok";
    try {
      const more = {
        afterMaxMs: 3_600_000,
        compactedTopic: i % 11 === 0,
        inspectRecords: i % 2 === 0,
        maxPlainBytes: 1 << 20,
      };
      const viewPool = i % 3 === 0 ? pool : undefined;
      const produced = validateProduceBatch(batch, { ...options, ...more, viewPool });
      expect(produced.header.isCrcValid).toBe(true);
      if (produced.plain !== undefined || produced.codec === 0) {
        const view = decodeBatch(produced.bytes);
        expect(view.records.map((record) => record.offset)).toEqual(
          Array.from({ length: produced.count }, (_, at) => at),
        );
        expect(produced.maxTimestamp).toBe(view.summary.maxTimestamp);
        if (produced.view) expect(produced.view.records).toEqual(view.records);
        produced.view?.release();
      }
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error;
      name = error.errorName;
    }
    names.set(name, (names.get(name) ?? 0) + 1);
    try {
      for (const record of decodeBatch(batch, { checkCrc: false, maxPlainBytes: 1 << 20 }))
        expect(record.offset).toBeNumber();
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error;
    }
  }
  for (const name of ["ok", "CORRUPT_MESSAGE", "INVALID_RECORD"]) expect(names.get(name)).toBeGreaterThan(200);
});
