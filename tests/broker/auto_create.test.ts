/** Topics made for who asks for them, where the node is told to. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { zeroUuid } from "../../src/base/uuid.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newDeleteTopicsRequest } from "../../src/protocol/generated/delete_topics_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { startTestNode, type TestNode } from "../harness/node.ts";
import { Wire } from "../harness/wire.ts";

let node: TestNode;
let wire: Wire;
beforeAll(async () => {
  node = await startTestNode({ autoCreateTopics: "true", numPartitions: "3" });
  wire = await Wire.open(node.kafkaPort);
});
afterAll(async () => {
  wire.close();
  await node.remove();
});

async function ask(name: string, allowAutoTopicCreation = true) {
  const topics = [{ name, topicId: zeroUuid }];
  const { topics: answers } = await wire.call(3, 9, newMetadataRequest({ topics, allowAutoTopicCreation }));
  return { errorCode: answers[0]!.errorCode, partitions: answers[0]!.partitions.length };
}

test("who asks for a topic gets it made, unless it says not to", async () => {
  expect(await ask("new", false)).toEqual({ errorCode: 3, partitions: 0 });
  expect(await ask("new")).toEqual({ errorCode: 0, partitions: 3 });
  expect(await ask("a b")).toEqual({ errorCode: 17, partitions: 0 });
});

test("a look at the metadata right after a deletion does not undo it; to create it by hand does", async () => {
  expect(await ask("gone")).toEqual({ errorCode: 0, partitions: 3 });
  const deleted = await wire.call(20, 5, newDeleteTopicsRequest({ topicNames: ["gone"] }));
  expect(deleted.responses[0]!.errorCode).toBe(0);
  expect(await ask("gone")).toEqual({ errorCode: 3, partitions: 0 });
  const topics = [{ name: "gone", numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }];
  const created = await wire.call(19, 7, newCreateTopicsRequest({ topics }));
  expect(created.topics[0]!.errorCode).toBe(0);
  expect(await ask("gone")).toEqual({ errorCode: 0, partitions: 1 });
});
