/** An Io in memory: what a command wrote, and what it reads. */
import { Buffer } from "node:buffer";
import type { Io } from "../../src/cli/io.ts";
import { run } from "../../src/cli/program.ts";
import type { StartNode } from "../../src/cli/serve.ts";

export interface FakeIo extends Io {
  outBytes: Uint8Array[];
  stdout(): string;
  stderr: string;
  abort(): void;
}

export function fakeIo(options: Partial<Io> & { stdin?: string | Uint8Array } = {}): FakeIo {
  const controller = new AbortController();
  const { stdin = "", ...rest } = options;
  const io: FakeIo = {
    outBytes: [],
    stdout: () => Buffer.concat(io.outBytes).toString(),
    stderr: "",
    async out(chunk) {
      io.outBytes.push(typeof chunk === "string" ? Buffer.from(chunk) : Uint8Array.from(chunk));
    },
    err(text) {
      io.stderr += text;
    },
    async *input() {
      if (stdin.length > 0) yield typeof stdin === "string" ? Buffer.from(stdin) : stdin;
    },
    outIsTerminal: false,
    errIsTerminal: false,
    inIsTerminal: false,
    width: 80,
    environment: {},
    programName: "rowlog",
    signal: controller.signal,
    watchInterrupt() {},
    abort: () => controller.abort(),
    ...rest,
  };
  return io;
}

const noNode: StartNode = async () => {
  throw new Error("this test starts no node");
};

export interface Outcome {
  code: number;
  out: string;
  err: string;
  bytes: Uint8Array;
}

export async function runCli(
  argv: string[],
  options: Parameters<typeof fakeIo>[0] = {},
  startNode: StartNode = noNode,
): Promise<Outcome> {
  const io = fakeIo(options);
  const code = await run(argv, io, { startNode });
  return { code, out: io.stdout(), err: io.stderr, bytes: Buffer.concat(io.outBytes) };
}
