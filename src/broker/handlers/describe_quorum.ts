/**
 * DescribeQuorum (55), versions 0 to 2: the quorum that keeps the metadata. It is this node alone, and the catalog's journal
 * stands for `__cluster_metadata`; its offsets are counts of the catalog's events.
 */
import { errorCodes } from "../../base/kafka_error.ts";
import { zeroUuid } from "../../base/uuid.ts";
import type { DescribeQuorumRequest } from "../../protocol/generated/describe_quorum_request.ts";
import type { DescribeQuorumResponse } from "../../protocol/generated/describe_quorum_response.ts";
import { advertisedAddress } from "../address.ts";
import { handler, type RequestContext } from "../handler.ts";

type Partition = DescribeQuorumResponse["topics"][number]["partitions"][number];

const metadataTopic = "__cluster_metadata";
/** The quorum's one and only epoch; 0 would mean that there has been no election yet. */
const quorumEpoch = 1;
const nodesFrom = 2;

export const describeQuorum = handler<DescribeQuorumRequest, DescribeQuorumResponse>(55, (request, context) => {
  // As in Kafka, only a request for just that partition is answered; other partitions get an error each.
  const [asked] = request.topics;
  const isMetadata =
    request.topics.length === 1 &&
    asked!.topicName === metadataTopic &&
    asked!.partitions.length === 1 &&
    asked!.partitions[0]!.partitionIndex === 0;
  if (isMetadata) {
    const topics = [{ topicName: metadataTopic, partitions: [quorum(context)] }];
    const listeners = [{ name: "CONTROLLER", ...advertisedAddress(context) }];
    const nodes = [{ nodeId: context.services.config.nodeId, listeners }];
    return { errorCode: 0, errorMessage: "", topics, nodes: context.apiVersion >= nodesFrom ? nodes : [] };
  }
  const topics = request.topics.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions.map(({ partitionIndex }) => unknown(topicName, partitionIndex)),
  }));
  return { errorCode: 0, errorMessage: "", topics, nodes: [] };
});

function quorum({ services }: RequestContext): Partition {
  const { catalog, clock, config } = services;
  const nowMs = BigInt(clock.nowMs());
  const end = BigInt(catalog.eventCount);
  return {
    partitionIndex: 0,
    errorCode: 0,
    errorMessage: "",
    leaderId: config.nodeId,
    leaderEpoch: quorumEpoch,
    highWatermark: end,
    currentVoters: [
      {
        replicaId: config.nodeId,
        replicaDirectoryId: zeroUuid,
        logEndOffset: end,
        lastFetchTimestamp: nowMs,
        lastCaughtUpTimestamp: nowMs,
      },
    ],
    observers: [],
  };
}

function unknown(topicName: string, partitionIndex: number): Partition {
  return {
    partitionIndex,
    errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    errorMessage: `No quorum keeps ${topicName}-${partitionIndex}.`,
    leaderId: 0,
    leaderEpoch: 0,
    highWatermark: 0n,
    currentVoters: [],
    observers: [],
  };
}
