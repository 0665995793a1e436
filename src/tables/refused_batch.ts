/** How a table says no to a produced batch. */

/** A record that a table refuses, as Produce answers it (KIP-467). */
export interface RecordFault {
  /** The record's place in its batch, from 0. */
  index: number;
  message: string;
}

/** Thrown by `ingest`: nothing of the batch may be stored. Answered as INVALID_RECORD. */
export class RefusedBatch extends Error {
  override name = "RefusedBatch";
  readonly faults: RecordFault[];

  constructor(message: string, faults: RecordFault[]) {
    super(message);
    this.faults = faults;
  }
}
