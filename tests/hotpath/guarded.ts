/**
 * Runs a kernel with guard bytes around its output and its input kept aside, and fails if either is touched.
 */
import { kernels } from "../../src/hotpath/kernels.ts";

const guardBytes = 64;

/** `run` gets the input's address, the output's and its room; returns the kernel's result and the output's bytes. */
export function guarded(
  input: Uint8Array,
  capacity: number,
  run: (source: number, target: number) => number,
): { result: number; output: Uint8Array } {
  const kernel = kernels.instance!;
  kernel.reserve(input.length + capacity + 4 * guardBytes);
  const source = kernel.arena + guardBytes;
  const target = source + input.length + guardBytes;
  kernel.bytes.fill(0xa5, kernel.arena, target + capacity + guardBytes);
  kernel.bytes.set(input, source);
  const result = run(source, target);
  const memory = kernel.bytes;
  const check = (from: number, to: number, what: string) => {
    for (let at = from; at < to; at++) if (memory[at] !== 0xa5) throw new Error(`${what} was written at +${at - from}`);
  };
  check(kernel.arena, source, "the guard before the input");
  check(source + input.length, target, "the guard before the output");
  check(target + capacity, target + capacity + guardBytes, "the guard behind the output");
  for (let i = 0; i < input.length; i++)
    if (memory[source + i] !== input[i]) throw new Error(`the input was changed at ${i}`);
  return { result, output: memory.slice(target, target + Math.max(0, result)) };
}
