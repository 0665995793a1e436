/**
 * Drives KafkaJS. It brings gzip only; snappy, lz4 and zstd are plugged in, as its users do.
 * It consumes only as a group member, so `consume` is a group of its own that commits nothing.
 */
import { readFileSync } from "node:fs";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { lz4Compress, lz4Decompress } from "@platformatic/wasm-utils";
import kafkajs from "kafkajs";
import snappyjs from "snappyjs";
import { ClientError, Collector, decode, encode, event, type JoinCommand, type RecordLine, serve } from "./protocol.ts";

const { CompressionCodecs, CompressionTypes, Kafka, logLevel, PartitionAssigners } = kafkajs;

interface Encoder {
  buffer: Buffer;
}

function plugIn(type: number, compress: (data: Buffer) => Uint8Array, decompress: (data: Buffer) => Uint8Array): void {
  (CompressionCodecs as Record<number, unknown>)[type] = () => ({
    compress: async (encoder: Encoder) => Buffer.from(compress(encoder.buffer)),
    decompress: async (buffer: Buffer) => Buffer.from(decompress(buffer)),
  });
}

const xerialMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);

/** Reads snappy both raw and in the framing of snappy-java: magic, two versions, then blocks behind their lengths. */
function snappyDecompress(data: Buffer): Uint8Array {
  if (!data.subarray(0, 8).equals(xerialMagic)) return snappyjs.uncompress(data);
  const blocks: Uint8Array[] = [];
  for (let at = 16; at < data.length; ) {
    const length = data.readInt32BE(at);
    blocks.push(snappyjs.uncompress(data.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return Buffer.concat(blocks);
}

plugIn(CompressionTypes.Snappy, (data) => snappyjs.compress(data), snappyDecompress);
plugIn(CompressionTypes.LZ4, lz4Compress, lz4Decompress);
plugIn(
  CompressionTypes.ZSTD,
  (data) => zstdCompressSync(data),
  (data) => zstdDecompressSync(data),
);

function client(bootstrap: string, clientId = "rowlog-tests"): kafkajs.Kafka {
  return new Kafka({
    clientId,
    brokers: [bootstrap],
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, retries: 8 },
  });
}

function codeOf(error: unknown): number {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    if (typeof code === "number") return code;
  }
  return -1;
}

type Headers = Record<string, Buffer | (Buffer | string)[]>;

/** Its headers are an object: a repeated name becomes a list, and it has no way to say a null value. */
function headersOf(record: RecordLine): Headers {
  const headers: Record<string, Buffer[]> = {};
  for (const [name, data] of record.headers) {
    headers[name] ??= [];
    headers[name].push(decode(data ?? "") as Buffer);
  }
  return Object.fromEntries(
    Object.entries(headers).map(([name, list]) => [name, list.length === 1 ? (list[0] as Buffer) : list]),
  );
}

function lineOf(partition: number, message: kafkajs.KafkaMessage): RecordLine {
  const headers: [string, string | null][] = [];
  for (const [name, data] of Object.entries(message.headers ?? {})) {
    for (const one of Array.isArray(data) ? data : [data])
      headers.push([name, one === undefined ? null : encode(Buffer.from(one))]);
  }
  const { offset, key, value, timestamp } = message;
  return {
    partition,
    offset: Number(offset),
    key: encode(key),
    value: encode(value),
    headers,
    timestamp: Number(timestamp),
  };
}

const members = new Map<string, { consumer: kafkajs.Consumer; topic: string }>();

async function joinGroup(command: JoinCommand): Promise<void> {
  const consumer = client(command.bootstrap).consumer({
    groupId: command.group,
    partitionAssigners: [PartitionAssigners.roundRobin],
    sessionTimeout: command.sessionMs ?? 6000,
    rebalanceTimeout: 10_000,
    heartbeatInterval: 300,
    maxWaitTimeInMs: 100,
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    event("assignment", command.consumer, { partitions: [...(payload.memberAssignment[command.topic] ?? [])].sort() });
  });
  members.set(command.consumer, { consumer, topic: command.topic });
  await consumer.connect();
  await consumer.subscribe({ topics: [command.topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) =>
      event("record", command.consumer, { record: lineOf(partition, message) }),
  });
}

await serve({
  hello: () => {
    const { version } = JSON.parse(
      readFileSync(new URL("../../../node_modules/kafkajs/package.json", import.meta.url), "utf8"),
    );
    return { client: "KafkaJS", version };
  },
  async produce({ bootstrap, clientId, topic, acks, codec, idempotent, records }) {
    const producer = client(bootstrap, clientId).producer({
      idempotent,
      maxInFlightRequests: 1,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    try {
      const types = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy };
      const compression = { ...types, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD }[codec];
      const messages = records.map((record) => ({
        key: decode(record.key),
        value: decode(record.value),
        headers: headersOf(record),
        ...(record.partition == null ? {} : { partition: record.partition }),
        ...(record.timestamp == null ? {} : { timestamp: `${record.timestamp}` }),
      }));
      await producer.send({ topic, acks: { "0": 0, "1": 1, all: -1 }[acks], compression, messages });
      // It answers one base offset a partition, which is not enough to tell each record's.
      return { offsets: records.map(() => null) };
    } catch (error) {
      throw new ClientError(codeOf(error), `${error}`);
    } finally {
      await producer.disconnect();
    }
  },
  async consume({ bootstrap, topic, counts }) {
    const collector = new Collector(counts);
    const consumer = client(bootstrap).consumer({
      groupId: `rowlog-tests-${crypto.randomUUID()}`,
      maxWaitTimeInMs: 100,
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => collector.add(lineOf(partition, message)),
    });
    try {
      return { records: await collector.done };
    } finally {
      await consumer.disconnect();
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
      offset: `${offset}`,
    }));
    await member.consumer.commitOffsets(places);
    return undefined;
  },
  async leave({ consumer }) {
    await members.get(consumer)?.consumer.disconnect();
    members.delete(consumer);
  },
});
