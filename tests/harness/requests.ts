/** A request for each served API that has something to do, in each version: for tests of dispatch, and to mutate. */
import { type Uuid, zeroUuid } from "../../src/base/uuid.ts";
import { servedApis } from "../../src/protocol/apis.ts";
import { encodeRequest } from "../../src/protocol/frames.ts";
import { newAlterConfigsRequest } from "../../src/protocol/generated/alter_configs_request.ts";
import { newAlterPartitionReassignmentsRequest } from "../../src/protocol/generated/alter_partition_reassignments_request.ts";
import { newAlterReplicaLogDirsRequest } from "../../src/protocol/generated/alter_replica_log_dirs_request.ts";
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
import { newDescribeQuorumRequest } from "../../src/protocol/generated/describe_quorum_request.ts";
import { newDescribeTopicPartitionsRequest } from "../../src/protocol/generated/describe_topic_partitions_request.ts";
import { newElectLeadersRequest } from "../../src/protocol/generated/elect_leaders_request.ts";
import { newFetchPartition, newFetchRequest, newFetchTopic } from "../../src/protocol/generated/fetch_request.ts";
import { newFindCoordinatorRequest } from "../../src/protocol/generated/find_coordinator_request.ts";
import { newHeartbeatRequest } from "../../src/protocol/generated/heartbeat_request.ts";
import { newIncrementalAlterConfigsRequest } from "../../src/protocol/generated/incremental_alter_configs_request.ts";
import type { ApiKey, RequestOf } from "../../src/protocol/generated/index.ts";
import { newInitProducerIdRequest } from "../../src/protocol/generated/init_producer_id_request.ts";
import { newJoinGroupRequest } from "../../src/protocol/generated/join_group_request.ts";
import { newLeaveGroupRequest } from "../../src/protocol/generated/leave_group_request.ts";
import { newListConfigResourcesRequest } from "../../src/protocol/generated/list_config_resources_request.ts";
import { newListGroupsRequest } from "../../src/protocol/generated/list_groups_request.ts";
import { newListOffsetsRequest } from "../../src/protocol/generated/list_offsets_request.ts";
import { newListPartitionReassignmentsRequest } from "../../src/protocol/generated/list_partition_reassignments_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { newOffsetCommitRequest } from "../../src/protocol/generated/offset_commit_request.ts";
import { newOffsetDeleteRequest } from "../../src/protocol/generated/offset_delete_request.ts";
import { newOffsetFetchRequest } from "../../src/protocol/generated/offset_fetch_request.ts";
import { newOffsetForLeaderEpochRequest } from "../../src/protocol/generated/offset_for_leader_epoch_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { newSyncGroupRequest } from "../../src/protocol/generated/sync_group_request.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";

/** The topic that the requests speak of, with two partitions. */
export const topicName = "t";

const isById = (key: number, version: number) => version >= 13 && (key === 0 || key === 1);
const topicResource = { resourceType: 2, resourceName: "t" };
const member = { memberId: "nobody", groupInstanceId: null };

/** A request for each API that has something to do, in terms of version `version`. */
export const requests: { [K in ApiKey]?: (version: number, topicId: Uuid) => RequestOf<K> } = {
  0: (version, topicId) =>
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
  1: (version, topicId) =>
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
  14: () => newSyncGroupRequest({ groupId: "g", memberId: "nobody", protocolType: "consumer", protocolName: "range" }),
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
  34: () => newAlterReplicaLogDirsRequest({ dirs: [{ path: "/nowhere", topics: [{ name: "t", partitions: [0] }] }] }),
  35: () => newDescribeLogDirsRequest({ topics: null }),
  37: () => newCreatePartitionsRequest({ topics: [{ name: "t", count: 2, assignments: null }] }),
  42: () => newDeleteGroupsRequest({ groupsNames: ["absent"] }),
  43: () => newElectLeadersRequest({ topicPartitions: [{ topic: "t", partitions: [0] }] }),
  44: () => newIncrementalAlterConfigsRequest({ resources: [{ ...topicResource, configs: [] }] }),
  45: () =>
    newAlterPartitionReassignmentsRequest({
      topics: [{ name: "t", partitions: [{ partitionIndex: 0, replicas: [1] }] }],
    }),
  46: () => newListPartitionReassignmentsRequest(),
  47: () => newOffsetDeleteRequest({ groupId: "absent" }),
  55: () =>
    newDescribeQuorumRequest({ topics: [{ topicName: "__cluster_metadata", partitions: [{ partitionIndex: 0 }] }] }),
  60: () => newDescribeClusterRequest(),
  61: () => newDescribeProducersRequest({ topics: [{ name: "t", partitionIndexes: [0] }] }),
  74: () => newListConfigResourcesRequest(),
  75: () => newDescribeTopicPartitionsRequest({ topics: [{ name: "t" }] }),
};

/** Whole frames without their lengths, of every version of every API. */
export function requestVectors(topicId: Uuid = zeroUuid): Uint8Array[] {
  return servedApis.flatMap(({ key, versions: [min, max] }) =>
    Array.from({ length: max - min + 1 }, (_, at) => {
      const body = requests[key]!(min + at, topicId) as RequestOf<ApiKey>;
      return new Uint8Array(Buffer.concat(encodeRequest(key, min + at, at, "fuzz", body)).subarray(4));
    }),
  );
}
