/** The scripts that make committed files; each takes `--check`. The documentation comes last: it reads the others' results. */
export const generators = ["generate-protocol.ts", "build-wasm.ts", "generate-docs.ts"] as const;
