/** TopicService of the HTTP routes over a node's catalog, logs and produce path. */
import { errorName, KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Services } from "../broker/handler.ts";
import { produceBatch } from "../broker/produce_path.ts";
import type { TopicEntry } from "../catalog/catalog.ts";
import { describeTopicConfigs, validateTopicConfigs } from "../catalog/topic_configs.ts";
import type { PartitionLog } from "../log/log_store.ts";
import { partitionOfKey } from "../protocol/partitioner.ts";
import { decodeBatches } from "../protocol/records/decode.ts";
import { encodeBatch } from "../protocol/records/encode.ts";
import { RecordErrors } from "../protocol/records/record_errors.ts";
import type {
  RecordsAnswer,
  RecordToProduce,
  StoredRecord,
  TopicDetail,
  TopicService,
  TopicSummary,
} from "./services.ts";

type Node = Pick<Services, "catalog" | "topics" | "tables" | "clock" | "logger" | "config" | "metrics">;

const sources: Record<number, string> = { 1: "topic", 4: "node", 5: "default" };

/** Bytes that one read takes from the log at a time. */
const readBytes = 1024 * 1024;

/** Reads that wait for records end early once `stopping` is aborted, so that they do not hold up the end of the node. */
export function nodeTopics(node: Node, stopping: AbortSignal): TopicService {
  let nextKeyless = 0;
  return {
    list: () => [...node.catalog.topics()].map(summary),
    get(name) {
      const topic = node.catalog.topic(name);
      return topic && detail(node, topic);
    },
    async create({ name, partitions, configs }) {
      const topic = {
        name,
        partitions: partitions ?? node.config.numPartitions,
        configs: validateTopicConfigs(Object.entries(configs ?? {}), node.topics.defaultsOf()),
      };
      return detail(node, await node.catalog.createTopic(topic));
    },
    delete: (name) => node.topics.remove(existing(node, name)),
    async produce(name, records) {
      const topic = existing(node, name);
      if (topic.internal) throw new KafkaError("INVALID_TOPIC_EXCEPTION", `Cannot append to internal topic ${name}`);
      const keyless = nextKeyless++ % topic.partitions;
      const places = records.map(
        ({ partition, key }) => partition ?? (key === null ? keyless : partitionOfKey(key, topic.partitions)),
      );
      return await produce(node, topic, records, places);
    },
    read(name, { signal, ...options }) {
      const endings = signal ? [signal, stopping] : [stopping];
      return read(node, existing(node, name), { ...options, endings });
    },
  };
}

function existing(node: Node, name: string): TopicEntry {
  const topic = node.catalog.topic(name);
  if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `There is no topic '${name}'.`);
  return topic;
}

function summary({ name, id, partitions, internal, table }: TopicEntry): TopicSummary {
  return { name, id, partitions, internal, kind: table ? "table" : "plain" };
}

function detail(node: Node, topic: TopicEntry): TopicDetail {
  const logs = Array.from({ length: topic.partitions }, (_, partition) => node.topics.log(topic, partition));
  return {
    ...summary(topic),
    configs: describeTopicConfigs(topic.configs, null, { defaults: node.topics.defaultsOf(topic) }).map(
      ({ name, value, configSource }) => ({ name, value, source: sources[configSource] ?? "default" }),
    ),
    partition_details: logs.map((log) => ({
      partition: log.partition,
      log_start_offset: log.logStartOffset,
      high_watermark: log.highWatermark,
      log_end_offset: log.logEndOffset,
      size_bytes: log.sizeBytes(),
    })),
  };
}

async function produce(node: Node, topic: TopicEntry, records: readonly RecordToProduce[], places: number[]) {
  const now = node.clock.nowMs();
  const byPartition = new Map<number, number[]>();
  for (const [index, partition] of places.entries()) {
    const indexes = byPartition.get(partition);
    if (indexes) indexes.push(index);
    else byPartition.set(partition, [index]);
  }
  for (const partition of byPartition.keys()) node.topics.log(topic, partition);
  const answers: { partition: number; offset: number; timestampMs: number }[] = new Array(records.length);
  await Promise.all(
    [...byPartition].map(async ([partition, indexes]) => {
      const batch = encodeBatch(
        indexes.map((index) => {
          const { key, value, headers, timestampMs } = records[index]!;
          return { key, value, headers, timestamp: timestampMs ?? now };
        }),
        { timestamp: now },
      );
      const outcome = await produceBatch(node, topic, partition, batch);
      if (outcome.errorCode !== 0)
        throw refusal(outcome.errorCode, outcome.errorMessage, outcome.recordErrors, indexes);
      for (const [place, index] of indexes.entries()) {
        const timestampMs =
          outcome.logAppendTimeMs >= 0 ? outcome.logAppendTimeMs : (records[index]!.timestampMs ?? now);
        answers[index] = { partition, offset: outcome.baseOffset + place, timestampMs };
      }
    }),
  );
  return answers;
}

/** The failure with its records numbered as in the request. */
function refusal(
  code: number,
  message: string | null,
  faults: readonly { index: number; message: string }[],
  indexes: number[],
): KafkaError {
  const text = message ?? errorName(code);
  if (faults.length === 0) return new KafkaError(errorName(code), text);
  const renumbered = faults.map((fault) => ({ ...fault, index: indexes[fault.index] ?? fault.index }));
  return new RecordErrors(errorName(code), text, renumbered);
}

async function read(
  node: Node,
  topic: TopicEntry,
  options: { partition: number; offset: number; limit: number; waitMs: number; endings: readonly AbortSignal[] },
): Promise<RecordsAnswer> {
  const log = node.topics.log(topic, options.partition);
  const from = options.offset < 0 ? Math.max(log.logStartOffset, log.highWatermark + options.offset) : options.offset;
  let read = readRecords(log, from, options.limit);
  if (read.records.length === 0 && options.waitMs > 0) {
    await nextAdvance(node, log, options.waitMs, options.endings);
    read = readRecords(log, from, options.limit);
  }
  const { logStartOffset, highWatermark } = log;
  return { ...read, logStartOffset, highWatermark };
}

/** `nextOffset`: where to read on, which may lie behind offsets that compaction took away. */
function readRecords(log: PartitionLog, from: number, limit: number): { records: StoredRecord[]; nextOffset: number } {
  /** The first record that is left for another time. */
  let leftFrom: number | undefined;
  const records: StoredRecord[] = [];
  let next = from;
  let bytes = 0;
  while (records.length < limit && bytes < limits.httpReadBytesMax) {
    const chunks = log.read(next, { maxBytes: readBytes, minOneBatch: true, isolation: "highWatermark" });
    if (chunks.length === 0) break;
    const before = next;
    for (const chunk of chunks) {
      for (const batch of decodeBatches(chunk)) {
        next = batch.header.lastOffset + 1;
        if (batch.header.isControl) continue;
        for (const { offset, timestamp, key, value, headers } of batch) {
          if (offset < from) continue;
          if (records.length >= limit || bytes >= limits.httpReadBytesMax) {
            leftFrom ??= offset;
            continue;
          }
          bytes += (key?.length ?? 0) + (value?.length ?? 0);
          for (const header of headers) bytes += header.key.length + (header.value?.length ?? 0);
          records.push({
            partition: log.partition,
            offset,
            timestampMs: timestamp,
            key,
            value,
            headers: headers.map((header) => ({ key: header.key, value: header.value })),
          });
        }
      }
    }
    if (next <= before) break;
  }
  return { records, nextOffset: leftFrom ?? next };
}

/** Resolves when the log has grown, the time is over, or one of the signals is aborted. */
function nextAdvance(node: Node, log: PartitionLog, waitMs: number, endings: readonly AbortSignal[]): Promise<void> {
  if (endings.some((signal) => signal.aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stop();
      timer.cancel();
      for (const signal of endings) signal.removeEventListener("abort", done);
      resolve();
    };
    const stop = log.onAdvance(done);
    const timer = node.clock.setTimer(waitMs, done);
    for (const signal of endings) signal.addEventListener("abort", done);
  });
}
