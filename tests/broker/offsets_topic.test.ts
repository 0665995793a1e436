/** When `__consumer_offsets` comes to be: with the first who asks for a group's coordinator, as in Apache Kafka. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { zeroUuid } from "../../src/base/uuid.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newFindCoordinatorRequest } from "../../src/protocol/generated/find_coordinator_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { startTestNode, type TestNode } from "../harness/node.ts";
import { Wire } from "../harness/wire.ts";

const name = "__consumer_offsets";
let node: TestNode;
let wire: Wire;
beforeEach(async () => {
  node = await startTestNode({ autoCreateTopics: "true", numPartitions: "3" });
  wire = await Wire.open(node.kafkaPort);
});
afterEach(async () => {
  wire.close();
  await node.remove();
});

async function topics() {
  const { topics } = await wire.call(3, 12, newMetadataRequest({ topics: null }));
  return topics.map((topic) => ({ name: topic.name, internal: topic.isInternal, partitions: topic.partitions.length }));
}

test("the first who asks for a group's coordinator makes it, several at once too", async () => {
  expect(await topics()).toEqual([]);
  const asked = newFindCoordinatorRequest({ keyType: 0, coordinatorKeys: ["g"] });
  const others = await Promise.all(Array.from({ length: 5 }, () => Wire.open(node.kafkaPort)));
  const answers = await Promise.all(others.map((other) => other.call(10, 4, asked)));
  for (const { coordinators } of answers) expect(coordinators).toMatchObject([{ key: "g", nodeId: 1, errorCode: 0 }]);
  for (const other of others) other.close();
  expect(await topics()).toEqual([{ name, internal: true, partitions: 50 }]);
});

test("a client that names it does not make a plain topic of it", async () => {
  const { topics: described } = await wire.call(3, 9, newMetadataRequest({ topics: [{ name, topicId: zeroUuid }] }));
  expect(described).toMatchObject([{ errorCode: 0, name, isInternal: true }]);
  expect(described[0]!.partitions).toHaveLength(50);
});

test("nobody can create it by hand", async () => {
  const topic = { name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] };
  const answer = await wire.call(19, 7, newCreateTopicsRequest({ topics: [topic] }));
  expect(answer.topics[0]).toMatchObject({ errorCode: 17 });
  expect(await topics()).toEqual([]);
});
