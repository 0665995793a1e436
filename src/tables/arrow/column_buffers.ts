/**
 * The buffers of an Arrow record batch, made from the columns of several chunks of rows: each value is copied once, from where it was
 * decoded to where the stream wants it.
 */
import { BytesVector, FixedVector, ListVector, StructVector, type Vector } from "./vectors.ts";

/** One buffer of a record batch. */
export interface ColumnBuffer {
  /** Bytes. */
  length: number;
  /** Fills `to`, which has that length and lies at a multiple of 8 of its memory. */
  write(to: Uint8Array): void;
}

/**
 * Field nodes (length, null count) and buffers in Arrow's order: depth first, validity before data. `parts` are the vectors of one column,
 * of which the first `counts` values count.
 */
export function collectColumn(
  parts: readonly Vector[],
  counts: readonly number[],
  nodes: number[],
  buffers: ColumnBuffer[],
): void {
  let total = 0;
  let nulls = 0;
  for (const [i, part] of parts.entries()) {
    total += counts[i]!;
    nulls += part.nullCount(counts[i]!);
  }
  nodes.push(total, nulls);
  buffers.push(nulls === 0 ? none : bitsOf(parts, counts, total, (part) => part.valid));
  const [first] = parts;
  if (first instanceof FixedVector) buffers.push(fixedValues(parts as readonly FixedVector[], counts, total));
  else if (first instanceof BytesVector) {
    const texts = parts as readonly BytesVector[];
    const lengths = texts.map((part, i) => part.offsets[counts[i]!]!);
    buffers.push(offsetsOf(texts, counts, total), {
      length: sum(lengths),
      write: (to) => copyAll(to, texts, lengths, (part) => part.data),
    });
  } else if (first instanceof ListVector) {
    const lists = parts as readonly ListVector[];
    const lengths = lists.map((part, i) => part.offsets[counts[i]!]!);
    buffers.push(offsetsOf(lists, counts, total));
    collectColumn(
      lists.map((part) => part.child),
      lengths,
      nodes,
      buffers,
    );
  } else if (first instanceof StructVector)
    for (let child = 0; child < first.children.length; child++)
      collectColumn(
        (parts as readonly StructVector[]).map((part) => part.children[child]!),
        counts,
        nodes,
        buffers,
      );
}

const none: ColumnBuffer = { length: 0, write() {} };

function fixedValues(parts: readonly FixedVector[], counts: readonly number[], total: number): ColumnBuffer {
  const { width } = parts[0]!;
  if (width === 0) return bitsOf(parts, counts, total, (part) => part.bytes);
  const lengths = counts.map((count) => count * width);
  return { length: total * width, write: (to) => copyAll(to, parts, lengths, (part) => part.bytes) };
}

function copyAll<T>(to: Uint8Array, parts: readonly T[], lengths: readonly number[], bytesOf: (part: T) => Uint8Array) {
  let at = 0;
  for (const [i, part] of parts.entries()) {
    to.set(bytesOf(part).subarray(0, lengths[i]), at);
    at += lengths[i]!;
  }
}

/** Ends of values, each part's counted on from the one before. */
function offsetsOf(parts: readonly { offsets: Int32Array }[], counts: readonly number[], total: number): ColumnBuffer {
  return {
    length: (total + 1) * 4,
    write: (to) => {
      const ends = new Int32Array(to.buffer, to.byteOffset, total + 1);
      ends[0] = 0;
      let at = 1;
      let shift = 0;
      for (const [i, { offsets }] of parts.entries()) {
        const count = counts[i]!;
        if (shift === 0) ends.set(offsets.subarray(1, count + 1), at);
        else for (let k = 1; k <= count; k++) ends[at + k - 1] = offsets[k]! + shift;
        at += count;
        shift += offsets[count]!;
      }
    },
  };
}

/** A bit a value from a byte a value; a part without bytes has ones. */
function bitsOf<T extends Vector>(
  parts: readonly T[],
  counts: readonly number[],
  total: number,
  bytesOf: (part: T) => Uint8Array | undefined,
): ColumnBuffer {
  return {
    length: (total + 7) >> 3,
    write: (to) => {
      let at = 0;
      let bits = 0;
      for (const [i, part] of parts.entries()) {
        const bytes = bytesOf(part);
        for (let k = 0, count = counts[i]!; k < count; k++, at++) {
          if (bytes === undefined || bytes[k] !== 0) bits |= 1 << (at & 7);
          if ((at & 7) !== 7) continue;
          to[at >> 3] = bits;
          bits = 0;
        }
      }
      if ((at & 7) !== 0) to[at >> 3] = bits;
    },
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
