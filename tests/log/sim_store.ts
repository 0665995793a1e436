/** A log store on a simulated disk, with everything under the test's control. */
import { ManualClock } from "../../src/base/clock.ts";
import { defaultLogConfig, type LogConfig } from "../../src/log/log_config.ts";
import { type Durability, LogStore } from "../../src/log/log_store.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { baseTime, listeningLogger } from "./helpers.ts";

export const topicId = "AAAAAAAAAAAAAAAAAAAAAQ";
/** Nobody would end a pause. */
export const unpaced = { bytesPerSecond: Number.POSITIVE_INFINITY };
export const everything = { maxBytes: 1 << 24, minOneBatch: true, isolation: "highWatermark" } as const;

export function simulation(seed = 1, options: { capacity?: number; durability?: Durability } = {}) {
  const clock = new ManualClock(baseTime);
  const logger = listeningLogger();
  const disk = new SimDisk({ random: new SeededRandom(seed), capacity: options.capacity, nowMs: () => clock.nowMs() });
  const open = (durability = options.durability ?? "sync") =>
    LogStore.open(disk, "/lake/log", { durability, clock, logger, schedule: queueMicrotask, compaction: unpaced });
  const log = (store: LogStore, config: Partial<LogConfig> = {}) =>
    store.create("t", 0, { topicId, config: { ...defaultLogConfig, ...config } });
  return { clock, logger, disk, open, log };
}
