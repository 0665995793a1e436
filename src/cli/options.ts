/**
 * Every option of a node, once. The flags of `serve`, its `--help`, the `ROWLOG_…` variables, the keys of `--config FILE`
 * and docs/reference/config.md all come from this table, so they cannot disagree.
 * The flag is the entry's name in kebab case without its unit's suffix where the value carries the unit (`flag` says so).
 */

import { limits } from "../base/limits.ts";
import type { OptionKind } from "./option_types.ts";
import * as kind from "./option_types.ts";

export type { Address } from "./option_types.ts";

export interface NodeOption<T> {
  /** Long flag without dashes; the file key is the same, the variable is `ROWLOG_` + upper case with `_`. */
  flag: string;
  kind: OptionKind<T>;
  default: T;
  /** Shown instead of the default's own text, when the default is worked out at start. */
  defaultText?: string;
  description: string;
  /** Variables of other products that mean the same; the first that is set wins, after our own. */
  environmentAliases?: readonly Alias[];
  /** Other file keys that mean the same (Kafka's names). */
  fileAliases?: readonly Alias[];
}

export interface Alias {
  name: string;
  /** Turns that product's value into ours, where the unit or form differs. */
  convert?: (text: string) => string;
}

const option = <T>(definition: NodeOption<T>): NodeOption<T> => definition;

/** `CONTROLLER://a:1,PLAINTEXT://b:2`: we have one listener, so the plain one counts, or else the first that is no controller's. */
function firstListener(text: string): string {
  const listeners = text.split(",").map((listener) => listener.trim());
  const plain = listeners.find((listener) => listener.startsWith("PLAINTEXT://"));
  return plain ?? listeners.find((listener) => !listener.startsWith("CONTROLLER://")) ?? text;
}

export const nodeOptions = {
  lake: option<string>({
    flag: "lake",
    kind: kind.path("LAKE"),
    default: "lake",
    description:
      "Folder that holds everything the node keeps: logs, tables, catalog. One process at a time may use it.",
  }),
  kafka: option({
    flag: "kafka",
    kind: kind.address,
    default: { host: "127.0.0.1", port: 9092 },
    description: "Where Kafka clients connect.",
    environmentAliases: [{ name: "KAFKA_LISTENERS", convert: firstListener }, { name: "LISTENER_URL" }],
    fileAliases: [{ name: "listeners", convert: firstListener }],
  }),
  kafkaAdvertise: option<kind.Address | undefined>({
    flag: "kafka-advertise",
    kind: kind.dialableAddress,
    default: undefined,
    defaultText: "the address by which each client reached the node",
    description:
      "Address that Kafka clients are told to use, when it is not the one they first connect to (a mapped container port, a proxy).",
    environmentAliases: [
      { name: "KAFKA_ADVERTISED_LISTENERS", convert: firstListener },
      { name: "ADVERTISED_LISTENER_URL" },
    ],
    fileAliases: [{ name: "advertised.listeners", convert: firstListener }],
  }),
  http: option({
    flag: "http",
    kind: { ...kind.address, placeholder: "ADDR:PORT" },
    default: { host: "127.0.0.1", port: 8080 },
    description: "Where the HTTP API answers (SQL, topics, health, metrics).",
  }),
  durability: option({
    flag: "durability",
    kind: kind.choice("sync", "os"),
    default: "sync" as "sync" | "os",
    description:
      "`sync`: a produce is answered after its data is on the disk. `os`: after the operating system has it, as Apache Kafka does; a power failure may lose the last seconds.",
  }),
  retainSecs: option({
    flag: "retain-secs",
    kind: kind.durationIn("s", { unlimited: true }),
    default: 604_800,
    description:
      "How long records stay in a topic's log, where the topic sets no `retention.ms`. A table's rows stay until they are deleted.",
    environmentAliases: [{ name: "KAFKA_LOG_RETENTION_MS", convert: secondsOfMs }],
    fileAliases: [
      { name: "log.retention.ms", convert: secondsOfMs },
      { name: "log.retention.minutes", convert: (text) => scaled(text, 60) },
      { name: "log.retention.hours", convert: (text) => scaled(text, 3_600) },
    ],
  }),
  changelogSecs: option<number | undefined>({
    flag: "changelog-secs",
    kind: kind.optional(kind.durationIn("s", { unlimited: true })),
    default: undefined,
    defaultText: "the same as --retain-secs",
    description: "How long records stay in the log of a table, where the table's topic sets no `retention.ms`.",
  }),
  logCleaner: option<boolean>({
    flag: "log-cleaner",
    kind: kind.toggle,
    default: true,
    description: "Compact the logs of topics with `cleanup.policy=compact`.",
    environmentAliases: [{ name: "KAFKA_LOG_CLEANER_ENABLE" }],
    fileAliases: [{ name: "log.cleaner.enable" }],
  }),
  logCleanerBackoffMs: option({
    flag: "log-cleaner-backoff-ms",
    kind: kind.durationIn("ms"),
    default: limits.cleanerBackoffMs,
    description: "Pause between two searches for logs to compact.",
    environmentAliases: [{ name: "KAFKA_LOG_CLEANER_BACKOFF_MS" }],
    fileAliases: [{ name: "log.cleaner.backoff.ms" }],
  }),
  logCleanerMemoryBytes: option({
    flag: "log-cleaner-memory",
    kind: kind.sizeBetween(64 * 1024, 1024 ** 3),
    default: limits.cleanerMapBytesMax,
    description: "Memory for the keys of one compaction, 24 bytes a key; with more keys it takes several passes.",
    environmentAliases: [{ name: "KAFKA_LOG_CLEANER_DEDUPE_BUFFER_SIZE" }],
    fileAliases: [{ name: "log.cleaner.dedupe.buffer.size" }],
  }),
  logCleanerRateBytes: option({
    flag: "log-cleaner-rate",
    kind: kind.sizeBetween(64 * 1024, 1024 ** 4),
    default: limits.cleanerBytesPerSecondMax,
    description: "Bytes that compaction may read and write in a second.",
    environmentAliases: [{ name: "KAFKA_LOG_CLEANER_IO_MAX_BYTES_PER_SECOND", convert: rate }],
    fileAliases: [{ name: "log.cleaner.io.max.bytes.per.second", convert: rate }],
  }),
  autoCreateTopics: option<boolean>({
    flag: "auto-create-topics",
    kind: kind.toggle,
    default: false,
    description: "Create a plain topic when a client produces to, or asks for, one that does not exist.",
    environmentAliases: [{ name: "KAFKA_AUTO_CREATE_TOPICS_ENABLE" }],
    fileAliases: [{ name: "auto.create.topics.enable" }],
  }),
  numPartitions: option({
    flag: "num-partitions",
    kind: kind.integer(1, 10_000),
    default: 1,
    description: "Partitions of a topic created without a number.",
    environmentAliases: [{ name: "KAFKA_NUM_PARTITIONS" }],
  }),
  sqlTimeoutMs: option({
    flag: "sql-timeout",
    kind: kind.duration,
    default: 300_000,
    description: "Longest run of one SQL statement; a request may ask for less.",
  }),
  sqlIdleTimeoutMs: option({
    flag: "sql-idle-timeout",
    kind: kind.duration,
    default: 10_000,
    description:
      "Time after which a SQL transaction is rolled back in which nothing happens; it may hold up producers.",
  }),
  sqlMemoryLimitBytes: option({
    flag: "sql-memory-limit",
    kind: kind.sizeBetween(64 * 1024 ** 2, 4 * 1024 ** 3),
    default: 1536 * 1024 * 1024,
    description: "Memory that DuckDB may use (at most 4 GiB in WebAssembly).",
  }),
  sqlStorageCompression: option({
    flag: "sql-storage-compression",
    kind: kind.choice("none", "auto"),
    default: "none" as "none" | "auto",
    description:
      "How DuckDB stores rows: none takes them in fastest, auto makes files about half as large for twice the processor time.",
  }),
  offsetsRetentionMinutes: option({
    flag: "offsets-retention-minutes",
    kind: kind.durationIn("m"),
    default: 10_080,
    description: "How long the committed offsets of a group without members are kept.",
    environmentAliases: [{ name: "KAFKA_OFFSETS_RETENTION_MINUTES" }],
  }),
  groupInitialRebalanceDelayMs: option({
    flag: "group-initial-rebalance-delay-ms",
    kind: kind.durationIn("ms"),
    default: 0,
    description: "How long a new consumer group waits for more members before its first assignment.",
    environmentAliases: [{ name: "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS" }],
  }),
  groupMinSessionTimeoutMs: option({
    flag: "group-min-session-timeout-ms",
    kind: kind.durationIn("ms"),
    default: 6_000,
    description: "Shortest session timeout that a group member may ask for.",
    environmentAliases: [{ name: "KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS" }],
  }),
  groupMaxSessionTimeoutMs: option({
    flag: "group-max-session-timeout-ms",
    kind: kind.durationIn("ms"),
    default: 1_800_000,
    description: "Longest session timeout that a group member may ask for.",
    environmentAliases: [{ name: "KAFKA_GROUP_MAX_SESSION_TIMEOUT_MS" }],
  }),
  logFormat: option<"text" | "json" | undefined>({
    flag: "log-format",
    kind: kind.optional(kind.choice("text", "json")),
    default: undefined,
    defaultText: "`text` on a terminal, otherwise `json`",
    description: "Form of the node's own log lines on standard output.",
  }),
  logLevel: option({
    flag: "log-level",
    kind: kind.choice("debug", "info", "warn", "error"),
    default: "info" as "debug" | "info" | "warn" | "error",
    description: "Least important log line that is written.",
    environmentAliases: [{ name: "LOG_LEVEL", convert: levelWord }],
  }),
  shutdownTimeoutMs: option({
    flag: "shutdown-timeout",
    kind: kind.duration,
    default: 30_000,
    description: "After SIGTERM or Ctrl-C, how long open requests may take before they are cut off.",
  }),
} as const;

export type NodeOptionName = keyof typeof nodeOptions;

/** The typed result; each field's unit stands in its name. */
export type NodeConfig = {
  -readonly [K in NodeOptionName]: (typeof nodeOptions)[K] extends NodeOption<infer T> ? T : never;
};

export const nodeOptionEntries = Object.entries(nodeOptions) as [NodeOptionName, NodeOption<unknown>][];

export function environmentName(flag: string): string {
  return `ROWLOG_${flag.replaceAll("-", "_").toUpperCase()}`;
}

function secondsOfMs(text: string): string {
  return scaled(text, 1 / 1000);
}

/** Kafka's default is the largest double, written so. */
function rate(text: string): string {
  const number = Number(text);
  return Number.isFinite(number) ? String(Math.round(Math.min(number, 1024 ** 4))) : text;
}

/** Whole seconds of a number in another unit; -1 (no limit) stays. Text that is no number is left for the parser to refuse. */
function scaled(text: string, seconds: number): string {
  if (!/^-?\d+$/.test(text.trim())) return text;
  const amount = Number(text);
  return amount < 0 ? "-1" : String(Math.ceil(amount * seconds));
}

/** Other programs write WARNING, TRACE or FATAL; ours has four levels. */
function levelWord(text: string): string {
  const word = text.trim().toLowerCase();
  return { warning: "warn", trace: "debug", fatal: "error", critical: "error" }[word] ?? word;
}
