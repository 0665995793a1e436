/** Writes a batch anew whose values the table stores differently from how they were produced. */
import type { Codec } from "../hotpath/codecs.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import { withValues } from "../protocol/records/encode.ts";
import type { DecodedBatch } from "./row_decoder.ts";

/** The same records with their new values; keys, headers, times and the producer's numbers stay. */
export function rewriteBatch(batch: RecordBatchView, decoded: DecodedBatch, codec: Codec): Uint8Array {
  return withValues(batch, decoded.newValues!, decoded.rewritten!.view(), codec);
}
