/** Writes a batch anew whose values the table stores differently from how they were produced. */
import type { Codec } from "../hotpath/codecs.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import { withValues } from "../protocol/records/encode.ts";
import { keptPart, rewriteRecords } from "../protocol/records/rewrite.ts";
import { type ChangeBatch, isHole, keyTextWords } from "./keyed/change_batch.ts";
import type { DecodedBatch } from "./row_decoder.ts";

/** The same records with their new values; keys, headers, times and the producer's numbers stay. */
export function rewriteBatch(batch: RecordBatchView, decoded: DecodedBatch, codec: Codec, level?: number): Uint8Array {
  return withValues(batch, decoded.newValues!, decoded.rewritten!.view(), codec, level);
}

/** More than values of records change. */
export function needsNewRecords({ holes, writesKey, deletes, newValues }: ChangeBatch): boolean {
  return holes > 0 || writesKey !== undefined || (deletes > 0 && newValues !== undefined);
}

/** The same records with the keys and values that the table has, without those that are nothing for it. */
export function rewriteChanges(batch: RecordBatchView, changes: ChangeBatch, codec: Codec, level?: number): Uint8Array {
  const { records, rowOf, keys, writesKey, newValues, rewritten } = changes;
  const keyText = writesKey && keys ? keys.text.view() : nothing;
  const values = rewritten?.view() ?? nothing;
  const bytes = new Uint8Array(keyText.length + values.length);
  bytes.set(keyText);
  bytes.set(values, keyText.length);
  let dropped: Uint8Array | undefined;
  if (changes.holes > 0) {
    dropped = new Uint8Array(records);
    for (let record = 0; record < records; record++) if (rowOf[record] === isHole) dropped[record] = 1;
  }
  return rewriteRecords(
    batch,
    {
      bytes,
      ...(keyText.length > 0 ? { keys: keySpans(changes) } : {}),
      ...(newValues ? { values: shifted(newValues, keyText.length) } : {}),
      ...(dropped ? { dropped } : {}),
    },
    codec,
    level,
  );
}

const nothing = new Uint8Array(0);

function keySpans({ records, keys, writesKey }: ChangeBatch): Int32Array {
  const spans = new Int32Array(records * 2).fill(keptPart);
  for (let record = 0; record < records; record++)
    if (writesKey![record] !== 0) {
      spans[record * 2] = keys!.words[record * keyTextWords]!;
      spans[record * 2 + 1] = keys!.words[record * keyTextWords + 1]!;
    }
  return spans;
}

function shifted(spans: Int32Array, by: number): Int32Array {
  if (by === 0) return spans;
  return spans.map((at) => (at < 0 ? at : at + by));
}
