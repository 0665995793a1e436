/**
 * OffsetCommit (8), versions 2 to 10: topics by name up to version 9, by id from 10. A retention time (2 to 4) is kept with
 * the offset. What does not exist is refused; the rest is committed.
 */
import { errorCodes } from "../../../base/kafka_error.ts";
import type { OffsetCommitRequest } from "../../../protocol/generated/offset_commit_request.ts";
import type { OffsetCommitResponse } from "../../../protocol/generated/offset_commit_response.ts";
import { handler } from "../../handler.ts";

const topicIdsFrom = 10;

export const offsetCommit = handler<OffsetCommitRequest, OffsetCommitResponse>(8, async (request, context) => {
  const { catalog, groups } = context.services;
  const refused: OffsetCommitResponse["topics"] = [];
  const known: OffsetCommitRequest["topics"] = [];
  for (const asked of request.topics) {
    const topic = context.apiVersion >= topicIdsFrom ? catalog.topicById(asked.topicId) : catalog.topic(asked.name);
    const exists = (partition: number) => topic !== undefined && partition >= 0 && partition < topic.partitions;
    const found = asked.partitions.filter(({ partitionIndex }) => exists(partitionIndex));
    if (topic && found.length > 0) known.push({ name: topic.name, topicId: topic.id, partitions: found });
    const missing = asked.partitions.filter(({ partitionIndex }) => !exists(partitionIndex));
    const unknownId = !topic && context.apiVersion >= topicIdsFrom;
    const errorCode = unknownId ? errorCodes.UNKNOWN_TOPIC_ID : errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
    if (missing.length === 0) continue;
    const partitions = missing.map(({ partitionIndex }) => ({ partitionIndex, errorCode }));
    refused.push({ name: asked.name, topicId: asked.topicId, partitions });
  }
  if (known.length === 0) return { throttleTimeMs: 0, topics: refused };
  const committed = await groups.offsetCommit({ ...request, topics: known }, context.apiVersion);
  for (const topic of committed.topics) {
    const split = refused.find(({ name, topicId }) => name === topic.name || topicId === topic.topicId);
    if (split) topic.partitions.push(...split.partitions);
  }
  const whole = refused.filter(
    ({ name, topicId }) => !committed.topics.some((topic) => name === topic.name || topicId === topic.topicId),
  );
  return { throttleTimeMs: 0, topics: [...committed.topics, ...whole] };
});
