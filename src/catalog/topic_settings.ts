/** What follows from a topic's configs for those who append, check and clean: typed values, worked out once per entry. */
import { defaultLogConfig, type LogConfig } from "../log/log_config.ts";

export interface TopicSettings {
  log: LogConfig;
}

const codecs: Record<string, LogConfig["compressionType"]> = {
  producer: "producer",
  uncompressed: 0,
  gzip: 1,
  snappy: 2,
  lz4: 3,
  zstd: 4,
};

/** `configs`: what is set on the topic; `defaults`: the node's. Both hold valid values (topic_configs.ts checks them). */
export function topicSettings(
  configs: ReadonlyMap<string, string>,
  defaults: ReadonlyMap<string, string> = new Map(),
): TopicSettings {
  const text = (name: string) => configs.get(name) ?? defaults.get(name);
  const number = (name: string, byDefault: number) => {
    const value = text(name);
    return value === undefined ? byDefault : Math.min(Number(value), Number.MAX_SAFE_INTEGER);
  };
  const byDefault = defaultLogConfig;
  const policies = (text("cleanup.policy") ?? "delete").split(",").map((policy) => policy.trim());
  return {
    log: {
      deleteOld: policies.includes("delete"),
      compacted: policies.includes("compact"),
      retentionMs: number("retention.ms", byDefault.retentionMs),
      retentionBytes: number("retention.bytes", byDefault.retentionBytes),
      segmentBytes: number("segment.bytes", byDefault.segmentBytes),
      segmentMs: number("segment.ms", byDefault.segmentMs),
      segmentJitterMs: number("segment.jitter.ms", byDefault.segmentJitterMs),
      segmentIndexBytes: number("segment.index.bytes", byDefault.segmentIndexBytes),
      indexIntervalBytes: number("index.interval.bytes", byDefault.indexIntervalBytes),
      minCleanableDirtyRatio: number("min.cleanable.dirty.ratio", byDefault.minCleanableDirtyRatio),
      minCompactionLagMs: number("min.compaction.lag.ms", byDefault.minCompactionLagMs),
      maxCompactionLagMs: number("max.compaction.lag.ms", byDefault.maxCompactionLagMs),
      deleteRetentionMs: number("delete.retention.ms", byDefault.deleteRetentionMs),
      timestampType: text("message.timestamp.type") === "LogAppendTime" ? "LogAppendTime" : "CreateTime",
      maxMessageBytes: number("max.message.bytes", byDefault.maxMessageBytes),
      timestampBeforeMaxMs: number("message.timestamp.before.max.ms", byDefault.timestampBeforeMaxMs),
      timestampAfterMaxMs: number("message.timestamp.after.max.ms", byDefault.timestampAfterMaxMs),
      compressionLevel: level(text("compression.type"), text),
      maxRecordBytes: number("max.decompressed.message.bytes", byDefault.maxRecordBytes),
      compressionType: codecs[text("compression.type") ?? "producer"] ?? "producer",
    },
  };
}

/** The level that is set for the topic's own codec. gzip's -1 is zlib's default; lz4 here has one level. */
function level(codec: string | undefined, text: (name: string) => string | undefined): number | undefined {
  if (codec !== "gzip" && codec !== "zstd") return undefined;
  const value = text(`compression.${codec}.level`);
  return value === undefined ? undefined : Number(value);
}
