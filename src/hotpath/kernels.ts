/**
 * The WebAssembly module of the hot path, one instance per thread, loaded when this file is first imported.
 * Invariant: a kernel sees only copies of its input; views into the module's memory never leave this folder, since the
 * next call reuses that memory. If the module cannot load, `kernels.loaded` is false and the twins serve.
 */
import { limits } from "../base/limits.ts";
import { CodecError } from "./codec_error.ts";
import { kernelsBase64 } from "./generated/kernels.ts";

interface KernelExports {
  memory: WebAssembly.Memory;
  arena(): number;
  summary(): number;
  crc32c(from: number, length: number): number;
  checkBatch(
    crcFrom: number,
    recordsFrom: number,
    end: number,
    count: number,
    baseHigh: number,
    baseLow: number,
    dense: number,
  ): number;
  xxhash32(from: number, length: number): number;
  lz4Bound(source: number, length: number): number;
  lz4Decode(source: number, length: number, target: number, capacity: number, oldHeaderChecksum: number): number;
  lz4Encode(source: number, length: number, target: number): number;
  snappyBound(source: number, length: number): number;
  snappyDecode(source: number, length: number, target: number, capacity: number): number;
  snappyEncode(source: number, length: number, target: number): number;
  changeRows(plain: number, records: number, count: number, target: number): number;
  jsonRows(
    plain: number,
    records: number,
    count: number,
    fields: number,
    fieldCount: number,
    predictions: number,
    rewritten: number,
    rewrittenEnds: number,
    keyFields: number,
    keyCount: number,
    keys: number,
    keyRows: number,
    guard: number,
    copyKept: number,
  ): number;
  replaceValues(plain: number, records: number, count: number, spans: number, values: number, target: number): number;
  walk(
    from: number,
    length: number,
    count: number,
    baseHigh: number,
    baseLow: number,
    dense: number,
    fields: number,
    timestamps: number,
  ): number;
}

/** Gives memory of that many bytes, 8-byte aligned; what is in it does not matter. */
export type Allocate = (length: number) => Uint8Array;

/** Bytes left free behind every output, so that a kernel's fault would meet them and not another's data. */
const slackBytes = 64;
const pageBytes = 65536;

export class KernelInstance {
  readonly call: KernelExports;
  /** Where callers' memory begins. */
  readonly arena: number;
  /** Where the record walk leaves its results. */
  readonly summary: number;
  /** The whole memory, as the three views that callers need; renewed by `reserve`. */
  bytes: Uint8Array;
  words: Int32Array;
  doubles: Float64Array;

  constructor(module: WebAssembly.Module) {
    this.call = new WebAssembly.Instance(module, {}).exports as unknown as KernelExports;
    this.arena = this.call.arena();
    this.summary = this.call.summary();
    const memory = this.call.memory.buffer;
    this.bytes = new Uint8Array(memory);
    this.words = new Int32Array(memory);
    this.doubles = new Float64Array(memory);
  }

  /** Makes `count` bytes from the arena's start on usable; the views are new ones afterwards if memory grew. */
  reserve(count: number): void {
    const needed = this.arena + count + slackBytes;
    if (needed <= this.bytes.length) return;
    this.call.memory.grow(Math.ceil((needed - this.bytes.length) / pageBytes));
    const memory = this.call.memory.buffer;
    this.bytes = new Uint8Array(memory);
    this.words = new Int32Array(memory);
    this.doubles = new Float64Array(memory);
  }

  /** A copy of `size` bytes at `from`, in memory from `allocate`. */
  take(from: number, size: number, allocate: Allocate | undefined): Uint8Array {
    if (allocate === undefined) return this.bytes.slice(from, from + size);
    const copy = allocate(size);
    copy.set(this.bytes.subarray(from, from + size));
    return copy;
  }

  /** Copies `input` to the arena's start with room for `more` bytes behind it. */
  put(input: Uint8Array, more: number): void {
    this.reserve(input.length + more);
    this.bytes.set(input, this.arena);
  }
}

function load(): { module: WebAssembly.Module; instance: KernelInstance } | Error {
  try {
    const module = new WebAssembly.Module(Uint8Array.from(atob(kernelsBase64), (char) => char.charCodeAt(0)));
    const instance = new KernelInstance(module);
    return { module, instance };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

const loading = load();
const loadedModule = loading instanceof Error ? undefined : loading;

export const kernels: {
  /** Whether the WebAssembly module serves; when not, the twins do, several times slower. */
  readonly loaded: boolean;
  /** Why it does not. */
  readonly reason: string | undefined;
  /** The thread's instance. Tests compare with the twins by their own names. */
  readonly instance: KernelInstance | undefined;
} = {
  loaded: loadedModule !== undefined,
  reason: loading instanceof Error ? loading.message : undefined,
  instance: loadedModule?.instance,
};

/**
 * The instance for a call that needs `count` bytes: the thread's own, or, past `limits.kernelMemoryBytesMax`, one that is
 * dropped after the call, since WebAssembly memory never shrinks. Undefined when no module is loaded.
 */
export function kernelFor(count: number): KernelInstance | undefined {
  if (loadedModule === undefined || count <= limits.kernelMemoryBytesMax) return loadedModule?.instance;
  return new KernelInstance(loadedModule.module);
}

const faultWords = ["", "the data is malformed", "", "the data needs a dictionary", "a checksum is wrong"];

/** The error for a length below 0 that a decoder returned. */
export function faultOf(codec: string, result: number, maxBytes: number): CodecError {
  if (result === -2)
    return new CodecError("too_large", `${codec}: the decompressed data is larger than ${maxBytes} bytes`);
  return new CodecError(result === -3 ? "unsupported" : "corrupt", `${codec}: ${faultWords[-result]}`);
}
