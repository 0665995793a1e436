/**
 * The workloads of the comparison. Each is run on a broker that has just started, in their order; one that reads, reads what the one before it
 * wrote. A workload gives figures by name; the first is what the ratios are made of.
 */
import { codecs } from "../../src/hotpath/codecs.ts";
import { encodeBatch, type RecordToEncode } from "../../src/protocol/records/encode.ts";
import { sql } from "../../tests/clients/target.ts";
import { ackLatencies, fetchRaw, percentile, produceFrame, produceRaw } from "./raw.ts";
import { createTopic, kafkaTool, type RunningSystem } from "./systems.ts";

export interface Figure {
  unit: string;
  value: number;
  /** Whether less is better. */
  isCost?: boolean;
}

export interface Workload {
  name: string;
  /** What it does, for the report. */
  about: string;
  /** Only for systems that speak SQL. */
  needsSql?: boolean;
  /** `scale` makes the work smaller; 1 is all of it. Gives the bytes that went through the broker, and figures. */
  run(system: RunningSystem, scale: number): Promise<{ bytes: number; figures: Record<string, Figure> }>;
}

const partitions = 4;
const connections = 4;
const inFlight = 5;

/** Bytes that no codec makes smaller and that differ from record to record. */
function noise(size: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let state = seed * 2654435761 + 1;
  for (let at = 0; at < size; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

const row = (id: number) =>
  `{"id": ${id}, "name": "name ${id % 977}", "amount": ${(id % 10_000) / 100}, "ok": ${id % 3 === 0}, "seen": "2026-03-01T12:${String(id % 60).padStart(2, "0")}:00"}`;

function rows(count: number, idOf: (at: number) => number = (at) => at): RecordToEncode[] {
  return Array.from({ length: count }, (_, at) => ({ value: row(idOf(at)), timestamp: Date.now() }));
}

const plainBytes = (records: readonly RecordToEncode[]) =>
  records.reduce((sum, { value }) => sum + (value as string | Uint8Array).length, 0);

/** Sends `records` as one batch again and again until about `count` of them were sent; gives the rates. */
async function rawProduce(
  system: RunningSystem,
  topic: string,
  records: readonly RecordToEncode[],
  count: number,
  codec: number,
) {
  await createTopic(system.port, topic, partitions);
  const batch = encodeBatch(records, { codec: codec as 0 });
  const requests = Math.max(connections, Math.ceil(count / records.length / connections) * connections);
  const load = { port: system.port, topic, partitions, batch, connections, inFlight };
  const began = performance.now();
  await produceRaw({ ...load, requests });
  const seconds = (performance.now() - began) / 1000;
  const bytes = requests * plainBytes(records);
  return { bytes, seconds, records: requests * records.length };
}

const megabytes = (bytes: number, seconds: number): Figure => ({ unit: "MB/s", value: bytes / 1e6 / seconds });

const bootstrap = (system: RunningSystem) => `127.0.0.1:${system.port}`;

/** The Java client's producer, as `kafka-producer-perf-test` drives it. */
function javaProducer(system: RunningSystem, topic: string, count: number, settings: readonly string[]) {
  const size = 1024;
  const output = kafkaTool("producer-perf", [
    ...["--topic", topic, "--num-records", `${count}`, "--record-size", `${size}`, "--throughput", "-1"],
    ...["--producer-props", `bootstrap.servers=${bootstrap(system)}`, ...settings],
  ]);
  const last = output.trim().split("\n").at(-1) ?? "";
  const rate = Number(/([\d.]+) records\/sec/.exec(last)?.[1]);
  const p99 = Number(/([\d.]+) ms 99th/.exec(last)?.[1]);
  if (!(rate > 0)) throw new Error(`producer-perf printed no rate: ${last}`);
  return {
    bytes: count * size,
    figures: {
      rate: { unit: "MB/s", value: (rate * size) / 1e6 },
      "ack p99": { unit: "ms", value: p99, isCost: true },
    },
  };
}

async function tableLoad(system: RunningSystem, table: string, clause: string, scale: number, keys?: number) {
  const columns = "id BIGINT, name VARCHAR, amount DECIMAL(10,2), ok BOOLEAN, seen TIMESTAMP";
  await sql(
    system.http!,
    `CREATE TABLE ${table} (${columns}${clause}) WITH (partitions = ${keys === undefined ? partitions : 1})`,
  );
  const per = 8_000;
  const requests = Math.max(4, Math.ceil((1_000_000 * scale) / per / 4) * 4);
  const began = performance.now();
  const load = { port: system.port, topic: table, connections: keys === undefined ? connections : 1, inFlight };
  const batch = encodeBatch(
    rows(per, (at) => (keys === undefined ? at : at % keys)),
    { codec: codecs.lz4 },
  );
  await produceRaw({ ...load, partitions: load.connections, batch, requests });
  const [[count] = []] = await sql(system.http!, `SELECT count(*) FROM ${table}`);
  const seconds = (performance.now() - began) / 1000;
  const expected = keys === undefined ? requests * per : Math.min(keys, per);
  if (Number(count) !== expected) throw new Error(`${table} has ${count} rows instead of ${expected}`);
  const value = (requests * per) / seconds;
  return { bytes: requests * plainBytes(rows(per)), figures: { rate: { unit: "rows/s", value } } };
}

export const workloads: readonly Workload[] = [
  {
    name: "raw-produce-1k",
    about: "batches of 1 MB of 1 KiB records, encoded beforehand, 4 connections with 5 requests in flight",
    async run(system, scale) {
      const records = Array.from({ length: 1000 }, (_, at) => ({ value: noise(1024, at), timestamp: Date.now() }));
      const { bytes, seconds } = await rawProduce(system, "raw-1k", records, 1_000_000 * scale, codecs.none);
      return { bytes, figures: { rate: megabytes(bytes, seconds) } };
    },
  },
  {
    name: "raw-fetch-1k",
    about: "the same read back, one connection a partition, 8 MB a request",
    async run(system) {
      const began = performance.now();
      const bytes = await fetchRaw(system.port, "raw-1k", partitions);
      return { bytes, figures: { rate: megabytes(bytes, (performance.now() - began) / 1000) } };
    },
  },
  {
    name: "raw-fetch-tail",
    about: "12 MB that were produced last, read over and over, one connection a partition",
    async run(system, scale) {
      const records = Array.from({ length: 1000 }, (_, at) => ({ value: noise(1024, at), timestamp: Date.now() }));
      await rawProduce(system, "raw-tail", records, 12_000, codecs.none);
      const began = performance.now();
      const bytes = await fetchRaw(system.port, "raw-tail", partitions, Math.ceil(80 * scale));
      return { bytes, figures: { rate: megabytes(bytes, (performance.now() - began) / 1000) } };
    },
  },
  {
    name: "raw-produce-json-lz4",
    about: "batches of 1 MB of JSON rows under lz4; MB of plain data",
    async run(system, scale) {
      const { bytes, seconds } = await rawProduce(system, "raw-lz4", rows(10_000), 8_000_000 * scale, codecs.lz4);
      return { bytes, figures: { rate: megabytes(bytes, seconds) } };
    },
  },
  {
    name: "raw-produce-small",
    about: "batches of 10 JSON rows",
    async run(system, scale) {
      const load = await rawProduce(system, "raw-small", rows(10), 400_000 * scale, codecs.none);
      return { bytes: load.bytes, figures: { rate: { unit: "records/s", value: load.records / load.seconds } } };
    },
  },
  {
    name: "java-produce-1k",
    about:
      "Kafka's Java producer with its defaults (idempotent, acks=all), 1 KiB records, batch.size 256 KiB, linger 5 ms",
    async run(system, scale) {
      await createTopic(system.port, "java-1k", partitions);
      const settings = ["batch.size=262144", "linger.ms=5"];
      return javaProducer(system, "java-1k", Math.ceil(500_000 * scale), settings);
    },
  },
  {
    name: "java-consume-1k",
    about: "Kafka's Java consumer reads that back",
    async run(system, scale) {
      const count = Math.ceil(500_000 * scale);
      const output = kafkaTool("consumer-perf", [
        ...["--topic", "java-1k", "--num-records", `${count}`, "--bootstrap-server", bootstrap(system)],
        ...["--timeout", "60000"],
      ]);
      // start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, MB/s of fetching, records/s of fetching
      const fields = (output.trim().split("\n").at(-1) ?? "").split(",").map(Number);
      if (!((fields[4] ?? 0) >= count)) throw new Error(`consumer-perf read too little: ${output}`);
      return { bytes: count * 1024, figures: { rate: { unit: "MB/s", value: (fields[8] ?? 0) * 1.048576 } } };
    },
  },
  {
    name: "ack-latency",
    about: "one record of 200 bytes each 2 ms, acks=all: milliseconds from when it was due to its acknowledgement",
    async run(system, scale) {
      await createTopic(system.port, "latency", 1);
      const frame = produceFrame("latency", 0, encodeBatch([{ value: noise(200, 1), timestamp: Date.now() }]));
      await ackLatencies(system.port, "latency", frame, 500, 200);
      const count = Math.ceil(5_000 * scale);
      const latencies = await ackLatencies(system.port, "latency", frame, 500, count);
      const milliseconds = (share: number): Figure => ({
        unit: "ms",
        value: percentile(latencies, share),
        isCost: true,
      });
      return {
        bytes: 0,
        figures: { p50: milliseconds(0.5), p99: milliseconds(0.99), "p99.9": milliseconds(0.999) },
      };
    },
  },
  {
    name: "table-json",
    about: "JSON rows under lz4 into a table of 5 columns, until SQL counts them all",
    needsSql: true,
    run: (system, scale) => tableLoad(system, "bench_rows", "", scale),
  },
  {
    name: "table-keyed",
    about: "the same into a table with a primary key, 8,000 keys over and over",
    needsSql: true,
    run: (system, scale) => tableLoad(system, "bench_keyed", ", PRIMARY KEY (id)", scale, 8_000),
  },
];
