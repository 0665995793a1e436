/**
 * Every topic config of Apache Kafka 4.4 with its type, default and rule, in ascending order of name. Those that concern
 * replicas, remote storage or share groups are stored and shown, and have no effect on a single node.
 */
import type { ConfigDefinition } from "./config_definition.ts";

const longMax = "9223372036854775807";
const throttled = (name: string): ConfigDefinition => ({
  name,
  type: "list",
  default: "",
  fault: (value) =>
    value === "" || value === "*" || /^\d+:\d+(,\d+:\d+)*$/.test(value)
      ? undefined
      : `${name} must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...`,
  documentation: "Replicas whose replication is throttled. No effect on a single node.",
});

/** A row whose broker setting is always shown as a synonym. */
const row = (
  name: string,
  type: ConfigDefinition["type"],
  byDefault: string,
  brokerName: string | undefined,
  documentation: string,
  rule: Pick<ConfigDefinition, "min" | "max" | "oneOf" | "fault"> = {},
): ConfigDefinition => ({
  name,
  type,
  default: byDefault,
  ...(brokerName !== undefined && { brokerName, brokerDefaultShown: true }),
  documentation,
  ...rule,
});

export const topicConfigTable: readonly ConfigDefinition[] = [
  row(
    "cleanup.policy",
    "list",
    "delete",
    "log.cleanup.policy",
    "What becomes of old records: delete drops whole segments by age and size, compact keeps the last record of each key. Both may be given.",
    { oneOf: ["compact", "delete"] },
  ),
  row(
    "compression.gzip.level",
    "int",
    "-1",
    "compression.gzip.level",
    "Level for compression.type gzip; -1 is the codec's default.",
    {
      fault: (value) =>
        value === "-1" || (Number(value) >= 1 && Number(value) <= 9)
          ? undefined
          : "Value must be between 1 and 9 or equal to -1",
    },
  ),
  row(
    "compression.lz4.level",
    "int",
    "9",
    "compression.lz4.level",
    "Level for compression.type lz4. No effect: lz4 has one level here.",
    {
      min: 1,
      max: 17,
    },
  ),
  row(
    "compression.type",
    "string",
    "producer",
    "compression.type",
    "Codec of stored batches; producer keeps each batch as it was sent, uncompressed stores it plain.",
    { oneOf: ["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"] },
  ),
  row("compression.zstd.level", "int", "3", "compression.zstd.level", "Level for compression.type zstd.", {
    min: -131_072,
    max: 22,
  }),
  row(
    "delete.retention.ms",
    "long",
    "86400000",
    "log.cleaner.delete.retention.ms",
    "How long compaction keeps the record that deletes a key.",
    { min: 0 },
  ),
  row(
    "errors.deadletterqueue.group.enable",
    "boolean",
    "false",
    undefined,
    "Share groups may write records here that nobody could process. No effect: there are no share groups.",
  ),
  row(
    "file.delete.delay.ms",
    "long",
    "60000",
    "log.segment.delete.delay.ms",
    "Time between dropping a segment and removing its file. No effect: nothing reads a dropped file, so it goes at once.",
    {
      min: 0,
    },
  ),
  row(
    "flush.messages",
    "long",
    longMax,
    "log.flush.interval.messages",
    "Records after which the log is synced. No effect: --durability decides, and sync is before every answer.",
    { min: 1 },
  ),
  {
    name: "flush.ms",
    type: "long",
    default: longMax,
    min: 0,
    brokerName: "log.flush.interval.ms",
    documentation:
      "Time after which the log is synced. No effect: --durability decides, and sync is before every answer.",
  },
  throttled("follower.replication.throttled.replicas"),
  row(
    "index.interval.bytes",
    "int",
    "4096",
    "log.index.interval.bytes",
    "Log bytes between two entries of the offset index.",
    { min: 0 },
  ),
  throttled("leader.replication.throttled.replicas"),
  row(
    "local.retention.bytes",
    "long",
    "-2",
    "log.local.retention.bytes",
    "Size of the local part of a log with remote storage. No effect.",
    {
      min: -2,
    },
  ),
  row(
    "local.retention.ms",
    "long",
    "-2",
    "log.local.retention.ms",
    "Age of the local part of a log with remote storage. No effect.",
    {
      min: -2,
    },
  ),
  row(
    "max.compaction.lag.ms",
    "long",
    longMax,
    "log.cleaner.max.compaction.lag.ms",
    "Longest time that a record may wait for compaction.",
    {
      min: 1,
    },
  ),
  row(
    "max.decompressed.message.bytes",
    "int",
    "2147483639",
    "max.decompressed.message.bytes",
    "Largest single record that is accepted in a compressed batch, decompressed, in bytes.",
    { min: 1, max: 2_147_483_639 },
  ),
  row(
    "max.message.bytes",
    "int",
    "1048588",
    "message.max.bytes",
    "Largest record batch that is accepted, as it was sent, in bytes.",
    {
      min: 0,
    },
  ),
  row(
    "message.timestamp.after.max.ms",
    "long",
    "3600000",
    "log.message.timestamp.after.max.ms",
    "How far a record's timestamp may lie in the future; counts with CreateTime only.",
    { min: 0 },
  ),
  row(
    "message.timestamp.before.max.ms",
    "long",
    longMax,
    "log.message.timestamp.before.max.ms",
    "How far a record's timestamp may lie in the past; counts with CreateTime only.",
    { min: 0 },
  ),
  row(
    "message.timestamp.type",
    "string",
    "CreateTime",
    "log.message.timestamp.type",
    "CreateTime keeps the producer's timestamps, LogAppendTime replaces them with the time of the append.",
    { oneOf: ["CreateTime", "LogAppendTime"] },
  ),
  row(
    "min.cleanable.dirty.ratio",
    "double",
    "0.5",
    "log.cleaner.min.cleanable.ratio",
    "Share of a log that has not been compacted, from which on it is.",
    { min: 0, max: 1 },
  ),
  row(
    "min.compaction.lag.ms",
    "long",
    "0",
    "log.cleaner.min.compaction.lag.ms",
    "Shortest time that a record stays as it is.",
    { min: 0 },
  ),
  row(
    "min.insync.replicas",
    "int",
    "1",
    "min.insync.replicas",
    "Replicas that must have a record before acks=all is answered, of those that a topic has: one, on a single node. No effect.",
    { min: 1 },
  ),
  row("preallocate", "boolean", "false", "log.preallocate", "Reserve the file space of a new segment. No effect."),
  row(
    "remote.copy.lag.bytes",
    "long",
    "-1",
    "log.remote.copy.lag.bytes",
    "When a segment goes to remote storage, by size. No effect.",
    {
      min: -1,
    },
  ),
  row(
    "remote.copy.lag.ms",
    "long",
    "0",
    "log.remote.copy.lag.ms",
    "When a segment goes to remote storage, by age. No effect.",
    { min: -1 },
  ),
  row("remote.log.copy.disable", "boolean", "false", undefined, "Stop copying segments to remote storage. No effect."),
  row(
    "remote.log.delete.on.disable",
    "boolean",
    "false",
    undefined,
    "Delete remote segments when remote storage ends. No effect.",
  ),
  row(
    "remote.storage.enable",
    "boolean",
    "false",
    undefined,
    "Keep old segments in remote storage. There is none: true is refused.",
  ),
  row(
    "retention.bytes",
    "long",
    "-1",
    "log.retention.bytes",
    "Size of a partition's log from which on old segments are dropped; -1 is no limit.",
  ),
  {
    name: "retention.ms",
    type: "long",
    default: "604800000",
    min: -1,
    brokerName: "log.retention.ms",
    documentation: "Age from which on records are dropped, a segment at a time; -1 keeps them for ever.",
  },
  row(
    "segment.bytes",
    "int",
    "1073741824",
    "log.segment.bytes",
    "Size at which a segment file ends and the next begins.",
    { min: 1_048_576 },
  ),
  row(
    "segment.index.bytes",
    "int",
    "10485760",
    "log.index.size.max.bytes",
    "Largest index file; a full one ends its segment.",
    { min: 4 },
  ),
  {
    name: "segment.jitter.ms",
    type: "long",
    default: "0",
    min: 0,
    brokerName: "log.roll.jitter.ms",
    documentation: "Largest random time by which a segment ends early.",
  },
  {
    name: "segment.ms",
    type: "long",
    default: "604800000",
    min: 1,
    brokerName: "log.roll.ms",
    documentation: "Time after which a segment ends even if it is not full.",
  },
  row(
    "unclean.leader.election.enable",
    "boolean",
    "false",
    "unclean.leader.election.enable",
    "A replica that lags may become leader. No effect on a single node.",
  ),
];
