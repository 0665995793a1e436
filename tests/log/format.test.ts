/**
 * The files as another reader of Kafka's format would check them (its dump tool does the same): every index entry must
 * point at a batch that ends with the entry's offset, every time at the batch that has it.
 */
import { describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { defaultLogConfig } from "../../src/log/log_config.ts";
import { LogStore } from "../../src/log/log_store.ts";
import { nodeDisk } from "../../src/platform/node_disk.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { baseTime, batchOf, recordsOf, sequenced, temporaryFolder } from "./helpers.ts";
import { everything, simulation, topicId } from "./sim_store.ts";

interface BatchAt {
  position: number;
  baseOffset: number;
  lastOffset: number;
  maxTimestamp: number;
}

function batchesOf(bytes: Uint8Array): BatchAt[] {
  const found: BatchAt[] = [];
  let position = 0;
  for (const view of decodeBatches(bytes)) {
    const { baseOffset, lastOffset, sizeBytes } = view.header;
    let maxTimestamp = -1;
    for (const record of view) maxTimestamp = Math.max(maxTimestamp, record.timestamp);
    found.push({ position, baseOffset, lastOffset, maxTimestamp });
    position += sizeBytes;
  }
  expect(position).toBe(bytes.length);
  return found;
}

function checkSegment(base: number, log: Uint8Array, index: Uint8Array, times: Uint8Array, nextBase: number): number {
  const batches = batchesOf(log);
  let offset = base;
  for (const batch of batches) {
    expect(batch.baseOffset).toBe(offset);
    offset = batch.lastOffset + 1;
  }
  expect(offset).toBe(nextBase);
  expect([index.length % 8, times.length % 12]).toEqual([0, 0]);
  const view = new DataView(index.buffer, index.byteOffset, index.length);
  let before = -1;
  for (let at = 0; at < index.length; at += 8) {
    const [relative, position] = [view.getInt32(at), view.getInt32(at + 4)];
    expect(relative).toBeGreaterThan(before);
    expect(batches.find((batch) => batch.position === position)?.lastOffset).toBe(base + relative);
    before = relative;
  }
  const timeView = new DataView(times.buffer, times.byteOffset, times.length);
  let earlier = -1;
  for (let at = 0; at < times.length; at += 12) {
    const [time, relative] = [Number(timeView.getBigInt64(at)), timeView.getInt32(at + 8)];
    expect(time).toBeGreaterThan(earlier);
    expect(batches.find((batch) => batch.lastOffset === base + relative)?.maxTimestamp).toBe(time);
    earlier = time;
  }
  return index.length / 8;
}

describe("files", () => {
  test("of random batches hold to the format, while the log is open and after a clean stop", async () => {
    const random = new SeededRandom(5);
    const folder = temporaryFolder();
    try {
      const disk = nodeDisk();
      const options = { durability: "os", clock: new ManualClock(baseTime), logger: silentLogger } as const;
      const store = LogStore.open(disk, folder.path, options);
      const config = { ...defaultLogConfig, segmentBytes: 40_000, indexIntervalBytes: 1_000 };
      const log = store.create("t", 0, { topicId, config });
      for (let n = 0; n < 500; n++) {
        const timestamp = baseTime + random.below(10_000);
        log.append(batchOf(1 + random.below(5), "x".repeat(random.below(400)), { timestamp }));
        if (random.chance(0.2)) await log.idle();
      }
      await log.idle();
      const check = () => {
        const path = `${folder.path}/t-0`;
        const names = disk.list(path);
        const bases = names
          .filter((name) => name.endsWith(".log"))
          .map((name) => Number.parseInt(name, 10))
          .sort((a, b) => a - b);
        let entries = 0;
        bases.forEach((base, n) => {
          const stem = `${path}/${String(base).padStart(20, "0")}`;
          const part = (ending: string) =>
            names.includes(`${String(base).padStart(20, "0")}.${ending}`)
              ? disk.readFile(`${stem}.${ending}`)
              : new Uint8Array(0);
          entries += checkSegment(
            base,
            part("log"),
            part("index"),
            part("timeindex"),
            bases[n + 1] ?? log.logEndOffset,
          );
        });
        return { segments: bases.length, entries };
      };
      const open = check();
      expect(open.segments).toBeGreaterThan(2);
      expect(open.entries).toBeGreaterThan(50);
      await store.close();
      expect(check().entries).toBeGreaterThanOrEqual(open.entries);
    } finally {
      folder.remove();
    }
  });

  test("the small ones are Kafka's", async () => {
    const { open, log, disk } = simulation();
    const store = open();
    await log(store).append(sequenced(7, 1, 5, 3)).done;
    await store.close();
    const text = (name: string) => new TextDecoder().decode(disk.readFile(`/lake/log/t-0/${name}`));
    expect(text("partition.metadata")).toBe(`version: 0\ntopic_id: ${topicId}\n`);
    expect(text("leader-epoch-checkpoint")).toBe("0\n1\n0 0\n");
    const snapshot = disk.readFile("/lake/log/t-0/00000000000000000003.snapshot");
    const view = new DataView(snapshot.buffer, snapshot.byteOffset);
    // version, then behind the checksum: one producer, its id, epoch, last sequence, last offset, offset delta.
    expect([view.getInt16(0), view.getInt32(6), view.getBigInt64(10), view.getInt16(18), view.getInt32(20)]).toEqual([
      1,
      1,
      7n,
      1,
      7,
    ]);
    expect([view.getBigInt64(24), view.getInt32(32), snapshot.length]).toEqual([2n, 2, 56]);
  });
});

test("a batch whose offsets do not fit the segment's relative offsets begins a new one", async () => {
  const { open, log, disk } = simulation();
  const one = log(open());
  await one.append(batchOf(1)).done;
  // As compaction would leave it: one record, a span of nearly 2^31 offsets.
  const wide = () => encodeBatch([{ value: "x" }], { timestamp: baseTime, lastOffsetDelta: 2_147_483_000 });
  await one.append(wide()).done;
  await one.append(wide()).done;
  await one.append(batchOf(1, "end")).done;
  const names = disk
    .list("/lake/log/t-0")
    .filter((name) => name.endsWith(".log"))
    .sort();
  expect(names).toEqual(["00000000000000000000.log", "00000000002147483002.log"]);
  const end = 1 + 2 * 2_147_483_001;
  expect(one.logEndOffset).toBe(end + 1);
  const again = log(open());
  expect(again.logEndOffset).toBe(end + 1);
  expect(recordsOf(again.read(end, everything)).at(-1)).toEqual({ offset: end, value: "end-0" });
  expect(recordsOf(again.read(2_147_483_001, everything))[0]?.value).toBe("x");
});
