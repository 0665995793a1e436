/** Drives @platformatic/kafka. Its headers are a map by Buffer objects, so names may repeat; it cannot say a null header value. */
import { readFileSync } from "node:fs";
import { Consumer, type MessagesStream, type MessageToProduce, Producer } from "@platformatic/kafka";
import { ClientError, Collector, decode, encode, event, type JoinCommand, type RecordLine, serve } from "./protocol.ts";

/** Failures nest: the first Kafka error code met on the way down is the one that the broker gave. */
function codeOf(error: unknown): number {
  if (!(error instanceof Error)) return -1;
  const { apiCode, errors } = error as { apiCode?: unknown; errors?: unknown[] };
  if (typeof apiCode === "number") return apiCode;
  for (const inner of [...(errors ?? []), error.cause]) {
    const code = codeOf(inner);
    if (code !== -1) return code;
  }
  return -1;
}

interface Message {
  partition: number;
  offset: bigint;
  key: Buffer | undefined;
  value: Buffer | undefined;
  headers: Map<Buffer, Buffer>;
  timestamp: bigint;
}

function lineOf(message: Message): RecordLine {
  const headers = [...message.headers].map(([name, data]): [string, string | null] => [name.toString(), encode(data)]);
  return {
    partition: message.partition,
    offset: Number(message.offset),
    key: encode(message.key),
    value: encode(message.value),
    headers,
    timestamp: Number(message.timestamp),
  };
}

interface Member {
  consumer: Consumer;
  stream: MessagesStream<Buffer, Buffer, Buffer, Buffer>;
  topic: string;
}
const members = new Map<string, Member>();

async function joinGroup(command: JoinCommand): Promise<void> {
  const consumer = new Consumer({
    clientId: "rowlog-tests",
    bootstrapBrokers: [command.bootstrap],
    groupId: command.group,
    sessionTimeout: command.sessionMs ?? 6000,
    // It must not be below the session's.
    rebalanceTimeout: Math.max(10_000, command.sessionMs ?? 0),
    heartbeatInterval: 300,
    ...(command.instanceId === undefined ? {} : { groupInstanceId: command.instanceId }),
  });
  consumer.on("consumer:group:join", ({ assignments }) => {
    const mine = (assignments ?? []).find((assignment) => assignment.topic === command.topic);
    event("assignment", command.consumer, { partitions: [...(mine?.partitions ?? [])].sort() });
  });
  const stream = await consumer.consume({
    topics: [command.topic],
    mode: "committed",
    fallbackMode: "earliest",
    autocommit: false,
    maxWaitTime: 100,
  });
  stream.on("data", (message) => event("record", command.consumer, { record: lineOf(message) }));
  stream.on("error", (error) => event("error", command.consumer, { code: codeOf(error), message: `${error}` }));
  members.set(command.consumer, { consumer, stream, topic: command.topic });
}

await serve({
  hello: () => {
    const file = new URL("../../../node_modules/@platformatic/kafka/package.json", import.meta.url);
    return { client: "@platformatic/kafka", version: JSON.parse(readFileSync(file, "utf8")).version };
  },
  async produce({ bootstrap, clientId, topic, acks, codec, idempotent, records }) {
    const producer = new Producer({
      clientId: clientId ?? "rowlog-tests",
      bootstrapBrokers: [bootstrap],
      idempotent,
      retries: 5,
      retryDelay: 50,
    });
    try {
      const messages = records.map((record) => ({
        topic,
        ...(record.key === null ? {} : { key: decode(record.key) }),
        ...(record.value === null ? {} : { value: decode(record.value) }),
        ...(record.partition == null ? {} : { partition: record.partition }),
        ...(record.timestamp == null ? {} : { timestamp: BigInt(record.timestamp) }),
        headers: new Map(record.headers.map(([name, data]) => [Buffer.from(name), decode(data ?? "")])),
      }));
      const sent = {
        acks: { "0": 0, "1": 1, all: -1 }[acks],
        compression: codec,
        messages: messages as MessageToProduce[],
      };
      await producer.send(sent);
      // It answers one base offset a partition, which is not enough to tell each record's.
      return { offsets: records.map(() => null) };
    } catch (error) {
      throw new ClientError(codeOf(error), `${error}`);
    } finally {
      await producer.close(true);
    }
  },
  async consume({ bootstrap, topic, counts }) {
    const collector = new Collector(counts);
    const consumer = new Consumer({
      clientId: "rowlog-tests",
      bootstrapBrokers: [bootstrap],
      groupId: `rowlog-tests-${crypto.randomUUID()}`,
      maxBytes: 20_000_000,
    });
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false, maxWaitTime: 100 });
    stream.on("data", (message) => collector.add(lineOf(message)));
    try {
      return { records: await collector.done };
    } finally {
      await consumer.close(true);
    }
  },
  join: joinGroup,
  async commit({ consumer, offsets }) {
    const member = members.get(consumer);
    if (member === undefined) throw new Error(`no member ${consumer}`);
    const { topic } = member;
    const places = Object.entries(offsets).map(([partition, offset]) => ({
      topic,
      partition: Number(partition),
      offset: BigInt(offset),
      leaderEpoch: 0,
    }));
    await member.consumer.commit({ offsets: places });
    return undefined;
  },
  async leave({ consumer }) {
    await members.get(consumer)?.consumer.close(true);
    members.delete(consumer);
  },
});
