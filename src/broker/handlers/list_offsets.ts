/**
 * ListOffsets (2), versions 1 to 11: an offset by time, or one of the special times: -1 latest, -2 earliest, -3 record
 * with the greatest time (from version 7), -4 earliest local (8), -5 latest tiered (9), -6 earliest pending upload (11).
 * No record at or after a time is offset -1 and timestamp -1, without an error (cases C37). Without tiered storage
 * earliest local is earliest, and the tiered ones do not exist.
 */
import { errorCodeOf, KafkaError } from "../../base/kafka_error.ts";
import type { PartitionLog } from "../../log/log_store.ts";
import type { ListOffsetsRequest } from "../../protocol/generated/list_offsets_request.ts";
import type { ListOffsetsResponse } from "../../protocol/generated/list_offsets_response.ts";
import { handler, type RequestContext } from "../handler.ts";
import { checkLeaderEpoch } from "../leader_epoch.ts";

type Found = { offset: number; timestamp: number; leaderEpoch: number };

const none: Found = { offset: -1, timestamp: -1, leaderEpoch: -1 };

export const listOffsets = handler<ListOffsetsRequest, ListOffsetsResponse>(2, (request, context) => ({
  throttleTimeMs: 0,
  topics: request.topics.map(({ name, partitions }) => ({
    name,
    partitions: once(partitions).map(({ partitionIndex, timestamp, currentLeaderEpoch, isRepeated }) => {
      try {
        if (isRepeated) throw new KafkaError("INVALID_REQUEST", `Partition ${partitionIndex} is asked for twice.`);
        const found = find(name, partitionIndex, Number(timestamp), currentLeaderEpoch, context);
        return {
          partitionIndex,
          errorCode: 0,
          timestamp: BigInt(found.timestamp),
          offset: BigInt(found.offset),
          // The field came with version 4 (KIP-320).
          leaderEpoch: context.apiVersion >= 4 ? found.leaderEpoch : -1,
        };
      } catch (error) {
        return { partitionIndex, errorCode: errorCodeOf(error), timestamp: -1n, offset: -1n, leaderEpoch: -1 };
      }
    }),
  })),
}));

type AskedPartition = ListOffsetsRequest["topics"][number]["partitions"][number];

/** Each partition once; one that was asked for repeatedly is marked, since it is not clear which answer was wanted. */
function once(partitions: readonly AskedPartition[]): (AskedPartition & { isRepeated: boolean })[] {
  const count = new Map<number, number>();
  for (const { partitionIndex } of partitions) count.set(partitionIndex, (count.get(partitionIndex) ?? 0) + 1);
  const first = new Map(partitions.map((asked) => [asked.partitionIndex, asked]));
  return [...first.values()].map((asked) => ({ ...asked, isRepeated: count.get(asked.partitionIndex)! > 1 }));
}

function find(name: string, partition: number, time: number, leaderEpoch: number, context: RequestContext): Found {
  const topic = context.services.catalog.topic(name);
  if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION");
  const log = context.services.topics.log(topic, partition);
  checkLeaderEpoch(leaderEpoch);
  return time >= 0 ? byTime(log, time) : special(log, time, context.apiVersion);
}

function byTime(log: PartitionLog, time: number): Found {
  const found = log.offsetForTimestamp(time);
  return found && found.offset < log.highWatermark ? { ...found, leaderEpoch: log.leaderEpoch } : none;
}

/** The first version that knows each special time. */
const sinceVersion: Record<number, number> = { [-1]: 1, [-2]: 1, [-3]: 7, [-4]: 8, [-5]: 9, [-6]: 11 };

function special(log: PartitionLog, time: number, version: number): Found {
  const since = sinceVersion[time];
  if (since === undefined || version < since)
    throw new KafkaError("UNSUPPORTED_VERSION", `timestamp ${time} is not known in version ${version}`);
  const { leaderEpoch } = log;
  switch (time) {
    case -1:
      return { offset: log.highWatermark, timestamp: -1, leaderEpoch };
    case -3: {
      const found = log.maxTimestampOffset();
      return found ? { ...found, leaderEpoch } : none;
    }
    case -5:
    case -6:
      return none;
    default:
      return { offset: log.logStartOffset, timestamp: -1, leaderEpoch };
  }
}
