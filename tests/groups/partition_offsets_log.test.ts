/** Groups on real partition logs, on a simulated disk: restarts, power cuts, compaction, failures. */
import { describe, expect, test } from "bun:test";
import { KafkaError } from "../../src/base/kafka_error.ts";
import { type OffsetsTopic, PartitionOffsetsLog } from "../../src/groups/partition_offsets_log.ts";
import { defaultLogConfig } from "../../src/log/log_config.ts";
import type { LogStore } from "../../src/log/log_store.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { simulation } from "../log/sim_store.ts";
import { bytes, Lab, settle, text } from "./helpers.ts";

const config = { ...defaultLogConfig, deleteOld: false, compacted: true, segmentBytes: 65_536 };

class TopicInStore implements OffsetsTopic {
  readonly partitionCount = 2;
  readonly touched = new Set<number>();
  creations = 0;
  failures = 0;
  private readonly store: LogStore;
  private readonly exists: (partition: number) => boolean;

  constructor(store: LogStore, exists: (partition: number) => boolean) {
    this.store = store;
    this.exists = exists;
  }

  has(partition: number): boolean {
    return this.exists(partition);
  }

  log(partition: number) {
    this.touched.add(partition);
    return this.store.create("__consumer_offsets", partition, { config });
  }

  async create(): Promise<void> {
    this.creations++;
    if (this.failures-- > 0) throw new KafkaError("KAFKA_STORAGE_ERROR", "no topic today");
  }
}

function lab(seed: number, growthBytesMax?: number) {
  const world = simulation(seed);
  let topic: TopicInStore;
  const openLog = () => {
    const exists = (partition: number) => world.disk.stat(`/lake/log/__consumer_offsets-${partition}`) !== undefined;
    topic = new TopicInStore(world.open(), exists);
    return new PartitionOffsetsLog(topic, world.clock, growthBytesMax);
  };
  const openLab = () => new Lab({}, openLog(), world.clock);
  return { world, openLab, openLog, topic: () => topic };
}

test("nothing is made before the first write; then the topic is made once, and the calls keep their order", async () => {
  const { openLog, topic } = lab(1);
  const log = openLog();
  for (let partition = 0; partition < 2; partition++) log.replay(partition, () => expect.unreachable());
  expect([topic().creations, topic().touched.size]).toEqual([0, 0]);
  const done = ["a", "b", "c"].map((key) => log.append(1, [{ key: bytes(key), value: bytes(key) }]));
  await Promise.all(done);
  expect([topic().creations, [...topic().touched]]).toEqual([1, [1]]);
  const seen: string[] = [];
  log.replay(1, ({ key }) => seen.push(text(key)));
  expect(seen).toEqual(["a", "b", "c"]);
});

test("a topic that cannot be made fails that write; the next one tries again", async () => {
  const { openLog, topic } = lab(2);
  const log = openLog();
  topic().failures = 1;
  const first = log.append(0, [{ key: bytes("a"), value: null }]);
  const second = log.append(0, [{ key: bytes("b"), value: null }]);
  await expect(first).rejects.toThrow("no topic today");
  await second;
  const seen: string[] = [];
  log.replay(0, ({ key, value }) => seen.push(`${text(key)} ${value}`));
  expect(seen).toEqual(["b null"]);
});

test("many records are split into batches; one too large is refused whole", async () => {
  const { openLog, topic } = lab(3);
  const log = openLog();
  const value = new Uint8Array(300_000);
  await log.append(
    0,
    Array.from({ length: 10 }, (_, index) => ({ key: bytes(`k${index}`), value })),
  );
  let seen = 0;
  log.replay(0, () => seen++);
  expect(seen).toBe(10);
  const end = topic().log(0).logEndOffset;
  const large = { key: bytes("large"), value: new Uint8Array(1_048_588) };
  await expect(log.append(0, [{ key: bytes("k"), value: null }, large])).rejects.toThrow("over the limit");
  expect(topic().log(0).logEndOffset).toBe(end);
});

describe("power cuts", () => {
  test("whatever was answered is there after the restart", async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { world, openLab } = lab(seed);
      const random = new SeededRandom(seed);
      let present = openLab();
      // What must be, and what may be: a commit without an answer may or may not have made it.
      const answered: Record<string, number> = {};
      const possible: Record<string, number[]> = {};
      for (let life = 0; life < 4; life++) {
        world.disk.cutPowerAfter(5 + random.below(60));
        for (let commit = 0; commit < 30 && !world.disk.isPowerOff; commit++) {
          const groupId = `g${random.below(3)}`;
          const offset = random.below(1_000_000);
          const partition = random.below(2);
          const key = `${groupId} t-${partition}`;
          const errors = await Promise.race([present.commit({ [partition]: offset }, { groupId }), settle()]);
          if (Array.isArray(errors) && errors[0] === "NONE") {
            answered[key] = offset;
            possible[key] = [offset];
          } else possible[key] = [...(possible[key] ?? [-1]), offset];
        }
        world.disk.restart();
        present = openLab();
        for (const groupId of ["g0", "g1", "g2"]) {
          const found = await present.committed(groupId);
          for (const partition of [0, 1]) {
            const key = `${groupId} t-${partition}`;
            const offset = found[`t-${partition}`];
            if (offset === undefined) expect(answered[key]).toBeUndefined();
            else expect(possible[key]).toContain(offset);
            if (offset !== undefined) answered[key] = offset;
            possible[key] = [offset ?? -1];
          }
        }
      }
    }
  });

  test("a cut during compaction loses nothing", async () => {
    for (let cut = 1; cut < 80; cut += 1) {
      const { world, openLab } = lab(cut, 2_000);
      const before = openLab();
      const known: Record<string, number> = {};
      for (let commit = 0; commit < 20; commit++) {
        const groupId = `g${commit % 4}`;
        known[groupId] = commit;
        await before.commit({ 0: commit }, { groupId, metadata: "m".repeat(50) });
      }
      world.disk.cutPowerAfter(cut);
      for (let commit = 20; commit < 40 && !world.disk.isPowerOff; commit++) {
        const groupId = `g${commit % 4}`;
        const errors = await Promise.race([
          before.commit({ 0: commit }, { groupId, metadata: "m".repeat(50) }),
          settle(),
        ]);
        if (Array.isArray(errors) && errors[0] === "NONE") known[groupId] = commit;
      }
      world.disk.restart();
      const after = openLab();
      for (const [groupId, offset] of Object.entries(known)) {
        const found = (await after.committed(groupId))["t-0"];
        expect([offset, offset + 4]).toContain(found!);
      }
    }
  });
});

test("compaction keeps the log short and the groups whole", async () => {
  const { world, openLab, topic } = lab(7, 20_000);
  const first = openLab();
  const { memberId, joined } = await first.joinTwice();
  world.clock.advance(0);
  await joined;
  await first.sync(memberId, 1, { [memberId]: "all" });
  for (let offset = 0; offset < 3_000; offset++) {
    await first.commit({ 0: offset }, { memberId, generation: 1 });
    if (offset % 3 === 0) await first.commit({ 0: offset }, { groupId: "h" });
  }
  await settle();
  let bytesKept = 0;
  for (const partition of topic().touched) {
    const log = topic().log(partition);
    expect(log.logStartOffset).toBeGreaterThan(500);
    bytesKept += log.sizeBytes();
  }
  expect(bytesKept).toBeLessThan(4 * 65_536 + 2 * 20_000);
  const again = openLab();
  expect(again.beat(memberId, 1)).toBe("NONE");
  expect((await again.sync(memberId, 1)).assignment).toBe("all");
  expect(await again.committed()).toEqual({ "t-0": 2_999 });
  expect(await again.committed("h")).toEqual({ "t-0": 2_997 });
});

test("a full disk is told, and commits go on when there is room again", async () => {
  const { world, openLab } = lab(8);
  const present = openLab();
  expect(await present.commit({ 0: 1 })).toEqual(["NONE"]);
  const { capacity } = world.disk;
  world.disk.capacity = 0;
  expect(await present.commit({ 0: 2 })).toEqual(["NOT_COORDINATOR"]);
  expect(await present.committed()).toEqual({ "t-0": 1 });
  world.disk.capacity = capacity;
  let recovered = false;
  for (let attempt = 0; attempt < 20 && !recovered; attempt++) {
    world.clock.advance(5_000);
    recovered = (await present.commit({ 0: 3 }))[0] === "NONE";
  }
  expect(recovered).toBe(true);
  expect(await openLab().committed()).toEqual({ "t-0": 3 });
});

test("a failed sync is never an answer of success", async () => {
  const { world, openLab } = lab(9);
  const present = openLab();
  await present.commit({ 0: 1 });
  world.disk.failSyncs(1);
  expect(await present.commit({ 0: 2 })).toEqual(["NOT_COORDINATOR"]);
  expect(await present.committed()).toEqual({ "t-0": 1 });
});
