/** Writes a batch anew whose values the table stores differently from how they were produced. */
import type { Codec } from "../hotpath/codecs.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import { encodeBatch, type RecordToEncode } from "../protocol/records/encode.ts";
import type { DecodedBatch } from "./row_decoder.ts";

/** The same records with their new values; keys, headers, times and the producer's numbers stay. */
export function rewriteBatch(batch: RecordBatchView, decoded: DecodedBatch, codec: Codec): Uint8Array {
  const { header } = batch;
  const values = decoded.newValues!;
  const bytes = decoded.rewritten!.view();
  const records: RecordToEncode[] = new Array(batch.count);
  for (let i = 0; i < batch.count; i++) {
    const start = values[i * 2]!;
    records[i] = {
      key: batch.key(i),
      value: start < 0 ? batch.value(i) : bytes.subarray(start, values[i * 2 + 1]!),
      headers: batch.headers(i),
      timestamp: batch.timestamp(i),
    };
  }
  return encodeBatch(records, {
    codec,
    partitionLeaderEpoch: header.partitionLeaderEpoch,
    timestampType: header.timestampType,
    timestamp: header.maxTimestamp,
    producerId: header.producerId,
    producerEpoch: header.producerEpoch,
    baseSequence: header.baseSequence,
    isTransactional: header.isTransactional,
  });
}
