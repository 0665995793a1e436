/**
 * A batch refused because of particular records: the Produce answer names each (KIP-467).
 */
import { KafkaError, type KafkaErrorName } from "../../base/kafka_error.ts";

/** `index` is the record's place in its batch, from 0. */
export interface RecordFault {
  index: number;
  message: string;
}

export class RecordErrors extends KafkaError {
  /** For `record_errors` of the Produce answer, in the order of the records. */
  readonly recordErrors: readonly RecordFault[];

  constructor(name: KafkaErrorName, message: string, recordErrors: readonly RecordFault[]) {
    super(name, message);
    this.recordErrors = recordErrors;
  }
}
