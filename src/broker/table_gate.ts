/**
 * What the broker asks of tables when records are produced to one: the seam that the node fills with src/tables.
 */
import type { BufferPool } from "../base/buffer_pool.ts";
import type { TopicEntry } from "../catalog/catalog.ts";
import type { ProducedBatch } from "../protocol/records/validate.ts";

/** A batch that passed its table's checks. */
export interface AcceptedBatch {
  /** What is appended to the log: the produced bytes, or the rows as the table stores them. */
  batch: Uint8Array;
  /**
   * Tells the applier where the batch landed; called in offset order, right after the append. The answer to the producer waits for what
   * it returns, so that producers are no faster than their table.
   */
  appended(baseOffset: number, logAppendTimeMs: number): Promise<void> | undefined;
  /** Batches that are appended right before it, unless it is in the log already. */
  before?: readonly Pick<AcceptedBatch, "batch" | "appended">[];
  /** Records that are nothing for the table and are not stored, by their reason. */
  skipped?: ReadonlyMap<string, number>;
}

export interface TableGate {
  /** Memory of the views of records that `ingest` is given; it gives it back. */
  readonly viewPool: BufferPool;
  /**
   * Lets a batch of a table's topic in; to be left after the append. Waits while SQL writes to the table. Throws (or rejects with)
   * REQUEST_TIMED_OUT.
   */
  enter(topic: TopicEntry): { leave(): void } | Promise<{ leave(): void }>;
  /**
   * Checks a batch against the table of its topic; may answer at once (the hot path) or later. Throws RecordErrors:
   * nothing of the batch may be stored.
   */
  ingest(topic: TopicEntry, partition: number, batch: ProducedBatch): AcceptedBatch | Promise<AcceptedBatch>;
}
