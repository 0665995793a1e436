import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { zeroUuid } from "../../src/base/uuid.ts";
import { decodeResponse } from "../../src/protocol/frames.ts";
import { newApiVersionsRequest } from "../../src/protocol/generated/api_versions_request.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newFetchPartition, newFetchRequest, newFetchTopic } from "../../src/protocol/generated/fetch_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { startTestNode, type TestNode } from "../harness/node.ts";
import { Wire } from "../harness/wire.ts";

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
  const wire = await Wire.open(node.kafkaPort);
  const settings = { numPartitions: 2, replicationFactor: 1, assignments: [], configs: [] };
  const topics = ["empty", "order", "wait", "big", "limit"].map((name) => ({ name, ...settings }));
  await wire.call(19, 7, newCreateTopicsRequest({ topics }));
  wire.close();
});
afterAll(() => node.remove());

function produceOf(topic: string, values: (string | Uint8Array)[], acks = -1, partition = 0) {
  const records = encodeBatch(values.map((value) => ({ value, timestamp: Date.now() })));
  return newProduceRequest({
    acks,
    timeoutMs: 1000,
    topicData: [{ name: topic, topicId: zeroUuid, partitionData: [{ index: partition, records }] }],
  });
}

interface Asked {
  offset?: number;
  partition?: number;
  maxBytes?: number;
}

function fetchOf(topic: string, waitMs: number, minBytes = 1, asked: Asked[] = [{}]) {
  return newFetchRequest({
    maxWaitMs: waitMs,
    minBytes,
    maxBytes: 50_000_000,
    topics: [
      newFetchTopic({
        topic,
        partitions: asked.map(({ offset = 0, partition = 0, maxBytes = 50_000_000 }) =>
          newFetchPartition({ partition, fetchOffset: BigInt(offset), partitionMaxBytes: maxBytes }),
        ),
      }),
    ],
  });
}

function valuesOf(records: unknown): string[] {
  const bytes = records as Uint8Array;
  return [...decodeBatches(bytes)].flatMap((batch) => [...batch].map(({ value }) => Buffer.from(value!).toString()));
}

describe("ApiVersions of any version (C05)", () => {
  for (const version of [6, 99, 32_767]) {
    test(`version ${version} is answered in the form of version 0, and the connection goes on`, async () => {
      const wire = await Wire.open(node.kafkaPort);
      // The header's newest form ends in an empty list of tagged fields.
      const frame = Buffer.alloc(15);
      frame.writeInt32BE(11, 0);
      frame.writeInt16BE(18, 4);
      frame.writeInt16BE(version, 6);
      frame.writeInt32BE(-5, 8);
      frame.writeInt16BE(-1, 12);
      wire.socket.write(frame);
      const { correlationId, body } = decodeResponse(18, 0, (await wire.frame())!);
      expect(correlationId).toBe(-5);
      expect(body.errorCode).toBe(35);
      expect(body.apiKeys.find(({ apiKey }) => apiKey === 18)).toMatchObject({ minVersion: 0, maxVersion: 5 });
      const next = await wire.call(
        18,
        5,
        newApiVersionsRequest({ clientSoftwareName: "a", clientSoftwareVersion: "1" }),
      );
      expect(next.errorCode).toBe(0);
      wire.close();
    });
  }

  test("an illegal software name is INVALID_REQUEST", async () => {
    const wire = await Wire.open(node.kafkaPort);
    const request = newApiVersionsRequest({ clientSoftwareName: "-bad-", clientSoftwareVersion: "1" });
    expect((await wire.call(18, 3, request)).errorCode).toBe(42);
    wire.close();
  });
});

describe("order of answers (C08)", () => {
  test("answers come in the order of requests, acks=0 takes no place", async () => {
    const wire = await Wire.open(node.kafkaPort);
    wire.send(1, 11, fetchOf("empty", 200), 11);
    wire.send(3, 9, newMetadataRequest({ topics: [] }), -12);
    wire.send(0, 7, produceOf("order", ["a"], 1), 13);
    wire.send(0, 7, produceOf("order", ["b"], 0), 14);
    wire.send(18, 0, newApiVersionsRequest(), 2_147_483_647);
    expect((await wire.answer(1, 11)).correlationId).toBe(11);
    expect((await wire.answer(3, 9)).correlationId).toBe(-12);
    const produced = await wire.answer(0, 7);
    expect(produced.correlationId).toBe(13);
    expect((await wire.answer(18, 0)).correlationId).toBe(2_147_483_647);
    wire.close();
  });

  test("64 pipelined produces of mixed sizes keep their order in the log", async () => {
    const wire = await Wire.open(node.kafkaPort);
    const first = await wire.call(0, 9, produceOf("order", ["start"], -1, 1));
    const base = Number(first.responses[0]!.partitionResponses[0]!.baseOffset);
    for (let at = 0; at < 64; at++)
      wire.send(0, 9, produceOf("order", [`${at}:${"x".repeat((at * 7919) % 60_000)}`], -1, 1), 1000 + at);
    for (let at = 0; at < 64; at++) {
      const { correlationId, body } = await wire.answer(0, 9);
      expect(correlationId).toBe(1000 + at);
      const { errorCode, baseOffset } = body.responses[0]!.partitionResponses[0]!;
      expect({ errorCode, offset: Number(baseOffset) }).toEqual({ errorCode: 0, offset: base + 1 + at });
    }
    const fetched = await wire.call(1, 11, fetchOf("order", 0, 1, [{ partition: 1, offset: base + 1 }]));
    const values = valuesOf(fetched.responses[0]!.partitions[0]!.records);
    expect(values.map((value) => Number(value.split(":")[0]))).toEqual(Array.from({ length: 64 }, (_, at) => at));
    wire.close();
  });

  test("a failed acks=0 produce closes the connection", async () => {
    const wire = await Wire.open(node.kafkaPort);
    wire.send(0, 9, produceOf("absent", ["a"], 0));
    expect(await wire.frame()).toBeUndefined();
  });
});

describe("waiting fetches (C09)", () => {
  test("an empty topic is answered at the deadline, without an error, in every version", async () => {
    for (let version = 4; version <= 12; version++) {
      const wire = await Wire.open(node.kafkaPort);
      const { responses } = await wire.call(1, version, fetchOf("empty", 20));
      expect(responses[0]!.partitions[0]).toMatchObject({ errorCode: 0, highWatermark: 0n });
      wire.close();
    }
  });

  test("a produce in the middle of the wait ends it", async () => {
    const [reader, writer] = [await Wire.open(node.kafkaPort), await Wire.open(node.kafkaPort)];
    reader.send(1, 11, fetchOf("wait", 30_000));
    await writer.call(0, 9, produceOf("wait", ["now"]));
    const { body } = await reader.answer(1, 11);
    expect(valuesOf(body.responses[0]!.partitions[0]!.records)).toEqual(["now"]);
    reader.close();
    writer.close();
  });

  test("data below min bytes waits for more; a partition that fills its own limit does not", async () => {
    const [reader, writer] = [await Wire.open(node.kafkaPort), await Wire.open(node.kafkaPort)];
    await writer.call(0, 9, produceOf("limit", ["x".repeat(500)]));
    let isAnswered = false;
    reader.send(1, 11, fetchOf("limit", 30_000, 2_000));
    const first = reader.answer(1, 11).finally(() => {
      isAnswered = true;
    });
    for (let at = 0; at < 2; at++) await writer.call(0, 9, produceOf("limit", ["x".repeat(500)]));
    expect(isAnswered).toBe(false);
    for (let at = 0; at < 2; at++) await writer.call(0, 9, produceOf("limit", ["x".repeat(500)]));
    expect((await first).body.responses[0]!.partitions[0]!.records!.length).toBeGreaterThanOrEqual(2_000);
    const { responses } = await reader.call(1, 11, fetchOf("limit", 30_000, 5_000, [{ maxBytes: 1_000 }]));
    expect(responses[0]!.partitions[0]!.records!.length).toBeGreaterThan(0);
    reader.close();
    writer.close();
  });

  test("an error of one partition ends the wait at once", async () => {
    const wire = await Wire.open(node.kafkaPort);
    const { responses } = await wire.call(
      1,
      11,
      fetchOf("empty", 30_000, 1, [{}, { partition: 7 }, { partition: 1, offset: 50 }]),
    );
    expect(responses[0]!.partitions.map(({ errorCode }) => errorCode)).toEqual([0, 3, 1]);
    wire.close();
  });

  test("a client that leaves in the middle of the wait leaves nothing behind", async () => {
    const wires = await Promise.all(Array.from({ length: 50 }, () => Wire.open(node.kafkaPort)));
    for (const wire of wires) wire.send(1, 11, fetchOf("empty", 30_000));
    await Bun.sleep(50);
    for (const wire of wires) wire.close();
    await Bun.sleep(50);
    const writer = await Wire.open(node.kafkaPort);
    const answer = await writer.call(0, 9, produceOf("empty", ["x"], -1, 1));
    expect(answer.responses[0]!.partitionResponses[0]!.errorCode).toBe(0);
    writer.close();
  });

  test("a first batch larger than every limit is still given", async () => {
    const wire = await Wire.open(node.kafkaPort);
    await wire.call(0, 9, produceOf("big", ["y".repeat(900_000)]));
    const { responses } = await wire.call(1, 11, fetchOf("big", 1_000, 1, [{ maxBytes: 10 }]));
    expect(valuesOf(responses[0]!.partitions[0]!.records)[0]!.length).toBe(900_000);
    wire.close();
  });
});

describe("all topics, no topics (C30)", () => {
  const names = (answer: { topics: { name: string | null; errorCode: number }[] }) =>
    answer.topics.map(({ name, errorCode }) => `${name} ${errorCode}`);

  test("version 0 takes an empty list for all, later ones null for all and empty for none", async () => {
    const wire = await Wire.open(node.kafkaPort);
    const all = (await wire.call(3, 0, newMetadataRequest({ topics: [] }))).topics.length;
    expect(all).toBeGreaterThanOrEqual(5);
    for (const version of [1, 5, 9, 12, 13]) {
      const none = await wire.call(3, version, newMetadataRequest({ topics: [] }));
      expect(none.topics).toEqual([]);
      expect(none.brokers.length).toBe(1);
      expect((await wire.call(3, version, newMetadataRequest({ topics: null }))).topics.length).toBe(all);
    }
    wire.close();
  });

  test("known, unknown and illegal names stand in one answer", async () => {
    const wire = await Wire.open(node.kafkaPort);
    const topics = ["order", "absent", "b@d"].map((name) => ({ name, topicId: zeroUuid }));
    expect(names(await wire.call(3, 9, newMetadataRequest({ topics })))).toEqual(["order 0", "absent 3", "b@d 17"]);
    wire.close();
  });
});

test("an unknown topic id is answered in every version that can ask for one", async () => {
  const wire = await Wire.open(node.kafkaPort);
  for (const version of [10, 11, 12, 13]) {
    const topics = [{ name: null, topicId: "AAAAAAAAAAAAAAAAAAAAAQ" }];
    const answer = await wire.call(3, version, newMetadataRequest({ topics }));
    expect(answer.topics[0]).toMatchObject({ errorCode: 100, name: version >= 12 ? null : "" });
  }
  wire.close();
});

describe("peers that behave badly", () => {
  test("garbage costs one connection", async () => {
    const good = await Wire.open(node.kafkaPort);
    const frames = [
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      Buffer.from([0xff, 0xff, 0xff, 0xff]),
      Buffer.from([0x7f, 0xff, 0xff, 0xff]),
      Buffer.from([0, 0, 0, 0]),
      Buffer.from([0, 0, 0, 3, 1, 2, 3]),
      Buffer.from([0, 0, 0, 8, 0, 3, 0, 9, 0, 0, 0, 1]),
    ];
    for (const bytes of frames) {
      const wire = await Wire.open(node.kafkaPort);
      wire.socket.write(bytes);
      expect(await wire.frame()).toBeUndefined();
      wire.close();
    }
    expect((await good.call(3, 9, newMetadataRequest({ topics: [] }))).brokers.length).toBe(1);
    good.close();
  });

  test("a half-closed peer still gets its answers (C65)", async () => {
    const wire = await Wire.open(node.kafkaPort);
    wire.send(1, 11, fetchOf("empty", 50));
    wire.socket.end();
    expect((await wire.answer(1, 11)).body.errorCode).toBe(0);
    expect(await wire.frame()).toBeUndefined();
  });

  test("a peer that does not read is not read either, and others go on (C01)", async () => {
    const slow = await Wire.open(node.kafkaPort);
    slow.socket.pause();
    const asked = 120;
    for (let at = 0; at < asked; at++) slow.send(1, 11, fetchOf("big", 1_000));
    const other = await Wire.open(node.kafkaPort);
    for (let at = 0; at < 20; at++) await other.call(3, 9, newMetadataRequest({ topics: [] }));
    slow.socket.resume();
    for (let at = 0; at < asked; at++) {
      const { body } = await slow.answer(1, 11);
      expect(body.responses[0]!.partitions[0]!.records!.length).toBeGreaterThan(900_000);
    }
    slow.close();
    other.close();
  }, 30_000);

  test("connections that send nothing cost little and are no obstacle", async () => {
    const sockets = Array.from({ length: 500 }, () =>
      connect(node.kafkaPort, "127.0.0.1").on("error", () => undefined),
    );
    const wire = await Wire.open(node.kafkaPort);
    expect((await wire.call(3, 9, newMetadataRequest({ topics: [] }))).brokers.length).toBe(1);
    for (const socket of sockets) socket.destroy();
    wire.close();
  });
});
