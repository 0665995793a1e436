/**
 * Compiles wasm/ with AssemblyScript into src/hotpath/generated/kernels.ts: the module as base64 text, because importing
 * a .wasm file differs between Bun, Deno and the compiled executable. `--check` fails when that file is not what the
 * sources make.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The part of assemblyscript/asc used here. Its own types bring AssemblyScript's globals into every file of the project. */
interface Compiler {
  main(
    options: readonly string[],
    files: {
      readFile(name: string, base: string): string | null;
      writeFile(name: string, contents: string | Uint8Array): void;
    },
  ): Promise<{ error: Error | null; stderr: { toString(): string } }>;
}
const compilerName: string = "assemblyscript/asc";
const compiler = ((await import(compilerName)) as { default: Compiler }).default;

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = "src/hotpath/generated/kernels.ts";

async function compile(): Promise<Uint8Array> {
  let module: Uint8Array | undefined;
  const options = [
    ...["wasm/kernels.ts", "--outFile", "kernels.wasm", "--baseDir", root],
    ...["--runtime", "stub", "-O3", "--converge", "--noAssert", "--enable", "simd", "--use", "abort="],
    // The fixed areas of wasm/layout.ts come first; the compiler's own data must not meet them.
    ...["--memoryBase", "180000", "--initialMemory", "8"],
  ];
  const { error, stderr } = await compiler.main(options, {
    readFile: (name, base) => {
      const path = join(base, name);
      return existsSync(path) ? readFileSync(path, "utf8") : null;
    },
    writeFile: (_name, contents) => {
      if (typeof contents !== "string") module = contents;
    },
  });
  const said = stderr.toString();
  if (said !== "") process.stderr.write(said);
  if (error || module === undefined)
    throw new Error(`assemblyscript could not compile wasm/: ${error?.message ?? "no output"}`);
  return module;
}

function source(module: Uint8Array): string {
  const lines =
    Buffer.from(module)
      .toString("base64")
      .match(/.{1,116}/g) ?? [];
  return [
    "// Generated from wasm/ by scripts/build-wasm.ts. Do not edit.",
    "",
    `/** The WebAssembly module of the hot path, ${module.length} bytes, as base64. */`,
    "export const kernelsBase64 =",
    `  "${lines.join('" +\n  "')}";`,
    "",
  ].join("\n");
}

const made = source(await compile());
const path = join(root, target);
const present = existsSync(path) ? readFileSync(path, "utf8") : "";
if (process.argv.includes("--check")) {
  if (present !== made) {
    console.error(`${target} is not what wasm/ compiles to; run: bun scripts/build-wasm.ts`);
    process.exit(1);
  }
} else if (present !== made) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, made);
  console.log(`wrote ${target}`);
}
