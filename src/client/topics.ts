/** Topics from outside: create, delete, more partitions, configs, deleting records. */
import { errorCodes, errorName, KafkaError } from "../base/kafka_error.ts";
import {
  newCreatePartitionsRequest,
  newCreatePartitionsTopic,
} from "../protocol/generated/create_partitions_request.ts";
import {
  newCreatableTopic,
  newCreatableTopicConfig,
  newCreateTopicsRequest,
} from "../protocol/generated/create_topics_request.ts";
import {
  newDeleteRecordsPartition,
  newDeleteRecordsRequest,
  newDeleteRecordsTopic,
} from "../protocol/generated/delete_records_request.ts";
import { newDeleteTopicsRequest } from "../protocol/generated/delete_topics_request.ts";
import {
  newDescribeConfigsRequest,
  newDescribeConfigsResource,
} from "../protocol/generated/describe_configs_request.ts";
import {
  newAlterableConfig,
  newAlterConfigsResource,
  newIncrementalAlterConfigsRequest,
} from "../protocol/generated/incremental_alter_configs_request.ts";
import { apiKeys } from "../protocol/generated/index.ts";
import { check, type KafkaClient } from "./client.ts";

/** ConfigResource.Type of a topic. */
const topicResource = 2;

/** Admin changes go to the controller; one-node clusters have only that. */
async function controller(client: KafkaClient): Promise<number> {
  const { controllerId, brokers } = await client.metadata([]);
  return controllerId >= 0 ? controllerId : (brokers[0]?.nodeId ?? -1);
}

export interface TopicToCreate {
  name: string;
  /** -1: the broker's default. */
  partitions: number;
  replicationFactor: number;
  configs: Record<string, string>;
}

/** Gives the error of each topic, undefined for success. */
export async function createTopics(
  client: KafkaClient,
  topics: readonly TopicToCreate[],
  validateOnly = false,
): Promise<Map<string, KafkaError | undefined>> {
  const body = newCreateTopicsRequest({
    topics: topics.map(({ name, partitions, replicationFactor, configs }) =>
      newCreatableTopic({
        name,
        numPartitions: partitions,
        replicationFactor,
        configs: Object.entries(configs).map(([key, value]) => newCreatableTopicConfig({ name: key, value })),
      }),
    ),
    timeoutMs: 30_000,
    validateOnly,
  });
  const answer = await client.requestOf(await controller(client), apiKeys.CreateTopics, body, { maxVersion: 7 });
  return new Map(
    answer.topics.map(({ name, errorCode, errorMessage }) => [
      name,
      errorCode === 0 ? undefined : new KafkaError(errorName(errorCode), errorMessage ?? errorName(errorCode)),
    ]),
  );
}

export async function deleteTopics(
  client: KafkaClient,
  names: readonly string[],
): Promise<Map<string, KafkaError | undefined>> {
  const body = newDeleteTopicsRequest({ topicNames: [...names], timeoutMs: 30_000 });
  const answer = await client.requestOf(await controller(client), apiKeys.DeleteTopics, body, { maxVersion: 5 });
  return new Map(
    answer.responses.map(({ name, errorCode, errorMessage }) => {
      const message = errorMessage ?? (errorCode === 3 ? "there is no such topic" : errorName(errorCode));
      return [name ?? "", errorCode === 0 ? undefined : new KafkaError(errorName(errorCode), message)];
    }),
  );
}

export async function addPartitions(client: KafkaClient, topic: string, count: number): Promise<void> {
  const topics = [newCreatePartitionsTopic({ name: topic, count, assignments: null })];
  const body = newCreatePartitionsRequest({ topics, timeoutMs: 30_000 });
  const answer = await client.requestOf(await controller(client), apiKeys.CreatePartitions, body, { maxVersion: 3 });
  for (const { errorCode, errorMessage } of answer.results) check(errorCode, `topic "${topic}"`, errorMessage);
}

export interface ConfigEntry {
  name: string;
  value: string | null;
  /** True when it was set on the topic itself. */
  isSet: boolean;
  source: string;
}

const configSources: Record<number, string> = {
  1: "DYNAMIC_TOPIC_CONFIG",
  2: "DYNAMIC_BROKER_CONFIG",
  3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
  4: "STATIC_BROKER_CONFIG",
  5: "DEFAULT_CONFIG",
  6: "DYNAMIC_BROKER_LOGGER_CONFIG",
};

export async function describeTopicConfigs(client: KafkaClient, topic: string): Promise<ConfigEntry[]> {
  const resources = [
    newDescribeConfigsResource({ resourceType: topicResource, resourceName: topic, configurationKeys: null }),
  ];
  const answer = await client.request(apiKeys.DescribeConfigs, newDescribeConfigsRequest({ resources }), {
    maxVersion: 4,
  });
  const result = answer.results[0];
  check(result?.errorCode ?? errorCodes.UNKNOWN_SERVER_ERROR, `configs of topic "${topic}"`, result?.errorMessage);
  return (result?.configs ?? []).map(({ name, value, configSource }) => ({
    name,
    value,
    isSet: configSource === 1,
    source: configSources[configSource] ?? "UNKNOWN",
  }));
}

/** `undefined` deletes the topic's own value, so that the default is in force again. */
export async function alterTopicConfigs(
  client: KafkaClient,
  topic: string,
  changes: Record<string, string | undefined>,
): Promise<void> {
  const configs = Object.entries(changes).map(([name, value]) =>
    newAlterableConfig({ name, configOperation: value === undefined ? 1 : 0, value: value ?? null }),
  );
  const resources = [newAlterConfigsResource({ resourceType: topicResource, resourceName: topic, configs })];
  const body = newIncrementalAlterConfigsRequest({ resources });
  const answer = await client.requestOf(await controller(client), apiKeys.IncrementalAlterConfigs, body, {
    maxVersion: 1,
  });
  for (const { errorCode, errorMessage } of answer.responses) check(errorCode, `topic "${topic}"`, errorMessage);
}

/** Deletes everything before the offsets (-1: before the high watermark); gives the new log starts. */
export async function deleteRecords(
  client: KafkaClient,
  topic: string,
  offsets: ReadonlyMap<number, number>,
): Promise<Map<number, number>> {
  const starts = new Map<number, number>();
  for (const [partition, offset] of offsets) {
    const partitions = [newDeleteRecordsPartition({ partitionIndex: partition, offset: BigInt(offset) })];
    const body = newDeleteRecordsRequest({
      topics: [newDeleteRecordsTopic({ name: topic, partitions })],
      timeoutMs: 30_000,
    });
    const leader = await client.leader(topic, partition);
    const answer = await client.requestOf(leader, apiKeys.DeleteRecords, body, { maxVersion: 2 });
    const result = answer.topics[0]?.partitions[0];
    check(result?.errorCode ?? errorCodes.UNKNOWN_SERVER_ERROR, `topic "${topic}" partition ${partition}`);
    starts.set(partition, Number(result?.lowWatermark ?? -1n));
  }
  return starts;
}
