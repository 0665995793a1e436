/**
 * Fetch (1), versions 4 to 18: whole record batches as they are stored, by topic name up to version 12 and by id from 13.
 * Nothing is transactional, so the last stable offset is the high watermark and no aborted transactions are listed.
 */
import { errorCodes } from "../../base/kafka_error.ts";
import type { FetchRequest } from "../../protocol/generated/fetch_request.ts";
import type { FetchResponse } from "../../protocol/generated/fetch_response.ts";
import { type FetchedPartition, type FetchTarget, readWhenReady } from "../fetch_reader.ts";
import { handler, type RequestContext } from "../handler.ts";

type TopicAnswer = FetchResponse["responses"][number];
type PartitionAnswer = TopicAnswer["partitions"][number];

export const fetch = handler<FetchRequest, FetchResponse>(1, async (request, context) => {
  const targets: FetchTarget[] = [];
  for (const asked of request.topics) {
    const topic = findTopic(asked, context);
    for (const partition of asked.partitions) {
      targets.push({
        topic,
        topicError: context.apiVersion >= 13 ? errorCodes.UNKNOWN_TOPIC_ID : errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
        partition: partition.partition,
        fetchOffset: Number(partition.fetchOffset),
        maxBytes: partition.partitionMaxBytes,
        currentLeaderEpoch: partition.currentLeaderEpoch,
      });
    }
  }
  const { minBytes, maxBytes, maxWaitMs } = request;
  const fetched = await readWhenReady(targets, { minBytes, maxBytes, maxWaitMs }, context);
  let next = 0;
  const responses = request.topics.map(
    (asked): TopicAnswer => ({
      topic: asked.topic,
      topicId: asked.topicId,
      partitions: asked.partitions.map(({ partition }) =>
        partitionAnswer(partition, fetched[next++]!, request.isolationLevel === 1),
      ),
    }),
  );
  return { throttleTimeMs: 0, errorCode: 0, sessionId: 0, responses, nodeEndpoints: [] };
});

function findTopic(asked: { topic: string; topicId: string }, { apiVersion, services }: RequestContext) {
  return apiVersion >= 13 ? services.catalog.topicById(asked.topicId) : services.catalog.topic(asked.topic);
}

function partitionAnswer(partitionIndex: number, fetched: FetchedPartition, readCommitted: boolean): PartitionAnswer {
  return {
    partitionIndex,
    errorCode: fetched.errorCode,
    highWatermark: BigInt(fetched.highWatermark),
    lastStableOffset: BigInt(fetched.highWatermark),
    logStartOffset: BigInt(fetched.logStartOffset),
    divergingEpoch: { epoch: -1, endOffset: -1n },
    currentLeader: { leaderId: -1, leaderEpoch: -1 },
    snapshotId: { endOffset: -1n, epoch: -1 },
    abortedTransactions: readCommitted ? [] : null,
    preferredReadReplica: -1,
    records: fetched.records,
  };
}
