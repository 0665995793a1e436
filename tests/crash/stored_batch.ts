/** Batches as the log gives them. */
import type { TopicEntry } from "../../src/catalog/catalog.ts";
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import type { SimulatedNode } from "./node.ts";

export interface StoredRecord {
  offset: number;
  key: string | null;
  value: string | null;
}

export interface StoredBatch {
  baseOffset: number;
  lastOffset: number;
  bytes: Uint8Array;
  records: StoredRecord[];
}

const text = new TextDecoder();
const textOrNull = (bytes: Uint8Array | null) => bytes && text.decode(bytes);

export function storedBatch(bytes: Uint8Array): StoredBatch {
  const { baseOffset, lastOffset } = new BatchHeader(bytes);
  const records = [...decodeBatch(bytes)].map(({ offset, key, value }) => ({
    offset,
    key: textOrNull(key),
    value: textOrNull(value),
  }));
  return { baseOffset, lastOffset, bytes, records };
}

/** All batches from an offset on, as a reader gets them. Throws where one cannot be read or is not in its place. */
export function readBatches(node: SimulatedNode, entry: TopicEntry, partition: number, from: number): StoredBatch[] {
  const log = node.topics.log(entry, partition);
  const end = log.highWatermark;
  const place = `${entry.name}-${partition}`;
  const batches: StoredBatch[] = [];
  for (let next = from; next < end; ) {
    const parts = log.read(next, { maxBytes: 2_000, minOneBatch: true, isolation: "highWatermark" });
    if (parts.length === 0) throw new Error(`nothing is read at offset ${next} of ${place}, which ends at ${end}`);
    for (const part of parts)
      for (let at = 0; at < part.length; ) {
        const header = new BatchHeader(part, at);
        if (!header.isCrcValid) throw new Error(`wrong checksum at offset ${next} of ${place}`);
        if (header.lastOffset < next) throw new Error(`offset ${header.lastOffset} is read at ${next} of ${place}`);
        batches.push(storedBatch(part.slice(at, at + header.sizeBytes)));
        next = header.lastOffset + 1;
        at += header.sizeBytes;
      }
  }
  return batches;
}
