/**
 * Everything that the HTTP routes need of a node. The routes see only this, so they are tested against small fakes and the
 * node is free behind it. Failures arrive as SqlError or KafkaError and are turned into problem documents in one place.
 */
import type { MetricsRegistry } from "../base/metrics.ts";

export interface HttpServices {
  node: NodeFacts;
  sql: SqlService;
  topics: TopicService;
  tables: TableService;
  groups: GroupService;
  metrics: MetricsRegistry;
  /** Absent where there are no files to copy. */
  backup?: BackupService;
  /** What keeps the node from being ready, by part; empty when it is. */
  notReady(): ReadinessReason[] | Promise<ReadinessReason[]>;
  /** Free and total bytes of the lake's file system. */
  storage(): { freeBytes: number; totalBytes: number };
}

export interface BackupService {
  make(): Promise<BackupContents>;
  remove(): void;
}

/** Names as in the HTTP answer. Paths of files are relative to `directory`. */
export interface BackupContents {
  directory: string;
  cluster_id: string;
  partitions: { topic: string; partition: number; start_offset: number; end_offset: number }[];
  files: { path: string; bytes: number }[];
}

export interface NodeFacts {
  version: string;
  clusterId: string;
  /** The address that Kafka clients are told. */
  kafkaAddress: string;
  startedAtMs: number;
}

export interface ReadinessReason {
  part: string;
  reason: string;
}

/** A value bound to a placeholder. Whole numbers outside the safe range arrive as bigint. */
export type SqlParameter = null | boolean | number | bigint | string;

export interface SqlOptions {
  /** By position (`?`, `$1`) or by name (`$name`). */
  params?: readonly SqlParameter[] | Readonly<Record<string, SqlParameter>>;
  timeoutMs?: number;
  /** What will be read of the answer: `rows()` unless this says `arrow`. */
  form?: "json" | "arrow";
  /** Aborted when nobody waits for the answer any more. */
  signal?: AbortSignal;
  /** What COPY … FROM STDIN reads. */
  data?: string;
  /** Of `SqlService.sessions`; absent: transactions end with the text. */
  session?: string;
}

export interface SqlService {
  sessions: {
    /** Milliseconds after which a transaction is rolled back in which nothing happens. */
    idleMs: number;
    /** The id of a new session. Throws SqlError 53300. */
    open(): string;
    /** Throws SqlError 08003 when there is no such session. */
    close(id: string): Promise<void>;
  };
  /** Runs all statements; the answer is that of the last one. Throws SqlError. */
  execute(sql: string, options: SqlOptions): Promise<SqlAnswer>;
}

export interface SqlAnswer {
  columns: readonly { name: string; type: string }[];
  /** Chunks of rows; each row is the text of one JSON array, its cells by the one rule of row JSON. Read once. */
  rows(): AsyncIterable<readonly string[]>;
  /** The same rows as an Arrow IPC stream, instead of `rows()`. */
  arrow(): AsyncIterable<Uint8Array>;
  /** Of a statement that wrote, and of COMMIT: where the records are. */
  written?: readonly { topic: string; partition: number; base_offset: number; records: number }[];
  /** Drops what was not read. Safe to call twice. */
  close(): void;
}

export interface TopicSummary {
  name: string;
  id: string;
  partitions: number;
  internal: boolean;
  kind: "plain" | "table";
}

export interface TopicDetail extends TopicSummary {
  configs: { name: string; value: string | null; source: string }[];
  partition_details: PartitionDetail[];
}

export interface PartitionDetail {
  partition: number;
  log_start_offset: number;
  high_watermark: number;
  log_end_offset: number;
  size_bytes: number;
}

export interface NewTopic {
  name: string;
  /** Absent: the node's default. */
  partitions?: number;
  configs?: Record<string, string>;
}

export interface RecordToProduce {
  /** Absent: chosen from the key as Kafka's default partitioner does, or spread when there is no key. */
  partition?: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: { key: string; value: Uint8Array | null }[];
  /** Milliseconds since 1970; absent: now. */
  timestampMs?: number;
}

export interface StoredRecord {
  partition: number;
  offset: number;
  timestampMs: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: { key: string; value: Uint8Array | null }[];
}

export interface RecordsAnswer {
  records: StoredRecord[];
  /** Where to read on. */
  nextOffset: number;
  logStartOffset: number;
  highWatermark: number;
}

export interface TopicService {
  list(): TopicSummary[];
  /** Undefined when there is no such topic. */
  get(name: string): TopicDetail | undefined;
  /** Resolves when the topic exists durably. Throws KafkaError. */
  create(topic: NewTopic): Promise<TopicDetail>;
  delete(name: string): Promise<void>;
  /** All records or none of a partition; resolves with their places, in order, when they are durable. Throws KafkaError. */
  produce(
    topic: string,
    records: readonly RecordToProduce[],
  ): Promise<{ partition: number; offset: number; timestampMs: number }[]>;
  /**
   * Up to `limit` records from `offset` on (negative: from the end, as in "the last n"). Waits up to `waitMs` for the
   * first one. Throws KafkaError.
   */
  read(
    topic: string,
    options: { partition: number; offset: number; limit: number; waitMs: number; signal?: AbortSignal },
  ): Promise<RecordsAnswer>;
}

export interface TableSummary {
  name: string;
  schema: string;
  topic: string;
  partitions: number;
  /** True when `_value` takes the record as it is and nothing interprets it. */
  raw: boolean;
  /** PRIMARY KEY columns in the key's order; null for a table without a key. */
  key: string[] | null;
  columns: { name: string; type: string; not_null: boolean; default: string | null }[];
  /** The statement that made it. */
  sql: string;
}

export interface TableService {
  list(): TableSummary[];
  /** By topic name, or by table name where that is another. */
  get(name: string): TableSummary | undefined;
}

export interface GroupSummary {
  group_id: string;
  state: string;
  protocol_type: string;
  members: number;
}

export interface GroupDetail extends Omit<GroupSummary, "members"> {
  protocol: string;
  members: {
    member_id: string;
    instance_id: string | null;
    client_id: string;
    host: string;
    assignments: { topic: string; partitions: number[] }[];
  }[];
  offsets: {
    topic: string;
    partition: number;
    committed_offset: number;
    log_end_offset: number | null;
    lag: number | null;
    metadata: string | null;
  }[];
  total_lag: number;
}

export interface GroupService {
  list(): GroupSummary[] | Promise<GroupSummary[]>;
  get(id: string): GroupDetail | undefined | Promise<GroupDetail | undefined>;
}
