/** Bun alone evaluates this file: `bun build --compile` embeds the module and gives its path under `/$bunfs/`. */
// @ts-expect-error: a file import, which the type checker takes for code.
import path from "@duckdb/duckdb-wasm/dist/duckdb-eh.wasm" with { type: "file" };

export function wasmPath(): string {
  return path as unknown as string;
}
