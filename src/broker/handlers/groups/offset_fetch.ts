/**
 * OffsetFetch (9), versions 1 to 10: one group up to version 7, many from 8; topics by name up to 9, by id from 10. No topics
 * (null) means all that the group committed. Errors of a group are told per partition in version 1, which has no other place.
 */
import { errorCodes } from "../../../base/kafka_error.ts";
import { zeroUuid } from "../../../base/uuid.ts";
import type { OffsetFetchRequest, OffsetFetchRequestGroup } from "../../../protocol/generated/offset_fetch_request.ts";
import type {
  OffsetFetchResponse,
  OffsetFetchResponseGroup,
} from "../../../protocol/generated/offset_fetch_response.ts";
import { handler, type RequestContext } from "../../handler.ts";

const manyGroupsFrom = 8;
const topicIdsFrom = 10;
const nothing = { committedOffset: -1n, committedLeaderEpoch: -1, metadata: "" };

export const offsetFetch = handler<OffsetFetchRequest, OffsetFetchResponse>(9, async (request, context) => {
  const { groups } = context.services;
  const { requireStable } = request;
  if (context.apiVersion < manyGroupsFrom) {
    const topics = request.topics?.map((topic) => ({ ...topic, topicId: zeroUuid })) ?? null;
    const answer = await groups.offsetFetch({ groupId: request.groupId, topics }, requireStable);
    const { errorCode } = answer;
    // Version 1 has no place for a group's error but its partitions.
    const failed = (request.topics ?? []).map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partitionIndex) => ({ ...nothing, partitionIndex, errorCode })),
    }));
    return { throttleTimeMs: 0, errorCode, topics: errorCode === 0 ? answer.topics : failed, groups: [] };
  }
  const byId = context.apiVersion >= topicIdsFrom;
  const answers = request.groups.map((group) =>
    byId ? fetchById(group, requireStable, context) : groups.offsetFetch(group, requireStable),
  );
  return { throttleTimeMs: 0, errorCode: 0, topics: [], groups: await Promise.all(answers) };
});

/** Topics are asked and answered by id; ids that no topic has are refused, and a deleted topic's offsets have no id to tell. */
async function fetchById(
  request: OffsetFetchRequestGroup,
  requireStable: boolean,
  { services }: RequestContext,
): Promise<OffsetFetchResponseGroup> {
  const { catalog, groups } = services;
  const found = request.topics?.flatMap((asked) => {
    const topic = catalog.topicById(asked.topicId);
    return topic ? [{ ...asked, name: topic.name }] : [];
  });
  const answer = await groups.offsetFetch({ groupId: request.groupId, topics: found ?? null }, requireStable);
  if (answer.errorCode !== 0) return answer;
  const topics = answer.topics.flatMap((topic) => {
    const topicId = catalog.topic(topic.name)?.id;
    return topicId === undefined ? [] : [{ ...topic, topicId }];
  });
  const unknown = request.topics?.filter(({ topicId }) => !catalog.topicById(topicId)) ?? [];
  for (const { name, topicId, partitionIndexes } of unknown) {
    const errorCode = errorCodes.UNKNOWN_TOPIC_ID;
    const partitions = partitionIndexes.map((partitionIndex) => ({ ...nothing, partitionIndex, errorCode }));
    topics.push({ name, topicId, partitions });
  }
  return { ...answer, topics };
}
