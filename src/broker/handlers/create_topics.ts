/**
 * CreateTopics (19), versions 2 to 7: plain topics. -1 partitions means the node's default; the replication factor is 1,
 * since there is one node (-1 is accepted). Manual assignments are accepted where they name this node alone.
 */
import { errorCodes, KafkaError } from "../../base/kafka_error.ts";
import { zeroUuid } from "../../base/uuid.ts";
import { describeTopicConfigs, validateTopicConfigs } from "../../catalog/topic_configs.ts";
import type { CreateTopicsRequest } from "../../protocol/generated/create_topics_request.ts";
import type { CreateTopicsResponse } from "../../protocol/generated/create_topics_response.ts";
import { handler, type RequestContext } from "../handler.ts";
import { offsetsTopicName } from "../offsets_topic.ts";

type Asked = CreateTopicsRequest["topics"][number];
type Result = CreateTopicsResponse["topics"][number];

export const createTopics = handler<CreateTopicsRequest, CreateTopicsResponse>(19, async (request, context) => {
  const count = new Map<string, number>();
  for (const { name } of request.topics) count.set(name, (count.get(name) ?? 0) + 1);
  const topics: Promise<Result>[] = [];
  for (const [name, times] of count) {
    const asked = request.topics.find((topic) => topic.name === name)!;
    const duplicate = new KafkaError("INVALID_REQUEST", `Duplicate topic name: ${name}`);
    topics.push(
      times > 1
        ? Promise.resolve(failed(name, duplicate))
        : create(asked, request.validateOnly, context).catch((error) => failed(name, error)),
    );
  }
  return { throttleTimeMs: 0, topics: await Promise.all(topics) };
});

async function create(asked: Asked, validateOnly: boolean, { services }: RequestContext): Promise<Result> {
  const { catalog, config, topics } = services;
  if (asked.name === offsetsTopicName && !catalog.topic(offsetsTopicName))
    throw new KafkaError(
      "INVALID_TOPIC_EXCEPTION",
      `Topic '${asked.name}' is the node's own: the first group makes it.`,
    );
  const partitions = partitionCount(asked, config.numPartitions, config.nodeId);
  const configs = validateTopicConfigs(
    asked.configs.map(({ name, value }) => [name, value] as const),
    topics.defaultsOf(),
  );
  const topic = { name: asked.name, partitions, configs };
  const fault = catalog.creationFault(topic);
  if (fault) throw fault;
  const entry = validateOnly ? undefined : await catalog.createTopic(topic);
  return {
    name: asked.name,
    topicId: entry?.id ?? zeroUuid,
    errorCode: 0,
    errorMessage: null,
    topicConfigErrorCode: 0,
    numPartitions: partitions,
    replicationFactor: 1,
    configs: describeTopicConfigs(configs, null, { defaults: topics.defaultsOf() }).map(
      ({ name, value, readOnly, configSource, isSensitive }) => ({
        name,
        value,
        readOnly,
        configSource,
        isSensitive,
      }),
    ),
  };
}

function partitionCount(asked: Asked, byDefault: number, nodeId: number): number {
  if (asked.assignments.length > 0) {
    if (asked.numPartitions !== -1 || asked.replicationFactor !== -1) {
      const message = "Both a replica assignment and a number of partitions or a replication factor were given.";
      throw new KafkaError("INVALID_REQUEST", message);
    }
    const indexes = asked.assignments.map((assignment) => assignment.partitionIndex).sort((a, b) => a - b);
    if (indexes.some((index, place) => index !== place)) {
      const message = "partitions should be a consecutive 0-based integer sequence";
      throw new KafkaError("INVALID_REPLICA_ASSIGNMENT", message);
    }
    for (const { partitionIndex, brokerIds } of asked.assignments) {
      if (brokerIds.length !== 1 || brokerIds[0] !== nodeId) {
        const message = `Partition ${partitionIndex} must have the one replica ${nodeId}: there is no other node.`;
        throw new KafkaError("INVALID_REPLICA_ASSIGNMENT", message);
      }
    }
    return asked.assignments.length;
  }
  if (asked.replicationFactor !== -1 && asked.replicationFactor !== 1) {
    const message = `Unable to replicate the partition ${asked.replicationFactor} time(s): there is one node; use replication factor 1 or -1.`;
    throw new KafkaError("INVALID_REPLICATION_FACTOR", message);
  }
  if (asked.numPartitions === -1) return byDefault;
  if (asked.numPartitions < 1)
    throw new KafkaError("INVALID_PARTITIONS", "Number of partitions was set to an invalid non-positive value.");
  return asked.numPartitions;
}

function failed(name: string, error: unknown): Result {
  const known = error instanceof KafkaError;
  return {
    name,
    topicId: zeroUuid,
    errorCode: known ? error.code : errorCodes.UNKNOWN_SERVER_ERROR,
    errorMessage: (error as Error).message,
    topicConfigErrorCode: 0,
    numPartitions: -1,
    replicationFactor: -1,
    configs: [],
  };
}
