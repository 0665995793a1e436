/**
 * What the log costs beside bare file writes: `bun bench/log.ts [folder] [seconds]`. Large batches in MB/s, small ones in
 * batches per second, each with and without syncs; reads by a consumer that keeps up and by one that starts over.
 * Figures of one run compare with each other only.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/base/clock.ts";
import { silentLogger } from "../src/base/log.ts";
import { type Durability, LogStore, type PartitionLog } from "../src/log/log_store.ts";
import { nodeDisk } from "../src/platform/node_disk.ts";
import { encodeBatch } from "../src/protocol/records/encode.ts";

const folder = process.argv[2] || mkdtempSync(join(tmpdir(), "rowlog-bench-"));
const seconds = Number(process.argv[3] ?? 1.5);
const disk = nodeDisk();

const batchOf = (records: number, bytes: number) =>
  encodeBatch(
    Array.from({ length: records }, () => ({ value: new Uint8Array(bytes).fill(120) })),
    { timestamp: Date.now() },
  );
const large = batchOf(1000, 1024);
const small = batchOf(10, 100);

/** Rates, and the processor time of the whole process, which says more than rates on a busy machine. */
function row(name: string, batches: number, bytes: number, ms: number, cpu?: NodeJS.CpuUsage): void {
  const rate = (bytes / 1e6 / ms) * 1000;
  const spent = cpu ? process.cpuUsage(cpu) : undefined;
  const perGigabyte = spent ? `${((spent.user + spent.system) / (bytes / 1e3)).toFixed(2)} CPU s/GB` : "";
  console.log(
    `${name.padEnd(44)} ${rate.toFixed(0).padStart(6)} MB/s ${((batches / ms) * 1000).toFixed(0).padStart(9)} batches/s ${perGigabyte}`,
  );
}

/** `inFlight` batches a pass, each pass awaited: what pipelined producers on one connection do. */
async function measure(
  name: string,
  batch: Uint8Array,
  inFlight: number,
  work: (parts: Uint8Array[]) => Promise<unknown>,
) {
  for (const warmUp of [true, false]) {
    const cpu = process.cpuUsage();
    const started = performance.now();
    const until = started + (warmUp ? 300 : seconds * 1000);
    let batches = 0;
    while (performance.now() < until) {
      await work(Array.from({ length: inFlight }, () => batch.slice()));
      batches += inFlight;
    }
    if (!warmUp) row(name, batches, batches * batch.length, performance.now() - started, cpu);
  }
}

function storeFor(durability: Durability): LogStore {
  rmSync(`${folder}/log`, { recursive: true, force: true });
  return LogStore.open(disk, `${folder}/log`, { durability, clock: systemClock, logger: silentLogger });
}

const appendAll = (log: PartitionLog) => (parts: Uint8Array[]) =>
  Promise.all(parts.map((part) => log.append(part).done));

for (const durability of ["sync", "os"] as const) {
  for (const [name, batch, inFlight] of [
    ["1 MB batches, 4 a pass", large, 4],
    ["1 KB batches, 1 a pass", small, 1],
    ["1 KB batches, 100 a pass", small, 100],
  ] as const) {
    const file = disk.open(`${folder}/bare`, { write: true, create: true, truncate: true });
    let position = 0;
    await measure(`bare file, ${durability}: ${name}`, batch, inFlight, async (parts) => {
      file.writev(parts, position);
      position += batch.length * parts.length;
      if (durability === "sync") await file.sync();
      else await new Promise((resolve) => setImmediate(resolve));
    });
    file.close();
    const store = storeFor(durability);
    const log = store.create("t", 0);
    await measure(`log, ${durability}: ${name}`, batch, inFlight, appendAll(log));
    await store.close();
  }
}

const store = storeFor("os");
const log = store.create("t", 0);
for (let n = 0; n < 300; n++) await log.append(large.slice()).done;
const read = (maxBytes: number, from: (next: number) => number) => {
  let next = log.logStartOffset;
  let bytes = 0;
  let reads = 0;
  const started = performance.now();
  while (performance.now() < started + seconds * 1000) {
    const parts = log.read(next, { maxBytes, minOneBatch: true, isolation: "highWatermark" });
    for (const part of parts) bytes += part.length;
    next = from(next + Math.max(1, Math.floor(maxBytes / large.length)) * 1000);
    reads++;
  }
  return { bytes, reads, ms: performance.now() - started };
};
const end = log.logEndOffset;
const again = read(8 << 20, (next) => (next >= end - 60_000 ? 0 : next));
row("read from the page cache, 8 MB each", again.reads, again.bytes, again.ms);
const tail = read(1 << 20, () => end - 1000);
row("read of the tail from memory, 1 MB each", tail.reads, tail.bytes, tail.ms);
await store.close();

const started = performance.now();
const many = storeFor("sync");
for (let n = 0; n < 1000; n++) void many.create(`t${n}`, 0).append(small.slice());
await Promise.all([...many.partitions()].map((one) => one.idle()));
console.log(`1,000 partitions made and written once: ${(performance.now() - started).toFixed(0)} ms`);
const closing = performance.now();
await many.close();
console.log(`closed: ${(performance.now() - closing).toFixed(0)} ms`);
const opening = performance.now();
const opened = LogStore.open(disk, `${folder}/log`, { durability: "sync", clock: systemClock, logger: silentLogger });
let sum = 0;
for (let n = 0; n < 1000; n++) sum += opened.create(`t${n}`, 0).logEndOffset;
console.log(`opened after a clean stop, ${sum} records: ${(performance.now() - opening).toFixed(1)} ms`);
await opened.close();
if (!process.argv[2]) rmSync(folder, { recursive: true, force: true });
