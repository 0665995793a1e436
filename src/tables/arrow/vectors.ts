/**
 * Columns under construction: values are appended straight into the buffers that the Arrow format wants, without an object per value.
 *
 * Invariant: `length` values are complete; `truncate` takes back the last ones, so that a repeated field or a refused row leaves no trace.
 * Validity is held as one byte a value (1 = not null), and only once a null was seen; the stream writer packs it into bits.
 */

export abstract class Vector {
  length = 0;
  /** One byte a value, or undefined while no value is null. */
  valid: Uint8Array | undefined;
  protected capacity: number;

  constructor(capacity: number) {
    this.capacity = Math.max(capacity, 4);
  }

  isNull(index: number): boolean {
    return this.valid !== undefined && this.valid[index] === 0;
  }

  /** Nulls among the first `length` values. */
  nullCount(length = this.length): number {
    let count = 0;
    if (this.valid !== undefined) for (let i = 0; i < length; i++) if (this.valid[i] === 0) count++;
    return count;
  }

  pushNull(): void {
    const index = this.slot();
    if (this.valid === undefined) this.valid = new Uint8Array(this.capacity).fill(1);
    this.valid[index] = 0;
    this.clear(index);
  }

  /** Forgets all values from `length` on. */
  abstract truncate(length: number): void;
  /** Appends the values [start, end) of another vector of the same shape. */
  abstract append(other: Vector, start: number, end: number): void;
  /** Appends the first `count` of the values at `rows` of another vector of the same shape. */
  abstract appendRows(other: Vector, rows: Int32Array, count: number): void;
  /** Bytes that the values take, for the bounds of queues. */
  abstract byteLength(): number;
  protected abstract clear(index: number): void;
  protected abstract grow(capacity: number): void;

  /** The index of a new value, marked as not null. */
  protected slot(): number {
    const index = this.length;
    if (index === this.capacity) this.growTo(index + 1);
    if (this.valid !== undefined) this.valid[index] = 1;
    this.length = index + 1;
    return index;
  }

  protected growTo(needed: number): void {
    if (needed <= this.capacity) return;
    this.capacity = Math.max(needed, this.capacity * 2);
    if (this.valid !== undefined) {
      const valid = new Uint8Array(this.capacity).fill(1);
      valid.set(this.valid);
      this.valid = valid;
    }
    this.grow(this.capacity);
  }

  /** As appendValidity, from a byte a value; `valid` absent: none is null. */
  protected appendValid(valid: Uint8Array | undefined, count: number): void {
    const from = this.length;
    this.growTo(from + count);
    if (valid !== undefined && this.valid === undefined) this.valid = new Uint8Array(this.capacity).fill(1);
    if (valid !== undefined) this.valid!.set(valid, from);
    else this.valid?.fill(1, from, from + count);
    this.length = from + count;
  }

  protected appendRowsValidity(other: Vector, rows: Int32Array, count: number): void {
    const from = this.length;
    this.growTo(from + count);
    if (other.valid !== undefined && this.valid === undefined) this.valid = new Uint8Array(this.capacity).fill(1);
    if (this.valid !== undefined) {
      if (other.valid === undefined) this.valid.fill(1, from, from + count);
      else for (let i = 0; i < count; i++) this.valid[from + i] = other.valid[rows[i]!]!;
    }
    this.length = from + count;
  }

  protected appendValidity(other: Vector, start: number, end: number): void {
    const from = this.length;
    const count = end - start;
    this.growTo(from + count);
    if (other.valid !== undefined && this.valid === undefined) this.valid = new Uint8Array(this.capacity).fill(1);
    if (this.valid !== undefined) {
      if (other.valid === undefined) this.valid.fill(1, from, from + count);
      else this.valid.set(other.valid.subarray(start, end), from);
    }
    this.length = from + count;
  }
}

/** Values of a fixed number of bytes; `width` 0 stands for BOOLEAN, held as a byte and written as a bit. */
export class FixedVector extends Vector {
  readonly width: 0 | 1 | 2 | 4 | 8 | 16;
  private readonly stride: number;
  bytes: Uint8Array;
  private words: Int32Array;
  private view: DataView;

  constructor(width: 0 | 1 | 2 | 4 | 8 | 16, capacity: number) {
    super(capacity);
    this.width = width;
    this.stride = Math.max(width, 1);
    const buffer = new ArrayBuffer((this.capacity * this.stride + 7) & ~7);
    this.bytes = new Uint8Array(buffer);
    this.words = new Int32Array(buffer);
    this.view = new DataView(buffer);
  }

  pushByte(value: number): void {
    const index = this.slot();
    this.bytes[index] = value;
  }

  pushShort(value: number): void {
    const index = this.slot();
    this.bytes[index * 2] = value;
    this.bytes[index * 2 + 1] = value >> 8;
  }

  pushWord(value: number): void {
    const index = this.slot();
    this.words[index] = value;
  }

  /** An integer that a double holds exactly. */
  pushLong(value: number): void {
    const index = this.slot() * 2;
    const high = Math.floor(value / 4294967296);
    this.words[index] = value - high * 4294967296;
    this.words[index + 1] = high;
  }

  pushBigLong(value: bigint): void {
    const index = this.slot();
    this.view.setBigInt64(index * 8, value, true);
  }

  pushFloat(value: number): void {
    const index = this.slot();
    this.view.setFloat32(index * 4, value, true);
  }

  pushDouble(value: number): void {
    const index = this.slot();
    this.view.setFloat64(index * 8, value, true);
  }

  /** A 128-bit integer whose value a double holds exactly. */
  pushWide(value: number): void {
    const index = this.slot() * 4;
    const high = Math.floor(value / 4294967296);
    const sign = value < 0 ? -1 : 0;
    this.words[index] = value - high * 4294967296;
    this.words[index + 1] = high;
    this.words[index + 2] = sign;
    this.words[index + 3] = sign;
  }

  pushBigWide(value: bigint): void {
    const index = this.slot();
    this.view.setBigInt64(index * 16, value, true);
    this.view.setBigInt64(index * 16 + 8, value >> 64n, true);
  }

  getByte(index: number): number {
    return this.view.getInt8(index);
  }
  getUnsignedByte(index: number): number {
    return this.bytes[index]!;
  }
  getShort(index: number): number {
    return this.view.getInt16(index * 2, true);
  }
  getUnsignedShort(index: number): number {
    return this.view.getUint16(index * 2, true);
  }
  getWord(index: number): number {
    return this.words[index]!;
  }
  getUnsignedWord(index: number): number {
    return this.words[index]! >>> 0;
  }
  getLong(index: number): bigint {
    return this.view.getBigInt64(index * 8, true);
  }
  /** The value as a double when it is exact (magnitude below 2^53), else NaN. */
  getSafeLong(index: number): number {
    const high = this.words[index * 2 + 1]!;
    if (high >= 2097152 || high < -2097152) return Number.NaN;
    return high * 4294967296 + (this.words[index * 2]! >>> 0);
  }
  getUnsignedLong(index: number): bigint {
    return this.view.getBigUint64(index * 8, true);
  }
  getFloat(index: number): number {
    return this.view.getFloat32(index * 4, true);
  }
  getDouble(index: number): number {
    return this.view.getFloat64(index * 8, true);
  }
  getWide(index: number): bigint {
    return (this.view.getBigInt64(index * 16 + 8, true) << 64n) | this.view.getBigUint64(index * 16, true);
  }

  /** Appends `count` values as they are laid out here; `valid`: a byte a value, absent when none is null. */
  appendValues(values: Uint8Array, count: number, valid: Uint8Array | undefined): void {
    const from = this.length;
    this.appendValid(valid, count);
    this.bytes.set(values, from * this.stride);
  }

  /** Writes a value that became known later, such as an offset. */
  setLong(index: number, value: number): void {
    const high = Math.floor(value / 4294967296);
    this.words[index * 2] = value - high * 4294967296;
    this.words[index * 2 + 1] = high;
  }

  override truncate(length: number): void {
    this.length = length;
  }

  override append(other: FixedVector, start: number, end: number): void {
    const from = this.length;
    this.appendValidity(other, start, end);
    this.bytes.set(other.bytes.subarray(start * this.stride, end * this.stride), from * this.stride);
  }

  override appendRows(other: FixedVector, rows: Int32Array, count: number): void {
    const from = this.length;
    this.appendRowsValidity(other, rows, count);
    const { stride } = this;
    if (stride < 4) {
      for (let i = 0, to = from * stride; i < count; i++)
        for (let at = rows[i]! * stride, end = at + stride; at < end; at++) this.bytes[to++] = other.bytes[at]!;
      return;
    }
    const words = stride >> 2;
    for (let i = 0, to = from * words; i < count; i++)
      for (let at = rows[i]! * words, end = at + words; at < end; at++) this.words[to++] = other.words[at]!;
  }

  override byteLength(): number {
    return this.length * this.stride;
  }

  protected override clear(index: number): void {
    this.bytes.fill(0, index * this.stride, (index + 1) * this.stride);
  }

  protected override grow(capacity: number): void {
    const buffer = new ArrayBuffer((capacity * this.stride + 7) & ~7);
    const bytes = new Uint8Array(buffer);
    bytes.set(this.bytes);
    this.bytes = bytes;
    this.words = new Int32Array(buffer);
    this.view = new DataView(buffer);
  }
}

/** Text or bytes of any length. */
export class BytesVector extends Vector {
  offsets: Int32Array;
  data: Uint8Array;
  /** Bytes of `data` in use; ahead of the last offset only while a value is being written. */
  used = 0;

  constructor(capacity: number, dataCapacity = capacity * 8) {
    super(capacity);
    this.offsets = new Int32Array(this.capacity + 1);
    this.data = new Uint8Array(Math.max(dataCapacity, 16));
  }

  pushBytes(source: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    const data = this.data;
    let at = this.used;
    if (end - start < 24) for (let i = start; i < end; i++) data[at++] = source[i]!;
    else {
      data.set(start === 0 && end === source.length ? source : source.subarray(start, end), at);
      at += end - start;
    }
    this.used = at;
    this.finish();
  }

  pushText(text: string): void {
    this.reserve(text.length * 3);
    this.used += encoder.encodeInto(text, this.data.subarray(this.used)).written;
    this.finish();
  }

  /** Makes room in `data` for `count` further bytes at `used`. */
  reserve(count: number): void {
    const needed = this.used + count;
    if (needed <= this.data.length) return;
    const grown = new Uint8Array(Math.max(needed, this.data.length * 2));
    grown.set(this.data.subarray(0, this.used));
    this.data = grown;
  }

  /** Completes a value whose bytes were written to `data` up to `used`. */
  finish(): void {
    const index = this.slot();
    this.offsets[index + 1] = this.used;
  }

  /** Appends `count` values that follow each other in `text`; `ends` are theirs in `data`, so they begin after `used`. */
  appendTexts(text: Uint8Array, ends: Int32Array, count: number, valid: Uint8Array | undefined): void {
    const from = this.length;
    this.appendValid(valid, count);
    this.reserve(text.length);
    this.data.set(text, this.used);
    this.offsets.set(ends, from + 1);
    this.used += text.length;
  }

  start(index: number): number {
    return this.offsets[index]!;
  }

  end(index: number): number {
    return this.offsets[index + 1]!;
  }

  override truncate(length: number): void {
    this.length = length;
    this.used = this.offsets[length]!;
  }

  override append(other: BytesVector, start: number, end: number): void {
    const from = this.length;
    this.appendValidity(other, start, end);
    const first = other.offsets[start]!;
    const last = other.offsets[end]!;
    this.reserve(last - first);
    this.data.set(other.data.subarray(first, last), this.used);
    const shift = this.used - first;
    for (let i = 1; i <= end - start; i++) this.offsets[from + i] = other.offsets[start + i]! + shift;
    this.used += last - first;
  }

  override appendRows(other: BytesVector, rows: Int32Array, count: number): void {
    const from = this.length;
    this.appendRowsValidity(other, rows, count);
    let bytes = 0;
    for (let i = 0; i < count; i++) bytes += other.offsets[rows[i]! + 1]! - other.offsets[rows[i]!]!;
    this.reserve(bytes);
    const { data, offsets } = this;
    let to = this.used;
    for (let i = 0; i < count; i++) {
      const start = other.offsets[rows[i]!]!;
      const end = other.offsets[rows[i]! + 1]!;
      // A call costs more than a few bytes do.
      if (end - start > 48) data.set(other.data.subarray(start, end), to);
      else for (let at = start, into = to; at < end; at++, into++) data[into] = other.data[at]!;
      to += end - start;
      offsets[from + i + 1] = to;
    }
    this.used = to;
  }

  override byteLength(): number {
    return this.used + this.length * 4;
  }

  protected override clear(index: number): void {
    this.used = this.offsets[index]!;
    this.offsets[index + 1] = this.used;
  }

  protected override grow(capacity: number): void {
    const offsets = new Int32Array(capacity + 1);
    offsets.set(this.offsets);
    this.offsets = offsets;
  }
}

const encoder = new TextEncoder();

/** Lists: a child vector and the end of each list in it. A MAP is a list of structs of key and value. */
export class ListVector extends Vector {
  offsets: Int32Array;
  readonly child: Vector;

  constructor(child: Vector, capacity: number) {
    super(capacity);
    this.child = child;
    this.offsets = new Int32Array(this.capacity + 1);
  }

  /** Completes the list made of the values that `child` got since the last one. */
  finish(): void {
    const index = this.slot();
    this.offsets[index + 1] = this.child.length;
  }

  override truncate(length: number): void {
    this.length = length;
    this.child.truncate(this.offsets[length]!);
  }

  override append(other: ListVector, start: number, end: number): void {
    const from = this.length;
    const childFrom = this.child.length;
    this.appendValidity(other, start, end);
    const first = other.offsets[start]!;
    this.child.append(other.child, first, other.offsets[end]!);
    for (let i = 1; i <= end - start; i++) this.offsets[from + i] = other.offsets[start + i]! - first + childFrom;
  }

  override appendRows(other: ListVector, rows: Int32Array, count: number): void {
    const from = this.length;
    this.appendRowsValidity(other, rows, count);
    for (let i = 0; i < count; i++) {
      this.child.append(other.child, other.offsets[rows[i]!]!, other.offsets[rows[i]! + 1]!);
      this.offsets[from + i + 1] = this.child.length;
    }
  }

  override byteLength(): number {
    return this.length * 4 + this.child.byteLength();
  }

  protected override clear(index: number): void {
    this.child.truncate(this.offsets[index]!);
    this.offsets[index + 1] = this.offsets[index]!;
  }

  protected override grow(capacity: number): void {
    const offsets = new Int32Array(capacity + 1);
    offsets.set(this.offsets);
    this.offsets = offsets;
  }
}

/** Structs: one child per field, all of the struct's own length. */
export class StructVector extends Vector {
  readonly children: readonly Vector[];

  constructor(children: readonly Vector[], capacity: number) {
    super(capacity);
    this.children = children;
  }

  /** Completes a struct; every child has got its value already. */
  finish(): void {
    this.slot();
  }

  override truncate(length: number): void {
    this.length = length;
    for (const child of this.children) child.truncate(length);
  }

  override append(other: StructVector, start: number, end: number): void {
    this.appendValidity(other, start, end);
    for (let i = 0; i < this.children.length; i++) this.children[i]!.append(other.children[i]!, start, end);
  }

  override appendRows(other: StructVector, rows: Int32Array, count: number): void {
    this.appendRowsValidity(other, rows, count);
    for (let i = 0; i < this.children.length; i++) this.children[i]!.appendRows(other.children[i]!, rows, count);
  }

  override byteLength(): number {
    let sum = this.length;
    for (const child of this.children) sum += child.byteLength();
    return sum;
  }

  protected override clear(index: number): void {
    for (const child of this.children) {
      child.truncate(index);
      child.pushNull();
    }
  }

  protected override grow(): void {}
}
