/**
 * A produced batch whose records mean something only together with what the table holds (event_resolver.ts), on its way into the log.
 */
import type { PartitionLog } from "../../log/partition_log.ts";
import type { BatchHeader } from "../../protocol/records/batch.ts";
import { decodeBatch, type RecordBatchView } from "../../protocol/records/decode.ts";
import type { SqlEngine } from "../../sql/engine.ts";
import { ingestThroughEngine } from "../computed.ts";
import { type BatchToIngest, decodeForTable, refusal, viewBatch } from "../ingest.ts";
import type { DecodedBatch } from "../row_decoder.ts";
import type { Table } from "../table.ts";

export interface ResolvedForTable {
  batch: BatchToIngest;
  view: RecordBatchView;
  decoded: DecodedBatch;
  /** Batches of deletes that go into the log first, with what they are for the table. */
  before: { batch: Uint8Array; decoded: DecodedBatch }[];
}

/** Called when DuckDB has all of the partition's log. Throws RecordErrors, another KafkaError, or SqlError when the engine cannot answer. */
export async function resolveForTable(
  engine: SqlEngine,
  table: Table,
  partition: number,
  view: RecordBatchView,
): Promise<ResolvedForTable> {
  const { resolver, decoder } = table.resolution;
  const resolved = await resolver.resolve(engine, view);
  if (resolved.batch === undefined) throw refusal(table, view.count, resolved.faults.length, resolved.faults);
  const plain = decodeBatch(resolved.batch, { checkCrc: false });
  const batch = { bytes: resolved.batch, header: plain.header };
  let decoded = decodeForTable(table, partition, plain, table.missing, decoder);
  if (decoded.missing !== undefined || table.needsEngine)
    decoded = await ingestThroughEngine(engine, table, partition, plain, decoded, decoder);
  const before = resolved.before.map((bytes) => {
    const deletes = viewBatch({ bytes, header: decodeBatch(bytes).header });
    return { batch: bytes, decoded: decodeForTable(table, partition, deletes, table.missing, decoder) };
  });
  return { batch, view: plain, decoded, before };
}

/** The log has this batch of an idempotent producer already. */
export function isRepeated(log: PartitionLog, header: BatchHeader): boolean {
  if (!header.hasProducerId) return false;
  const known = log.producers().find(({ producerId }) => producerId === header.producerId);
  if (known === undefined || known.producerEpoch !== header.producerEpoch) return false;
  return known.lastSequence >= header.baseSequence + header.lastOffsetDelta;
}
