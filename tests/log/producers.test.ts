import { describe, expect, test } from "bun:test";
import { errorCodes, KafkaError } from "../../src/base/kafka_error.ts";
import { limits } from "../../src/base/limits.ts";
import type { PartitionLog } from "../../src/log/log_store.ts";
import { decodeSnapshot } from "../../src/log/producer_snapshot.ts";
import { batchOf, sequenced } from "./helpers.ts";
import { everything, simulation } from "./sim_store.ts";

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return error instanceof KafkaError ? error.errorName : String(error);
  }
  return "accepted";
}

/** Appends and gives the base offset, with a mark when it was a duplicate, or the error's name. */
async function send(log: PartitionLog, batch: Uint8Array): Promise<string> {
  try {
    const result = log.append(batch);
    await result.done;
    return `${result.baseOffset}${result.duplicate ? " again" : ""}`;
  } catch (error) {
    return (error as KafkaError).errorName;
  }
}

describe("idempotent producers", () => {
  test("batches in sequence are taken, repeats are answered with the first offset, gaps are refused", async () => {
    const { open, log } = simulation();
    const one = log(open());
    expect(await send(one, sequenced(7, 0, 0, 3))).toBe("0");
    expect(await send(one, sequenced(7, 0, 3, 2))).toBe("3");
    expect(await send(one, sequenced(7, 0, 0, 3))).toBe("0 again");
    expect(await send(one, sequenced(7, 0, 3, 2))).toBe("3 again");
    expect(await send(one, sequenced(7, 0, 6))).toBe("OUT_OF_ORDER_SEQUENCE_NUMBER");
    expect(await send(one, sequenced(7, 0, 3, 1))).toBe("OUT_OF_ORDER_SEQUENCE_NUMBER");
    expect(await send(one, batchOf(1))).toBe("5");
    expect(await send(one, sequenced(7, 0, 5))).toBe("6");
    expect(one.logEndOffset).toBe(7);
  });

  test("the last five batches are remembered, a sixth is not", async () => {
    const { open, log } = simulation();
    const one = log(open());
    for (let n = 0; n < 6; n++) await send(one, sequenced(7, 0, n));
    expect(await send(one, sequenced(7, 0, 1))).toBe("1 again");
    expect(await send(one, sequenced(7, 0, 0))).toBe("OUT_OF_ORDER_SEQUENCE_NUMBER");
  });

  test("a new epoch begins at sequence 0 and fences the old one", async () => {
    const { open, log } = simulation();
    const one = log(open());
    await send(one, sequenced(7, 3, 0));
    expect(await send(one, sequenced(7, 4, 1))).toBe("OUT_OF_ORDER_SEQUENCE_NUMBER");
    expect(await send(one, sequenced(7, 4, 0))).toBe("1");
    expect(await send(one, sequenced(7, 3, 1))).toBe("INVALID_PRODUCER_EPOCH");
    expect(await send(one, sequenced(7, 3, 0))).toBe("INVALID_PRODUCER_EPOCH");
    expect(await send(one, sequenced(7, 4, 1))).toBe("2");
  });

  test("a producer that is not known may begin anywhere", async () => {
    const { open, log } = simulation();
    expect(await send(log(open()), sequenced(7, 0, 41))).toBe("0");
  });

  test("after sequence 2^31-1 comes 0, also within a batch", async () => {
    const { open, log } = simulation();
    const one = log(open());
    expect(await send(one, sequenced(7, 0, 2_147_483_645, 3))).toBe("0");
    expect(await send(one, sequenced(7, 0, 0, 1))).toBe("3");
    expect(await send(one, sequenced(8, 0, 2_147_483_646, 4))).toBe("4");
    expect(await send(one, sequenced(8, 0, 2_147_483_646, 4))).toBe("4 again");
    expect(await send(one, sequenced(8, 0, 2, 1))).toBe("8");
    expect(one.producers().map((producer) => producer.lastSequence)).toEqual([0, 2]);
  });

  test("a repeat of a batch on its way shares its result, good or bad", async () => {
    const { open, log, disk } = simulation();
    const one = log(open());
    const first = one.append(sequenced(7, 0, 0));
    const repeat = one.append(sequenced(7, 0, 0));
    expect(repeat).toMatchObject({ baseOffset: 0, duplicate: true });
    expect(one.highWatermark).toBe(0);
    await repeat.done;
    expect(one.highWatermark).toBe(1);
    await first.done;
    disk.failWrites(1, (path) => path.endsWith(".log"));
    const failing = one.append(sequenced(7, 0, 1));
    const also = one.append(sequenced(7, 0, 1));
    const behind = one.append(sequenced(7, 0, 2));
    for (const each of [failing, also, behind]) await expect(each.done).rejects.toThrow(/input\/output/);
    expect(one.logEndOffset).toBe(1);
    // The failed batches are forgotten: the producer goes on from the last good one.
    expect(refusal(() => one.append(sequenced(7, 0, 2)))).toBe("OUT_OF_ORDER_SEQUENCE_NUMBER");
    expect(await send(one, sequenced(7, 0, 0))).toBe("0 again");
    expect(await send(one, sequenced(7, 0, 1))).toBe("1");
  });

  test("an epoch that came with a failed batch is taken back", async () => {
    const { open, log, disk } = simulation();
    const one = log(open());
    for (let n = 0; n < 7; n++) await send(one, sequenced(7, 0, n));
    disk.failWrites(1, (path) => path.endsWith(".log"));
    expect(await send(one, sequenced(7, 1, 0))).toBe("KAFKA_STORAGE_ERROR");
    expect(await send(one, sequenced(7, 0, 2))).toBe("2 again");
    expect(await send(one, sequenced(7, 0, 7))).toBe("7");
  });

  test("ids beyond 2^53 are kept apart", async () => {
    const { open, log } = simulation();
    const one = log(open());
    const huge = (low: bigint) =>
      batchOf(1, "x", { producerId: 9_007_199_254_740_993n + low, producerEpoch: 0, baseSequence: 0 });
    expect(await send(one, huge(0n))).toBe("0");
    expect(await send(one, huge(1n))).toBe("1");
    expect(one.producers().map((producer) => producer.producerId)).toEqual([
      9_007_199_254_740_993n,
      9_007_199_254_740_994n,
    ]);
  });

  test("idle producers expire, busy ones do not", async () => {
    const { open, log, clock } = simulation();
    const store = open();
    const one = log(store, { retentionMs: -1 });
    await send(one, sequenced(7, 0, 0));
    await send(one, sequenced(8, 0, 0));
    clock.advance(limits.producerExpirationMs - 1);
    await send(one, sequenced(7, 0, 1));
    clock.advance(1);
    await store.clean();
    expect(one.producers().map((producer) => Number(producer.producerId))).toEqual([7]);
    expect(await send(one, sequenced(8, 0, 55))).toBe("3");
  });

  test("the least recently used producer goes when there are too many", async () => {
    const { open, log } = simulation();
    const one = log(open());
    for (let id = 0; id <= limits.producersPerPartitionMax; id++) one.append(sequenced(id, 0, 0));
    await one.idle();
    expect(one.producers().length).toBe(limits.producersPerPartitionMax);
    expect(await send(one, sequenced(1, 0, 0))).toBe("1 again");
    expect(await send(one, sequenced(0, 0, 9))).toBe(`${limits.producersPerPartitionMax + 1}`);
  });
});

describe.each(["kill", "clean stop"])("after a %s", (end) => {
  test.each([{ segmentBytes: 1 << 20 }, { segmentBytes: 300 }])(
    "with %o the last five batches are known",
    async (config) => {
      const { open, log, disk } = simulation();
      const store = open();
      const one = log(store, config);
      for (let n = 0; n < 9; n++) {
        await send(one, sequenced(7, 0, n * 2, 2));
        await send(one, batchOf(1));
        if (n % 3 === 0) await send(one, sequenced(8, 2, n / 3));
      }
      if (end === "clean stop") await store.close();
      const again = log(open(), config);
      expect(again.producers().length).toBe(2);
      for (let n = 4; n < 9; n++) expect(await send(again, sequenced(7, 0, n * 2, 2))).toMatch(/again$/);
      for (let n = 0; n < 3; n++) expect(await send(again, sequenced(8, 2, n))).toMatch(/again$/);
      expect(await send(again, sequenced(7, 0, 17, 2))).toBe("OUT_OF_ORDER_SEQUENCE_NUMBER");
      expect(await send(again, sequenced(8, 1, 0))).toBe("INVALID_PRODUCER_EPOCH");
      expect(await send(again, sequenced(7, 0, 18, 2))).toBe(`${9 * 2 + 9 + 3}`);
      expect(again.read(0, everything).length).toBeGreaterThan(0);
      expect(disk.list("/lake/log/t-0").some((name) => name.endsWith(".snapshot"))).toBe(
        end === "clean stop" || config.segmentBytes === 300,
      );
    },
  );
});

test("a damaged snapshot is passed over", async () => {
  const { open, log, disk, logger } = simulation();
  const store = open();
  const one = log(store);
  for (let n = 0; n < 3; n++) await send(one, sequenced(7, 0, n));
  await store.close();
  const path = "/lake/log/t-0/00000000000000000003.snapshot";
  const bytes = disk.readFile(path);
  expect(decodeSnapshot(bytes, 0)).toMatchObject([
    { producerId: 7, epoch: 0, batches: [{ lastSequence: 2, lastOffset: 2 }] },
  ]);
  bytes[20]! ^= 1;
  expect(decodeSnapshot(bytes, 0)).toBeUndefined();
  disk.open(path, { write: true }).write(bytes, 0);
  expect(await send(log(open()), sequenced(7, 0, 3))).toBe("3");
  expect(logger.lines.some((line) => line.message.includes("snapshot is damaged"))).toBe(true);
  expect(errorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER).toBe(45);
});
