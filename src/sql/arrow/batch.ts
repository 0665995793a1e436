/**
 * The buffers of one Arrow record batch, column by column. Views into the message: nothing is copied. DuckDB writes no
 * compression and no view types.
 */
import { type ArrowField, readMessage } from "./schema.ts";

/** One column (or child column) of a batch. Which buffers are set depends on the field's layout. */
export interface Vector {
  field: ArrowField;
  length: number;
  /** One bit per row, 1 for a value; undefined when no row is NULL. */
  validity: Uint8Array | undefined;
  /** Values, or type ids of a union. */
  data: DataView;
  /** Offsets of variable, list and dense union layouts. */
  offsets: DataView;
  children: readonly Vector[];
}

export interface Batch {
  rows: number;
  columns: readonly Vector[];
}

/** `message`: an encapsulated record batch message of a stream with these fields. */
export function readBatch(message: Uint8Array, fields: readonly ArrowField[]): Batch {
  const { header, kind, body } = readMessage(message);
  if (kind !== 3) throw new Error(`an Arrow message of kind ${kind} where a record batch was due`);
  const cursor = new BatchCursor(header.longPairs(1), header.longPairs(2), body);
  return { rows: header.int64(0), columns: fields.map((field) => cursor.vector(field)) };
}

const none = new DataView(new ArrayBuffer(0));

class BatchCursor {
  private node = 0;
  private buffer = 0;
  private readonly nodes: readonly [length: number, nulls: number][];
  private readonly buffers: readonly [offset: number, length: number][];
  private readonly body: Uint8Array;

  constructor(nodes: readonly [number, number][], buffers: readonly [number, number][], body: Uint8Array) {
    this.nodes = nodes;
    this.buffers = buffers;
    this.body = body;
  }

  vector(field: ArrowField): Vector {
    const [length, nulls] = this.nodes[this.node++]!;
    const { layout } = field;
    const vector: Vector = { field, length, validity: undefined, data: none, offsets: none, children: [] };
    if (layout.kind === "null") return vector;
    if (layout.kind === "union") {
      vector.data = this.view();
      if (layout.dense) vector.offsets = this.view();
    } else {
      const validity = this.bytes();
      if (nulls > 0 && validity.length > 0) vector.validity = validity;
      if (layout.kind === "variable" || layout.kind === "list") vector.offsets = this.view();
      if (layout.kind === "variable" || layout.kind === "fixed" || layout.kind === "bits") vector.data = this.view();
    }
    vector.children = field.children.map((child) => this.vector(child));
    return vector;
  }

  private bytes(): Uint8Array {
    const [offset, length] = this.buffers[this.buffer++]!;
    return this.body.subarray(offset, offset + length);
  }

  private view(): DataView {
    const bytes = this.bytes();
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}
