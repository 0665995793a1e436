/**
 * Whether the cost of a record stays what it is while other things grow: over 1 to 1,000 topics, and from an empty log to one of many GB. Server's
 * processor time for each GB and rates, as ratios to the first line; rounds alternate, since machines change their pace.
 *
 *   bun bench/flat.ts [--durability sync|os] [--rounds N] [--requests N] [--gigabytes N]
 */
import { parseArgs } from "node:util";
import { encodeBatch } from "../src/protocol/records/encode.ts";
import { startNodeProcess } from "../tests/harness/process.ts";
import { Wire } from "../tests/harness/wire.ts";
import { cpuSeconds, residentMib } from "./load/machine.ts";
import { percentile, producedAt, produceFrame, RawConnection } from "./load/raw.ts";
import { createTopics } from "./load/systems.ts";

const { values: options } = parseArgs({
  options: {
    durability: { type: "string", default: "sync" },
    rounds: { type: "string", default: "5" },
    requests: { type: "string", default: "4000" },
    gigabytes: { type: "string", default: "20" },
  },
});
const rounds = Number(options.rounds);
const requests = Number(options.requests);
const gigabytes = Number(options.gigabytes);
const counts = [1, 10, 100, 1_000];
const recordBytes = 1_024;
const connections = 4;
const inFlight = 5;

function batchOf(records: number): Uint8Array {
  const value = new Uint8Array(recordBytes).fill(120);
  return encodeBatch(Array.from({ length: records }, () => ({ value, timestamp: Date.now() })));
}

const node = await startNodeProcess(["--durability", options.durability, "--retain-secs", "-1"]);
const pid = node.child.pid!;

interface Cost {
  cpuPerGb: number;
  mbPerSecond: number;
}

/** Sends `total` requests out of `frames` in turn, each connection its own share of them. */
async function load(frames: readonly Buffer[], total: number): Promise<Cost> {
  const cpuBefore = cpuSeconds(pid);
  const began = performance.now();
  let sent = 0;
  const bytes = frames[0]!.length * total;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await RawConnection.open(node.kafkaPort);
      let open = 0;
      while (sent < total || open > 0) {
        while (open < inFlight && sent < total) {
          connection.send(frames[sent++ % frames.length]!);
          open++;
        }
        if (open === 0) break;
        producedAt(await connection.answer());
        open--;
      }
      connection.close();
    }),
  );
  return {
    cpuPerGb: ((cpuSeconds(pid) - cpuBefore) / bytes) * 1e9,
    mbPerSecond: bytes / 1e3 / (performance.now() - began),
  };
}

const median = (values: readonly number[]) => percentile(values, 0.5);

function report(name: string, costs: readonly Cost[], first: readonly Cost[]): void {
  const cpu = costs.map(({ cpuPerGb }) => cpuPerGb);
  const rate = costs.map(({ mbPerSecond }) => mbPerSecond);
  const ratios = costs.map(({ cpuPerGb }, i) => cpuPerGb / first[Math.min(i, first.length - 1)]!.cpuPerGb);
  console.log(
    `${name}: ${median(cpu).toFixed(2)} s/GB of the server's CPU (${median(ratios).toFixed(2)} of the first), ${median(rate).toFixed(0)} MB/s, resident ${residentMib(pid).toFixed(0)} MiB`,
  );
}

try {
  console.log(
    `durability ${options.durability}, records of 1 KiB, ${connections} connections with ${inFlight} requests in flight`,
  );
  const wire = await Wire.open(node.kafkaPort);
  await createTopics(wire, [...Array.from({ length: counts.at(-1)! }, (_, i) => `t${i}`), "large"]);
  wire.close();
  const small = batchOf(64);
  const frames = Array.from({ length: counts.at(-1)! }, (_, i) => produceFrame(`t${i}`, 0, small));
  await load(frames, requests / 2);
  const byCount = counts.map((): Cost[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, count] of counts.entries()) byCount[i]!.push(await load(frames.slice(0, count), requests));
  for (const [i, count] of counts.entries())
    report(`${count} topics, batches of 64 KB in turn`, byCount[i]!, byCount[0]!);

  const large = [produceFrame("large", 0, batchOf(960))];
  const perGb = Math.round(1e9 / large[0]!.length);
  const slices: Cost[] = [];
  for (let gb = 0; gb < gigabytes; gb++) slices.push(await load(large, perGb));
  const width = Math.max(1, Math.floor(gigabytes / 5));
  for (let at = 0; at < gigabytes; at += width)
    report(`log from ${at} to ${at + width} GB`, slices.slice(at, at + width), slices.slice(0, width));
} finally {
  await node.remove();
}
