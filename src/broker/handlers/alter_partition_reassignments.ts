/**
 * AlterPartitionReassignments (45), versions 0 and 1: the replicas of every partition are this one node. To ask for just
 * that changes nothing and succeeds; anything else has no node to go to. No reassignment is ever under way.
 */
import { errorCodeOf, KafkaError } from "../../base/kafka_error.ts";
import type { AlterPartitionReassignmentsRequest } from "../../protocol/generated/alter_partition_reassignments_request.ts";
import type { AlterPartitionReassignmentsResponse } from "../../protocol/generated/alter_partition_reassignments_response.ts";
import { handler, type Services } from "../handler.ts";

type Asked = AlterPartitionReassignmentsRequest["topics"][number]["partitions"][number];
type Outcome = AlterPartitionReassignmentsResponse["responses"][number]["partitions"][number];

export const alterPartitionReassignments = handler<
  AlterPartitionReassignmentsRequest,
  AlterPartitionReassignmentsResponse
>(45, (request, { services }) => ({
  throttleTimeMs: 0,
  allowReplicationFactorChange: request.allowReplicationFactorChange,
  errorCode: 0,
  errorMessage: null,
  responses: request.topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map((asked) => outcome(name, asked, services)),
  })),
}));

function outcome(name: string, asked: Asked, services: Services): Outcome {
  const { partitionIndex } = asked;
  try {
    reassign(name, asked, services);
    return { partitionIndex, errorCode: 0, errorMessage: null };
  } catch (error) {
    return { partitionIndex, errorCode: errorCodeOf(error), errorMessage: (error as Error).message };
  }
}

function reassign(name: string, { partitionIndex, replicas }: Asked, { catalog, config }: Services): void {
  const topic = catalog.topic(name);
  if (!topic || partitionIndex < 0 || partitionIndex >= topic.partitions)
    throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `There is no partition ${name}-${partitionIndex}.`);
  // No replicas: to call a reassignment off.
  if (replicas === null)
    throw new KafkaError("NO_REASSIGNMENT_IN_PROGRESS", `${name}-${partitionIndex} is not being moved.`);
  if (replicas.length !== 1 || replicas[0] !== config.nodeId) {
    const message = `The one replica must be ${config.nodeId}: there is no other node.`;
    throw new KafkaError("INVALID_REPLICA_ASSIGNMENT", message);
  }
}
