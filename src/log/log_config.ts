/** The settings of one partition's log: Kafka's topic configs in typed form, with Kafka's defaults. */
import type { Codec } from "../hotpath/codecs.ts";
import type { TimestampType } from "../protocol/records/batch.ts";
import { unlimitedRecordBytes } from "../protocol/records/validate.ts";

export interface LogConfig {
  /** cleanup.policy has "delete": old segments go by time and size. */
  deleteOld: boolean;
  /** cleanup.policy has "compact". */
  compacted: boolean;
  /** retention.ms; -1 keeps for ever. */
  retentionMs: number;
  /** retention.bytes; -1 does not limit. */
  retentionBytes: number;
  /** segment.bytes. */
  segmentBytes: number;
  /** segment.ms: time between the first timestamp of a segment and the batch that starts the next one. */
  segmentMs: number;
  /** segment.jitter.ms: segments end earlier than segment.ms by a random time below this. */
  segmentJitterMs: number;
  /** segment.index.bytes: a full index ends its segment. */
  segmentIndexBytes: number;
  /** index.interval.bytes: log bytes between two index entries. */
  indexIntervalBytes: number;
  /** min.cleanable.dirty.ratio. */
  minCleanableDirtyRatio: number;
  /** min.compaction.lag.ms. */
  minCompactionLagMs: number;
  /** max.compaction.lag.ms. */
  maxCompactionLagMs: number;
  /** delete.retention.ms: how long a compaction leaves the record that deletes a key. */
  deleteRetentionMs: number;
  /** message.timestamp.type. */
  timestampType: TimestampType;
  // The log hands the rest through to those who check batches before they are appended.
  /** max.message.bytes. */
  maxMessageBytes: number;
  /** message.timestamp.before.max.ms. */
  timestampBeforeMaxMs: number;
  /** message.timestamp.after.max.ms. */
  timestampAfterMaxMs: number;
  /** compression.type. */
  compressionType: "producer" | Codec;
  /** compression.gzip.level and so on, for that codec; its default when absent. */
  compressionLevel: number | undefined;
  /** max.decompressed.message.bytes. */
  maxRecordBytes: number;
}

export const defaultLogConfig: LogConfig = {
  deleteOld: true,
  compacted: false,
  retentionMs: 604_800_000,
  retentionBytes: -1,
  segmentBytes: 1_073_741_824,
  segmentMs: 604_800_000,
  segmentJitterMs: 0,
  segmentIndexBytes: 10_485_760,
  indexIntervalBytes: 4_096,
  minCleanableDirtyRatio: 0.5,
  minCompactionLagMs: 0,
  maxCompactionLagMs: Number.MAX_SAFE_INTEGER,
  deleteRetentionMs: 86_400_000,
  timestampType: "CreateTime",
  maxMessageBytes: 1_048_588,
  timestampBeforeMaxMs: Number.MAX_SAFE_INTEGER,
  timestampAfterMaxMs: 3_600_000,
  compressionType: "producer",
  compressionLevel: undefined,
  maxRecordBytes: unlimitedRecordBytes,
};
