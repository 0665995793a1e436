/**
 * DeleteRecords (21), versions 0 to 2: raises a partition's log start offset; -1 means its high watermark. Rows of a table
 * stay (a table's rows do not depend on its log).
 */
import { errorCodeOf, KafkaError } from "../../base/kafka_error.ts";
import type { DeleteRecordsRequest } from "../../protocol/generated/delete_records_request.ts";
import type { DeleteRecordsResponse } from "../../protocol/generated/delete_records_response.ts";
import { handler, type RequestContext } from "../handler.ts";

export const deleteRecords = handler<DeleteRecordsRequest, DeleteRecordsResponse>(21, async (request, context) => ({
  throttleTimeMs: 0,
  topics: await Promise.all(
    request.topics.map(async ({ name, partitions }) => ({
      name,
      partitions: await Promise.all(
        partitions.map(async ({ partitionIndex, offset }) => {
          try {
            const lowWatermark = await remove(name, partitionIndex, Number(offset), context);
            return { partitionIndex, lowWatermark: BigInt(lowWatermark), errorCode: 0 };
          } catch (error) {
            return { partitionIndex, lowWatermark: -1n, errorCode: errorCodeOf(error) };
          }
        }),
      ),
    })),
  ),
}));

async function remove(name: string, partition: number, offset: number, { services }: RequestContext): Promise<number> {
  const topic = services.catalog.topic(name);
  if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION");
  if (topic.internal)
    throw new KafkaError("INVALID_TOPIC_EXCEPTION", `Cannot delete records of internal topic ${name}.`);
  const log = services.topics.log(topic, partition);
  if (log.config.compacted && !log.config.deleteOld)
    throw new KafkaError(
      "POLICY_VIOLATION",
      `Topic ${name} has no cleanup.policy=delete: its records cannot be deleted.`,
    );
  const before = offset === -1 ? log.highWatermark : offset;
  if (before < 0 || before > log.highWatermark) throw new KafkaError("OFFSET_OUT_OF_RANGE");
  // Already gone: nothing to do, and no error.
  if (before <= log.logStartOffset) return log.logStartOffset;
  return await log.deleteRecords(before);
}
