/**
 * What the node holds up to, and what it costs in memory: ten thousand topics created, listed and produced to; thousands of
 * idle connections; a consumer that stops reading a gigabyte while others go on; a start with many topics in the lake.
 *
 *   bun bench/scale.ts [TOPICS] [CONNECTIONS]
 */
import { rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { zeroUuid } from "../src/base/uuid.ts";
import { newFetchPartition, newFetchRequest, newFetchTopic } from "../src/protocol/generated/fetch_request.ts";
import { newMetadataRequest } from "../src/protocol/generated/metadata_request.ts";
import { newProduceRequest } from "../src/protocol/generated/produce_request.ts";
import { encodeBatch } from "../src/protocol/records/encode.ts";
import { type NodeProcess, startNodeProcess } from "../tests/harness/process.ts";
import { Wire } from "../tests/harness/wire.ts";
import { createTopics } from "./load/systems.ts";

const topicCount = Number(process.argv[2] ?? 10_000);
const connectionCount = Number(process.argv[3] ?? 2_000);
const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
const name = (at: number) => `topic-${at}`;

function say(node: NodeProcess, what: string, startedMs: number): void {
  const seconds = (performance.now() - startedMs) / 1000;
  console.log(`${what.padEnd(58)} ${seconds.toFixed(2).padStart(7)} s   resident ${mib(node.residentBytes())}`);
}

function produceTo(topics: string[], value: Uint8Array | string) {
  return newProduceRequest({
    acks: -1,
    timeoutMs: 30_000,
    topicData: topics.map((topic) => ({
      name: topic,
      topicId: zeroUuid,
      partitionData: [{ index: 0, records: encodeBatch([{ value, timestamp: Date.now() }]) }],
    })),
  });
}

function fetchFrom(topic: string, offset: number) {
  const partition = newFetchPartition({ partition: 0, fetchOffset: BigInt(offset), partitionMaxBytes: 8 << 20 });
  const topics = [newFetchTopic({ topic, partitions: [partition] })];
  return newFetchRequest({ maxWaitMs: 500, minBytes: 1, maxBytes: 50 << 20, topics });
}

let node = await startNodeProcess();
let started = performance.now();
say(node, "a node without topics", started);
let wire = await Wire.open(node.kafkaPort);

started = performance.now();
await createTopics(
  wire,
  Array.from({ length: topicCount }, (_, place) => name(place)),
);
say(node, `${topicCount} topics created`, started);

started = performance.now();
const listed = await wire.call(3, 12, newMetadataRequest({ topics: null }));
if (listed.topics.length < topicCount) throw new Error(`only ${listed.topics.length} topics are listed`);
say(node, "all of them listed", started);

started = performance.now();
for (let at = 0; at < topicCount; at += 200) {
  const topics = Array.from({ length: Math.min(200, topicCount - at) }, (_, place) => name(at + place));
  const answer = await wire.call(0, 9, produceTo(topics, "x"));
  if (answer.responses.some(({ partitionResponses }) => partitionResponses[0]!.errorCode !== 0))
    throw new Error("a produce failed");
}
say(node, "one record produced to each", started);

started = performance.now();
const idle: Socket[] = [];
for (let at = 0; at < connectionCount; at++) {
  const socket = connect({ host: "127.0.0.1", port: node.kafkaPort, localAddress: `127.0.0.${2 + (at % 8)}` });
  socket.on("error", (error) => console.error(error.message));
  idle.push(socket);
}
await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
await wire.call(3, 12, newMetadataRequest({ topics: [] }));
say(node, `${connectionCount} idle connections`, started);
for (const socket of idle) socket.destroy();

started = performance.now();
const megabyte = new Uint8Array(1_000_000).fill(65);
for (let at = 0; at < 1_000; at++) {
  const answer = await wire.call(0, 9, produceTo([name(0)], megabyte));
  if (answer.responses[0]!.partitionResponses[0]!.errorCode !== 0) throw new Error("a produce failed");
}
say(node, "1 GB produced, a megabyte at a time", started);

started = performance.now();
const stuck = await Wire.open(node.kafkaPort);
stuck.socket.pause();
for (let at = 0; at < 150; at++) stuck.send(1, 11, fetchFrom(name(0), 1 + at * 7));
let read = 0;
for (let offset = 1; offset < 1_001; ) {
  const { responses } = await wire.call(1, 11, fetchFrom(name(0), offset));
  const { length } = responses[0]!.partitions[0]!.records as Uint8Array;
  read += length;
  offset += Math.floor(length / 1_000_000);
}
say(node, `${(read / 1e9).toFixed(1)} GB read beside a reader that stopped at 1 GB`, started);
stuck.close();
wire.close();

await node.stop("SIGTERM");
for (const how of ["clean", "killed"]) {
  started = performance.now();
  node = await startNodeProcess([], node.lake);
  wire = await Wire.open(node.kafkaPort);
  await wire.call(0, 9, produceTo([name(1)], "y"));
  say(
    node,
    `a ${how === "clean" ? "clean start" : "start after kill -9"} with ${topicCount} topics to the first produce`,
    started,
  );
  wire.close();
  await node.stop("SIGKILL");
}
rmSync(node.lake, { recursive: true, force: true });
