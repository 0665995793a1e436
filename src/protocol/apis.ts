/**
 * The APIs that a node serves, with the version ranges of Apache Kafka 4.4. What is not here is not advertised.
 * Produce 0 to 2 are advertised and not served, as in Kafka: librdkafka takes their absence for a broker without
 * record batches (KAFKA-18659).
 */
import { type ApiKey, apiKeys, apis } from "./generated/index.ts";

export interface ServedApi {
  key: ApiKey;
  name: keyof typeof apiKeys;
  /** Range in the ApiVersions answer. */
  advertised: readonly [min: number, max: number];
  /** Range that is answered; a request outside of it closes the connection, except for ApiVersions. */
  versions: readonly [min: number, max: number];
}

const advertised: [name: keyof typeof apiKeys, min: number, max: number][] = [
  ["Produce", 0, 13],
  ["Fetch", 4, 18],
  ["ListOffsets", 1, 11],
  ["Metadata", 0, 13],
  ["OffsetCommit", 2, 10],
  ["OffsetFetch", 1, 10],
  ["FindCoordinator", 0, 6],
  ["JoinGroup", 0, 9],
  ["Heartbeat", 0, 4],
  ["LeaveGroup", 0, 5],
  ["SyncGroup", 0, 5],
  ["DescribeGroups", 0, 6],
  ["ListGroups", 0, 5],
  ["ApiVersions", 0, 5],
  ["CreateTopics", 2, 7],
  ["DeleteTopics", 1, 6],
  ["DeleteRecords", 0, 2],
  ["InitProducerId", 0, 5],
  ["OffsetForLeaderEpoch", 2, 4],
  ["DescribeConfigs", 1, 4],
  ["AlterConfigs", 0, 2],
  ["AlterReplicaLogDirs", 1, 2],
  ["DescribeLogDirs", 1, 5],
  ["CreatePartitions", 0, 3],
  ["DeleteGroups", 0, 3],
  ["ElectLeaders", 0, 2],
  ["IncrementalAlterConfigs", 0, 1],
  ["AlterPartitionReassignments", 0, 1],
  ["ListPartitionReassignments", 0, 0],
  ["OffsetDelete", 0, 0],
  ["DescribeQuorum", 0, 2],
  ["DescribeCluster", 0, 2],
  ["DescribeProducers", 0, 0],
  ["ListConfigResources", 0, 1],
  ["DescribeTopicPartitions", 0, 0],
];

/** In ascending order of key. */
export const servedApis: readonly ServedApi[] = advertised
  .map(([name, min, max]): ServedApi => {
    const key = apiKeys[name];
    return { key, name, advertised: [min, max], versions: [Math.max(min, apis[key].requestVersions[0]), max] };
  })
  .sort((a, b) => a.key - b.key);

const byKey = new Map<number, ServedApi>(servedApis.map((api) => [api.key, api]));

export function servedApi(apiKey: number): ServedApi | undefined {
  return byKey.get(apiKey);
}

/** Whether a request of this key and version is answered. */
export function isServed(apiKey: number, version: number): boolean {
  const api = byKey.get(apiKey);
  return api !== undefined && version >= api.versions[0] && version <= api.versions[1];
}
