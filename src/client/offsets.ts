/** Offsets of partitions: the ends of a log, and where a time is (ListOffsets). */
import { KafkaError } from "../base/kafka_error.ts";
import { apiKeys } from "../protocol/generated/index.ts";
import {
  newListOffsetsPartition,
  newListOffsetsRequest,
  newListOffsetsTopic,
} from "../protocol/generated/list_offsets_request.ts";
import { check, type KafkaClient } from "./client.ts";

/** Special times of ListOffsets. */
export const offsetTimes = { latest: -1n, earliest: -2n, maxTimestamp: -3n } as const;

export interface FoundOffset {
  topic: string;
  partition: number;
  /** -1 when nothing is at or after the time. */
  offset: number;
  timestampMs: number;
}

/** One time for each partition named. Throws KafkaError. */
export async function listOffsets(
  client: KafkaClient,
  asked: readonly { topic: string; partition: number; time: bigint }[],
  readCommitted = false,
): Promise<FoundOffset[]> {
  const byLeader = new Map<number, { topic: string; partition: number; time: bigint }[]>();
  for (const entry of asked) {
    const leader = await client.leader(entry.topic, entry.partition);
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), entry]);
  }
  const found: FoundOffset[] = [];
  for (const [leader, entries] of byLeader) {
    const topics = [...new Set(entries.map(({ topic }) => topic))].map((name) =>
      newListOffsetsTopic({
        name,
        partitions: entries
          .filter(({ topic }) => topic === name)
          .map(({ partition, time }) => newListOffsetsPartition({ partitionIndex: partition, timestamp: time })),
      }),
    );
    const special = entries.some(({ time }) => time === offsetTimes.maxTimestamp);
    const body = newListOffsetsRequest({ isolationLevel: readCommitted ? 1 : 0, topics });
    const answer = await client.requestOf(leader, apiKeys.ListOffsets, body, {
      minVersion: special ? 7 : 1,
      maxVersion: 9,
    });
    for (const topic of answer.topics)
      for (const { partitionIndex: partition, errorCode, offset, timestamp } of topic.partitions) {
        check(errorCode, `offsets of topic "${topic.name}" partition ${partition}`);
        found.push({ topic: topic.name, partition, offset: Number(offset), timestampMs: Number(timestamp) });
      }
  }
  return asked.map(({ topic, partition }) => {
    const entry = found.find((candidate) => candidate.topic === topic && candidate.partition === partition);
    if (!entry)
      throw new KafkaError("UNKNOWN_SERVER_ERROR", `no offset came for topic "${topic}" partition ${partition}`);
    return entry;
  });
}
