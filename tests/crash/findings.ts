/** What is found on a lake after a crash, read as a client would: topics, the records of each partition, in order. */
import type { TopicEntry } from "../../src/catalog/catalog.ts";
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import type { SimulatedNode } from "./node.ts";

export interface FoundRecord {
  offset: number;
  key: string | null;
  value: string | null;
}

export interface FoundBatch {
  baseOffset: number;
  lastOffset: number;
  bytes: Uint8Array;
  records: FoundRecord[];
}

export interface FoundPartition {
  start: number;
  end: number;
  batches: FoundBatch[];
}

export interface FoundTopic {
  entry: TopicEntry;
  partitions: FoundPartition[];
}

export function must(holds: boolean, otherwise: () => string): void {
  if (!holds) throw new Error(otherwise());
}

export function findTopics(node: SimulatedNode): Map<string, FoundTopic> {
  const found = new Map<string, FoundTopic>();
  for (const entry of node.catalog.topics()) {
    if (entry.internal) continue;
    const partitions = Array.from({ length: entry.partitions }, (_, partition) =>
      readPartition(node, entry, partition),
    );
    found.set(entry.name, { entry, partitions });
  }
  return found;
}

const text = new TextDecoder();
const textOrNull = (bytes: Uint8Array | null) => bytes && text.decode(bytes);

export function readPartition(node: SimulatedNode, entry: TopicEntry, partition: number): FoundPartition {
  const log = node.topics.log(entry, partition);
  const place = `${entry.name}-${partition}`;
  const start = log.logStartOffset;
  const end = log.logEndOffset;
  must(log.highWatermark === end, () => `${place} has its high watermark at ${log.highWatermark}, its end at ${end}`);
  const batches: FoundBatch[] = [];
  for (let next = start; next < end; ) {
    const parts = log.read(next, { maxBytes: 2_000, minOneBatch: true, isolation: "highWatermark" });
    must(parts.length > 0, () => `nothing is read at offset ${next} of ${place}, which ends at ${end}`);
    for (const part of parts)
      for (let at = 0; at < part.length; ) {
        const header = new BatchHeader(part, at);
        must(header.isCrcValid, () => `wrong checksum at offset ${next} of ${place}`);
        must(header.lastOffset >= next, () => `offset ${header.lastOffset} is read at ${next} of ${place}`);
        const bytes = part.slice(at, at + header.sizeBytes);
        const records = [...decodeBatch(bytes)].map(({ offset, key, value }) => ({
          offset,
          key: textOrNull(key),
          value: textOrNull(value),
        }));
        batches.push({ baseOffset: header.baseOffset, lastOffset: header.lastOffset, bytes, records });
        next = header.lastOffset + 1;
        at += header.sizeBytes;
      }
  }
  return { start, end, batches };
}
