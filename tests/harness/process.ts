/** A node as a process of its own: for tests that kill it, and for those that watch its memory. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

export interface NodeProcess {
  kafkaPort: number;
  httpPort: number;
  lake: string;
  child: ChildProcess;
  /** What it has printed so far. */
  output(): string;
  residentBytes(): number;
  /** Sends a signal and waits for the end; gives the exit code (null after a signal). */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Stops it and removes the lake. */
  remove(): Promise<void>;
}

/** The command that starts Rowlog: the executable that ROWLOG_EXECUTABLE names (such as dist/rowlog), else the source under this Bun. */
export function rowlogCommand(): string[] {
  const executable = process.env.ROWLOG_EXECUTABLE;
  return executable ? [executable] : [process.execPath, join(root, "src/cli/main.ts")];
}

/** Starts `rowlog serve` on free ports and waits until it says that it is ready. `wrapper`: a program that runs the rest of its parameters. */
export async function startNodeProcess(
  flags: string[] = [],
  lake = mkdtempSync(join(tmpdir(), "rowlog-process-")),
  wrapper: string[] = [],
): Promise<NodeProcess> {
  const [program, ...first] = [...wrapper, ...rowlogCommand()];
  const address = ["--kafka", "127.0.0.1:0", "--http", "127.0.0.1:0"];
  const child = spawn(program!, [...first, "serve", lake, ...address, "--log-format", "json", ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const ready = new Promise<{ kafka: string; http: string }>((resolve, reject) => {
    const take = (bytes: Buffer) => {
      text += bytes.toString();
      const line = text.split("\n").find((one) => one.includes('"Rowlog is ready"'));
      if (line) resolve(JSON.parse(line) as { kafka: string; http: string });
    };
    child.stdout!.on("data", take);
    child.stderr!.on("data", take);
    void ended.then((code) => reject(new Error(`the node ended with code ${code}:\n${text}`)));
  });
  const { kafka, http } = await ready;
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return await ended;
  };
  return {
    kafkaPort: Number(kafka.split(":").at(-1)),
    httpPort: Number(http.split(":").at(-1)),
    lake,
    child,
    output: () => text,
    residentBytes() {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1024;
    },
    stop,
    async remove() {
      await stop("SIGKILL");
      rmSync(lake, { recursive: true, force: true });
    },
  };
}
