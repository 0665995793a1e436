/** DescribeProducers (61), version 0: the idempotent producers that a partition remembers (KIP-664). */
import { errorCodeOf, KafkaError } from "../../base/kafka_error.ts";
import type { DescribeProducersRequest } from "../../protocol/generated/describe_producers_request.ts";
import type { DescribeProducersResponse } from "../../protocol/generated/describe_producers_response.ts";
import { handler, type Services } from "../handler.ts";

type Partition = DescribeProducersResponse["topics"][number]["partitions"][number];

export const describeProducers = handler<DescribeProducersRequest, DescribeProducersResponse>(
  61,
  (request, { services }) => ({
    throttleTimeMs: 0,
    topics: request.topics.map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partition) => describe(name, partition, services)),
    })),
  }),
);

function describe(name: string, partitionIndex: number, { catalog, topics }: Services): Partition {
  try {
    const topic = catalog.topic(name);
    if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition.");
    const activeProducers = topics
      .log(topic, partitionIndex)
      .producers()
      .map(({ lastTimestamp, currentTxnStartOffset, ...producer }) => ({
        ...producer,
        lastTimestamp: BigInt(lastTimestamp),
        currentTxnStartOffset: BigInt(currentTxnStartOffset),
      }));
    return { partitionIndex, errorCode: 0, errorMessage: null, activeProducers };
  } catch (error) {
    const errorMessage = (error as Error).message;
    return { partitionIndex, errorCode: errorCodeOf(error), errorMessage, activeProducers: [] };
  }
}
