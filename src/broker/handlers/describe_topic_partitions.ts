/**
 * DescribeTopicPartitions (75), version 0 (KIP-966): partitions of topics in order of name, in pages. An empty list of
 * topics means all of them.
 */
import { errorCodes } from "../../base/kafka_error.ts";
import { limits } from "../../base/limits.ts";
import { zeroUuid } from "../../base/uuid.ts";
import { topicNameFault } from "../../catalog/names.ts";
import type { DescribeTopicPartitionsRequest } from "../../protocol/generated/describe_topic_partitions_request.ts";
import type { DescribeTopicPartitionsResponse } from "../../protocol/generated/describe_topic_partitions_response.ts";
import { topicOperations, unaskedOperations } from "../authorized_operations.ts";
import { handler, type RequestContext } from "../handler.ts";

type Topic = DescribeTopicPartitionsResponse["topics"][number];
type Cursor = DescribeTopicPartitionsResponse["nextCursor"];

export const describeTopicPartitions = handler<DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse>(
  75,
  (request, context) => {
    const asked =
      request.topics.length > 0
        ? new Set(request.topics.map(({ name }) => name))
        : [...context.services.catalog.topics()].map(({ name }) => name);
    const { cursor } = request;
    const isCursorValid = cursor === null || cursor.partitionIndex >= 0;
    const names = [...asked].sort().filter((name) => cursor === null || name >= cursor.topicName);
    const room = Math.min(request.responsePartitionLimit, limits.describedPartitionsMax);
    const topics: Topic[] = [];
    let nextCursor: Cursor = null;
    let left = Math.max(1, room);
    for (const name of names) {
      const first = cursor?.topicName === name ? Math.max(0, cursor.partitionIndex) : 0;
      if (left <= 0) {
        nextCursor = { topicName: name, partitionIndex: 0 };
        break;
      }
      const topic = isCursorValid ? describe(name, first, left, context) : refused(name);
      topics.push(topic);
      left -= topic.partitions.length;
      const end = first + topic.partitions.length;
      if (isCursorValid && end < (context.services.catalog.topic(name)?.partitions ?? 0)) {
        nextCursor = { topicName: name, partitionIndex: end };
        break;
      }
    }
    return { throttleTimeMs: 0, topics, nextCursor };
  },
);

/** A cursor in front of a topic's first partition names no place. */
function refused(name: string): Topic {
  return {
    errorCode: errorCodes.INVALID_REQUEST,
    name,
    topicId: zeroUuid,
    isInternal: false,
    partitions: [],
    topicAuthorizedOperations: unaskedOperations,
  };
}

function describe(name: string, first: number, most: number, { services }: RequestContext): Topic {
  const topic = services.catalog.topic(name);
  if (!topic) {
    const errorCode = topicNameFault(name) ? errorCodes.INVALID_TOPIC_EXCEPTION : errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
    const nothing = { isInternal: false, partitions: [], topicAuthorizedOperations: topicOperations };
    return { errorCode, name, topicId: zeroUuid, ...nothing };
  }
  const { nodeId } = services.config;
  const partitions: Topic["partitions"] = [];
  for (let index = first; index < topic.partitions && partitions.length < most; index++) {
    partitions.push({
      errorCode: 0,
      partitionIndex: index,
      leaderId: nodeId,
      leaderEpoch: 0,
      replicaNodes: [nodeId],
      isrNodes: [nodeId],
      eligibleLeaderReplicas: [],
      lastKnownElr: [],
      offlineReplicas: [],
    });
  }
  return {
    errorCode: 0,
    name,
    topicId: topic.id,
    isInternal: topic.internal,
    partitions,
    topicAuthorizedOperations: topicOperations,
  };
}
