import { describe, expect, test } from "bun:test";
import { baseTime, batchOf, recordsOf } from "./helpers.ts";
import { everything, simulation } from "./sim_store.ts";

const folder = "/lake/log/t-0";
const hour = 3_600_000;

describe("retention", () => {
  test("by time removes old segments, and their files", async () => {
    const { open, log, disk, clock } = simulation();
    const store = open();
    const one = log(store, { segmentBytes: 200, retentionMs: hour });
    for (let n = 0; n < 10; n++) one.append(batchOf(1, "x".repeat(100), { timestamp: baseTime + n * 60_000 }));
    await one.idle();
    clock.stepWall(hour + 4 * 60_000 + 1);
    expect(await store.clean()).toBe(5);
    expect([one.logStartOffset, one.logEndOffset]).toEqual([5, 10]);
    expect(disk.list(folder).filter((name) => /^0+[0-4]\./.test(name))).toEqual([]);
    expect(() => one.read(4, everything)).toThrow(/outside/);
    expect(recordsOf(one.read(5, everything))[0]?.offset).toBe(5);
    expect(log(open()).logStartOffset).toBe(5);
  });

  test("of everything leaves an empty log that goes on at its end, also after a power cut", async () => {
    const { open, log, disk, clock } = simulation();
    const store = open();
    const one = log(store, { retentionMs: hour });
    for (let n = 0; n < 3; n++) await one.append(batchOf(2)).done;
    clock.stepWall(hour + 1);
    expect(await store.clean()).toBe(1);
    expect([one.logStartOffset, one.logEndOffset, one.sizeBytes()]).toEqual([6, 6, 0]);
    disk.restart();
    const again = log(open());
    expect([again.logStartOffset, again.logEndOffset]).toEqual([6, 6]);
    expect(again.append(batchOf(1)).baseOffset).toBe(6);
  });

  test("by size keeps at least that much", async () => {
    const { open, log } = simulation();
    const store = open();
    const one = log(store, { segmentBytes: 400, retentionBytes: 1_000, retentionMs: -1 });
    for (let n = 0; n < 30; n++) one.append(batchOf(1, "x".repeat(100)));
    await one.idle();
    const before = one.sizeBytes();
    expect(await store.clean()).toBeGreaterThan(0);
    expect(one.sizeBytes()).toBeGreaterThanOrEqual(1_000);
    expect(one.sizeBytes()).toBeLessThan(1_400);
    expect(one.sizeBytes()).toBeLessThan(before);
    expect(await store.clean()).toBe(0);
  });

  test("does not touch compacted topics, nor what tables have not applied", async () => {
    const { open, log, clock } = simulation();
    const store = open();
    const one = log(store, { segmentBytes: 200, retentionMs: hour, deleteOld: false, compacted: true });
    for (let n = 0; n < 10; n++) one.append(batchOf(1, "x".repeat(100)));
    await one.idle();
    clock.stepWall(2 * hour);
    expect(await store.clean()).toBe(0);
    one.config = { ...one.config, deleteOld: true };
    let applied = 3;
    one.retainFrom = () => applied;
    expect(await store.clean()).toBe(3);
    expect(one.logStartOffset).toBe(3);
    applied = 7;
    expect(await store.clean()).toBe(4);
  });

  test("runs by itself", async () => {
    const { open, log, clock } = simulation();
    const one = log(open(), { segmentBytes: 200, retentionMs: hour });
    for (let n = 0; n < 10; n++) one.append(batchOf(1, "x".repeat(100)));
    await one.idle();
    clock.advance(2 * hour);
    for (let n = 0; n < 20 && one.sizeBytes() > 0; n++) await new Promise((resolve) => setImmediate(resolve));
    expect(one.sizeBytes()).toBe(0);
  });
});

describe("deleteRecords", () => {
  test("moves the log start durably and lets segments go", async () => {
    const { open, log, disk } = simulation();
    const one = log(open(), { segmentBytes: 200, retentionMs: -1 });
    for (let n = 0; n < 10; n++) one.append(batchOf(2, "x".repeat(50)));
    await one.idle();
    expect(await one.deleteRecords(7)).toBe(7);
    expect(await one.deleteRecords(3)).toBe(7);
    expect(one.logStartOffset).toBe(7);
    expect(() => one.read(6, everything)).toThrow(/outside/);
    expect(recordsOf(one.read(7, everything)).at(-1)!.offset).toBeGreaterThanOrEqual(7);
    expect(new TextDecoder().decode(disk.readFile("/lake/log/log-start-offset-checkpoint"))).toBe("0\n1\nt 0 7\n");
    disk.restart();
    const again = log(open());
    expect([again.logStartOffset, again.logEndOffset]).toEqual([7, 20]);
    expect(await again.deleteRecords(-1)).toBe(20);
    expect(again.offsetForTimestamp(0)).toBeUndefined();
  });

  test("refuses offsets that the log does not have", async () => {
    const { open, log } = simulation();
    const one = log(open());
    await one.append(batchOf(2)).done;
    for (const offset of [3, -2, Number.NaN])
      await expect(one.deleteRecords(offset)).rejects.toMatchObject({ errorName: "OFFSET_OUT_OF_RANGE" });
    expect(await one.deleteRecords(0)).toBe(0);
  });

  test("of a topic that was deleted is not inherited by the next one of its name", async () => {
    const { open, log, disk } = simulation();
    const store = open();
    await log(store).append(batchOf(9)).done;
    await log(store).deleteRecords(9);
    store.deleteTopic("t");
    const next = store.create("t", 0, { topicId: "BBBBBBBBBBBBBBBBBBBBBQ" });
    await next.append(batchOf(2)).done;
    disk.restart();
    const again = open().create("t", 0, { topicId: "BBBBBBBBBBBBBBBBBBBBBQ" });
    expect([again.logStartOffset, again.logEndOffset]).toEqual([0, 2]);
  });
});
