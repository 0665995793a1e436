/**
 * A batch's records with other values for some of them: the twin of the kernel of that name.
 */
import { VarintCursor, varintSize, writeVarint } from "../varint.ts";
import { fieldsPerRecord } from "./walk.ts";

export function replaceValuesTwin(
  plain: Uint8Array,
  index: Int32Array,
  count: number,
  spans: Int32Array,
  values: Uint8Array,
): Uint8Array {
  const out = new Uint8Array(plain.length + values.length + 10 * count);
  const cursor = new VarintCursor(plain);
  let to = 0;
  for (let i = 0; i < count; i++) {
    const from = cursor.position;
    const length = cursor.signed();
    const body = cursor.position;
    const end = body + length;
    cursor.position = end;
    const start = spans[i * 2]!;
    if (start < 0) {
      out.set(plain.subarray(from, end), to);
      to += end - from;
      continue;
    }
    const word = i * fieldsPerRecord;
    const keyEnd = index[word + 1]! + Math.max(index[word + 2]!, 0);
    const valueEnd = index[word + 3]! + Math.max(index[word + 4]!, 0);
    const valueBytes = spans[i * 2 + 1]! - start;
    to = writeVarint(out, to, keyEnd - body + varintSize(valueBytes) + valueBytes + end - valueEnd);
    out.set(plain.subarray(body, keyEnd), to);
    to = writeVarint(out, to + keyEnd - body, valueBytes);
    out.set(values.subarray(start, start + valueBytes), to);
    to += valueBytes;
    out.set(plain.subarray(valueEnd, end), to);
    to += end - valueEnd;
  }
  return out.subarray(0, to);
}
