/**
 * Record sections with other values for some of their records.
 */
import { type Allocate, kernelFor } from "./kernels.ts";
import { replaceValuesTwin } from "./twins/replace_values.ts";
import { fieldsPerRecord } from "./twins/walk.ts";

/**
 * The records of `plain` (whole and walked without a fault: `index` is what the walk wrote down) with new values. `spans` has two numbers
 * a record: where its new value begins and ends in `values`, or -1 where it keeps its own. The result is in memory from `allocate`, where there is
 * one.
 */
export function replaceValues(
  plain: Uint8Array,
  index: Int32Array,
  count: number,
  spans: Int32Array,
  values: Uint8Array,
  allocate?: Allocate,
): Uint8Array {
  const capacity = plain.length + values.length + 10 * count;
  const needed = plain.length + values.length + count * (fieldsPerRecord + 2) * 4 + capacity + 64;
  const kernel = kernelFor(needed);
  if (kernel === undefined) return replaceValuesTwin(plain, index, count, spans, values);
  kernel.reserve(needed);
  const align = (at: number) => (at + 7) & ~7;
  const plainAt = kernel.arena;
  const valuesAt = plainAt + plain.length;
  const indexAt = align(valuesAt + values.length);
  const spansAt = align(indexAt + count * fieldsPerRecord * 4);
  const target = align(spansAt + count * 8);
  kernel.bytes.set(plain, plainAt);
  kernel.bytes.set(values, valuesAt);
  kernel.words.set(index.subarray(0, count * fieldsPerRecord), indexAt >> 2);
  kernel.words.set(spans.subarray(0, count * 2), spansAt >> 2);
  const size = kernel.call.replaceValues(plainAt, indexAt, count, spansAt, valuesAt, target);
  return kernel.take(target, size, allocate);
}
