/**
 * Writes FlatBuffers (https://flatbuffers.dev/internals): what Arrow's metadata is made of. A buffer grows from its end towards its
 * start, so children are written before their parents, and a reference is the distance from the end.
 */

/** A field of a table: its number in the schema, its size in bytes, its value. Size 0 stands for a reference to something written before. */
export type TableField = readonly [id: number, size: 0 | 1 | 2 | 4 | 8, value: number];

export class FlatBuffer {
  private bytes: Uint8Array;
  private view: DataView;
  /** Bytes written, counted from the end of the buffer. */
  private used = 0;

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  /** A reference for later use. */
  text(text: string): number {
    const bytes = encoder.encode(text);
    this.align(4, bytes.length + 1);
    this.space(1);
    this.raw(bytes);
    this.int32(bytes.length);
    return this.used;
  }

  references(list: readonly number[]): number {
    this.align(4, list.length * 4);
    for (let i = list.length - 1; i >= 0; i--) this.int32(this.used + 4 - list[i]!);
    this.int32(list.length);
    return this.used;
  }

  /** A vector of structs that are made of `perStruct` 64-bit integers each. */
  longStructs(values: readonly number[], perStruct: number): number {
    this.align(8, values.length * 8);
    // The count stands before the structs, which are aligned to 8.
    for (let i = values.length - 1; i >= 0; i--) this.int64(values[i]!);
    this.int32(values.length / perStruct);
    return this.used;
  }

  table(fields: readonly TableField[]): number {
    const start = this.used;
    // Larger values first (nearer the end), so that little padding is needed.
    const ordered = [...fields].sort((a, b) => size(a) - size(b));
    const at = new Map<number, number>();
    for (const field of ordered.reverse()) {
      const [id, width, value] = field;
      this.align(size(field), 0);
      if (width === 1) this.int8(value);
      else if (width === 2) this.int16(value);
      else if (width === 4) this.int32(value);
      else if (width === 8) this.int64(value);
      else {
        this.int32(this.used + 4 - value);
      }
      at.set(id, this.used);
    }
    this.align(4, 0);
    this.int32(0);
    const table = this.used;
    const count = fields.reduce((most, field) => Math.max(most, field[0] + 1), 0);
    for (let id = count - 1; id >= 0; id--) {
      const position = at.get(id);
      this.int16(position === undefined ? 0 : table - position);
    }
    this.int16(table - start);
    this.int16(count * 2 + 4);
    this.view.setInt32(this.bytes.length - table, this.used - table, true);
    return table;
  }

  /** The finished buffer with `root` as its root table; its length is a multiple of 8. */
  finish(root: number): Uint8Array {
    this.align(8, 4);
    this.int32(this.used + 4 - root);
    return this.bytes.slice(this.bytes.length - this.used);
  }

  /** Pads so that, after `extra` further bytes, the write position is a multiple of `unit` from the end. */
  private align(unit: number, extra: number): void {
    this.space((unit - ((this.used + extra) % unit)) % unit);
  }

  private space(count: number): void {
    const needed = this.used + count;
    if (needed > this.bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
      grown.set(this.bytes, grown.length - this.bytes.length);
      this.bytes = grown;
      this.view = new DataView(grown.buffer);
    }
    this.used = needed;
  }

  private raw(bytes: Uint8Array): void {
    this.space(bytes.length);
    this.bytes.set(bytes, this.bytes.length - this.used);
  }
  private int8(value: number): void {
    this.space(1);
    this.view.setInt8(this.bytes.length - this.used, value);
  }
  private int16(value: number): void {
    this.space(2);
    this.view.setInt16(this.bytes.length - this.used, value, true);
  }
  private int32(value: number): void {
    this.space(4);
    this.view.setInt32(this.bytes.length - this.used, value, true);
  }
  private int64(value: number): void {
    this.space(8);
    this.view.setBigInt64(this.bytes.length - this.used, BigInt(value), true);
  }
}

const encoder = new TextEncoder();

function size(field: TableField): number {
  return field[1] === 0 ? 4 : field[1];
}
