import { expect, test } from "bun:test";
import { FileCache } from "../../src/log/file_cache.ts";
import { RecentBatches, RecentBudget } from "../../src/log/recent_batches.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { batchOf, recordsOf } from "./helpers.ts";
import { everything, simulation, topicId } from "./sim_store.ts";

test("no more files are open than allowed, and a closed one is opened again", () => {
  const disk = new SimDisk({ random: new SeededRandom(1) });
  const files = new FileCache(disk, 3);
  for (let n = 0; n < 10; n++) files.use(`/f${n}`, true).write(new Uint8Array([n]), 0);
  expect(files.openCount).toBe(3);
  const byte = new Uint8Array(1);
  for (let n = 0; n < 10; n++) {
    files.use(`/f${n}`).read(byte, 0);
    expect(byte[0]).toBe(n);
  }
  const used = files.use("/f7");
  files.use("/f1");
  files.use("/f2");
  expect(files.use("/f7")).toBe(used);
  files.drop("/f7");
  expect(files.use("/f7")).not.toBe(used);
  files.closeAll();
  expect(files.openCount).toBe(0);
});

test("recent batches of all partitions stay within the budget, save what is not durable", () => {
  const budget = new RecentBudget(1_000);
  let durable = 0;
  const one = new RecentBatches(budget, () => durable);
  const two = new RecentBatches(budget, () => Number.POSITIVE_INFINITY);
  const batch = () => new Uint8Array(100);
  for (let offset = 0; offset < 20; offset++) one.add(batch(), offset);
  expect(budget.bytes).toBe(2_000);
  durable = 15;
  for (let offset = 0; offset < 5; offset++) two.add(batch(), offset);
  expect(budget.bytes).toBe(1_000);
  expect([one.firstOffset, one.count, two.count]).toEqual([15, 5, 5]);
  expect(one.read(17, 19, 1_000, true).length).toBe(2);
  one.truncateTo(18);
  expect(one.count).toBe(3);
  one.clear();
  two.clear();
  expect([budget.bytes, one.firstOffset]).toEqual([0, Number.POSITIVE_INFINITY]);
  one.add(batch(), 30);
  expect(one.read(30, 31, 1, true).length).toBe(1);
});

test("the budget holds under random use", () => {
  const random = new SeededRandom(2);
  const budget = new RecentBudget(5_000);
  const ends = [0, 0, 0];
  const durables = [0, 0, 0];
  const all = ends.map((_, n) => new RecentBatches(budget, () => durables[n]!));
  for (let step = 0; step < 20_000; step++) {
    const n = random.below(3);
    if (random.chance(0.7)) all[n]!.add(new Uint8Array(1 + random.below(200)), ends[n]!++);
    else if (random.chance(0.9)) durables[n] = ends[n]!;
    else {
      ends[n] = Math.max(durables[n]!, ends[n]! - random.below(3));
      all[n]!.truncateTo(ends[n]!);
    }
    const held = all.reduce((sum, one) => sum + one.count, 0);
    expect(held === 0).toBe(budget.bytes === 0);
    if (ends.every((end, k) => end === durables[k]) && budget.bytes > 5_000) {
      all[0]!.add(new Uint8Array(1), ends[0]!++);
      expect(budget.bytes).toBeLessThanOrEqual(5_001);
    }
  }
});

test("a small view does not keep the large buffer that it looks into", async () => {
  const { open, log } = simulation();
  const one = log(open());
  const batch = batchOf(1);
  const frame = new Uint8Array(1 << 20);
  frame.set(batch, 1_000);
  await one.append(frame.subarray(1_000, 1_000 + batch.length)).done;
  expect(one.read(0, everything)[0]!.buffer.byteLength).toBeLessThan(10_000);
});

test("a hundred consumers at the tail read nothing from the disk", async () => {
  const { open, log, disk } = simulation();
  const one = log(open());
  for (let n = 0; n < 50; n++) await one.append(batchOf(2, `n${n}`)).done;
  const before = disk.reads;
  for (let consumer = 0; consumer < 100; consumer++)
    expect(recordsOf(one.read(90, everything)).map(({ offset }) => offset)).toEqual([
      90, 91, 92, 93, 94, 95, 96, 97, 98, 99,
    ]);
  expect(disk.reads).toBe(before);
});

test("a thousand partitions are known after a clean stop without a look at them", async () => {
  const { open, disk } = simulation();
  const store = open();
  for (let n = 0; n < 1_000; n++) store.create(`t${n}`, 0, { topicId }).append(batchOf(1 + (n % 3)));
  await Promise.all([...store.partitions()].map((one) => one.idle()));
  await store.close();
  const before = disk.reads;
  const again = open();
  for (let n = 0; n < 1_000; n++) expect(again.create(`t${n}`, 0, { topicId }).logEndOffset).toBe(1 + (n % 3));
  expect(disk.reads - before).toBeLessThanOrEqual(2);
  expect(recordsOf(again.get("t999", 0)!.read(0, everything)).length).toBe(1);
});
