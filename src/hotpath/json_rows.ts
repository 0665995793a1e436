/**
 * The face of the JSON row kernel: rows of one table, each a JSON object, straight into column buffers, and the text of those rows
 * that the table stores differently from how they were produced. It takes the usual rows and stops at the first that is anything
 * else, valid or not; the caller reads that one itself. Its twin is the caller's own reader (src/tables/row_decoder.ts).
 */
import { limits } from "../base/limits.ts";
import { type KernelInstance, kernelFor, kernels } from "./kernels.ts";
import { fieldsPerRecord } from "./twins/walk.ts";

/** Kinds in the order of wasm/json_rows.ts. */
const kinds = [
  "boolean",
  "signed",
  "unsigned",
  "float",
  "decimal",
  "varchar",
  "json",
  "date",
  "time",
  "timestamp",
] as const;

export interface JsonField {
  name: string;
  kind: (typeof kinds)[number];
  /** Bytes of a value: 1 for boolean, 16 for decimal, 0 for varchar and json. */
  width: 0 | 1 | 2 | 4 | 8 | 16;
  notNull: boolean;
  /** Of a decimal. */
  precision?: number;
  scale?: number;
  /** Of a timestamp: digits of its fraction (0, 3, 6, 9), and whether its text ends in Z. */
  fractionDigits?: number;
  zoned?: boolean;
}

/** Receives each field's values; the views are the kernel's memory and must be copied before the call returns. */
export interface RowSink {
  /** What to add to the ends of texts: bytes of text that the column holds already. */
  textBase(field: number): number;
  /** `valid`: a byte a row, 0 for null; absent when no row is. */
  fixed(field: number, count: number, values: Uint8Array, valid: Uint8Array | undefined): void;
  text(field: number, count: number, text: Uint8Array, ends: Int32Array, valid: Uint8Array | undefined): void;
  /**
   * Called when the table has a key: the rows' keys, one behind the other, and `keyWords` words a row: the end of its key, the key's hash, and
   * what the record's own key is to it (one of `ownKeys`).
   */
  keys?(count: number, text: Uint8Array, words: Int32Array): void;
  /** Called when rows must be written anew: their text, and for each row where its own ends (where the one before ends: kept). */
  rewritten(count: number, text: Uint8Array, ends: Int32Array): void;
}

/** Words a row of RowSink.keys. */
export const keyWords = 3;
/** The record's own key: these very bytes; null, or the key's only value in plain; anything else. */
export const ownKeys = { same: 0, none: 1, other: 2 } as const;

export interface RowKernelOptions {
  /** Fields of the key, in its order. */
  key?: readonly number[];
  /** Leave what looks like a change event to the caller: rows with unknown fields of the names that tell one. */
  guard?: boolean;
}

const fieldBytes = 80;
const recordBytes = fieldsPerRecord * 4;
const predictionBytes = 256;
const rowsPerCallMax = 4096;
const sliceBytesMax = 256 * 1024;
/** Memory that the text columns of one call may reserve, and that all else of its rows may. */
const textBytesMax = limits.kernelMemoryBytesMax / 2;
const rowsBytesMax = limits.kernelMemoryBytesMax / 4;

export class JsonRowKernel {
  private readonly fields: readonly JsonField[];
  /** The fields' descriptions without addresses. */
  private readonly template: Uint8Array;
  /** The names and labels, one behind the other. */
  private readonly names: Uint8Array;
  private readonly nameStarts: number[] = [];
  private readonly labelStarts: number[] = [];
  private readonly predictions = new Uint8Array(predictionBytes).fill(255);
  private readonly textFields: number;
  private readonly rowBytes: number;

  private readonly key: readonly number[];
  private readonly guard: boolean;

  private constructor(fields: readonly JsonField[], options: RowKernelOptions) {
    this.fields = fields;
    this.key = options.key ?? [];
    this.guard = options.guard ?? false;
    this.template = new Uint8Array(fields.length * fieldBytes);
    const view = new DataView(this.template.buffer);
    const names: number[] = [];
    for (const [i, field] of fields.entries()) {
      const at = i * fieldBytes;
      const name = new TextEncoder().encode(field.name);
      this.template[at] = kinds.indexOf(field.kind);
      this.template[at + 1] = field.width;
      this.template[at + 2] = field.notNull ? 1 : 0;
      this.template[at + 3] = field.scale ?? (field.fractionDigits ?? 0) / 3;
      this.template[at + 4] = field.precision ?? (field.zoned ? 1 : 0);
      this.template.set(name.subarray(0, 8), at + 8);
      this.template.fill(255, at + 16, at + 16 + Math.min(name.length, 8));
      view.setInt32(at + 28, name.length, true);
      view.setInt32(at + 56, -1, true);
      view.setInt32(at + 60, -1, true);
      this.nameStarts.push(names.length);
      names.push(...name);
      this.labelStarts.push(names.length);
      names.push(0x22, ...name, 0x22, 0x3a);
      view.setInt32(at + 76, name.length + 3, true);
    }
    this.names = Uint8Array.from(names);
    this.textFields = fields.filter((field) => field.width === 0).length;
    // What a row takes: its values and validity, its place in the index, and, written anew, its labels and what may be added.
    this.rowBytes = fields.reduce(
      (sum, field) => sum + (field.width || 4) + 1 + 48,
      recordBytes + 4 + this.names.length,
    );
  }

  /** Undefined when the module is not loaded, or the fields' names are not written in JSON as they are. */
  static create(fields: readonly JsonField[], options: RowKernelOptions = {}): JsonRowKernel | undefined {
    const plain = (name: string) => /^[^"\\\u0000-\u001f]*$/u.test(name) && name.isWellFormed();
    if (!kernels.loaded || fields.length === 0 || !fields.every((field) => plain(field.name))) return undefined;
    return new JsonRowKernel(fields, options);
  }

  /**
   * Takes rows from record `from` on, at most up to record `to` of the record index (`fieldsPerRecord` words a record; positions
   * in `plain`). `mayMiss`: for each field, whether a row without it has null there. `copyKept`: the rows are of
   * change events without a schema, whose decimals are base64 and whose times are numbers; the sink gets the text of every row as one that
   * must be written anew. Returns how many: 0 when the first one is not for the kernel. Call again for the next.
   */
  take(
    plain: Uint8Array,
    index: Int32Array,
    from: number,
    to: number,
    mayMiss: readonly boolean[],
    sink: RowSink,
    copyKept = false,
  ): number {
    for (const [i, may] of mayMiss.entries()) this.template[i * fieldBytes + 5] = may ? 1 : 0;
    // A record's key stands before its value.
    const start = index[from * fieldsPerRecord + (this.key.length > 0 ? 1 : 3)]!;
    const sliceMax = Math.min(sliceBytesMax, Math.floor(textBytesMax / (this.textFields + 2)));
    const rowsMax = Math.max(1, Math.min(rowsPerCallMax, Math.floor(rowsBytesMax / this.rowBytes)));
    let count = 0;
    let end = start;
    for (const limit = Math.min(to - from, rowsMax); count < limit; count++) {
      const word = (from + count) * fieldsPerRecord;
      const length = index[word + 4]!;
      if (length < 0 || index[word + 3]! + length - start > sliceMax) break;
      end = index[word + 3]! + length;
    }
    if (count === 0) return 0;
    const length = end - start;
    const keyBytes = this.key.length > 0 ? length + count * (this.rowBytes + keyWords * 4) + 64 : 0;
    const needed =
      length * (this.textFields + 2) + keyBytes + count * this.rowBytes + this.fields.length * (fieldBytes + 160);
    const kernel = kernelFor(needed + predictionBytes + this.names.length + 1024)!;
    kernel.reserve(needed + predictionBytes + this.names.length + 1024);
    return this.run(kernel, plain.subarray(start, end), start, index, from, count, sink, copyKept);
  }

  private run(
    kernel: KernelInstance,
    slice: Uint8Array,
    start: number,
    index: Int32Array,
    from: number,
    count: number,
    sink: RowSink,
    copyKept: boolean,
  ): number {
    const { bytes, words } = kernel;
    let next = kernel.arena;
    const place = (length: number) => {
      const at = next;
      // 16 bytes behind each area belong to it: kernels read and write whole vectors. 8-byte alignment for the views.
      next = (next + length + 16 + 7) & ~7;
      return at;
    };
    const text = place(slice.length);
    bytes.set(slice, text);
    const records = place(count * recordBytes);
    words.set(index.subarray(from * fieldsPerRecord, (from + count) * fieldsPerRecord), records >> 2);
    const predictions = place(predictionBytes);
    bytes.set(this.predictions, predictions);
    const names = place(this.names.length);
    bytes.set(this.names, names);
    const fields = place(this.template.length);
    bytes.set(this.template, fields);
    for (const [i, field] of this.fields.entries()) {
      const word = (fields + i * fieldBytes) >> 2;
      words[word + 6] = names + this.nameStarts[i]!;
      words[word + 8] = place(field.width === 0 ? slice.length : count * field.width);
      const valid = place(count);
      words[word + 9] = valid;
      bytes.fill(1, valid, valid + count);
      words[word + 10] = field.width === 0 ? place(count * 4) : 0;
      words[word + 11] = field.width === 0 ? sink.textBase(i) : 0;
      words[word + 18] = names + this.labelStarts[i]!;
    }
    const ends = place(count * 4);
    const rewritten = place(slice.length + count * (this.names.length + this.fields.length * 48));
    const { length } = this.fields;
    const keyFields = place(this.key.length * 4);
    for (const [i, field] of this.key.entries()) words[(keyFields >> 2) + i] = fields + field * fieldBytes;
    const hasKey = this.key.length > 0;
    const keyRows = place(hasKey ? count * keyWords * 4 : 0);
    const keys = place(hasKey ? slice.length + count * (this.names.length + this.fields.length * 48) : 0);
    const rows = kernel.call.jsonRows(
      text - start,
      records,
      count,
      fields,
      length,
      predictions,
      rewritten,
      ends,
      keyFields,
      this.key.length,
      keys,
      keyRows,
      this.guard ? 1 : 0,
      copyKept ? 1 : 0,
    );
    this.predictions.set(bytes.subarray(predictions, predictions + predictionBytes));
    if (rows === 0) return 0;
    this.hand(kernel, fields, rows, sink);
    if (hasKey) {
      const keyWordsOfRows = words.subarray(keyRows >> 2, (keyRows >> 2) + rows * keyWords);
      sink.keys?.(rows, bytes.subarray(keys, keys + keyWordsOfRows[(rows - 1) * keyWords]!), keyWordsOfRows);
    }
    const written = words[(ends >> 2) + rows - 1]!;
    if (written > 0) {
      sink.rewritten(
        rows,
        bytes.subarray(rewritten, rewritten + written),
        words.subarray(ends >> 2, (ends >> 2) + rows),
      );
    }
    return rows;
  }

  private hand({ bytes, words }: KernelInstance, fields: number, rows: number, sink: RowSink): void {
    for (const [i, field] of this.fields.entries()) {
      const word = (fields + i * fieldBytes) >> 2;
      const values = words[word + 8]!;
      const valid = words[word + 13] === 0 ? undefined : bytes.subarray(words[word + 9]!, words[word + 9]! + rows);
      if (field.width !== 0) {
        sink.fixed(i, rows, bytes.subarray(values, values + rows * field.width), valid);
      } else {
        const ends = words.subarray(words[word + 10]! >> 2, (words[word + 10]! >> 2) + rows);
        sink.text(i, rows, bytes.subarray(values, values + words[word + 12]!), ends, valid);
      }
    }
  }
}
