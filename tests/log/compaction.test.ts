import { describe, expect, spyOn, test } from "bun:test";
import { PartitionCheck } from "../../src/cli/check_log.ts";
import type { LogConfig } from "../../src/log/log_config.ts";
import type { PartitionLog } from "../../src/log/log_store.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { type EncodeOptions, encodeBatch } from "../../src/protocol/records/encode.ts";
import { baseTime } from "./helpers.ts";
import { everything, simulation, unpaced } from "./sim_store.ts";

const hour = 3_600_000;
const text = (bytes: Uint8Array | null) => (bytes === null ? null : new TextDecoder().decode(bytes));

type Pair = [key: string | null, value: string | null];

function pairs(records: readonly Pair[], options: EncodeOptions = {}): Uint8Array {
  return encodeBatch(
    records.map(([key, value]) => ({ key, value })),
    { timestamp: baseTime, ...options },
  );
}

/** `key=value@offset` of every record, as a consumer from the beginning sees them; batches without records too, as `-@last`. */
function all(log: PartitionLog, withEmpty = false): string[] {
  const seen: string[] = [];
  for (let at = log.logStartOffset; at < log.highWatermark; ) {
    const isolation = withEmpty ? "logEnd" : "highWatermark";
    const parts = log.read(at, { ...everything, maxBytes: 300, isolation });
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts)
      for (const batch of decodeBatches(part)) {
        expect(batch.header.lastOffset).toBeGreaterThanOrEqual(at);
        at = batch.header.lastOffset + 1;
        if (withEmpty && batch.count === 0) seen.push(`-@${at - 1}`);
        for (const { key, value, offset } of batch) seen.push(`${text(key)}=${text(value)}@${offset}`);
      }
  }
  return seen;
}

const compacted: Partial<LogConfig> = {
  compacted: true,
  deleteOld: false,
  segmentBytes: 250,
  indexIntervalBytes: 0,
  minCleanableDirtyRatio: 0,
  deleteRetentionMs: hour,
};

function setup(config: Partial<LogConfig> = {}, seed = 1) {
  const world = simulation(seed);
  const open = () => world.open();
  const log = (store: ReturnType<typeof open>) => world.log(store, { ...compacted, ...config });
  return { ...world, open, log };
}

async function append(log: PartitionLog, ...batches: Uint8Array[]): Promise<void> {
  for (const batch of batches) await log.append(batch).done;
}

/** Fills the active segment up, so that what was appended before can be compacted. */
const filler = (n: number) => pairs([[`filler${n}`, "f".repeat(200)]]);

describe("the age of a segment", () => {
  test("ends by segment.ms less a random part, and on compacted topics by max.compaction.lag.ms", async () => {
    const random = spyOn(Math, "random").mockReturnValue(0.9);
    try {
      const { open, log, disk } = setup({ segmentBytes: 1 << 20, segmentMs: 1_000, segmentJitterMs: 500 });
      const one = log(open());
      const segments = () => disk.list("/lake/log/t-0").filter((name) => name.endsWith(".log")).length;
      const at = (ms: number) => append(one, pairs([["a", "1"]], { timestamp: baseTime + ms }));
      await at(0);
      await at(550);
      expect(segments()).toBe(1);
      await at(551);
      expect(segments()).toBe(2);
      one.config = { ...one.config, maxCompactionLagMs: 600, segmentJitterMs: 0 };
      await at(551 + 600);
      expect(segments()).toBe(2);
      await at(551 + 601);
      expect(segments()).toBe(3);
    } finally {
      random.mockRestore();
    }
  });
});

describe("compaction", () => {
  test("keeps the last record of each key at its offset, and never touches the active segment", async () => {
    const { open, log, disk } = setup();
    const store = open();
    const one = log(store);
    await append(
      one,
      pairs([
        ["a", "1"],
        ["b", "1"],
      ]),
      pairs([
        ["a", "2"],
        ["c", "1"],
      ]),
      pairs([["a", "3"]]),
    );
    await append(
      one,
      filler(1),
      pairs([
        ["b", "2"],
        ["a", "4"],
      ]),
    );
    expect(await store.compact()).toBe(1);
    const expected = ["c=1@3", "a=3@4", `filler1=${"f".repeat(200)}@5`, "b=2@6", "a=4@7"];
    // b's and a's newest records are in the active segment, so their older ones stay until that has ended.
    expect(all(one)).toEqual(["b=1@1", ...expected]);
    expect(await store.compact()).toBe(0);
    disk.restart();
    expect(all(log(open()))).toEqual(["b=1@1", ...expected]);
  });

  test("leaves a batch that covers the end of what it emptied, and sequences go on", async () => {
    const { open, log, disk } = setup();
    const store = open();
    const one = log(store);
    const producer = (baseSequence: number) => ({ producerId: 7n, producerEpoch: 0, baseSequence });
    await append(
      one,
      pairs(
        [
          ["a", "1"],
          ["b", "1"],
        ],
        producer(0),
      ),
      pairs([["a", "2"]], producer(2)),
      filler(1),
    );
    await append(
      one,
      pairs([
        ["a", "3"],
        ["b", "2"],
      ]),
      filler(2),
      filler(3),
      filler(4),
    );
    await store.compact();
    const seen = all(one, true);
    expect(seen.filter((line) => /^[ab-]/.test(line))).toEqual(["-@2", "a=3@4", "b=2@5"]);
    disk.restart();
    const again = log(open());
    expect(all(again, true)).toEqual(seen);
    expect(again.append(pairs([["a", "2"]], producer(2)))).toMatchObject({ duplicate: true, baseOffset: 2 });
    expect(() => again.append(pairs([["x", "1"]], producer(9)))).toThrow(/must send sequence 3/);
    expect(again.append(pairs([["x", "1"]], producer(3))).duplicate).toBe(false);
  });

  test("a tombstone stays for delete.retention.ms after the compaction that met it first (KIP-534)", async () => {
    const { open, log, clock } = setup();
    const store = open();
    const one = log(store);
    await append(
      one,
      pairs([["a", "1"]]),
      pairs([
        ["b", "1"],
        ["a", null],
      ]),
      filler(1),
      filler(2),
    );
    clock.stepWall(10 * hour);
    await store.compact();
    expect(all(one).slice(0, 2)).toEqual(["b=1@1", "a=null@2"]);
    const [part] = one.read(1, everything);
    const [batch] = [...decodeBatches(part!)];
    expect(batch!.header.hasDeleteHorizon).toBe(true);
    expect(batch!.header.baseTimestamp).toBe(baseTime + 11 * hour);
    expect(batch!.records.map(({ timestamp }) => timestamp)).toEqual([baseTime, baseTime]);
    clock.stepWall(hour - 1);
    await append(one, filler(3));
    expect(await store.compact()).toBe(1);
    expect(all(one)).toContain("a=null@2");
    clock.stepWall(1);
    await append(one, filler(4));
    expect(await store.compact()).toBe(1);
    expect(all(one).slice(0, 1)).toEqual(["b=1@1"]);
    expect(all(one)).not.toContain("a=null@2");
  });

  test("waits for the dirty ratio, min.compaction.lag.ms and max.compaction.lag.ms", async () => {
    const { open, log, clock } = setup({ minCleanableDirtyRatio: 0.9, segmentBytes: 1_000 });
    const store = open();
    const one = log(store);
    const time = () => ({ timestamp: clock.nowMs() });
    for (let n = 0; n < 30; n++) await append(one, pairs([[`key${n % 20}`, "x".repeat(100)]], time()));
    expect(await store.compact()).toBe(1);
    for (let n = 0; n < 12; n++) await append(one, pairs([["key0", "y".repeat(100)]], time()));
    expect(await store.compact()).toBe(0);
    one.config = { ...one.config, maxCompactionLagMs: hour };
    expect(await store.compact()).toBe(0);
    clock.stepWall(hour + 1);
    expect(await store.compact()).toBe(1);
    one.config = { ...one.config, maxCompactionLagMs: Number.MAX_SAFE_INTEGER, minCleanableDirtyRatio: 0.1 };
    one.config = { ...one.config, minCompactionLagMs: 2 * hour };
    for (let n = 0; n < 30; n++) await append(one, pairs([["key0", "z".repeat(100)]], time()));
    expect(await store.compact()).toBe(0);
    clock.stepWall(2 * hour);
    expect(await store.compact()).toBe(1);
  });

  test("does not pass what tables have not applied", async () => {
    const { open, log } = setup();
    const store = open();
    const one = log(store);
    for (let n = 0; n < 12; n++) await append(one, pairs([["a", `${n}-${"x".repeat(100)}`]]));
    one.retainFrom = () => 0;
    expect(await store.compact()).toBe(0);
    one.retainFrom = () => 5;
    await store.compact();
    const kept = all(one).map((line) => Number(line.split("@")[1]));
    for (const offset of [5, 6, 7, 8, 9, 10, 11]) expect(kept).toContain(offset);
    expect(kept).not.toContain(0);
  });

  test("small segments become one, within segment.bytes", async () => {
    const { open, log, disk } = setup();
    const store = open();
    const one = log(store);
    for (let n = 0; n < 40; n++) await append(one, pairs([[`k${n % 3}`, "x".repeat(60)]]));
    const segments = () => disk.list("/lake/log/t-0").filter((name) => name.endsWith(".log"));
    expect(segments().length).toBeGreaterThan(15);
    for (let n = 0; n < 5; n++) {
      await store.compact();
      await append(one, filler(n));
    }
    // Each filler is too large to have company.
    expect(segments().length).toBeLessThan(12);
    expect(disk.list("/lake/log/t-0").filter((name) => /cleaned|swap/.test(name))).toEqual([]);
  });

  test("with more keys than the map holds it takes several passes", async () => {
    const world = simulation(3);
    const { clock, logger } = world;
    const { LogStore } = await import("../../src/log/log_store.ts");
    const options = {
      durability: "sync",
      clock,
      logger,
      schedule: queueMicrotask,
      compaction: { ...unpaced, mapBytes: 24 * 20 },
    } as const;
    const store = LogStore.open(world.disk, "/lake/log", options);
    const one = world.log(store, { ...compacted, segmentBytes: 2_000 });
    const expected = new Map<string, string>();
    for (let n = 0; n < 300; n++) {
      const key = `key${(n * 7) % 90}`;
      await append(one, pairs([[key, `${n}`]]));
      expected.set(key, `${key}=${n}@${n}`);
    }
    await append(one, pairs([["last", "x".repeat(2_000)]]));
    await store.compact();
    const seen = all(one).slice(0, -1);
    const counted = new Map<string, number>();
    for (const line of seen) counted.set(line.split("=")[0]!, (counted.get(line.split("=")[0]!) ?? 0) + 1);
    expect(new Set(seen.filter((line) => [...expected.values()].includes(line))).size).toBe(90);
    expect(seen.length).toBe(90);
    expect(store.compactor.stats.rounds).toBeGreaterThan(4);
    expect(store.compactor.stats.lastMapUtilization).toBeLessThanOrEqual(1);
  });

  test("compressed batches keep their codec, control batches stay, records without a key go", async () => {
    const { open, log } = setup();
    const store = open();
    const one = log(store);
    const control = { producerId: 3n, producerEpoch: 0, baseSequence: -1, isTransactional: true, isControl: true };
    await append(
      one,
      pairs(
        [
          ["a", "1"],
          ["b", "1"],
          [null, "x"],
        ],
        { codec: 3 },
      ),
    );
    one.append(pairs([["a", "commit"]], control));
    await append(one, pairs([["a", "2"]], { codec: 4 }), filler(1), filler(2));
    await store.compact();
    const batches = [0, 3, 4].flatMap((offset) => [
      ...decodeBatches(one.read(offset, { ...everything, maxBytes: 1 })[0]!),
    ]);
    expect(batches.slice(0, 3).map((batch) => [batch.header.codecId, batch.header.isControl])).toEqual([
      [3, false],
      [0, true],
      [4, false],
    ]);
    expect(batches[0]!.records.map((record) => text(record.key))).toEqual(["b"]);
    expect(store.compactor.stats.keylessRecords).toBe(1);
  });

  test("damage in a segment leaves the partition alone, and says so", async () => {
    const { open, log, disk, logger } = setup();
    const store = open();
    const one = log(store);
    await append(one, pairs([["a", "1"]]), pairs([["a", "2"]]), filler(1), filler(2));
    const file = disk.open("/lake/log/t-0/00000000000000000000.log", { write: true });
    file.write(new Uint8Array([0xff]), 65);
    expect(await store.compact()).toBe(0);
    expect(store.compactor.uncleanable.size).toBe(1);
    expect(logger.lines.some(({ level, message }) => level === "error" && /cannot be compacted/.test(message))).toBe(
      true,
    );
    expect(await store.compact()).toBe(0);
  });

  test("rowlog check finds no fault in a folder that a crash in the middle left, and says that it is there", async () => {
    const notes = new Set<string>();
    for (let changes = 1; changes < 60; changes++) {
      const { open, log, disk } = setup({}, changes);
      const store = open();
      const one = log(store);
      for (let n = 0; n < 12; n++) await append(one, pairs([[`k${n % 3}`, "x".repeat(100)]]));
      disk.cutPowerAfter(changes);
      await store.compact();
      if (!disk.isPowerOff) break;
      disk.restart();
      const faults: string[] = [];
      const sink = {
        fault: (what: string) => void faults.push(what),
        note: (what: string) => void notes.add(what),
        seen: () => undefined,
      };
      const directory = "/lake/log/t-0";
      const of = { disk, name: "t-0", directory, checkpoint: undefined, startOffset: 0, compacted: true };
      await new PartitionCheck(of, sink).run();
      expect([changes, ...faults]).toEqual([changes]);
    }
    expect([...notes]).toContain("t-0: a compaction was cut short; the next start finishes it");
  });

  test("retention, deletion and a close during a compaction end it", async () => {
    const { open, log, clock, disk } = setup({ deleteOld: true, retentionMs: hour });
    const store = open();
    const one = log(store);
    for (let n = 0; n < 30; n++) await append(one, pairs([["a", "x".repeat(100)]], { timestamp: clock.nowMs() }));
    clock.stepWall(2 * hour);
    const compaction = store.compact();
    await store.clean();
    await compaction;
    expect([one.logStartOffset, one.logEndOffset]).toEqual([30, 30]);
    for (let n = 0; n < 30; n++) await append(one, pairs([["a", "x".repeat(100)]], { timestamp: clock.nowMs() }));
    const another = store.compact();
    store.deleteTopic("t");
    expect(await another).toBe(0);
    expect(disk.list("/lake/log").filter((name) => name.startsWith("t-"))).toEqual([]);
    const fresh = log(store);
    for (let n = 0; n < 30; n++) await append(fresh, pairs([["a", "x".repeat(100)]], { timestamp: clock.nowMs() }));
    const last = store.compact();
    await store.close();
    await last;
    expect(all(log(open())).at(-1)).toContain("@29");
  });
});
