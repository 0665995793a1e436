import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/clock.ts";
import { limits } from "../../src/base/limits.ts";
import { silentLogger } from "../../src/base/log.ts";
import { defaultLogConfig } from "../../src/log/log_config.ts";
import { type Durability, LogStore } from "../../src/log/log_store.ts";
import { nodeDisk } from "../../src/platform/node_disk.ts";
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { baseTime, batchOf, recordsOf, temporaryFolder } from "./helpers.ts";

let folder: ReturnType<typeof temporaryFolder>;
let clock: ManualClock;
const open = (durability: Durability = "sync") =>
  LogStore.open(nodeDisk(), folder.path, { durability, clock, logger: silentLogger });
const all = { maxBytes: 1 << 20, minOneBatch: true, isolation: "highWatermark" } as const;

beforeEach(() => {
  folder = temporaryFolder();
  clock = new ManualClock(baseTime);
});
afterEach(() => folder.remove());

describe.each(["sync", "os"] as const)("append and read, durability %s", (durability) => {
  test("batches get dense offsets, become visible when done, and are read back", async () => {
    const log = open(durability).create("t", 0);
    const first = log.append(batchOf(3, "a"));
    const second = log.append(batchOf(2, "b"));
    expect([first.baseOffset, first.lastOffset, second.baseOffset, second.lastOffset]).toEqual([0, 2, 3, 4]);
    expect(first.logAppendTimeMs).toBe(-1);
    expect(log.logEndOffset).toBe(5);
    expect(log.highWatermark).toBe(0);
    expect(log.read(0, all)).toEqual([]);
    expect(recordsOf(log.read(0, { ...all, isolation: "logEnd" })).length).toBe(5);
    await Promise.all([first.done, second.done]);
    expect(log.highWatermark).toBe(5);
    expect(recordsOf(log.read(1, all)).map((record) => record.value)).toEqual(["a-0", "a-1", "a-2", "b-0", "b-1"]);
    expect(log.read(5, all)).toEqual([]);
    expect(() => log.read(6, all)).toThrow(/outside/);
  });

  test("a reopened store reads from its files what an earlier one wrote", async () => {
    const store = open(durability);
    const log = store.create("t", 0);
    for (let n = 0; n < 50; n++) await log.append(batchOf(2, `n${n}`)).done;
    await store.close();
    const again = open(durability).create("t", 0);
    expect([again.logStartOffset, again.logEndOffset, again.highWatermark]).toEqual([0, 100, 100]);
    const seen: string[] = [];
    for (let offset = 0; offset < 100; ) {
      const records = recordsOf(again.read(offset, { ...all, maxBytes: 300 }));
      expect(records.at(-1)!.offset).toBeGreaterThanOrEqual(offset);
      for (const record of records) if (record.offset >= offset) seen.push(record.value);
      offset = records.at(-1)!.offset + 1;
    }
    expect(seen).toEqual(Array.from({ length: 100 }, (_, n) => `n${n >> 1}-${n % 2}`));
  });
});

test("without syncs a large batch is written at once, a small one with those of its pass", async () => {
  const log = open("os").create("t", 0);
  const small = log.append(batchOf(1, "small"));
  expect(log.highWatermark).toBe(0);
  const large = log.append(batchOf(1, "x".repeat(limits.groupWriteAtOnceBytes)));
  // What came before is written with it.
  expect(log.highWatermark).toBe(2);
  await Promise.all([small.done, large.done]);
  expect(recordsOf(log.read(0, { ...all, maxBytes: 1 << 22 })).map((record) => record.value.length)).toEqual([
    7,
    limits.groupWriteAtOnceBytes + 2,
  ]);
  const synced = open("sync").create("s", 0);
  const batch = synced.append(batchOf(1, "x".repeat(limits.groupWriteAtOnceBytes)));
  expect(synced.highWatermark).toBe(0);
  await batch.done;
  expect(synced.highWatermark).toBe(1);
});

test("reads are bounded by maxBytes, save for a first batch that must be given", async () => {
  const log = open().create("t", 0);
  const batch = batchOf(1, "x".repeat(1000));
  await Promise.all([log.append(batch.slice()).done, log.append(batch.slice()).done]);
  expect(log.read(0, { ...all, maxBytes: 10, minOneBatch: false })).toEqual([]);
  expect(recordsOf(log.read(0, { ...all, maxBytes: 10 })).length).toBe(1);
  expect(recordsOf(log.read(0, { ...all, maxBytes: batch.length * 2 })).length).toBe(2);
});

test("append-time topics stamp the batch and answer with the time", async () => {
  const log = open().create("t", 0, { config: { ...defaultLogConfig, timestampType: "LogAppendTime" } });
  const result = log.append(batchOf(1, "x", { timestamp: 4_000_000_000_000 }));
  await result.done;
  expect(result.logAppendTimeMs).toBe(baseTime);
  const header = new BatchHeader(log.read(0, all)[0]!);
  expect([header.timestampType, header.maxTimestamp, header.isCrcValid]).toEqual(["LogAppendTime", baseTime, true]);
});

test("listeners hear of the high watermark until they leave", async () => {
  const log = open().create("t", 0);
  let heard = 0;
  const leave = log.onAdvance(() => heard++);
  await Promise.all([log.append(batchOf(1)).done, log.append(batchOf(1)).done]);
  expect(heard).toBe(1);
  leave();
  await log.append(batchOf(1)).done;
  expect(heard).toBe(1);
});

test("segments roll by size and time, and reads go across them", async () => {
  const config = { ...defaultLogConfig, segmentBytes: 2_000, segmentMs: 60_000 };
  const store = open();
  const log = store.create("t", 0, { config });
  for (let n = 0; n < 20; n++) log.append(batchOf(1, "x".repeat(500)));
  await log.append(batchOf(1, "late", { timestamp: baseTime + 120_000 })).done;
  const names = nodeDisk()
    .list(`${folder.path}/t-0`)
    .filter((name) => name.endsWith(".log"))
    .sort();
  expect(names.length).toBe(8);
  expect(names.at(-1)).toBe("00000000000000000020.log");
  await store.close();
  const again = open().create("t", 0);
  let next = 0;
  while (next < 21) {
    const records = recordsOf(again.read(next, all));
    expect(records[0]!.offset).toBe(next);
    next = records.at(-1)!.offset + 1;
  }
});

test("offsets are found by time", async () => {
  const log = open().create("t", 0, { config: { ...defaultLogConfig, segmentBytes: 2_000, indexIntervalBytes: 100 } });
  for (let n = 0; n < 100; n++) log.append(batchOf(2, "x".repeat(100), { timestamp: baseTime + n * 10 }));
  await log.idle();
  for (const n of [0, 1, 37, 98, 99])
    expect(log.offsetForTimestamp(baseTime + n * 10 - 5)).toEqual({ offset: n * 2, timestamp: baseTime + n * 10 });
  expect(log.offsetForTimestamp(0)).toEqual({ offset: 0, timestamp: baseTime });
  expect(log.offsetForTimestamp(baseTime + 991)).toBeUndefined();
  expect(log.maxTimestampOffset()).toEqual({ offset: 198, timestamp: baseTime + 990 });
});

test("a deleted topic leaves no files, and one of the same name starts anew", async () => {
  const store = open();
  const log = store.create("t", 0);
  await log.append(batchOf(1)).done;
  const late = log.append(batchOf(1));
  store.deleteTopic("t");
  expect(late.done).rejects.toThrow(/deleted/);
  expect(() => log.logEndOffset).toThrow(/deleted/);
  while (
    nodeDisk()
      .list(folder.path)
      .some((name) => name.endsWith("-delete"))
  )
    await new Promise(setImmediate);
  expect(nodeDisk().list(folder.path)).toEqual(["rowlog-ballast"]);
  expect(store.create("t", 0).logEndOffset).toBe(0);
});
