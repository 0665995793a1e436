/**
 * DeleteTopics (20), versions 1 to 6: by name, from version 6 also by id. A table is dropped with its topic.
 */
import { errorCodes, KafkaError } from "../../base/kafka_error.ts";
import { type Uuid, zeroUuid } from "../../base/uuid.ts";
import type { DeleteTopicsRequest } from "../../protocol/generated/delete_topics_request.ts";
import type { DeleteTopicsResponse } from "../../protocol/generated/delete_topics_response.ts";
import { handler, type RequestContext } from "../handler.ts";

type Result = DeleteTopicsResponse["responses"][number];

export const deleteTopics = handler<DeleteTopicsRequest, DeleteTopicsResponse>(20, async (request, context) => {
  const asked: { name: string | null; topicId: Uuid }[] =
    context.apiVersion >= 6 ? request.topics : request.topicNames.map((name) => ({ name, topicId: zeroUuid }));
  // What is meant, by id where there is one: a name and an id may be the same topic.
  const meant = new Map<string, { topic: (typeof asked)[number]; times: number }>();
  for (const topic of asked) {
    const { name, topicId } = topic;
    const id = name === null ? topicId : (context.services.catalog.topic(name)?.id ?? name);
    const before = meant.get(id);
    // Of a topic that was named and given by id, the refusal shows both.
    const shown = before && before.topic.topicId === zeroUuid ? { ...before.topic, topicId } : topic;
    meant.set(id, { topic: shown, times: (before?.times ?? 0) + 1 });
  }
  const responses = [...meant.values()].map(async ({ topic, times }) => {
    try {
      if (times > 1) throw new KafkaError("INVALID_REQUEST", "The same topic is asked for more than once.");
      return await remove(topic, context);
    } catch (error) {
      return failed(topic, error);
    }
  });
  return { throttleTimeMs: 0, responses: await Promise.all(responses) };
});

async function remove(asked: { name: string | null; topicId: Uuid }, { services }: RequestContext): Promise<Result> {
  const { catalog } = services;
  if ((asked.name === null) === (asked.topicId === zeroUuid))
    throw new KafkaError("INVALID_REQUEST", "Give a topic's name or its id: one of them.");
  const topic = asked.name !== null ? catalog.topic(asked.name) : catalog.topicById(asked.topicId);
  if (!topic) {
    throw asked.name !== null
      ? new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition.")
      : new KafkaError("UNKNOWN_TOPIC_ID", "This server does not host this topic ID.");
  }
  await services.topics.remove(topic);
  return { name: topic.name, topicId: topic.id, errorCode: 0, errorMessage: null };
}

function failed(asked: { name: string | null; topicId: Uuid }, error: unknown): Result {
  return {
    name: asked.name,
    topicId: asked.topicId,
    errorCode: error instanceof KafkaError ? error.code : errorCodes.UNKNOWN_SERVER_ERROR,
    errorMessage: (error as Error).message,
  };
}
