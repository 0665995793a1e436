/**
 * DuckDB-WASM's module behind the calls that we use. The library's own connection classes are passed by: they take texts over the small
 * stack of the module (a text of 10 MB ends it) and write to the console.
 *
 * Every text goes in by address and length. A failed call throws EngineFailure with DuckDB's own message.
 */
// @ts-expect-error: the package has no types for this file that stand without a browser.
import * as library from "@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs";
import { withRoomyTables } from "./roomy_table.ts";

/** What is used of the Emscripten module. Addresses and sizes are bytes. */
export interface DuckDbModule {
  HEAPU8: Uint8Array;
  HEAPF64: Float64Array;
  _malloc(size: number): number;
  _free(address: number): void;
  stackSave(): number;
  stackAlloc(size: number): number;
  stackRestore(stack: number): void;
  ccall(name: string, returns: string | null, types: readonly string[], values: readonly unknown[]): number;
}

/** The functions that the module calls back, in the shape of the library's `DuckDBRuntime`. */
export type RuntimeFunctions = Record<string, unknown>;

interface LibraryExports {
  createDuckDB(bundles: unknown, logger: unknown, runtime: RuntimeFunctions): Promise<LibraryBindings>;
  VoidLogger: new () => unknown;
}

interface LibraryBindings {
  instantiate(): Promise<unknown>;
  readonly mod: DuckDbModule;
}

/** DuckDB refused or failed; `message` is its own, with its type of exception in front. */
export class EngineFailure extends Error {
  override name = "EngineFailure";
}

/** Compiles and starts the module; takes one to two seconds. Once per thread. */
export async function loadDuckDb(wasmPath: string, runtime: RuntimeFunctions): Promise<DuckDbCalls> {
  const found = library as unknown as LibraryExports & { default?: LibraryExports };
  const { createDuckDB, VoidLogger } = "createDuckDB" in found ? found : (found as { default: LibraryExports }).default;
  const bundle = { mainModule: wasmPath, mainWorker: "" };
  const bindings = await createDuckDB({ mvp: bundle, eh: bundle }, new VoidLogger(), runtime);
  await withRoomyTables(() => bindings.instantiate());
  return new DuckDbCalls(bindings.mod);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A call's answer: bytes at an address, valid until `clear`. */
interface Answer {
  status: number;
  address: number;
  size: number;
}

/** Status with which a fetch asks to be called again. */
const statusRetry = 256;

/** The room for rows grows by this, and stays when it is no larger than that. */
const roomStepBytes = 1024 * 1024;
const roomBytesMax = 32 * 1024 * 1024;

export class DuckDbCalls {
  readonly module: DuckDbModule;
  /** Where rows to insert lie. */
  private room = { address: 0, length: 0 };

  constructor(module: DuckDbModule) {
    this.module = module;
  }

  open(config: object): void {
    this.withText(JSON.stringify(config), true, (address) => this.call("duckdb_web_open", [address]));
    this.clear();
  }

  version(): string {
    const text = this.textOf(this.call("duckdb_web_get_version", []));
    this.clear();
    return text;
  }

  connect(): number {
    return this.module.ccall("duckdb_web_connect", "number", [], []);
  }

  disconnect(connection: number): void {
    this.module.ccall("duckdb_web_disconnect", null, ["number"], [connection]);
  }

  /** Makes a name of files known to DuckDB as a file of the runtime. */
  registerFile(path: string, directIo: boolean): void {
    const nodeFileSystem = 1;
    this.withText(path, true, (address) =>
      this.call("duckdb_web_fs_register_file_url", [address, address, nodeFileSystem, directIo ? 1 : 0]),
    );
    this.clear();
  }

  /** Facts of a registered file as the library keeps them. */
  fileName(fileId: number): string {
    const answer = this.call("duckdb_web_fs_get_file_info_by_id", [fileId, 0]);
    const text = this.textOf(answer);
    this.clear();
    const info = JSON.parse(text) as { fileName?: string; dataUrl?: string | null } | null;
    return info?.dataUrl ?? info?.fileName ?? "";
  }

  /** Starts a statement. The schema message when it has started to answer, else nothing: `poll`. */
  start(connection: number, sql: string): Uint8Array | undefined {
    return this.withText(sql, false, (address, length) =>
      this.maybeBytes(this.call("duckdb_web_pending_query_start_buffer", [connection, address, length, 1])),
    );
  }

  /** Works on the started statement for the configured interval. */
  poll(connection: number): Uint8Array | undefined {
    return this.maybeBytes(this.call("duckdb_web_pending_query_poll", [connection]));
  }

  /** False when nothing was pending. */
  cancel(connection: number): boolean {
    return this.module.ccall("duckdb_web_pending_query_cancel", "number", ["number"], [connection]) !== 0;
  }

  /** The next record batch message, empty at the end; nothing when it has to be called again. */
  fetch(connection: number): Uint8Array | undefined {
    const answer = this.call("duckdb_web_query_fetch_results", [connection]);
    if (answer.status === statusRetry) {
      this.clear();
      return undefined;
    }
    return this.bytesOf(answer);
  }

  /** Runs a statement to its end and drops what it answers. Blocks. */
  run(connection: number, sql: string): void {
    this.all(connection, sql);
  }

  /** Runs a statement to its end: the schema message, then the batches' messages. Blocks. */
  all(connection: number, sql: string): Uint8Array[] {
    let schema = this.start(connection, sql);
    while (!schema) schema = this.poll(connection);
    const messages = [schema];
    for (;;) {
      const batch = this.fetch(connection);
      if (!batch) continue;
      if (batch.length === 0) return messages;
      messages.push(batch);
    }
  }

  tokenize(sql: string): { offsets: number[]; types: number[] } {
    return this.withText(sql, false, (address, length) => {
      const text = this.textOf(this.call("duckdb_web_tokenize_buffer", [address, length]));
      this.clear();
      return JSON.parse(text) as { offsets: number[]; types: number[] };
    });
  }

  tableNames(connection: number, sql: string): string[] {
    return this.withText(sql, false, (address, length) => {
      const text = this.textOf(this.call("duckdb_web_get_tablenames_buffer", [connection, address, length]));
      this.clear();
      return JSON.parse(text) as string[];
    });
  }

  insertArrow(
    connection: number,
    stream: Uint8Array,
    options: { name: string; schema?: string; create: boolean },
  ): void {
    // Taking room may move the module's memory.
    const address = this.takeRoom(stream.length);
    this.module.HEAPU8.set(stream, address);
    try {
      this.withText(JSON.stringify(options), true, (text) =>
        this.call("duckdb_web_insert_arrow_from_ipc_stream", [connection, address, stream.length, text]),
      );
      this.clear();
    } finally {
      if (this.room.length > roomBytesMax) this.freeRoom();
    }
  }

  /**
   * Memory of the module for `length` bytes. The same is used over and over: what is freed in between DuckDB takes for rows that it
   * keeps, and then every stream comes to lie in memory that nobody has touched.
   */
  private takeRoom(length: number): number {
    if (length > this.room.length) {
      this.freeRoom();
      const rounded = Math.ceil(length / roomStepBytes) * roomStepBytes;
      const address = this.module._malloc(rounded);
      if (address === 0) throw new EngineFailure("Out of Memory Error: no room for the rows to insert");
      this.room = { address, length: rounded };
    }
    return this.room.address;
  }

  private freeRoom(): void {
    if (this.room.length > 0) this.module._free(this.room.address);
    this.room = { address: 0, length: 0 };
  }

  /** `declaration`: the library's UDFFunctionDeclaration. The connection must live as long as the function. */
  createFunction(connection: number, declaration: object): void {
    this.withText(JSON.stringify(declaration), true, (text) =>
      this.call("duckdb_web_udf_scalar_create", [connection, text]),
    );
    this.clear();
  }

  text(address: number, size: number): string {
    return decoder.decode(this.module.HEAPU8.subarray(address, address + size));
  }

  /** Lets `use` have the text's UTF-8 bytes, ended by a zero when it is `closed`. */
  private withText<T>(text: string, closed: boolean, use: (address: number, length: number) => T): T {
    const { module } = this;
    const bytes = encoder.encode(text);
    const address = module._malloc(bytes.length + 1);
    if (address === 0) throw new EngineFailure("Out of Memory Error: no room for the text of the statement");
    try {
      module.HEAPU8.set(bytes, address);
      if (closed) module.HEAPU8[address + bytes.length] = 0;
      return use(address, bytes.length);
    } finally {
      module._free(address);
    }
  }

  /** All of the module's functions take the address of their answer first: status, value or address, size, as doubles. */
  private call(name: string, values: readonly number[]): Answer {
    const { module } = this;
    const stack = module.stackSave();
    const response = module.stackAlloc(24);
    try {
      module.ccall(name, null, [], [response, ...values]);
      const at = response >> 3;
      const answer = {
        status: module.HEAPF64[at]!,
        address: module.HEAPF64[at + 1]!,
        size: module.HEAPF64[at + 2]!,
      };
      if (answer.status !== 0 && answer.status !== statusRetry) {
        const message = this.textOf(answer);
        this.clear();
        throw new EngineFailure(message);
      }
      return answer;
    } finally {
      module.stackRestore(stack);
    }
  }

  private maybeBytes(answer: Answer): Uint8Array | undefined {
    return answer.address === 0 ? undefined : this.bytesOf(answer);
  }

  private bytesOf(answer: Answer): Uint8Array {
    const bytes = this.module.HEAPU8.slice(answer.address, answer.address + answer.size);
    this.clear();
    return bytes;
  }

  private textOf(answer: Answer): string {
    return this.text(answer.address, answer.size);
  }

  private clear(): void {
    this.module.ccall("duckdb_web_clear_response", null, [], []);
  }
}
