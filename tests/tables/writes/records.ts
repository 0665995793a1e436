/** Records of a log as texts, for tests to compare. */
import type { Lake } from "../lake.ts";

export interface TextRecord {
  offset: number;
  timestamp: number;
  key: string | null;
  value: string | null;
  headers: [string, string | null][];
}

const text = (bytes: Uint8Array | null) => bytes && new TextDecoder().decode(bytes);

export function textRecords(lake: Lake, topic: string, partition = 0): TextRecord[] {
  return lake.records(topic, partition).map(({ offset, timestamp, key, value, headers }) => ({
    offset,
    timestamp,
    key: text(key),
    value: text(value),
    headers: headers.map((header) => [header.key, text(header.value)]),
  }));
}

/** `key=value` of each record. */
export function pairs(lake: Lake, topic: string, partition = 0): string[] {
  return textRecords(lake, topic, partition).map(({ key, value }) => `${key}=${value}`);
}
