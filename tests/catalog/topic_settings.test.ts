import { expect, test } from "bun:test";
import { topicSettings } from "../../src/catalog/topic_settings.ts";
import { defaultLogConfig } from "../../src/log/log_config.ts";

const logOf = (configs: Record<string, string>, defaults: Record<string, string> = {}) =>
  topicSettings(new Map(Object.entries(configs)), new Map(Object.entries(defaults))).log;

test("without anything set they are the log's defaults", () => {
  expect(logOf({})).toEqual(defaultLogConfig);
});

test("compaction's settings", () => {
  const log = logOf({
    "cleanup.policy": "compact,delete",
    "min.cleanable.dirty.ratio": "0.25",
    "min.compaction.lag.ms": "10",
    "max.compaction.lag.ms": "9223372036854775807",
    "delete.retention.ms": "0",
    "segment.jitter.ms": "5",
    "max.decompressed.message.bytes": "1000",
  });
  expect(log).toMatchObject({
    compacted: true,
    deleteOld: true,
    minCleanableDirtyRatio: 0.25,
    minCompactionLagMs: 10,
    maxCompactionLagMs: Number.MAX_SAFE_INTEGER,
    deleteRetentionMs: 0,
    segmentJitterMs: 5,
    maxRecordBytes: 1000,
  });
});

test("a level counts with its own codec alone; the node's defaults stand behind the topic's", () => {
  const levels = { "compression.gzip.level": "9", "compression.zstd.level": "19", "compression.lz4.level": "17" };
  const levelOf = (codec: string) => logOf({ ...levels, "compression.type": codec }).compressionLevel;
  expect(["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"].map(levelOf)).toEqual([
    undefined,
    undefined,
    9,
    undefined,
    undefined,
    19,
  ]);
  expect(logOf({ "compression.type": "gzip" }, levels).compressionLevel).toBe(9);
});
