/** The log of committed offsets compacts itself by moving its start; compaction by key may run on it at the same time. */
import { expect, test } from "bun:test";
import { type OffsetsTopic, PartitionOffsetsLog } from "../../src/groups/partition_offsets_log.ts";
import { defaultLogConfig } from "../../src/log/log_config.ts";
import type { LogStore } from "../../src/log/log_store.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { simulation } from "./sim_store.ts";

const config = {
  ...defaultLogConfig,
  deleteOld: false,
  compacted: true,
  segmentBytes: 400,
  minCleanableDirtyRatio: 0,
  deleteRetentionMs: 0,
};
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (part: Uint8Array) => new TextDecoder().decode(part);

function offsetsTopic(store: LogStore): OffsetsTopic {
  return {
    partitionCount: 1,
    has: () => true,
    log: (partition) => store.create("__consumer_offsets", partition, { config }),
    create: async () => undefined,
  };
}

function replayed(log: PartitionOffsetsLog): Record<string, string> {
  const state = new Map<string, string>();
  log.replay(0, ({ key, value }) => {
    if (value === null) state.delete(text(key));
    else state.set(text(key), text(value));
  });
  return Object.fromEntries([...state].sort());
}

for (let seed = 1; seed <= 10; seed++)
  test(`replay finds the same state, seed ${seed}`, async () => {
    const random = new SeededRandom(seed);
    const { open, disk } = simulation(seed);
    let store = open();
    let log = new PartitionOffsetsLog(offsetsTopic(store), { nowMs: () => 1 } as never, 600);
    log.replay(0, () => undefined);
    const model = new Map<string, string>();
    for (let step = 0; step < 200; step++) {
      const key = `group${random.below(6)}`;
      const value = random.chance(0.2) ? null : `offset ${step}`;
      await log.append(0, [{ key: bytes(key), value: value === null ? null : bytes(value) }]);
      if (value === null) model.delete(key);
      else model.set(key, value);
      if (random.chance(0.1)) await store.compact();
      if (log.isLong(0))
        await log.compact(
          0,
          [...model].map(([one, is]) => ({ key: bytes(one), value: bytes(is) })),
        );
      if (random.chance(0.05)) {
        disk.restart();
        store = open();
        log = new PartitionOffsetsLog(offsetsTopic(store), { nowMs: () => 1 } as never, 600);
        expect(replayed(log)).toEqual(Object.fromEntries([...model].sort()));
      }
    }
    expect(store.compactor.uncleanable.size).toBe(0);
  });
