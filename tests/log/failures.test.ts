import { describe, expect, test } from "bun:test";
import { batchOf, recordsOf } from "./helpers.ts";
import { everything, simulation } from "./sim_store.ts";

const isLog = (path: string) => path.endsWith(".log");
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a failed write", () => {
  test("is refused whole and leaves no trace; the next append works", async () => {
    const { open, log, disk } = simulation();
    const one = log(open());
    await one.append(batchOf(2, "a")).done;
    const size = one.sizeBytes();
    disk.failWrites(1, isLog);
    const failed = [one.append(batchOf(2, "b")), one.append(batchOf(2, "c"))];
    for (const each of failed) await expect(each.done).rejects.toMatchObject({ errorName: "KAFKA_STORAGE_ERROR" });
    expect([one.logEndOffset, one.highWatermark, one.sizeBytes()]).toEqual([2, 2, size]);
    expect(disk.stat("/lake/log/t-0/00000000000000000000.log")?.size).toBe(size);
    const next = one.append(batchOf(1, "d"));
    expect(next.baseOffset).toBe(2);
    await next.done;
    expect(recordsOf(one.read(0, everything)).map((record) => record.value)).toEqual(["a-0", "a-1", "d-0"]);
    expect(log(open()).logEndOffset).toBe(3);
  });

  test("that cannot be cut off closes the partition for appends until it can", async () => {
    const { open, log, disk, clock, logger } = simulation();
    const one = log(open());
    await one.append(batchOf(2, "a")).done;
    disk.failWrites(3, isLog);
    await expect(one.append(batchOf(2, "b")).done).rejects.toThrow();
    expect(() => one.append(batchOf(1))).toThrow(/refuses appends/);
    expect(one.faultReason).toContain("input/output");
    expect(recordsOf(one.read(0, everything)).length).toBe(2);
    clock.advance(1_000);
    expect(() => one.append(batchOf(1))).toThrow(/refuses appends/);
    clock.advance(1_000);
    const next = one.append(batchOf(1, "c"));
    expect(next.baseOffset).toBe(2);
    await next.done;
    expect(logger.lines.some((line) => line.message.startsWith("the partition refuses appends"))).toBe(true);
    expect(log(open()).logEndOffset).toBe(3);
  });

  test("at a roll keeps the old segment whole", async () => {
    const { open, log, disk } = simulation();
    const config = { segmentBytes: 200 };
    const one = log(open(), config);
    await one.append(batchOf(2, "a".repeat(20))).done;
    for (const ending of [".index", ".snapshot", "02.log"]) {
      disk.failWrites(1, (path) => path.endsWith(ending));
      const failing = one.append(batchOf(2, "b".repeat(20)));
      const failed = await failing.done.then(
        () => false,
        () => true,
      );
      expect(failed || ending === ".index").toBe(true);
      if (!failed) break;
      expect(one.logEndOffset).toBe(2);
    }
    await one.append(batchOf(2, "c".repeat(20))).done;
    const again = log(open(), config);
    expect(again.logEndOffset).toBe(one.logEndOffset);
    expect(recordsOf(again.read(0, everything)).length).toBe(2);
  });
});

describe("a failed sync", () => {
  test("is never a success: its batches are refused, and the log goes on in a new segment", async () => {
    const { open, log, disk, logger } = simulation();
    const store = open();
    const one = log(store);
    await one.append(batchOf(2, "a")).done;
    disk.failSyncs(1, isLog);
    const failed = one.append(batchOf(2, "b"));
    const repeat = failed.done;
    await expect(failed.done).rejects.toMatchObject({ errorName: "KAFKA_STORAGE_ERROR" });
    await expect(repeat).rejects.toThrow();
    expect([one.logEndOffset, one.highWatermark]).toEqual([2, 2]);
    await settle();
    const next = one.append(batchOf(1, "c"));
    expect(next.baseOffset).toBe(2);
    await next.done;
    expect(disk.list("/lake/log/t-0").filter(isLog).sort()).toEqual([
      "00000000000000000000.log",
      "00000000000000000002.log",
    ]);
    expect(logger.lines.map((line) => line.message)).toEqual([
      "a sync failed; its batches are refused",
      "the partition accepts batches again, in a new segment",
    ]);
    // What is on the platter now is what was answered.
    disk.evictPages();
    disk.restart();
    const again = log(open());
    expect(again.logEndOffset).toBe(3);
    expect(recordsOf([...again.read(0, everything), ...again.read(2, everything)]).map((one) => one.value)).toEqual([
      "a-0",
      "a-1",
      "c-0",
    ]);
  });

  test("of a first batch begins the log again at offset 0", async () => {
    const { open, log, disk } = simulation();
    const one = log(open());
    disk.failSyncs(1, isLog);
    await expect(one.append(batchOf(2)).done).rejects.toThrow();
    await settle();
    await one.append(batchOf(1, "x")).done;
    disk.restart();
    expect(log(open()).logEndOffset).toBe(1);
  });

  test("that repeats keeps the partition closed, reads go on", async () => {
    const { open, log, disk, clock } = simulation();
    const one = log(open());
    await one.append(batchOf(2, "a")).done;
    disk.failSyncs(3, isLog);
    await expect(one.append(batchOf(2)).done).rejects.toThrow();
    for (let attempt = 0; attempt < 2; attempt++) {
      await settle();
      expect(() => one.append(batchOf(1))).toThrow(/refuses appends/);
      expect(recordsOf(one.read(0, everything)).length).toBe(2);
      await settle();
      clock.advance(1_000);
    }
    expect(() => one.append(batchOf(1))).toThrow(/refuses appends/);
    await settle();
    expect((await one.append(batchOf(1))).baseOffset).toBe(2);
  });

  test("while a clean stop is asked for: the partition is checked at the next start", async () => {
    const { open, log, disk } = simulation();
    const store = open();
    const one = log(store);
    await one.append(batchOf(2, "a")).done;
    disk.failSyncs(100, isLog);
    const failed = one.append(batchOf(2));
    await store.close();
    await expect(failed.done).rejects.toThrow();
    disk.restart();
    expect(log(open()).logEndOffset).toBe(2);
  });
});

describe("a full disk", () => {
  test("refuses appends below the reserve while reads and deletions go on, and recovers", async () => {
    const { open, log, disk, logger } = simulation(1, { capacity: 200_000 });
    const store = open();
    const one = log(store, { segmentBytes: 20_000, retentionMs: -1 });
    let accepted = 0;
    for (;;) {
      try {
        await one.append(batchOf(1, "x".repeat(2_000))).done;
        accepted++;
      } catch (error) {
        expect(error).toMatchObject({ errorName: "KAFKA_STORAGE_ERROR" });
        expect((error as Error).message).toContain("nearly full");
        break;
      }
    }
    expect(disk.freeBytes("/").free).toBeGreaterThan(5_000);
    expect(one.logEndOffset).toBe(accepted);
    expect(recordsOf(one.read(0, everything)).length).toBeGreaterThan(0);
    await one.deleteRecords(accepted - 5);
    await store.clean();
    await one.append(batchOf(1, "again")).done;
    expect(logger.lines.map((line) => line.message)).toContain("the disk has space again; produces are accepted");
    expect(log(open()).logEndOffset).toBe(accepted + 1);
  });

  test("to the last byte still lets records be deleted", async () => {
    const { open, log, disk } = simulation(1, { capacity: 1_000_000 });
    const store = open();
    const one = log(store, { segmentBytes: 20_000, retentionMs: -1 });
    for (let n = 0; n < 30; n++) await one.append(batchOf(1, "x".repeat(2_000))).done;
    disk.capacity -= disk.freeBytes("/").free;
    expect(disk.freeBytes("/").free).toBe(0);
    expect(await one.deleteRecords(25)).toBe(25);
    await store.clean();
    expect(disk.freeBytes("/").free).toBeGreaterThan(40_000);
    disk.capacity = 1_000_000;
    await store.clean();
    expect(disk.list("/lake/log")).toContain("rowlog-ballast");
  });

  test("that fills up under a write takes nothing of it, and a start on it works", async () => {
    const { open, log, disk } = simulation(1, { capacity: 1_000_000 });
    const one = log(open());
    await one.append(batchOf(1, "x".repeat(2_000))).done;
    const used = 1_000_000 - disk.freeBytes("/").free;
    // The guard has just asked; now somebody else takes the space.
    disk.capacity = used + 100;
    await expect(one.append(batchOf(1, "y".repeat(2_000))).done).rejects.toThrow(/no space left/);
    expect(one.logEndOffset).toBe(1);
    expect(() => one.append(batchOf(1))).toThrow(/nearly full/);
    const again = log(open());
    expect(again.logEndOffset).toBe(1);
    disk.capacity = 1_000_000;
    await again.append(batchOf(1)).done;
    expect(log(open()).logEndOffset).toBe(2);
  });
});
