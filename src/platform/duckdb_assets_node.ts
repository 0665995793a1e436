/** Deno and Node: the module in node_modules. */
import { createRequire } from "node:module";

export function wasmPath(): string {
  return createRequire(import.meta.url).resolve("@duckdb/duckdb-wasm/dist/duckdb-eh.wasm");
}
