/** The settings of one partition's log: Kafka's topic configs in typed form, with Kafka's defaults. */
import type { Codec } from "../hotpath/codecs.ts";
import type { TimestampType } from "../protocol/records/batch.ts";

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
  /** segment.index.bytes: a full index ends its segment. */
  segmentIndexBytes: number;
  /** index.interval.bytes: log bytes between two index entries. */
  indexIntervalBytes: number;
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
}

export const defaultLogConfig: LogConfig = {
  deleteOld: true,
  compacted: false,
  retentionMs: 604_800_000,
  retentionBytes: -1,
  segmentBytes: 1_073_741_824,
  segmentMs: 604_800_000,
  segmentIndexBytes: 10_485_760,
  indexIntervalBytes: 4_096,
  timestampType: "CreateTime",
  maxMessageBytes: 1_048_588,
  timestampBeforeMaxMs: Number.MAX_SAFE_INTEGER,
  timestampAfterMaxMs: 3_600_000,
  compressionType: "producer",
};
