/** A small working stand-in for a node: topics are arrays, SQL answers are given by the test. */
import { KafkaError } from "../../src/base/kafka_error.ts";
import { MetricsRegistry } from "../../src/base/metrics.ts";
import type {
  GroupDetail,
  HttpServices,
  SqlAnswer,
  SqlOptions,
  StoredRecord,
  TableSummary,
  TopicDetail,
} from "../../src/http/services.ts";

export interface FakeNode extends HttpServices {
  executed: { sql: string; options: SqlOptions }[];
  closed: number;
  answer: (sql: string) => SqlAnswer | Promise<SqlAnswer>;
  reasons: { part: string; reason: string }[];
  tableList: TableSummary[];
  groupList: GroupDetail[];
  logs: Map<string, StoredRecord[][]>;
}

export function fakeAnswer(
  node: { closed: number },
  columns: { name: string; type: string }[],
  chunks: string[][],
  failure?: Error,
): SqlAnswer {
  return {
    columns,
    async *rows() {
      yield* chunks;
      if (failure) throw failure;
    },
    async *arrow() {
      yield new Uint8Array([1, 2, 3]);
      if (failure) throw failure;
    },
    close: () => {
      node.closed++;
    },
  };
}

export function fakeNode(): FakeNode {
  const logs = new Map<string, StoredRecord[][]>();
  const node: FakeNode = {
    node: { version: "1.2.3", clusterId: "cluster", kafkaAddress: "127.0.0.1:9092", startedAtMs: Date.now() - 5_000 },
    executed: [],
    closed: 0,
    reasons: [],
    tableList: [],
    groupList: [],
    logs,
    answer: () => fakeAnswer(node, [], []),
    sql: {
      sessions: { idleMs: 10_000, open: () => "session", close: async () => undefined },
      async execute(sql, options) {
        node.executed.push({ sql, options });
        return node.answer(sql);
      },
    },
    tables: { list: () => node.tableList, get: (name) => node.tableList.find((table) => table.name === name) },
    groups: {
      list: () => node.groupList.map((group) => ({ ...group, members: group.members.length })),
      get: (id) => node.groupList.find((group) => group.group_id === id),
    },
    metrics: new MetricsRegistry(),
    notReady: () => node.reasons,
    storage: () => ({ freeBytes: 10, totalBytes: 20 }),
    topics: {
      list: () => [...logs.keys()].map((name) => summary(name)),
      get: (name) => (logs.has(name) ? detail(name) : undefined),
      async create({ name, partitions = 1 }) {
        if (logs.has(name)) throw new KafkaError("TOPIC_ALREADY_EXISTS", `topic "${name}" exists already`);
        logs.set(
          name,
          Array.from({ length: partitions }, () => []),
        );
        return detail(name);
      },
      async delete(name) {
        logs.delete(name);
      },
      async produce(topic, records) {
        const partitions = partitionsOf(topic);
        return records.map((record) => {
          const log = partitions[record.partition ?? 0] as StoredRecord[];
          const place = { partition: record.partition ?? 0, offset: log.length, timestampMs: record.timestampMs ?? 7 };
          log.push({ ...place, key: record.key, value: record.value, headers: record.headers });
          return place;
        });
      },
      async read(topic, { partition, offset, limit }) {
        const log = partitionsOf(topic)[partition];
        if (!log) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", "no such partition");
        const records = log.slice(offset, offset + limit);
        return { records, nextOffset: offset + records.length, logStartOffset: 0, highWatermark: log.length };
      },
    },
  };
  const partitionsOf = (topic: string) => {
    const partitions = logs.get(topic);
    if (!partitions) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `there is no topic "${topic}"`);
    return partitions;
  };
  const summary = (name: string) => ({
    name,
    id: `id-of-${name}`,
    partitions: partitionsOf(name).length,
    internal: false,
    kind: "plain" as const,
  });
  const detail = (name: string): TopicDetail => ({
    ...summary(name),
    configs: [{ name: "retention.ms", value: "604800000", source: "DEFAULT_CONFIG" }],
    partition_details: partitionsOf(name).map((log, partition) => ({
      partition,
      log_start_offset: 0,
      high_watermark: log.length,
      log_end_offset: log.length,
      size_bytes: log.length * 10,
    })),
  });
  return node;
}
