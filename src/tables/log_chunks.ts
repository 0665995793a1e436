/** Rows of a table that are read back from its log. */
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import type { PartitionLog } from "../log/partition_log.ts";
import { BatchHeader, batchSizeAt } from "../protocol/records/batch.ts";
import { tableAt } from "./earlier_table.ts";
import { chunkFromLog } from "./ingest.ts";
import type { RowChunk, Table } from "./table.ts";

/** What moves the cursor alone. */
export function noRows(baseOffset: number, nextOffset: number): RowChunk {
  return { baseOffset, nextOffset, rows: 0, columns: [], bytes: 0 };
}

/**
 * Some of the batches from offset `next` on, up to the one that begins at `until` or the high watermark. Each chunk begins where the one before
 * ends: offsets that compaction took out of the log go with what follows them. `covered`: where the last one ends; `reachesUntil`: the log has
 * nothing between that and `until`.
 */
export function readChunks(
  source: { table: Table; partition: number; log: PartitionLog },
  next: number,
  until: number,
  passesOver: (header: BatchHeader) => boolean,
  logger: Logger,
): { chunks: RowChunk[]; covered: number; reachesUntil: boolean } {
  const { table, partition, log } = source;
  const topic = table.topic.name;
  if (next < log.logStartOffset) {
    const to = log.logStartOffset;
    logger.warn("records were removed from the log before the table had them", { topic, partition, from: next, to });
    return { chunks: [noRows(next, to)], covered: to, reachesUntil: false };
  }
  const maxBytes = limits.applierReadBytesMax;
  const parts = log.read(next, { maxBytes, minOneBatch: true, isolation: "highWatermark" });
  const chunks: RowChunk[] = [];
  const left = (offset: number, reason: string) =>
    logger.error("a record in the log is no row of its table; it is left out", { topic, partition, offset, reason });
  let covered = next;
  for (const part of parts)
    for (let at = 0; ; ) {
      const size = batchSizeAt(part, at);
      if (size === 0) break;
      const batch = part.subarray(at, at + size);
      at += size;
      const header = new BatchHeader(batch);
      if (header.lastOffset < covered) continue;
      if (header.baseOffset >= until) return { chunks, covered, reachesUntil: true };
      const chunk = passesOver(header)
        ? noRows(header.baseOffset, header.lastOffset + 1)
        : chunkFromLog(tableAt(table, partition, header.baseOffset), partition, batch, left);
      chunk.baseOffset = covered;
      covered = chunk.nextOffset;
      chunks.push(chunk);
    }
  return { chunks, covered, reachesUntil: false };
}
