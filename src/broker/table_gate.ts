/**
 * What the broker asks of tables when records are produced to one: the seam that the node fills with src/tables.
 */
import type { TopicEntry } from "../catalog/catalog.ts";

/** A record that a table refuses, as Produce answers it (KIP-467). */
export interface RecordFault {
  /** The record's place in its batch, from 0. */
  index: number;
  message: string;
}

/** Thrown by `ingest`: nothing of the batch may be stored. */
export class RefusedBatch extends Error {
  override name = "RefusedBatch";
  readonly faults: RecordFault[];

  constructor(message: string, faults: RecordFault[]) {
    super(message);
    this.faults = faults;
  }
}

/** A batch that passed its table's checks. */
export interface AcceptedBatch {
  /** What is appended to the log: the produced bytes, or the rows as the table stores them. */
  batch: Uint8Array;
  /** Tells the applier where the batch landed; called in offset order, right after the append. */
  appended(baseOffset: number, logAppendTimeMs: number): void;
}

export interface TableGate {
  /** Checks a batch against the table of its topic; may answer at once (the hot path) or later. */
  ingest(topic: TopicEntry, partition: number, batch: Uint8Array): AcceptedBatch | Promise<AcceptedBatch>;
}
