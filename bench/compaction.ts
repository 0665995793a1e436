/**
 * What compaction of a log costs: `bun bench/compaction.ts [gigabytes] [keys] [value bytes] [records a batch] [codec 0-4]`. Rates are of log
 * bytes compacted; the processor time says more on a busy machine. Also the process's memory before and at most, and how long a turn of
 * the event loop took meanwhile, which is what a request waits.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/base/clock.ts";
import { silentLogger } from "../src/base/log.ts";
import type { Codec } from "../src/hotpath/codecs.ts";
import { defaultLogConfig } from "../src/log/log_config.ts";
import { LogStore, type PartitionLog } from "../src/log/log_store.ts";
import { nodeDisk } from "../src/platform/node_disk.ts";
import { encodeBatch } from "../src/protocol/records/encode.ts";

const argument = (at: number, byDefault: number) => Number(process.argv[at] ?? byDefault);
const bytesWanted = argument(2, 0.3) * 1e9;
const keys = argument(3, 200_000);
const valueBytes = argument(4, 200);
const batchRecords = argument(5, 100);
const codec = argument(6, 0) as Codec;

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
const resident = () => process.memoryUsage().rss;

/** Keys in a scattered order, again and again. */
async function fill(log: PartitionLog): Promise<{ bytes: number; records: number }> {
  const padding = "v".repeat(valueBytes);
  let bytes = 0;
  let records = 0;
  while (bytes < bytesWanted) {
    const batch = encodeBatch(
      Array.from({ length: batchRecords }, () => {
        const id = (Math.imul(records++, 2_654_435_761) >>> 0) % keys;
        return { key: `{"id":${id}}`, value: `{"id":${id},"n":${records},"v":"${padding}"}` };
      }),
      { timestamp: Date.now(), codec },
    );
    bytes += batch.length;
    log.append(batch);
    if (records % (50 * batchRecords) === 0) await log.idle();
  }
  await log.idle();
  return { bytes, records };
}

/** Watches until the returned function is called, which gives the worst and the usual. */
function watch(): () => { memory: number; turns: number[] } {
  let memory = 0;
  let isOver = false;
  const turns: number[] = [];
  const look = async () => {
    while (!isOver) {
      memory = Math.max(memory, resident());
      const before = performance.now();
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(performance.now() - before);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  void look();
  return () => {
    isOver = true;
    return { memory, turns: turns.sort((a, b) => a - b) };
  };
}

const folder = mkdtempSync(join(tmpdir(), "rowlog-compaction-"));
try {
  const store = LogStore.open(nodeDisk(), join(folder, "log"), {
    durability: "os",
    clock: systemClock,
    logger: silentLogger,
    compaction: { bytesPerSecond: 1e12 },
  });
  const config = { ...defaultLogConfig, compacted: true, deleteOld: false, segmentBytes: 32 * 1024 * 1024 };
  const log = store.create("t", 0, { config });
  const { bytes, records } = await fill(log);
  console.log(`${megabytes(bytes)}, ${records} records, ${keys} keys, codec ${codec}`);
  const before = resident();
  const ended = watch();
  const cpu = process.cpuUsage();
  const started = performance.now();
  await store.compact();
  const seconds = (performance.now() - started) / 1000;
  const spent = process.cpuUsage(cpu);
  const { memory, turns } = ended();
  const at = (share: number) => `${turns[Math.floor((turns.length - 1) * share)]?.toFixed(1)} ms`;
  const { stats } = store.compactor;
  console.log(`compacted at ${(bytes / 1e6 / seconds).toFixed(0)} MB/s in ${stats.rounds} rounds`);
  console.log(
    `read ${megabytes(stats.bytesRead)}, wrote ${megabytes(stats.bytesWritten)}, removed ${stats.recordsRemoved} records`,
  );
  console.log(`processor time ${((spent.user + spent.system) / 1e6).toFixed(1)} s of ${seconds.toFixed(1)} s`);
  console.log(`resident memory ${megabytes(before)}, at most ${megabytes(memory)}`);
  console.log(`a turn of the loop: half ${at(0.5)}, 99 % ${at(0.99)}, all ${at(1)}`);
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
