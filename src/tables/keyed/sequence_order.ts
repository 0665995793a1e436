/** The order of a table's `sequence_by` column: which of two rows of a key is the later one. */
import { parseType, type SqlType } from "../../sql/types.ts";
import { BytesVector, type FixedVector, type Vector } from "../arrow/vectors.ts";
import type { ValueCodec } from "../json/codec.ts";
import { compileType } from "../json/compile.ts";
import { JsonScanner } from "../json/scan.ts";

/** Header of a delete in the log: the sequence, as JSON, of the row that it deleted. */
export const sequenceHeader = "rowlog.sequence";

const encoder = new TextEncoder();

export class SequenceOrder {
  private readonly type: SqlType;
  private readonly codec: ValueCodec;
  private readonly scanner = new JsonScanner();

  constructor(type: string) {
    this.type = parseType(type);
    this.codec = compileType(this.type);
  }

  /** Whether a row of the sequence `late` (JSON text) comes before one of `known`. No sequence, or NULL, comes before every other. */
  isBefore(late: string | undefined, known: string | undefined): boolean {
    if (known === undefined || known === "null") return false;
    if (late === undefined || late === "null") return true;
    const values = this.codec.newVector(2);
    // What is no value of the column is refused where the row is read.
    if (!this.push(values, late) || !this.push(values, known)) return false;
    return this.compare(values) < 0;
  }

  private push(values: Vector, json: string): boolean {
    const bytes = encoder.encode(json);
    this.scanner.reset(bytes, 0, bytes.length);
    return this.codec.read(this.scanner, values);
  }

  private compare(values: Vector): number {
    if (values instanceof BytesVector) return compareBytes(values);
    const fixed = values as FixedVector;
    const { kind } = this.type;
    if (kind === "double" || kind === "float") {
      const at = (index: number) => (kind === "double" ? fixed.getDouble(index) : fixed.getFloat(index));
      return compareFloats(at(0), at(1));
    }
    const unsigned = kind.startsWith("u");
    const [one, other] = [integerAt(fixed, 0, unsigned), integerAt(fixed, 1, unsigned)];
    return one < other ? -1 : one > other ? 1 : 0;
  }
}

function integerAt(values: FixedVector, index: number, unsigned: boolean): bigint {
  switch (values.width) {
    case 1:
      return BigInt(unsigned ? values.getUnsignedByte(index) : values.getByte(index));
    case 2:
      return BigInt(unsigned ? values.getUnsignedShort(index) : values.getShort(index));
    case 4:
      return BigInt(unsigned ? values.getUnsignedWord(index) : values.getWord(index));
    case 8:
      return unsigned ? values.getUnsignedLong(index) : values.getLong(index);
    default:
      return values.getWide(index);
  }
}

/** NaN is the greatest, as in DuckDB. */
function compareFloats(one: number, other: number): number {
  if (Number.isNaN(one) || Number.isNaN(other)) return Number(Number.isNaN(one)) - Number(Number.isNaN(other));
  return one - other;
}

function compareBytes(values: BytesVector): number {
  const first = values.data.subarray(values.start(0), values.end(0));
  const second = values.data.subarray(values.start(1), values.end(1));
  for (let i = 0; i < first.length && i < second.length; i++) if (first[i] !== second[i]) return first[i]! - second[i]!;
  return first.length - second.length;
}
