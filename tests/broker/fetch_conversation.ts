/**
 * A conversation about fetch sessions, and what was answered, in a form that can be compared between servers.
 * `bun tests/broker/fetch_conversation.ts PORT FILE` records it; tests/vectors/broker/fetch_sessions.json is Apache Kafka 4.4.0's.
 */
import { writeFileSync } from "node:fs";
import { errorName } from "../../src/base/kafka_error.ts";
import { type Uuid, zeroUuid } from "../../src/base/uuid.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newFetchPartition, newFetchRequest } from "../../src/protocol/generated/fetch_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { Wire } from "../harness/wire.ts";

export interface FetchLine {
  what: string;
  error: string;
  /** "none", or a number by order of appearance. */
  session: string;
  partitions: string[];
}

type Wishes = [topic: string, partition: number, offset: number][];

/** `readyMs`: what the server needs between the answer to CreateTopics and serving the topic. */
export async function converse(port: number, topic: string, readyMs = 0): Promise<FetchLine[]> {
  const wire = await Wire.open(port);
  const lines: FetchLine[] = [];
  const sessions = new Map<number, number>();
  const ids = new Map<string, Uuid>([["unknown", "u38N1oNgTUq1fMCQCTIrnA"]]);

  const create = async (name: string) => {
    const topics = [{ name, numPartitions: 3, replicationFactor: 1, assignments: [], configs: [] }];
    await wire.call(19, 7, newCreateTopicsRequest({ topics, timeoutMs: 10_000 }));
    const metadata = await wire.call(3, 12, newMetadataRequest({ topics: [{ name, topicId: zeroUuid }] }));
    ids.set(name, metadata.topics[0]!.topicId);
    await Bun.sleep(readyMs);
  };
  const produce = (partition: number) => {
    const records = encodeBatch([{ value: "v", timestamp: 1_700_000_000_000 }]);
    const topicData = [{ name: topic, topicId: zeroUuid, partitionData: [{ index: partition, records }] }];
    return wire.call(0, 9, newProduceRequest({ acks: -1, timeoutMs: 10_000, topicData }));
  };
  const fetch = async (
    what: string,
    version: number,
    sessionId: number,
    sessionEpoch: number,
    wishes: Wishes = [],
    forget: Wishes = [],
  ) => {
    const named = (name: string) =>
      version >= 13 ? { topic: "", topicId: ids.get(name)! } : { topic: name, topicId: zeroUuid };
    const answer = await wire.call(
      1,
      version,
      newFetchRequest({
        maxWaitMs: 50,
        minBytes: 1,
        maxBytes: 1 << 20,
        sessionId,
        sessionEpoch,
        topics: wishes.map(([name, partition, fetchOffset]) => ({
          ...named(name),
          partitions: [newFetchPartition({ partition, fetchOffset: BigInt(fetchOffset), partitionMaxBytes: 1 << 20 })],
        })),
        forgottenTopicsData: forget.map(([name, partition]) => ({ ...named(name), partitions: [partition] })),
      }),
    );
    if (answer.sessionId !== 0 && !sessions.has(answer.sessionId)) sessions.set(answer.sessionId, sessions.size + 1);
    const nameOf = (id: Uuid) => [...ids].find(([, known]) => known === id)?.[0] ?? id;
    const partitions = answer.responses.flatMap((one) =>
      one.partitions.map((got) => {
        const name = (one.topic || nameOf(one.topicId)).replace(topic, "t");
        const records = got.records instanceof Uint8Array ? got.records.length : (got.records ?? []).length;
        const state = `high watermark ${got.highWatermark}, log start ${got.logStartOffset}`;
        return `${name}-${got.partitionIndex} ${errorName(got.errorCode)}, ${state}, ${records > 0 ? "records" : "nothing"}`;
      }),
    );
    const session = answer.sessionId === 0 ? "none" : `${sessions.get(answer.sessionId)}`;
    lines.push({ what: `Fetch ${version}: ${what}`, error: errorName(answer.errorCode), session, partitions });
    return answer.sessionId;
  };

  await create(topic);
  const all: Wishes = [
    [topic, 0, 0],
    [topic, 1, 0],
    [topic, 2, 0],
  ];
  await fetch("before sessions", 6, 0, -1, all);
  for (const version of [7, 12, 13, 18]) {
    const id = await fetch("open", version, 0, 0, all);
    await fetch("nothing new", version, id, 1);
    await fetch("nothing new again", version, id, 2);
    await fetch("forget one", version, id, 3, [], [[topic, 2, 0]]);
    await fetch("take it back", version, id, 4, [[topic, 2, 0]]);
    await fetch("end it", version, id, -1, all);
    await fetch("after the end", version, id, 5);
  }
  const id = await fetch("open", 12, 0, 0, all);
  await produce(1);
  await fetch("records in one", 12, id, 1);
  await fetch("still the same offset", 12, id, 2);
  await fetch("behind the records", 12, id, 3, [[topic, 1, 1]]);
  await produce(0);
  await produce(1);
  await fetch("records in two, the last told is last", 12, id, 4);
  await fetch("both again, in the new order", 12, id, 5);
  await fetch("a wrong epoch", 12, id, 9);
  await fetch("an unknown session", 12, 77, 1);
  await fetch("no session, epoch 1", 12, 0, 1);
  await fetch("by topic id in a session of names", 13, id, 6);
  await fetch("an offset out of range", 12, id, 6, [[topic, 2, 500]]);
  await fetch("still out of range", 12, id, 7);
  await fetch("back in range", 12, id, 8, [[topic, 2, 0]]);
  await fetch("an unknown partition", 12, id, 9, [[topic, 9, 0]]);
  await fetch("an unknown topic", 12, id, 10, [[`${topic}-late`, 0, 0]], [[topic, 9, 0]]);
  await fetch("still unknown", 12, id, 11, [
    [topic, 0, 1],
    [topic, 1, 2],
  ]);
  await create(`${topic}-late`);
  await fetch("known now", 12, id, 12);
  await fetch("and quiet", 12, id, 13);
  await fetch("forget everything", 12, id, 14, [], [...all, [`${topic}-late`, 0, 0]]);
  await fetch("a session without partitions is none", 12, id, 15);
  const byId = await fetch("open by id with an unknown one", 13, 0, 0, [
    [topic, 2, 0],
    ["unknown", 0, 0],
  ]);
  await fetch("the unknown one again", 13, byId, 1);
  await fetch("by name in a session of ids", 12, byId, 2);
  await fetch("open again over it", 13, byId, 0, [[topic, 2, 0]]);
  await fetch("the one before is gone", 13, byId, 3);
  await fetch("no partitions", 13, 0, 0);
  wire.close();
  return lines;
}

if (import.meta.main) {
  const [port, file] = process.argv.slice(2);
  if (!port || !file) throw new Error("usage: bun tests/broker/fetch_conversation.ts PORT FILE");
  writeFileSync(file, `${JSON.stringify(await converse(Number(port), `fetch${Date.now()}`, 2_000), null, 1)}\n`);
}
