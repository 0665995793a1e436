/**
 * CreatePartitions (37), versions 0 to 3: more partitions for a plain topic. A table's partitions are part of what its
 * rows mean (`_partition`, the order of a key), so they do not change.
 */
import { errorCodes, KafkaError } from "../../base/kafka_error.ts";
import type { CreatePartitionsRequest } from "../../protocol/generated/create_partitions_request.ts";
import type { CreatePartitionsResponse } from "../../protocol/generated/create_partitions_response.ts";
import { handler, type RequestContext } from "../handler.ts";

type Asked = CreatePartitionsRequest["topics"][number];

export const createPartitions = handler<CreatePartitionsRequest, CreatePartitionsResponse>(
  37,
  async (request, context) => ({
    throttleTimeMs: 0,
    results: await Promise.all(
      once(request.topics).map(async (asked) => {
        try {
          if (asked.isRepeated) throw new KafkaError("INVALID_REQUEST", `Topic '${asked.name}' is named twice.`);
          await extend(asked, request.validateOnly, context);
          return { name: asked.name, errorCode: 0, errorMessage: null };
        } catch (error) {
          const errorCode = error instanceof KafkaError ? error.code : errorCodes.UNKNOWN_SERVER_ERROR;
          return { name: asked.name, errorCode, errorMessage: (error as Error).message };
        }
      }),
    ),
  }),
);

/** Each topic once; one that was named repeatedly is marked. */
function once(topics: readonly Asked[]): (Asked & { isRepeated: boolean })[] {
  const count = new Map<string, number>();
  for (const { name } of topics) count.set(name, (count.get(name) ?? 0) + 1);
  const first = new Map(topics.map((asked) => [asked.name, asked]));
  return [...first.values()].map((asked) => ({ ...asked, isRepeated: count.get(asked.name)! > 1 }));
}

async function extend(asked: Asked, validateOnly: boolean, { services }: RequestContext): Promise<void> {
  const { catalog, config } = services;
  const topic = catalog.topic(asked.name);
  if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition.");
  if (topic.table)
    throw new KafkaError("INVALID_PARTITIONS", `Topic '${asked.name}' is a table; its partitions are fixed.`);
  if (asked.count === topic.partitions)
    throw new KafkaError("INVALID_PARTITIONS", `Topic already has ${asked.count} partition(s).`);
  if (asked.count < topic.partitions) {
    const message = `The topic ${asked.name} currently has ${topic.partitions} partition(s); ${asked.count} would not be an increase.`;
    throw new KafkaError("INVALID_PARTITIONS", message);
  }
  if (asked.assignments !== null) {
    const wanted = asked.count - topic.partitions;
    if (asked.assignments.length !== wanted) {
      const message = `Attempted to add ${wanted} additional partition(s), but only ${asked.assignments.length} assignment(s) were specified.`;
      throw new KafkaError("INVALID_REPLICA_ASSIGNMENT", message);
    }
    if (asked.assignments.some(({ brokerIds }) => brokerIds.length !== 1 || brokerIds[0] !== config.nodeId))
      throw new KafkaError(
        "INVALID_REPLICA_ASSIGNMENT",
        `The one replica must be ${config.nodeId}: there is no other node.`,
      );
  }
  if (!validateOnly) await catalog.addPartitions(asked.name, asked.count);
}
