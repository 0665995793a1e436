/**
 * Where the rows are in a run of change events, for the usual ones: bare envelopes without a schema whose op is c, r or u. The caller's own
 * reader (src/tables/changes/change_reader.ts) is the twin: it takes the same rows from them, and everything else.
 */
import { kernelFor } from "./kernels.ts";
import { fieldsPerRecord } from "./twins/walk.ts";

const recordBytes = fieldsPerRecord * 4;
const recordsPerCallMax = 4096;
const sliceBytesMax = 1024 * 1024;

/**
 * Reads the values of records from `from` on, at most up to record `to` of the record index (positions in `plain`), and writes into `target`, an
 * index like it, the place of each record's row as if it were the value. Returns how many it took: 0 when the first one is not for the
 * kernel. Call again for the next.
 */
export function changeRows(plain: Uint8Array, index: Int32Array, from: number, to: number, target: Int32Array): number {
  const start = index[from * fieldsPerRecord + 3]!;
  const limit = Math.min(to, from + recordsPerCallMax);
  let next = from;
  let end = start;
  for (; next < limit; next++) {
    const word = next * fieldsPerRecord;
    const length = index[word + 4]!;
    if (length < 0 || (next > from && index[word + 3]! + length - start > sliceBytesMax)) break;
    end = index[word + 3]! + length;
  }
  const count = next - from;
  if (count === 0) return 0;
  const records = (end - start + 16 + 7) & ~7;
  const needed = records + count * (recordBytes + 8) + 8;
  const kernel = kernelFor(needed);
  if (kernel === undefined) return 0;
  kernel.reserve(needed);
  const { arena, bytes, words, call } = kernel;
  bytes.set(plain.subarray(start, end), arena);
  // Whoever reads past the last record finds an end.
  bytes.fill(0, arena + end - start, arena + records);
  words.set(index.subarray(from * fieldsPerRecord, next * fieldsPerRecord), (arena + records) >> 2);
  const places = (arena + records + count * recordBytes + 7) & ~7;
  const taken = call.changeRows(arena - start, arena + records, count, places);
  target.set(index.subarray(from * fieldsPerRecord, (from + taken) * fieldsPerRecord), from * fieldsPerRecord);
  for (let i = 0; i < taken; i++) {
    const word = (from + i) * fieldsPerRecord;
    target[word + 3] = words[(places >> 2) + i * 2]!;
    target[word + 4] = words[(places >> 2) + i * 2 + 1]!;
  }
  return taken;
}
