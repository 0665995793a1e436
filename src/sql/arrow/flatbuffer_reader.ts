/**
 * Reads FlatBuffers (https://flatbuffers.dev/internals), what Arrow's metadata is made of. The input comes from our own engine, so
 * nothing here guards against hostile bytes beyond what DataView does.
 */
export class FlatTable {
  private readonly view: DataView;
  private readonly at: number;
  private readonly vtable: number;
  private readonly vtableLength: number;

  constructor(view: DataView, at: number) {
    this.view = view;
    this.at = at;
    this.vtable = at - view.getInt32(at, true);
    this.vtableLength = view.getUint16(this.vtable, true);
  }

  /** The root table of a finished buffer. */
  static root(view: DataView): FlatTable {
    return new FlatTable(view, view.getUint32(0, true));
  }

  /** Position of a field's value, or 0 when the field is absent. */
  private field(id: number): number {
    const slot = 4 + id * 2;
    if (slot >= this.vtableLength) return 0;
    const offset = this.view.getUint16(this.vtable + slot, true);
    return offset === 0 ? 0 : this.at + offset;
  }

  int8(id: number, absent = 0): number {
    const at = this.field(id);
    return at === 0 ? absent : this.view.getInt8(at);
  }

  int16(id: number, absent = 0): number {
    const at = this.field(id);
    return at === 0 ? absent : this.view.getInt16(at, true);
  }

  int32(id: number, absent = 0): number {
    const at = this.field(id);
    return at === 0 ? absent : this.view.getInt32(at, true);
  }

  int64(id: number, absent = 0): number {
    const at = this.field(id);
    return at === 0 ? absent : Number(this.view.getBigInt64(at, true));
  }

  text(id: number): string | undefined {
    const at = this.field(id);
    if (at === 0) return undefined;
    const start = at + this.view.getUint32(at, true);
    const length = this.view.getUint32(start, true);
    return decoder.decode(new Uint8Array(this.view.buffer, this.view.byteOffset + start + 4, length));
  }

  table(id: number): FlatTable | undefined {
    const at = this.field(id);
    return at === 0 ? undefined : new FlatTable(this.view, at + this.view.getUint32(at, true));
  }

  tables(id: number): FlatTable[] {
    const [start, count] = this.vector(id);
    const tables: FlatTable[] = [];
    for (let i = 0; i < count; i++) {
      const at = start + i * 4;
      tables.push(new FlatTable(this.view, at + this.view.getUint32(at, true)));
    }
    return tables;
  }

  /** A vector of structs of two 64-bit integers each, as Arrow's FieldNode and Buffer are. */
  longPairs(id: number): [number, number][] {
    const [start, count] = this.vector(id);
    const pairs: [number, number][] = [];
    for (let i = 0; i < count; i++) {
      const at = start + i * 16;
      pairs.push([Number(this.view.getBigInt64(at, true)), Number(this.view.getBigInt64(at + 8, true))]);
    }
    return pairs;
  }

  int32s(id: number): number[] {
    const [start, count] = this.vector(id);
    const values: number[] = [];
    for (let i = 0; i < count; i++) values.push(this.view.getInt32(start + i * 4, true));
    return values;
  }

  /** Changes a value in place; the field must be there. */
  setInt8(id: number, value: number): void {
    this.view.setInt8(this.field(id), value);
  }

  /** Changes the first byte of a text in place; the text must be there and not empty. */
  setFirstByte(id: number, byte: number): void {
    const at = this.field(id);
    this.view.setUint8(at + this.view.getUint32(at, true) + 4, byte);
  }

  private vector(id: number): [start: number, count: number] {
    const at = this.field(id);
    if (at === 0) return [0, 0];
    const vector = at + this.view.getUint32(at, true);
    return [vector + 4, this.view.getUint32(vector, true)];
  }
}

const decoder = new TextDecoder();
