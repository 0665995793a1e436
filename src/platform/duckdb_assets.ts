/**
 * Where DuckDB's WebAssembly module lies: inside the executable that Bun compiles, or in node_modules. The Bun-only file is
 * imported by name at run time, so that Deno never evaluates its `with { type: "file" }` import.
 */
export async function duckdbWasmPath(): Promise<string> {
  if ("Bun" in globalThis) return (await import("./duckdb_assets_bun.ts")).wasmPath();
  return (await import("./duckdb_assets_node.ts")).wasmPath();
}
