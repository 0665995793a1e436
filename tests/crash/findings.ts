/** What is found on a lake after a crash, read as a client would: topics, the records of each partition, in order. */
import type { TopicEntry } from "../../src/catalog/catalog.ts";
import type { SimulatedNode } from "./node.ts";
import { readBatches, type StoredBatch } from "./stored_batch.ts";

export interface FoundPartition {
  start: number;
  end: number;
  batches: StoredBatch[];
}

export interface FoundTopic {
  entry: TopicEntry;
  partitions: FoundPartition[];
}

export function must(holds: boolean, otherwise: () => string): asserts holds {
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

function readPartition(node: SimulatedNode, entry: TopicEntry, partition: number): FoundPartition {
  const { logStartOffset: start, logEndOffset: end, highWatermark } = node.topics.log(entry, partition);
  const place = `${entry.name}-${partition}`;
  must(highWatermark === end, () => `${place} has its high watermark at ${highWatermark}, its end at ${end}`);
  return { start, end, batches: readBatches(node, entry, partition, start) };
}
