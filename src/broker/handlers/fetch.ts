/**
 * Fetch (1), versions 4 to 18: whole record batches as they are stored, by topic name up to version 12 and by id from 13;
 * incremental sessions from version 7 (KIP-227). Nothing is transactional, so the last stable offset is the high watermark
 * and no aborted transactions are listed.
 */
import { errorCodes } from "../../base/kafka_error.ts";
import type { FetchRequest } from "../../protocol/generated/fetch_request.ts";
import type { FetchResponse } from "../../protocol/generated/fetch_response.ts";
import { type FetchedPartition, type FetchTarget, readWhenReady } from "../fetch_reader.ts";
import type { PartitionName, PartitionWish } from "../fetch_sessions.ts";
import { handler, type RequestContext } from "../handler.ts";

type TopicAnswer = FetchResponse["responses"][number];
type PartitionAnswer = TopicAnswer["partitions"][number];

const topicIdsFrom = 13;
const sessionsFrom = 7;
const readCommitted = 1;

export const fetch = handler<FetchRequest, FetchResponse>(1, async (request, context) => {
  const usesTopicIds = context.apiVersion >= topicIdsFrom;
  const plan = context.services.fetchSessions.plan({
    sessionId: request.sessionId,
    sessionEpoch: context.apiVersion >= sessionsFrom ? request.sessionEpoch : -1,
    usesTopicIds,
    partitions: wishesOf(request),
    forgotten: forgottenOf(request),
  });
  if (plan.errorCode !== 0) return answer(plan.errorCode, 0, []);
  const targets = plan.partitions.map((wish) => targetOf(wish, usesTopicIds, context));
  const { minBytes, maxBytes, maxWaitMs } = request;
  const fetched = await readWhenReady(targets, { minBytes, maxBytes, maxWaitMs }, context);
  const { errorCode, sessionId, included } = plan.finish(fetched);
  if (errorCode !== 0) return answer(errorCode, sessionId, []);
  for (const [place, { bytes }] of fetched.entries()) {
    const { topic } = targets[place]!;
    if (bytes > 0 && topic) context.services.metrics.fetched(topic.name, bytes);
  }
  const responses: TopicAnswer[] = [];
  for (const [place, wish] of plan.partitions.entries()) {
    if (!included[place]) continue;
    let topic = responses.at(-1);
    if (!topic || topic.topic !== wish.topic || topic.topicId !== wish.topicId) {
      topic = { topic: wish.topic, topicId: wish.topicId, partitions: [] };
      responses.push(topic);
    }
    topic.partitions.push(partitionAnswer(wish.partition, fetched[place]!, request.isolationLevel === readCommitted));
  }
  return answer(0, sessionId, responses);
});

function answer(errorCode: number, sessionId: number, responses: TopicAnswer[]): FetchResponse {
  return { throttleTimeMs: 0, errorCode, sessionId, responses, nodeEndpoints: [] };
}

function wishesOf(request: FetchRequest): PartitionWish[] {
  return request.topics.flatMap(({ topic, topicId, partitions }) =>
    partitions.map((asked) => ({
      topic,
      topicId,
      partition: asked.partition,
      fetchOffset: Number(asked.fetchOffset),
      maxBytes: asked.partitionMaxBytes,
      currentLeaderEpoch: asked.currentLeaderEpoch,
      lastFetchedEpoch: asked.lastFetchedEpoch,
      logStartOffset: Number(asked.logStartOffset),
    })),
  );
}

function forgottenOf(request: FetchRequest): PartitionName[] {
  return request.forgottenTopicsData.flatMap(({ topic, topicId, partitions }) =>
    partitions.map((partition) => ({ topic, topicId, partition })),
  );
}

function targetOf(wish: PartitionWish, usesTopicIds: boolean, { services }: RequestContext): FetchTarget {
  const { partition, fetchOffset, maxBytes, currentLeaderEpoch } = wish;
  return {
    topic: usesTopicIds ? services.catalog.topicById(wish.topicId) : services.catalog.topic(wish.topic),
    topicError: usesTopicIds ? errorCodes.UNKNOWN_TOPIC_ID : errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    partition,
    fetchOffset,
    maxBytes,
    currentLeaderEpoch,
  };
}

function isUnknown(errorCode: number): boolean {
  return errorCode === errorCodes.UNKNOWN_TOPIC_OR_PARTITION || errorCode === errorCodes.UNKNOWN_TOPIC_ID;
}

function partitionAnswer(partitionIndex: number, fetched: FetchedPartition, committedOnly: boolean): PartitionAnswer {
  const failed = fetched.errorCode !== 0;
  const highWatermark = failed ? -1n : BigInt(fetched.highWatermark);
  return {
    partitionIndex,
    errorCode: fetched.errorCode,
    highWatermark,
    lastStableOffset: highWatermark,
    logStartOffset: failed ? -1n : BigInt(fetched.logStartOffset),
    divergingEpoch: { epoch: -1, endOffset: -1n },
    currentLeader: { leaderId: -1, leaderEpoch: -1 },
    snapshotId: { endOffset: -1n, epoch: -1 },
    abortedTransactions: committedOnly || isUnknown(fetched.errorCode) ? [] : null,
    preferredReadReplica: -1,
    records: fetched.records,
  };
}
