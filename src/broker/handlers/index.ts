/** All handlers; a test checks that they are exactly the APIs that protocol/apis.ts advertises. */
import type { Handler } from "../handler.ts";
import { alterConfigs } from "./alter_configs.ts";
import { alterPartitionReassignments } from "./alter_partition_reassignments.ts";
import { alterReplicaLogDirs } from "./alter_replica_log_dirs.ts";
import { apiVersions } from "./api_versions.ts";
import { createPartitions } from "./create_partitions.ts";
import { createTopics } from "./create_topics.ts";
import { deleteRecords } from "./delete_records.ts";
import { deleteTopics } from "./delete_topics.ts";
import { describeCluster } from "./describe_cluster.ts";
import { describeConfigs } from "./describe_configs.ts";
import { describeLogDirs } from "./describe_log_dirs.ts";
import { describeProducers } from "./describe_producers.ts";
import { describeQuorum } from "./describe_quorum.ts";
import { describeTopicPartitions } from "./describe_topic_partitions.ts";
import { electLeaders } from "./elect_leaders.ts";
import { fetch } from "./fetch.ts";
import { findCoordinator } from "./find_coordinator.ts";
import { groupHandlers } from "./groups/index.ts";
import { incrementalAlterConfigs } from "./incremental_alter_configs.ts";
import { initProducerId } from "./init_producer_id.ts";
import { listConfigResources } from "./list_config_resources.ts";
import { listOffsets } from "./list_offsets.ts";
import { listPartitionReassignments } from "./list_partition_reassignments.ts";
import { metadata } from "./metadata.ts";
import { offsetForLeaderEpoch } from "./offset_for_leader_epoch.ts";
import { produce } from "./produce.ts";

// biome-ignore lint/suspicious/noExplicitAny: each handler has its own types; the dispatcher pairs them by API key.
export const handlers: Handler<any, any>[] = [
  produce,
  fetch,
  listOffsets,
  metadata,
  apiVersions,
  createTopics,
  deleteTopics,
  deleteRecords,
  initProducerId,
  offsetForLeaderEpoch,
  describeLogDirs,
  createPartitions,
  describeCluster,
  describeProducers,
  listConfigResources,
  describeTopicPartitions,
  describeConfigs,
  alterConfigs,
  incrementalAlterConfigs,
  findCoordinator,
  listPartitionReassignments,
  electLeaders,
  describeQuorum,
  alterReplicaLogDirs,
  alterPartitionReassignments,
  ...groupHandlers,
];
