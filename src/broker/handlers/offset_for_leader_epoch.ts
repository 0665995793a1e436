/**
 * OffsetForLeaderEpoch (23), versions 2 to 4: where the records of a leader epoch end, so that a consumer can notice a
 * truncated log. A future epoch gives -1 and -1 (cases C44).
 */
import { errorCodeOf, KafkaError } from "../../base/kafka_error.ts";
import type { OffsetForLeaderEpochRequest } from "../../protocol/generated/offset_for_leader_epoch_request.ts";
import type { OffsetForLeaderEpochResponse } from "../../protocol/generated/offset_for_leader_epoch_response.ts";
import { handler } from "../handler.ts";
import { checkLeaderEpoch } from "../leader_epoch.ts";

export const offsetForLeaderEpoch = handler<OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse>(
  23,
  (request, { services }) => ({
    throttleTimeMs: 0,
    topics: request.topics.map(({ topic: name, partitions }) => ({
      topic: name,
      partitions: partitions.map(({ partition, currentLeaderEpoch, leaderEpoch }) => {
        try {
          const topic = services.catalog.topic(name);
          if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION");
          const log = services.topics.log(topic, partition);
          checkLeaderEpoch(currentLeaderEpoch);
          const end = log.endOffsetForEpoch(leaderEpoch);
          return { errorCode: 0, partition, leaderEpoch: end.leaderEpoch, endOffset: BigInt(end.endOffset) };
        } catch (error) {
          return { errorCode: errorCodeOf(error), partition, leaderEpoch: -1, endOffset: -1n };
        }
      }),
    })),
  }),
);
