/**
 * A file system of 64 MB that really fills up (case C63): produces are refused, reads, commits' errors and deletes go on,
 * and the node recovers by itself when space returns, also after a restart while full. Needs the right to mount a tmpfs.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorCodes } from "../../src/base/kafka_error.ts";
import { zeroUuid } from "../../src/base/uuid.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newDeleteTopicsRequest } from "../../src/protocol/generated/delete_topics_request.ts";
import { newFetchPartition, newFetchRequest, newFetchTopic } from "../../src/protocol/generated/fetch_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { type NodeProcess, startNodeProcess } from "../harness/process.ts";
import { Wire } from "../harness/wire.ts";

const folder = mkdtempSync(join(tmpdir(), "rowlog-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", folder]).status === 0;
const lake = join(folder, "lake");
const testWithDisk = mounted ? test : test.skip;
if (!mounted) console.error("skipped: disk_full (this user may not mount a tmpfs)");

let node: NodeProcess;
let wire: Wire;

beforeAll(async () => {
  if (mounted) await start();
});
afterAll(async () => {
  await node?.stop("SIGKILL");
  if (mounted) spawnSync("umount", [folder]);
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  node = await startNodeProcess([], lake);
  wire = await Wire.open(node.kafkaPort);
}

async function create(name: string): Promise<number> {
  const topics = [{ name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }];
  return (await wire.call(19, 7, newCreateTopicsRequest({ topics }))).topics[0]!.errorCode;
}

async function produce(topic: string, at: number): Promise<number> {
  const value = Buffer.alloc(500_000, at & 0xff);
  value.writeUInt32BE(at, 0);
  const partitionData = [{ index: 0, records: encodeBatch([{ value, timestamp: Date.now() }]) }];
  const topicData = [{ name: topic, topicId: zeroUuid, partitionData }];
  const answer = await wire.call(0, 9, newProduceRequest({ acks: -1, timeoutMs: 5_000, topicData }));
  return answer.responses[0]!.partitionResponses[0]!.errorCode;
}

/** The numbers of all records in a topic. */
async function numbers(topic: string): Promise<number[]> {
  const found: number[] = [];
  for (;;) {
    const partition = newFetchPartition({
      partition: 0,
      fetchOffset: BigInt(found.length),
      partitionMaxBytes: 8 << 20,
    });
    const topics = [newFetchTopic({ topic, partitions: [partition] })];
    const request = newFetchRequest({ maxWaitMs: 0, minBytes: 0, maxBytes: 50 << 20, topics });
    const { errorCode, records } = (await wire.call(1, 11, request)).responses[0]!.partitions[0]!;
    expect(errorCode).toBe(0);
    const bytes = records as Uint8Array;
    if (bytes.length === 0) return found;
    for (const batch of decodeBatches(bytes))
      for (const { value } of batch) found.push(Buffer.from(value!).readUInt32BE(0));
  }
}

/** Produces until the node refuses; gives how many were taken. */
async function fill(topic: string, from: number): Promise<number> {
  for (let at = from; at < from + 1_000; at++) {
    const code = await produce(topic, at);
    if (code === 0) continue;
    expect(code).toBe(errorCodes.KAFKA_STORAGE_ERROR);
    return at;
  }
  throw new Error("the disk never got full");
}

testWithDisk(
  "a full disk refuses produces, keeps what was acknowledged, and recovers when space returns",
  async () => {
    expect(await create("kept")).toBe(0);
    expect(await create("other")).toBe(0);
    for (let at = 0; at < 20; at++) expect(await produce("other", at)).toBe(0);
    const taken = await fill("kept", 0);
    expect(taken).toBeGreaterThan(20);
    const all = Array.from({ length: taken }, (_, at) => at);
    expect(await numbers("kept")).toEqual(all);
    expect(node.output()).toContain("space");

    // Restarting while full is possible, and loses nothing.
    wire.close();
    expect(await node.stop("SIGTERM")).toBe(0);
    await start();
    expect(await numbers("kept")).toEqual(all);
    expect(await produce("kept", taken)).toBe(errorCodes.KAFKA_STORAGE_ERROR);
    wire.close();
    await node.stop("SIGKILL");
    await start();
    expect(await numbers("kept")).toEqual(all);

    // Deleting a topic makes room, without a restart.
    const topics = [{ name: "other", topicId: zeroUuid }];
    expect((await wire.call(20, 6, newDeleteTopicsRequest({ topics }))).responses[0]!.errorCode).toBe(0);
    let code: number = errorCodes.KAFKA_STORAGE_ERROR;
    for (let tries = 0; code !== 0 && tries < 100; tries++) {
      code = await produce("kept", taken);
      if (code !== 0) await Bun.sleep(50);
    }
    expect(code).toBe(0);
    expect(await numbers("kept")).toEqual([...all, taken]);
  },
  120_000,
);

testWithDisk(
  "a disk that another program fills to the last byte does the same",
  async () => {
    const hog = join(folder, "hog");
    const before = await numbers("kept");
    const free = spawnSync("df", ["--output=avail", "-B1", folder]).stdout.toString().split("\n")[1];
    writeFileSync(hog, Buffer.alloc(Number(free)));
    expect(statSync(hog).size).toBeGreaterThan(0);
    for (let tries = 0; tries < 3; tries++)
      expect(await produce("kept", before.length)).toBe(errorCodes.KAFKA_STORAGE_ERROR);
    expect(await numbers("kept")).toEqual(before);
    // The catalog's last page may still take a few events.
    const created: string[] = [];
    let refusal = 0;
    for (let at = 0; refusal === 0 && at < 200; at++) {
      refusal = await create(`t${at}`);
      if (refusal === 0) created.push(`t${at}`);
    }
    expect(refusal).toBe(errorCodes.KAFKA_STORAGE_ERROR);
    unlinkSync(hog);
    let code: number = errorCodes.KAFKA_STORAGE_ERROR;
    for (let tries = 0; code !== 0 && tries < 100; tries++) {
      code = await produce("kept", before.length);
      if (code !== 0) await Bun.sleep(50);
    }
    expect(code).toBe(0);
    expect(await numbers("kept")).toEqual([...before, before.length]);
    expect(await create("made")).toBe(0);
    wire.close();
    await node.stop("SIGKILL");
    await start();
    const { topics } = await wire.call(3, 9, newMetadataRequest({ topics: null }));
    expect(new Set(topics.map(({ name }) => name))).toEqual(new Set([...created, "made", "kept"]));
  },
  120_000,
);
