/**
 * Empty columns of one table for the rows of a batch, used over and over: fresh memory costs page faults and is cleared, which together
 * take as long as filling it.
 *
 * Invariant: a set is given back only by whoever knows that nobody else reads it; what is not given back is left to the garbage collector.
 */
import { limits } from "../base/limits.ts";
import type { Vector } from "./arrow/vectors.ts";
import type { RowSchema } from "./row_schema.ts";

/** Bytes of values that the spare sets of all tables have had. */
let spareBytes = 0;
/** Whoever has spare sets, those that were used last at the end. */
const holders = new Set<ColumnSets>();

interface SpareSet {
  columns: Vector[];
  bytes: number;
}

export class ColumnSets {
  private readonly schema: Pick<RowSchema, "columns" | "fields" | "reader" | "record">;
  private readonly spare: SpareSet[] = [];
  private readonly out = new WeakSet<Vector[]>();
  /** The fewest spare sets there were since the last trim. */
  private unneeded = 0;

  constructor(schema: Pick<RowSchema, "columns" | "fields" | "reader" | "record">) {
    this.schema = schema;
  }

  /** One vector for each column of the table, and those of its fields once more, in the fields' order. */
  take(capacity: number): { columns: Vector[]; children: Vector[] } {
    const { schema } = this;
    const used = this.spare.pop();
    const columns = used === undefined ? this.make(capacity) : used.columns;
    if (used !== undefined) {
      if (this.spare.length === 0) holders.delete(this);
      spareBytes -= used.bytes;
      this.unneeded = Math.min(this.unneeded, this.spare.length);
    }
    this.out.add(columns);
    return { columns, children: schema.fields.map(({ index }) => columns[index]!) };
  }

  private make(capacity: number): Vector[] {
    const { columns, fields, reader, record } = this.schema;
    const made: Vector[] = new Array(columns.length);
    const children = reader.newChildren(capacity);
    for (const [i, field] of fields.entries()) made[field.index] = children[i]!;
    for (const { column, index } of record) made[index] = column.newVector(capacity);
    return made;
  }

  /** Takes columns back that `take` gave; others are left alone. Nobody may use them any more. */
  give(columns: Vector[]): void {
    // Given twice, they would serve two at once.
    if (!this.out.delete(columns)) return;
    let bytes = 0;
    for (const column of columns) bytes += column.byteLength();
    // Those of tables that get no rows at the moment make room.
    for (const holder of holders) {
      if (spareBytes + bytes <= limits.spareColumnBytesMax || holder === this) break;
      holder.drop(holder.spare.length);
    }
    if (spareBytes + bytes > limits.spareColumnBytesMax) return;
    for (const column of columns) {
      column.truncate(0);
      column.valid = undefined;
    }
    spareBytes += bytes;
    this.spare.push({ columns, bytes });
    holders.delete(this);
    holders.add(this);
  }

  /** Lets go of what no table needed since the last call. */
  static trim(): void {
    for (const holder of holders) {
      holder.drop(holder.unneeded);
      holder.unneeded = holder.spare.length;
    }
  }

  private drop(count: number): void {
    for (const { bytes } of this.spare.splice(0, count)) spareBytes -= bytes;
    this.unneeded = Math.min(this.unneeded, this.spare.length);
    if (this.spare.length === 0) holders.delete(this);
  }
}
