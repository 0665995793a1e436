import { describe, expect, test } from "bun:test";
import type { PartitionLog } from "../../src/log/log_store.ts";
import type { Disk } from "../../src/platform/disk.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { batchOf, recordsOf } from "./helpers.ts";
import { everything, simulation } from "./sim_store.ts";

const path = "/lake/log/t-0";
const first = `${path}/00000000000000000000.log`;

function nextOffset(parts: readonly Uint8Array[]): number {
  let next = -1;
  for (const part of parts) for (const view of decodeBatches(part)) next = view.header.lastOffset + 1;
  return next;
}

/** All records, read from the files batch by batch. */
function contents(log: PartitionLog): string[] {
  const found: string[] = [];
  for (let offset = log.logStartOffset; offset < log.highWatermark; ) {
    const records = recordsOf(log.read(offset, everything));
    for (const record of records) if (record.offset >= offset) found.push(`${record.offset}:${record.value}`);
    offset = nextOffset(log.read(offset, everything));
  }
  return found;
}

function overwrite(disk: Disk, file: string, position: number, bytes: Uint8Array): void {
  const open = disk.open(file, { write: true });
  open.write(bytes, position);
  open.syncNow();
}

async function filled(batches: number, config = {}) {
  const world = simulation();
  const log = world.log(world.open(), config);
  for (let n = 0; n < batches; n++) await log.append(batchOf(2, `n${n}`)).done;
  return { ...world, size: log.sizeBytes(), all: contents(log) };
}

describe("after a process that was killed", () => {
  test("a log cut at every byte of its last two batches keeps all whole batches", async () => {
    const { disk, open, log, size, all, logger } = await filled(4);
    const bytes = disk.readFile(first);
    const batch = size / 4;
    for (let cut = batch * 2; cut < size; cut++) {
      disk.open(first, { write: true }).truncate(0);
      overwrite(disk, first, 0, bytes.subarray(0, cut));
      const again = log(open());
      const whole = Math.floor(cut / batch);
      expect(contents(again)).toEqual(all.slice(0, whole * 2));
      expect(again.logEndOffset).toBe(whole * 2);
      const next = again.append(batchOf(1, "next"));
      expect(next.baseOffset).toBe(whole * 2);
      await next.done;
      expect(contents(log(open())).at(-1)).toBe(`${whole * 2}:next-0`);
      const copy = `${first}.${whole * batch}.cut`;
      if (bytes.subarray(whole * batch, cut).every((byte) => byte === 0)) expect(disk.stat(copy)).toBeUndefined();
      else {
        expect(disk.readFile(copy)).toEqual(bytes.subarray(whole * batch, cut));
        expect(logger.lines.at(-1)).toMatchObject({ level: "warn", message: "cut a torn end of a log" });
        disk.remove(copy);
      }
    }
  });

  test("a tail of zeros is cut without a copy", async () => {
    const { disk, open, log, size, all } = await filled(4);
    overwrite(disk, first, (size / 4) * 3, new Uint8Array(size / 4 + 5000));
    expect(contents(log(open()))).toEqual(all.slice(0, 6));
    expect(disk.list(path).filter((name) => name.endsWith(".cut"))).toEqual([]);
  });

  test("a length of all ones is cut", async () => {
    const { disk, open, log, size, all } = await filled(4);
    overwrite(disk, first, (size / 4) * 3 + 8, new Uint8Array(4).fill(255));
    expect(contents(log(open()))).toEqual(all.slice(0, 6));
  });

  test("damage in the middle is reported, kept in a copy, and its offsets do not come again", async () => {
    const { disk, open, log, size, all, logger } = await filled(6);
    const batch = size / 6;
    overwrite(disk, first, batch * 2 + 70, new Uint8Array([0xee]));
    const before = disk.readFile(first);
    const again = log(open());
    expect(contents(again)).toEqual(all.slice(0, 4));
    const line = logger.lines.find((one) => one.level === "error");
    expect(line?.fields).toMatchObject({ offset: 4, goodBatchesCut: 3, offsetsGoneUpTo: 11 });
    expect(disk.readFile(`${first}.${batch * 2}.cut`)).toEqual(before.subarray(batch * 2));
    const next = again.append(batchOf(1, "next"));
    expect(next.baseOffset).toBe(12);
    await next.done;
    // A reader that stands among the lost offsets is led over them.
    const third = log(open());
    expect(third.logEndOffset).toBe(13);
    expect(recordsOf(third.read(5, everything))).toEqual([{ offset: 12, value: "next-0" }]);
  });

  test("damage in a segment with successors leaves those readable", async () => {
    const { disk, open, log, all, logger } = await filled(9, { segmentBytes: 250 });
    const segments = disk
      .list(path)
      .filter((name) => name.endsWith(".log"))
      .sort();
    expect(segments.length).toBeGreaterThan(2);
    const middle = `${path}/${segments[1]}`;
    overwrite(disk, middle, 70, new Uint8Array([0xee]));
    const again = log(open());
    const missing = contents(again).length;
    expect(missing).toBeLessThan(all.length);
    expect(contents(again)).toEqual(all.filter((one) => contents(again).includes(one)));
    expect(contents(again).at(-1)).toBe(all.at(-1)!);
    expect(again.logEndOffset).toBe(18);
    expect(logger.lines.some((line) => line.level === "error" && line.fields?.file === middle)).toBe(true);
  });

  test("lost indexes are rebuilt as they were", async () => {
    const { disk, open, log } = await filled(300, { segmentBytes: 8_000, indexIntervalBytes: 500 });
    const names = disk.list(path).filter((name) => name.endsWith("index"));
    const before = names.map((name) => [name, [...disk.readFile(`${path}/${name}`)]]);
    for (const name of names) disk.remove(`${path}/${name}`);
    const again = log(open(), { segmentBytes: 8_000, indexIntervalBytes: 500 });
    expect(again.logEndOffset).toBe(600);
    const after = names.map((name) => [name, [...disk.readFile(`${path}/${name}`)]]);
    expect(after).toEqual(before);
  });

  test("a folder that was lost is not begun again at offset 0", async () => {
    const world = simulation();
    const store = world.open();
    await world.log(store).append(batchOf(5)).done;
    await store.close();
    for (const name of world.disk.list(path)) if (name.endsWith(".log")) world.disk.remove(`${path}/${name}`);
    const again = world.log(world.open());
    expect((await again.append(batchOf(1))).baseOffset).toBe(5);
    expect(world.logger.lines.some((line) => line.level === "error")).toBe(true);
  });
});

describe("checkpoints", () => {
  test("after a clean stop nothing of a partition is touched before its first use", async () => {
    const { disk, open, log } = simulation();
    const store = open();
    const one = log(store);
    for (let n = 0; n < 10; n++) await one.append(batchOf(2)).done;
    await store.close();
    const readsBefore = disk.reads;
    const again = log(open());
    expect([again.logStartOffset, again.logEndOffset, again.highWatermark]).toEqual([0, 20, 20]);
    expect(again.sizeBytes()).toBe(disk.stat(first)!.size);
    // The checkpoint and the file of start offsets.
    expect(disk.reads - readsBefore).toBeLessThanOrEqual(2);
    expect(contents(again).length).toBe(20);
  });

  test("the mark of the clean stop does not outlive the next start", async () => {
    const { disk, open, log } = simulation();
    const store = open();
    await log(store).append(batchOf(2)).done;
    await store.close();
    await log(open()).append(batchOf(3)).done;
    // Killed here: the third start must see what the second appended.
    expect(log(open()).logEndOffset).toBe(5);
    expect(disk.list("/lake/log")).not.toContain("rowlog-clean-stop");
  });

  test("only what came after the checkpoint is checked", async () => {
    const { disk, open, log, logger } = simulation();
    const store = open();
    const big = "x".repeat(4000);
    const one = log(store);
    for (let n = 0; n < 400; n++) one.append(batchOf(1, big));
    await one.idle();
    await store.checkpoint();
    for (let n = 0; n < 5; n++) await one.append(batchOf(1, big)).done;
    const bytesBefore = disk.bytesRead;
    const again = log(open());
    expect(again.logEndOffset).toBe(405);
    expect(disk.bytesRead - bytesBefore).toBeLessThan(60_000);
    expect(again.offsetForTimestamp(0)?.offset).toBe(0);
    expect(logger.lines.filter((line) => line.level === "error")).toEqual([]);
  });

  test("a damaged checkpoint is told, and everything is checked", async () => {
    const { disk, open, log, logger } = simulation();
    const store = open();
    await log(store).append(batchOf(2)).done;
    await store.close();
    overwrite(disk, "/lake/log/rowlog-clean-stop", 30, new Uint8Array([1]));
    expect(log(open()).logEndOffset).toBe(2);
    expect(logger.lines.some((line) => line.message.includes("checkpoint of the logs is damaged"))).toBe(true);
  });

  test("a file that is shorter than the checkpoint says is reported", async () => {
    const { disk, open, log, logger } = simulation();
    const store = open();
    for (let n = 0; n < 3; n++) await log(store).append(batchOf(2)).done;
    await store.close();
    disk.open(first, { write: true }).truncate(100);
    const again = log(open());
    expect(contents(again)).toEqual(["0:value-0", "1:value-1"]);
    expect((await again.append(batchOf(1))).baseOffset).toBe(6);
    expect(logger.lines.filter((line) => line.level === "error").length).toBeGreaterThan(0);
  });
});

test("a topic of the same name but another id starts empty", async () => {
  const { open, log } = simulation();
  const store = open();
  await log(store).append(batchOf(2)).done;
  await store.close();
  const other = open().create("t", 0, { topicId: "BBBBBBBBBBBBBBBBBBBBBQ" });
  expect(other.logEndOffset).toBe(0);
});
