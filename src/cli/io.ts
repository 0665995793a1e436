/**
 * What a command may touch of the outside: its streams, environment and the way it is called. Commands get it as an
 * argument, so tests run them in process. Invariant: results go to `out`, everything else (errors, progress) to `err`.
 */
import process from "node:process";
import type { Environment } from "./config.ts";

export interface Io {
  /** Writes to standard output; the promise is back-pressure. */
  out(chunk: string | Uint8Array): Promise<void>;
  err(text: string): void;
  /** Standard input as chunks of bytes. */
  input(): AsyncIterable<Uint8Array>;
  outIsTerminal: boolean;
  errIsTerminal: boolean;
  inIsTerminal: boolean;
  /** Columns of the terminal, for tables. */
  width: number;
  environment: Environment;
  /** What a person types to run this program, for hints. */
  programName: string;
  /** Aborted by Ctrl-C or SIGTERM while a command runs. */
  signal: AbortSignal;
  /** From now on the first Ctrl-C or SIGTERM aborts `signal`, so that a command can end in order; the next one ends it at once. */
  watchInterrupt(): void;
}

/** A failure whose message is one clear line; `exitCode` 1 for failures, 2 for wrong usage. */
export class CliError extends Error {
  override name = "CliError";
  exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

export class UsageError extends CliError {
  override name = "UsageError";
  constructor(message: string) {
    super(message, 2);
  }
}

export function processIo(): Io {
  const interrupted = new AbortController();
  return {
    out: (chunk) => writeStandardOutput(chunk),
    err: (text) => void process.stderr.write(text),
    input: () => process.stdin as AsyncIterable<Uint8Array>,
    outIsTerminal: process.stdout.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true,
    inIsTerminal: process.stdin.isTTY === true,
    width: process.stdout.columns || 80,
    environment: process.env,
    programName: programName(),
    signal: interrupted.signal,
    watchInterrupt() {
      const interrupt = () => {
        if (interrupted.signal.aborted) process.exit(130);
        interrupted.abort();
        // A command that hangs in a connection does not hold the person up.
        setTimeout(() => process.exit(130), 3_000).unref();
      };
      process.on("SIGINT", interrupt);
      process.on("SIGTERM", interrupt);
    },
  };
}

/** A reader that has gone (`| head`) ends the program quietly, as it ends every other tool. */
function writeStandardOutput(chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(chunk, (error) => {
      if (!error) resolve();
      else if ((error as NodeJS.ErrnoException).code === "EPIPE") process.exit(0);
      else reject(error);
    });
  });
}

/** From a clone the program is a script of npm's; the executable is called by its own path. */
function programName(): string {
  const executable = process.execPath.split(/[\\/]/).pop() ?? "";
  return /^(bun|deno|node)/.test(executable)
    ? "npm run -s rowlog --"
    : (process.argv0 || executable).replace(/ /g, "\\ ");
}
