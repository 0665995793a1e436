/**
 * SQL functions written in TypeScript. DuckDB calls them for a vector of up to 2,048 rows at a time; arguments lie in the module's
 * memory and results are put there.
 *
 * The module's own bridge gives NULLs for text and fails on BIGINT. What the module frees was measured: the result's three addresses,
 * the validity bytes, and the values of types of fixed size. Text addresses, lengths and bytes stay ours and are used again.
 */
import type { DuckDbCalls, DuckDbModule } from "./duckdb_library.ts";

/** Types a function may give, by the names of the module's declarations. */
export type ScalarType = "utf8" | "int64" | "uint64" | "float64" | "bool";

/** One argument of a call, by row. */
export interface Argument {
  /** `text` covers VARCHAR and types made of it; other types are numbers, or nothing that a function can read. */
  readonly kind: "text" | "number" | "integer" | "boolean" | "other";
  isNull(row: number): boolean;
  /** Address and end of a text in the module's memory. */
  start(row: number): number;
  end(row: number): number;
  number(row: number): number;
}

/** Where a function puts the value of the row it was called for. Nothing put: NULL. */
export interface ScalarResult {
  /** A range of the module's memory. */
  copy(start: number, end: number): void;
  bytes(bytes: Uint8Array): void;
  text(text: string): void;
  /** For DOUBLE, and for BOOLEAN as 0 or 1. */
  number(value: number): void;
  bigint(value: bigint): void;
}

export interface ScalarFunction {
  name: string;
  returns: ScalarType;
  /** `memory` is the module's memory; texts of arguments are ranges of it. An error thrown fails the statement. */
  call(memory: Uint8Array, args: readonly Argument[], row: number, result: ScalarResult): void;
}

interface ArgumentDescription {
  sqlType: string;
  physicalType: string;
  validityBuffer?: number;
  dataBuffer?: number;
  lengthBuffer?: number;
}

interface CallDescription {
  rows: number;
  args: ArgumentDescription[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const fixedBytes: Record<ScalarType, number> = { utf8: 8, int64: 8, uint64: 8, float64: 8, bool: 1 };

export class ScalarBridge {
  private readonly functions: ScalarFunction[] = [];
  private readonly results = new Map<ScalarType, ResultBuffers>();

  /** Makes a function known. `connection` must stay open as long as the database. */
  register(calls: DuckDbCalls, connection: number, scalar: ScalarFunction): void {
    this.functions.push(scalar);
    const functionId = this.functions.length;
    calls.createFunction(connection, { functionId, name: scalar.name, returnType: { sqlType: scalar.returns } });
  }

  /** The runtime's `callScalarUDF`. `response`: address of status, value, size as doubles. */
  readonly call = (
    module: DuckDbModule,
    response: number,
    functionId: number,
    description: number,
    descriptionBytes: number,
    pointers: number,
  ): void => {
    const at = response >> 3;
    try {
      const scalar = this.functions[functionId - 1]!;
      const text = decoder.decode(module.HEAPU8.subarray(description, description + descriptionBytes));
      const { rows, args } = JSON.parse(text) as CallDescription;
      let buffers = this.results.get(scalar.returns);
      if (!buffers) {
        buffers = new ResultBuffers(module, scalar.returns);
        this.results.set(scalar.returns, buffers);
      }
      const address = evaluate(module, scalar, readArguments(module, args, pointers), rows, buffers);
      module.HEAPF64[at] = 0;
      module.HEAPF64[at + 1] = address;
      module.HEAPF64[at + 2] = 0;
    } catch (error) {
      const message = encoder.encode(error instanceof Error ? error.message : String(error));
      const address = module._malloc(message.length + 1);
      module.HEAPU8.set(message, address);
      module.HEAPF64[at] = 1;
      module.HEAPF64[at + 1] = address;
      module.HEAPF64[at + 2] = message.length;
    }
  };
}

/** Address of the three addresses that the module expects: values, validity, lengths. */
function evaluate(
  module: DuckDbModule,
  scalar: ScalarFunction,
  args: readonly ArgumentView[],
  rows: number,
  buffers: ResultBuffers,
): number {
  buffers.begin(rows);
  for (let row = 0; row < rows; row++) {
    if (module.HEAPU8.buffer !== args[0]?.memory.buffer) for (const arg of args) arg.refresh();
    buffers.row = row;
    scalar.call(module.HEAPU8, args, row, buffers);
  }
  return buffers.finish();
}

class ResultBuffers implements ScalarResult {
  row = 0;
  private rows = 0;
  private readonly module: DuckDbModule;
  private readonly type: ScalarType;
  private values = 0;
  private validity = 0;
  private lengths = 0;
  private textRows = 0;
  /** Bytes of texts, and for each row where its text starts (from `texts`) and how long it is. */
  private texts = 0;
  private textCapacity = 0;
  private textUsed = 0;
  private starts = new Uint32Array(0);
  private sizes = new Uint32Array(0);

  constructor(module: DuckDbModule, type: ScalarType) {
    this.module = module;
    this.type = type;
  }

  begin(rows: number): void {
    const { module } = this;
    this.validity = allocate(module, rows);
    if (this.type === "utf8") {
      if (rows > this.textRows) this.growRows(rows);
      this.textUsed = 0;
      this.sizes.fill(0, 0, rows);
      this.starts.fill(0, 0, rows);
    } else {
      this.values = allocate(module, rows * fixedBytes[this.type]);
      module.HEAPU8.fill(0, this.values, this.values + rows * fixedBytes[this.type]);
    }
    module.HEAPU8.fill(0, this.validity, this.validity + rows);
    this.rows = rows;
  }

  finish(): number {
    const { module } = this;
    if (this.type === "utf8") {
      if (this.textCapacity === 0) this.reserve(1);
      for (let row = 0; row < this.rows; row++) {
        module.HEAPF64[(this.values >> 3) + row] = this.texts + this.starts[row]!;
        module.HEAPF64[(this.lengths >> 3) + row] = this.sizes[row]!;
      }
    }
    const result = allocate(module, 24);
    module.HEAPF64[result >> 3] = this.values;
    module.HEAPF64[(result >> 3) + 1] = this.validity;
    module.HEAPF64[(result >> 3) + 2] = this.lengths;
    return result;
  }

  copy(start: number, end: number): void {
    const at = this.place(end - start);
    this.module.HEAPU8.copyWithin(at, start, end);
  }

  bytes(bytes: Uint8Array): void {
    const at = this.place(bytes.length);
    this.module.HEAPU8.set(bytes, at);
  }

  text(text: string): void {
    this.bytes(encoder.encode(text));
  }

  number(value: number): void {
    if (this.type === "bool") this.module.HEAPU8[this.values + this.row] = value;
    else this.module.HEAPF64[(this.values >> 3) + this.row] = value;
    this.valid();
  }

  bigint(value: bigint): void {
    new DataView(this.module.HEAPU8.buffer).setBigInt64(this.values + this.row * 8, BigInt.asIntN(64, value), true);
    this.valid();
  }

  private valid(): void {
    this.module.HEAPU8[this.validity + this.row] = 1;
  }

  /** Room for the row's text; the address may be used until the next call. */
  private place(size: number): number {
    this.reserve(size);
    this.starts[this.row] = this.textUsed;
    this.sizes[this.row] = size;
    this.textUsed += size;
    this.valid();
    return this.texts + this.textUsed - size;
  }

  private reserve(size: number): void {
    if (this.textUsed + size <= this.textCapacity) return;
    const { module } = this;
    const capacity = Math.max(64 * 1024, this.textCapacity * 2, this.textUsed + size);
    const texts = allocate(module, capacity);
    module.HEAPU8.copyWithin(texts, this.texts, this.texts + this.textUsed);
    if (this.texts !== 0) module._free(this.texts);
    this.texts = texts;
    this.textCapacity = capacity;
  }

  private growRows(rows: number): void {
    const { module } = this;
    if (this.textRows > 0) {
      module._free(this.values);
      module._free(this.lengths);
    }
    this.values = allocate(module, rows * 8);
    this.lengths = allocate(module, rows * 8);
    this.starts = new Uint32Array(rows);
    this.sizes = new Uint32Array(rows);
    this.textRows = rows;
  }
}

class ArgumentView implements Argument {
  readonly kind: Argument["kind"];
  memory: Uint8Array;
  private readonly module: DuckDbModule;
  private readonly physicalType: string;
  private readonly validity: number;
  private readonly data: number;
  private readonly lengths: number;
  private view: DataView;

  constructor(module: DuckDbModule, description: ArgumentDescription, pointers: Float64Array) {
    this.module = module;
    this.memory = module.HEAPU8;
    this.view = new DataView(this.memory.buffer);
    this.physicalType = description.physicalType;
    this.kind = kindOf(description);
    this.validity = description.validityBuffer === undefined ? 0 : pointers[description.validityBuffer]!;
    this.data = description.dataBuffer === undefined ? 0 : pointers[description.dataBuffer]!;
    this.lengths = description.lengthBuffer === undefined ? 0 : pointers[description.lengthBuffer]!;
  }

  /** The memory has grown, and with it moved to another buffer. */
  refresh(): void {
    this.memory = this.module.HEAPU8;
    this.view = new DataView(this.memory.buffer);
  }

  isNull(row: number): boolean {
    return this.validity !== 0 && this.memory[this.validity + row] === 0;
  }

  start(row: number): number {
    return this.view.getFloat64(this.data + row * 8, true);
  }

  end(row: number): number {
    return this.start(row) + this.view.getFloat64(this.lengths + row * 8, true);
  }

  number(row: number): number {
    const { view, data } = this;
    switch (this.physicalType) {
      case "INT8":
        return view.getInt8(data + row);
      case "UINT8":
      case "BOOL":
        return view.getUint8(data + row);
      case "INT16":
        return view.getInt16(data + row * 2, true);
      case "UINT16":
        return view.getUint16(data + row * 2, true);
      case "INT32":
        return view.getInt32(data + row * 4, true);
      case "UINT32":
        return view.getUint32(data + row * 4, true);
      case "INT64":
        return Number(view.getBigInt64(data + row * 8, true));
      case "UINT64":
        return Number(view.getBigUint64(data + row * 8, true));
      case "FLOAT":
        return view.getFloat32(data + row * 4, true);
      case "DOUBLE":
        return view.getFloat64(data + row * 8, true);
      default:
        return Number.NaN;
    }
  }
}

function kindOf({ physicalType, sqlType }: ArgumentDescription): Argument["kind"] {
  if (physicalType === "VARCHAR") return sqlType === "BLOB" || sqlType === "BIT" ? "other" : "text";
  if (physicalType === "BOOL") return "boolean";
  if (physicalType === "FLOAT" || physicalType === "DOUBLE") return "number";
  return /^U?INT(8|16|32|64)$/.test(physicalType) ? "integer" : "other";
}

function readArguments(
  module: DuckDbModule,
  descriptions: readonly ArgumentDescription[],
  pointers: number,
): ArgumentView[] {
  const addresses = new Float64Array(module.HEAPU8.buffer, pointers, 3 * descriptions.length);
  return descriptions.map((description) => new ArgumentView(module, description, addresses));
}

function allocate(module: DuckDbModule, bytes: number): number {
  const address = module._malloc(Math.max(bytes, 8));
  if (address === 0) throw new Error("no memory is left for the result of a function");
  return address;
}
