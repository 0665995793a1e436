/**
 * ElectLeaders (43), versions 0 to 2: there is one replica of everything, which leads, so no election is ever needed. As in
 * Kafka, who names partitions is told so for each, and who asks for all partitions that need it is told of none.
 */
import { errorCodes } from "../../base/kafka_error.ts";
import type { ElectLeadersRequest } from "../../protocol/generated/elect_leaders_request.ts";
import type { ElectLeadersResponse } from "../../protocol/generated/elect_leaders_response.ts";
import { handler, type Services } from "../handler.ts";

type Outcome = ElectLeadersResponse["replicaElectionResults"][number]["partitionResult"][number];

/** 0 elects the preferred replica, 1 any that lives. */
const electionTypes = [0, 1];

export const electLeaders = handler<ElectLeadersRequest, ElectLeadersResponse>(43, (request, { services }) => {
  const isKnownType = electionTypes.includes(request.electionType);
  const outcomeOf = (topic: string, partition: number) =>
    isKnownType ? elect(topic, partition, services) : unknownType(partition, request.electionType);
  return {
    throttleTimeMs: 0,
    errorCode: isKnownType ? 0 : errorCodes.INVALID_REQUEST,
    replicaElectionResults: (request.topicPartitions ?? []).map(({ topic, partitions }) => ({
      topic,
      partitionResult: partitions.map((partition) => outcomeOf(topic, partition)),
    })),
  };
});

function elect(name: string, partitionId: number, { catalog, config }: Services): Outcome {
  const topic = catalog.topic(name);
  if (!topic || partitionId < 0 || partitionId >= topic.partitions) {
    const errorMessage = `There is no partition ${name}-${partitionId}.`;
    return { partitionId, errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION, errorMessage };
  }
  const errorMessage = `Node ${config.nodeId} leads the partition already.`;
  return { partitionId, errorCode: errorCodes.ELECTION_NOT_NEEDED, errorMessage };
}

function unknownType(partitionId: number, electionType: number): Outcome {
  const errorMessage = `Unknown election type ${electionType}.`;
  return { partitionId, errorCode: errorCodes.INVALID_REQUEST, errorMessage };
}
