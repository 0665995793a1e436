/**
 * How one column type is read from JSON, kept, and written back: a codec per type, chosen once when a table is compiled.
 *
 * A codec holds no values of its own; they are in the vector that it is given. `read` either appends exactly one value and leaves the
 * position behind the JSON value, or returns false with the scanner's fault or syntax error set; the caller then takes back what was half
 * appended (`truncate`). NULL never reaches a codec: the caller handles it.
 */

import type { ByteSink } from "../arrow/bytes.ts";
import type { ArrowType } from "../arrow/stream.ts";
import type { Vector } from "../arrow/vectors.ts";
import type { JsonScanner } from "./scan.ts";

export abstract class ValueCodec {
  /** How values are staged for DuckDB. */
  abstract readonly arrow: ArrowType;
  /** The staged values are of another type than the column: DuckDB casts them on their way in. */
  abstract readonly needsCast: boolean;
  abstract newVector(capacity: number): Vector;
  abstract read(scanner: JsonScanner, vector: Vector): boolean;
  /** Writes the value at `index`, which is not null, by the row JSON rule. */
  abstract write(sink: ByteSink, vector: Vector, index: number): void;

  writeOrNull(sink: ByteSink, vector: Vector, index: number): void {
    if (vector.isNull(index)) sink.ascii("null");
    else this.write(sink, vector, index);
  }
}

/** Bytes that may stand in a JSON string as they are. */
const needsEscape = new Uint8Array(256);
for (let i = 0; i < 0x20; i++) needsEscape[i] = 1;
needsEscape[0x22] = 1;
needsEscape[0x5c] = 1;

const shortEscapes: Record<number, string> = {
  8: "\\b",
  9: "\\t",
  10: "\\n",
  12: "\\f",
  13: "\\r",
  34: '\\"',
  92: "\\\\",
};

/** Writes UTF-8 bytes as a JSON string, as JSON.stringify would spell it. */
export function writeJsonString(sink: ByteSink, bytes: Uint8Array, start: number, end: number): void {
  sink.byte(0x22);
  let from = start;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (needsEscape[byte] === 0) continue;
    sink.copy(bytes, from, i);
    sink.ascii(shortEscapes[byte] ?? `\\u${byte.toString(16).padStart(4, "0")}`);
    from = i + 1;
  }
  sink.copy(bytes, from, end);
  sink.byte(0x22);
}
