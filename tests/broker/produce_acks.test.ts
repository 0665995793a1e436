/** What Produce makes of acks and of min.insync.replicas, compared with what Apache Kafka 4.4 answers for a topic with one replica. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { zeroUuid } from "../../src/base/uuid.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { startTestNode, type TestNode } from "../harness/node.ts";
import { Wire } from "../harness/wire.ts";

let node: TestNode;
let wire: Wire;
beforeAll(async () => {
  node = await startTestNode();
  wire = await Wire.open(node.kafkaPort);
  const configs = [{ name: "min.insync.replicas", value: "2" }];
  const topics = [{ name: "two", numPartitions: 1, replicationFactor: 1, assignments: [], configs }];
  const created = await wire.call(19, 7, newCreateTopicsRequest({ topics }));
  expect(created.topics[0]!.errorCode).toBe(0);
});
afterAll(async () => {
  wire.close();
  await node.remove();
});

async function produce(acks: number): Promise<number> {
  const value = new TextEncoder().encode("v");
  const records = encodeBatch([{ timestamp: Date.now(), key: null, value, headers: [] }]);
  const topicData = [{ name: "two", topicId: zeroUuid, partitionData: [{ index: 0, records }] }];
  const answer = await wire.call(0, 9, newProduceRequest({ acks, timeoutMs: 5000, topicData }));
  return answer.responses[0]!.partitionResponses[0]!.errorCode;
}

test("min.insync.replicas asks for no more replicas than there are", async () => {
  expect(await produce(-1)).toBe(0);
  expect(await produce(1)).toBe(0);
});

test("other acks are INVALID_REQUIRED_ACKS", async () => {
  expect(await produce(2)).toBe(21);
  expect(await produce(-2)).toBe(21);
});
