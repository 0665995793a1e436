/**
 * Metadata (3), versions 0 to 13: brokers and topics.
 *
 * Version 0 with an empty list means all topics; later a null list does, and an empty one means none (cases C30). Unknown
 * topics are created where both the node and the request allow it. From version 10 topics may be asked for by id.
 */
import { errorCodes, KafkaError } from "../../base/kafka_error.ts";
import { zeroUuid } from "../../base/uuid.ts";
import type { TopicEntry } from "../../catalog/catalog.ts";
import { topicNameFault } from "../../catalog/names.ts";
import type { MetadataRequest } from "../../protocol/generated/metadata_request.ts";
import type { MetadataResponse } from "../../protocol/generated/metadata_response.ts";
import { advertisedAddress } from "../address.ts";
import { clusterOperations, topicOperations, unaskedOperations } from "../authorized_operations.ts";
import { handler, type RequestContext } from "../handler.ts";
import { offsetsTopicName } from "../offsets_topic.ts";

type TopicMetadata = MetadataResponse["topics"][number];

export const metadata = handler<MetadataRequest, MetadataResponse>(3, async (request, context) => {
  const { config, catalog } = context.services;
  const { topics } = request;
  const all = topics === null || (context.apiVersion === 0 && topics.length === 0);
  const withOperations = request.includeTopicAuthorizedOperations;
  const answers: TopicMetadata[] = [];
  if (all) for (const topic of catalog.topics()) answers.push(describe(topic, context, withOperations));
  else {
    for (const asked of new Map(topics.map((topic) => [topic.name ?? topic.topicId, topic])).values()) {
      const answer = await answerFor(asked, request.allowAutoTopicCreation, context, withOperations);
      // Also of a topic that does not exist, as Kafka tells it.
      answer.topicAuthorizedOperations = withOperations ? topicOperations : unaskedOperations;
      answers.push(answer);
    }
  }
  return {
    throttleTimeMs: 0,
    brokers: [{ nodeId: config.nodeId, ...advertisedAddress(context), rack: null }],
    clusterId: catalog.clusterId,
    controllerId: config.nodeId,
    topics: answers,
    clusterAuthorizedOperations: request.includeClusterAuthorizedOperations ? clusterOperations : unaskedOperations,
    errorCode: 0,
  };
});

async function answerFor(
  asked: { name: string | null; topicId: string },
  mayCreate: boolean,
  context: RequestContext,
  withOperations: boolean,
): Promise<TopicMetadata> {
  const { catalog, config, groups, topics } = context.services;
  if (asked.name === null || (asked.topicId !== zeroUuid && context.apiVersion >= 10 && asked.name === "")) {
    const topic = catalog.topicById(asked.topicId);
    if (topic) return describe(topic, context, withOperations);
    // Before version 12 an answer has no way to leave the name out.
    const name = context.apiVersion >= 12 ? null : "";
    return failed(name, asked.topicId, errorCodes.UNKNOWN_TOPIC_ID);
  }
  const { name } = asked;
  const known = catalog.topic(name);
  if (known) return describe(known, context, withOperations);
  if (topicNameFault(name)) return failed(name, zeroUuid, errorCodes.INVALID_TOPIC_EXCEPTION);
  if (!config.autoCreateTopics || !mayCreate) return failed(name, zeroUuid, errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
  try {
    if (name === offsetsTopicName) {
      await groups.prepare();
      return describe(catalog.topic(name)!, context, withOperations);
    }
    return describe(await topics.autoCreate(name, config.numPartitions), context, withOperations);
  } catch (error) {
    const created = catalog.topic(name);
    if (created) return describe(created, context, withOperations);
    const code = error instanceof KafkaError ? error.code : errorCodes.UNKNOWN_SERVER_ERROR;
    // Somebody else is creating it: the client asks again.
    const isBusy = code === errorCodes.TOPIC_ALREADY_EXISTS || code === errorCodes.CONCURRENT_TRANSACTIONS;
    return failed(name, zeroUuid, isBusy ? errorCodes.LEADER_NOT_AVAILABLE : code);
  }
}

function describe(topic: TopicEntry, context: RequestContext, withOperations: boolean): TopicMetadata {
  const { nodeId } = context.services.config;
  const partitions: TopicMetadata["partitions"] = [];
  for (let partitionIndex = 0; partitionIndex < topic.partitions; partitionIndex++) {
    partitions.push({
      errorCode: 0,
      partitionIndex,
      leaderId: nodeId,
      leaderEpoch: 0,
      replicaNodes: [nodeId],
      isrNodes: [nodeId],
      offlineReplicas: [],
    });
  }
  return {
    errorCode: 0,
    name: topic.name,
    topicId: topic.id,
    isInternal: topic.internal,
    partitions,
    topicAuthorizedOperations: withOperations ? topicOperations : unaskedOperations,
  };
}

function failed(name: string | null, topicId: string, errorCode: number): TopicMetadata {
  return { errorCode, name, topicId, isInternal: false, partitions: [], topicAuthorizedOperations: unaskedOperations };
}
