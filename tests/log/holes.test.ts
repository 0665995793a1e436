import { describe, expect, test } from "bun:test";
import { limits } from "../../src/base/limits.ts";
import { decodeBatch, decodeBatches } from "../../src/protocol/records/decode.ts";
import { rewriteRecords } from "../../src/protocol/records/rewrite.ts";
import { baseTime, batchOf, recordsOf } from "./helpers.ts";
import { everything, simulation } from "./sim_store.ts";

/** A batch of `count` records of which those at `gone` are left out before it is appended. */
function holed(count: number, gone: readonly number[], options: Parameters<typeof batchOf>[2] = {}): Uint8Array {
  const dropped = new Uint8Array(count);
  for (const record of gone) dropped[record] = 1;
  return rewriteRecords(decodeBatch(batchOf(count, "v", options)), { dropped }, 0);
}

const all = (count: number) => Array.from({ length: count }, (_, n) => n);

describe("batches with holes, and empty ones", () => {
  test("take all their offsets, also after a clean stop and after a power cut", async () => {
    const { open, log, disk } = simulation();
    const store = open();
    const one = log(store, { segmentBytes: 300 });
    const expected: number[] = [];
    let offset = 0;
    for (let n = 0; n < 12; n++) {
      const gone = n % 3 === 0 ? [1, 3] : n % 3 === 1 ? all(4) : [3];
      expect(one.append(holed(4, gone)).baseOffset).toBe(offset);
      for (const record of all(4)) if (!gone.includes(record)) expected.push(offset + record);
      offset += 4;
    }
    await one.idle();
    const offsets = (partition: typeof one) => {
      const found: number[] = [];
      for (let at = 0; at < partition.highWatermark; ) {
        const parts = partition.read(at, everything);
        expect(parts.length).toBeGreaterThan(0);
        for (const part of parts) for (const batch of decodeBatches(part)) at = batch.header.lastOffset + 1;
        found.push(...recordsOf(parts).map((record) => record.offset));
      }
      return found;
    };
    expect(offsets(one)).toEqual(expected);
    disk.restart();
    const second = open();
    expect(offsets(log(second))).toEqual(expected);
    expect(log(second).logEndOffset).toBe(48);
    await second.close();
    const third = log(open());
    expect(offsets(third)).toEqual(expected);
    expect(third.append(batchOf(1)).baseOffset).toBe(48);
  });

  test("every offset below the end is answered with something at or past it", async () => {
    const { open, log } = simulation();
    const one = log(open(), { segmentBytes: 300 });
    for (const gone of [all(3), [0, 2], all(3), all(3), [1], all(3)]) one.append(holed(3, gone));
    await one.idle();
    for (let offset = 0; offset < 18; offset++) {
      const [part] = one.read(offset, { ...everything, maxBytes: 1 });
      expect([...decodeBatches(part!)].at(-1)!.header.lastOffset).toBeGreaterThanOrEqual(offset);
    }
    expect(one.read(18, everything)).toEqual([]);
  });

  test("a read goes on over emptied batches to the next records, into the next segment", async () => {
    const { open, log } = simulation();
    const one = log(open(), { segmentBytes: 200 });
    for (const gone of [[], all(2), all(2), all(2), all(2), all(2)]) one.append(holed(2, gone));
    await one.idle();
    const first = (offset: number, options = {}) => {
      const [part] = one.read(offset, { ...everything, maxBytes: 1, ...options });
      const [batch] = [...decodeBatches(part!)];
      return [batch!.header.baseOffset, batch!.count];
    };
    // With nothing but emptied batches up to the end, they are the answer.
    expect(first(2)).toEqual([2, 0]);
    await one.append(batchOf(2)).done;
    expect(first(2)).toEqual([12, 2]);
    expect(first(5)).toEqual([12, 2]);
    expect(first(2, { isolation: "logEnd" })).toEqual([2, 0]);
    expect(first(2, { minOneBatch: false, maxBytes: 61 })).toEqual([2, 0]);
  });

  test("with very many emptied batches each read passes some, until there are records", async () => {
    const { open, log } = simulation();
    const one = log(open(), { segmentBytes: 100_000 });
    await one.append(batchOf(1)).done;
    const count = Math.ceil((3.5 * limits.emptiedBytesPassedMax) / 61);
    for (let n = 0; n < count; n++) one.append(holed(1, [0]));
    one.append(batchOf(1));
    await one.idle();
    let reads = 0;
    for (let found = 0; found === 0; reads++) {
      expect(reads).toBeLessThan(6);
      found = recordsOf(one.read(1, { ...everything, maxBytes: 10_000 })).length;
    }
    expect(reads).toBeGreaterThan(1);
    expect(recordsOf(one.read(1, everything)).map(({ offset }) => offset)).toEqual([count + 1]);
  });

  test("sequences count what is left out", async () => {
    const { open, log, disk } = simulation();
    const producer = (baseSequence: number) => ({ producerId: 5n, producerEpoch: 0, baseSequence });
    const one = log(open());
    await one.append(holed(4, all(4), producer(0))).done;
    await one.append(holed(4, [3], producer(4))).done;
    expect(() => one.append(batchOf(1, "v", producer(7)))).toThrow(/must send sequence 8/);
    disk.restart();
    const again = log(open());
    expect(again.append(holed(4, all(4), producer(0))).duplicate).toBe(true);
    expect(again.append(batchOf(1, "v", producer(8))).baseOffset).toBe(8);
  });

  test("a lookup by time passes over what is gone", async () => {
    const { open, log, disk } = simulation();
    const one = log(open(), { segmentBytes: 300, indexIntervalBytes: 0 });
    const at = (minute: number) => ({ timestamp: baseTime + minute * 60_000 });
    await one.append(holed(2, [], at(1))).done;
    await one.append(holed(2, [0, 1], at(9))).done;
    await one.append(holed(2, [0], at(3))).done;
    await one.append(holed(2, [0, 1], at(10))).done;
    const check = (partition: typeof one) => {
      expect(partition.offsetForTimestamp(at(2).timestamp)?.offset).toBe(5);
      expect(partition.offsetForTimestamp(at(5).timestamp)).toBeUndefined();
      expect(partition.maxTimestampOffset()).toEqual({ offset: 5, timestamp: at(3).timestamp });
    };
    check(one);
    disk.restart();
    check(log(open()));
  });

  test("records are deleted up to a hole", async () => {
    const { open, log } = simulation();
    const one = log(open(), { segmentBytes: 300 });
    for (let n = 0; n < 6; n++) one.append(holed(4, n % 2 ? all(4) : [1, 2]));
    await one.idle();
    expect(await one.deleteRecords(6)).toBe(6);
    expect(recordsOf(one.read(6, everything)).map(({ offset }) => offset)).not.toContain(3);
    expect(await one.deleteRecords(-1)).toBe(24);
    expect(one.read(24, everything)).toEqual([]);
  });
});
