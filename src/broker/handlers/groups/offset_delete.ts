/** OffsetDelete (47), version 0: forgets offsets of topics that the group does not subscribe to. */
import { errorCodes } from "../../../base/kafka_error.ts";
import type { OffsetDeleteRequest } from "../../../protocol/generated/offset_delete_request.ts";
import type { OffsetDeleteResponse } from "../../../protocol/generated/offset_delete_response.ts";
import { handler } from "../../handler.ts";

export const offsetDelete = handler<OffsetDeleteRequest, OffsetDeleteResponse>(47, async (request, { services }) => {
  const exists = (name: string, partition: number) => {
    const topic = services.catalog.topic(name);
    return topic !== undefined && partition >= 0 && partition < topic.partitions;
  };
  const known = request.topics
    .map(({ name, partitions }) => ({
      name,
      partitions: partitions.filter(({ partitionIndex }) => exists(name, partitionIndex)),
    }))
    .filter(({ partitions }) => partitions.length > 0);
  const answer = await services.groups.offsetDelete({ ...request, topics: known });
  if (answer.errorCode !== 0) return answer;
  const topics = request.topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex }) => {
      const deleted = answer.topics.find((topic) => topic.name === name);
      const row = deleted?.partitions.find((one) => one.partitionIndex === partitionIndex);
      return row ?? { partitionIndex, errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION };
    }),
  }));
  return { errorCode: 0, throttleTimeMs: 0, topics };
});
