import { afterAll, beforeAll, expect, test } from "bun:test";
import { zeroUuid } from "../../src/base/uuid.ts";
import { handlers } from "../../src/broker/handlers/index.ts";
import { servedApis } from "../../src/protocol/apis.ts";
import { newAlterConfigsRequest } from "../../src/protocol/generated/alter_configs_request.ts";
import { newApiVersionsRequest } from "../../src/protocol/generated/api_versions_request.ts";
import { newCreatePartitionsRequest } from "../../src/protocol/generated/create_partitions_request.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newDeleteGroupsRequest } from "../../src/protocol/generated/delete_groups_request.ts";
import { newDeleteRecordsRequest } from "../../src/protocol/generated/delete_records_request.ts";
import { newDeleteTopicsRequest } from "../../src/protocol/generated/delete_topics_request.ts";
import { newDescribeClusterRequest } from "../../src/protocol/generated/describe_cluster_request.ts";
import { newDescribeConfigsRequest } from "../../src/protocol/generated/describe_configs_request.ts";
import { newDescribeGroupsRequest } from "../../src/protocol/generated/describe_groups_request.ts";
import { newDescribeLogDirsRequest } from "../../src/protocol/generated/describe_log_dirs_request.ts";
import { newDescribeProducersRequest } from "../../src/protocol/generated/describe_producers_request.ts";
import { newDescribeTopicPartitionsRequest } from "../../src/protocol/generated/describe_topic_partitions_request.ts";
import { newFetchPartition, newFetchRequest, newFetchTopic } from "../../src/protocol/generated/fetch_request.ts";
import { newFindCoordinatorRequest } from "../../src/protocol/generated/find_coordinator_request.ts";
import { newHeartbeatRequest } from "../../src/protocol/generated/heartbeat_request.ts";
import { newIncrementalAlterConfigsRequest } from "../../src/protocol/generated/incremental_alter_configs_request.ts";
import { type ApiKey, apis, type RequestOf, type ResponseOf } from "../../src/protocol/generated/index.ts";
import { newInitProducerIdRequest } from "../../src/protocol/generated/init_producer_id_request.ts";
import { newJoinGroupRequest } from "../../src/protocol/generated/join_group_request.ts";
import { newLeaveGroupRequest } from "../../src/protocol/generated/leave_group_request.ts";
import { newListConfigResourcesRequest } from "../../src/protocol/generated/list_config_resources_request.ts";
import { newListGroupsRequest } from "../../src/protocol/generated/list_groups_request.ts";
import { newListOffsetsRequest } from "../../src/protocol/generated/list_offsets_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { newOffsetCommitRequest } from "../../src/protocol/generated/offset_commit_request.ts";
import { newOffsetDeleteRequest } from "../../src/protocol/generated/offset_delete_request.ts";
import { newOffsetFetchRequest } from "../../src/protocol/generated/offset_fetch_request.ts";
import { newOffsetForLeaderEpochRequest } from "../../src/protocol/generated/offset_for_leader_epoch_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { newSyncGroupRequest } from "../../src/protocol/generated/sync_group_request.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { startTestNode, type TestNode } from "../harness/node.ts";
import { Wire } from "../harness/wire.ts";

let node: TestNode;
let wire: Wire;
let topicId = zeroUuid;
beforeAll(async () => {
  node = await startTestNode();
  wire = await Wire.open(node.kafkaPort);
  const created = await createTopic("t");
  topicId = created.topics[0]!.topicId;
});
afterAll(async () => {
  wire.close();
  await node.remove();
});

function createTopic(name: string) {
  const topics = [{ name, numPartitions: 2, replicationFactor: 1, assignments: [], configs: [] }];
  return wire.call(19, 7, newCreateTopicsRequest({ topics }));
}

const isById = (key: number, version: number) => version >= 13 && (key === 0 || key === 1);
const topicResource = { resourceType: 2, resourceName: "t" };
const member = { memberId: "nobody", groupInstanceId: null };

/** A request for each API that has something to do, in terms of version `version`. */
const requests: { [K in ApiKey]?: (version: number) => RequestOf<K> } = {
  0: (version) =>
    newProduceRequest({
      acks: -1,
      timeoutMs: 1000,
      topicData: [
        {
          name: isById(0, version) ? "" : "t",
          topicId: isById(0, version) ? topicId : zeroUuid,
          partitionData: [{ index: 0, records: encodeBatch([{ value: `v${version}`, timestamp: Date.now() }]) }],
        },
      ],
    }),
  1: (version) =>
    newFetchRequest({
      maxWaitMs: 10,
      minBytes: 1,
      maxBytes: 1_000_000,
      topics: [
        newFetchTopic({
          topic: isById(1, version) ? "" : "t",
          topicId: isById(1, version) ? topicId : zeroUuid,
          partitions: [newFetchPartition({ partition: 0, fetchOffset: 0n, partitionMaxBytes: 1_000_000 })],
        }),
      ],
    }),
  2: () =>
    newListOffsetsRequest({
      replicaId: -1,
      topics: [{ name: "t", partitions: [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp: -1n }] }],
    }),
  3: () => newMetadataRequest({ topics: [{ name: "t", topicId: zeroUuid }] }),
  8: () => newOffsetCommitRequest({ groupId: "g" }),
  9: (version) =>
    version >= 8
      ? newOffsetFetchRequest({ groups: [{ groupId: "g", memberId: null, memberEpoch: -1, topics: [] }] })
      : newOffsetFetchRequest({ groupId: "g", topics: [] }),
  10: (version) =>
    version >= 4 ? newFindCoordinatorRequest({ coordinatorKeys: ["g"] }) : newFindCoordinatorRequest({ key: "g" }),
  11: () =>
    newJoinGroupRequest({ groupId: "g", sessionTimeoutMs: 10_000, memberId: "nobody", protocolType: "consumer" }),
  12: () => newHeartbeatRequest({ groupId: "g", memberId: "nobody" }),
  13: (version) =>
    version >= 3
      ? newLeaveGroupRequest({ groupId: "g", members: [{ ...member, reason: null }] })
      : newLeaveGroupRequest({ groupId: "g", memberId: "nobody" }),
  14: () => newSyncGroupRequest({ groupId: "g", memberId: "nobody" }),
  15: () => newDescribeGroupsRequest({ groups: ["g"] }),
  16: () => newListGroupsRequest(),
  18: () => newApiVersionsRequest({ clientSoftwareName: "test", clientSoftwareVersion: "1.0" }),
  19: (version) =>
    newCreateTopicsRequest({
      topics: [{ name: `made-${version}`, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }],
    }),
  20: (version) =>
    version >= 6
      ? newDeleteTopicsRequest({ topics: [{ name: "absent", topicId: zeroUuid }] })
      : newDeleteTopicsRequest({ topicNames: ["absent"] }),
  21: () => newDeleteRecordsRequest({ topics: [{ name: "t", partitions: [{ partitionIndex: 1, offset: 0n }] }] }),
  22: () => newInitProducerIdRequest({ transactionalId: null, transactionTimeoutMs: 1000 }),
  23: () =>
    newOffsetForLeaderEpochRequest({
      topics: [{ topic: "t", partitions: [{ partition: 0, currentLeaderEpoch: -1, leaderEpoch: 0 }] }],
    }),
  32: () => newDescribeConfigsRequest({ resources: [{ ...topicResource, configurationKeys: null }] }),
  33: () => newAlterConfigsRequest({ resources: [{ ...topicResource, configs: [] }] }),
  35: () => newDescribeLogDirsRequest({ topics: null }),
  37: () => newCreatePartitionsRequest({ topics: [{ name: "t", count: 2, assignments: null }] }),
  42: () => newDeleteGroupsRequest({ groupsNames: ["absent"] }),
  44: () => newIncrementalAlterConfigsRequest({ resources: [{ ...topicResource, configs: [] }] }),
  47: () => newOffsetDeleteRequest({ groupId: "absent" }),
  60: () => newDescribeClusterRequest(),
  61: () => newDescribeProducersRequest({ topics: [{ name: "t", partitionIndexes: [0] }] }),
  74: () => newListConfigResourcesRequest(),
  75: () => newDescribeTopicPartitionsRequest({ topics: [{ name: "t" }] }),
};

/** Every error code in an answer, however deep. */
function errorCodes(value: unknown): number[] {
  if (Array.isArray(value)) return value.flatMap(errorCodes);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "errorCode" ? [inner as number] : errorCodes(inner),
  );
}

/** The refusals that the requests above ask for. */
const expected: Record<number, number[]> = {
  11: [25], // UNKNOWN_MEMBER_ID
  12: [25],
  14: [25],
  20: [3], // UNKNOWN_TOPIC_OR_PARTITION
  37: [37], // INVALID_PARTITIONS
  42: [69], // GROUP_ID_NOT_FOUND
  47: [69],
};

test("handlers are exactly the APIs that are advertised", () => {
  expect(handlers.map(({ apiKey }) => apiKey).sort((a, b) => a - b)).toEqual(servedApis.map(({ key }) => key));
});

for (const api of servedApis) {
  const [min, max] = api.versions;
  test(`${api.name} ${min} to ${max}: every version is answered`, async () => {
    const wire = await Wire.open(node.kafkaPort);
    const linesBefore = node.lines.length;
    for (let version = min; version <= max; version++) {
      const request = requests[api.key]!(version) as RequestOf<ApiKey>;
      const answer: ResponseOf<ApiKey> = await wire.call(api.key, version, request);
      const codes = errorCodes(answer).filter((code) => code !== 0);
      const [code] = expected[api.key] ?? [];
      if (code !== undefined) expect(codes.every((one) => one === code)).toBe(true);
      else if (api.key !== 13 && api.key !== 15) expect({ version, codes }).toEqual({ version, codes: [] });
    }
    wire.close();
    expect(node.lines.slice(linesBefore).filter((line) => line.includes("failed inside the node"))).toEqual([]);
  });
}

test("versions outside of the range close the connection, for every API but ApiVersions", async () => {
  for (const api of servedApis) {
    if (api.key === 18) continue;
    const other = await Wire.open(node.kafkaPort);
    const body = requests[api.key]!(api.versions[1]) as RequestOf<ApiKey>;
    // The header of a too new version cannot be known; this one has the newest form.
    const header = Buffer.alloc(14);
    header.writeInt16BE(api.key, 0);
    header.writeInt16BE(api.versions[1] + 1, 2);
    header.writeInt32BE(7, 4);
    header.writeInt16BE(-1, 8);
    const frame = Buffer.alloc(4);
    frame.writeInt32BE(header.length, 0);
    other.socket.write(Buffer.concat([frame, header]));
    expect(await other.frame()).toBeUndefined();
    expect(body).toBeDefined();
    other.close();
  }
});

test("what is not served is not advertised and closes the connection", async () => {
  const served = new Set<number>(servedApis.map(({ key }) => key));
  const answer = await wire.call(
    18,
    3,
    newApiVersionsRequest({ clientSoftwareName: "test", clientSoftwareVersion: "1" }),
  );
  expect(new Set(answer.apiKeys.map(({ apiKey }) => apiKey))).toEqual(served);
  for (const key of Object.keys(apis).map(Number)) {
    if (served.has(key)) continue;
    const other = await Wire.open(node.kafkaPort);
    const frame = Buffer.alloc(18);
    frame.writeInt32BE(14, 0);
    frame.writeInt16BE(key, 4);
    frame.writeInt16BE(0, 6);
    frame.writeInt16BE(-1, 12);
    other.socket.write(frame);
    expect(await other.frame()).toBeUndefined();
    other.close();
  }
});
