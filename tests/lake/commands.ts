/** A lake of a test's own, with a node on it when the test wants one, and the command line beside it. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NodeProcess, rowlogCommand, startNodeProcess } from "../harness/process.ts";

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

/** Runs a command line of rowlog. */
export async function rowlog(...argv: string[]): Promise<Ran> {
  const [program, ...first] = rowlogCommand();
  const child = spawn(program!, [...first, ...argv], { stdio: ["ignore", "pipe", "pipe"] });
  const ran: Ran = { code: null, out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    ran.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    ran.err += text;
  });
  ran.code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return ran;
}

export class TestLake {
  readonly folder = mkdtempSync(join(tmpdir(), "rowlog-lake-"));
  readonly lake = join(this.folder, "lake");
  private node: NodeProcess | undefined;

  async start(flags: string[] = [], lake = this.lake): Promise<NodeProcess> {
    this.node = await startNodeProcess(flags, lake);
    return this.node;
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.node?.stop(signal);
    this.node = undefined;
  }

  async remove(): Promise<void> {
    await this.stop("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** An answer of the HTTP API; throws what it says when it fails. */
  async http(method: string, path: string, body?: unknown): Promise<Response> {
    const init: RequestInit = { method, headers: { "content-type": "application/json" } };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await fetch(`http://127.0.0.1:${this.node!.httpPort}${path}`, init);
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response;
  }

  async sql(text: string): Promise<unknown[][]> {
    const answer = (await (await this.http("POST", "/v1/sql", { sql: text })).json()) as { rows?: unknown[][] };
    return answer.rows ?? [];
  }

  /** Produces values to a partition, as JSON. */
  async produce(topic: string, values: unknown[], partition = 0): Promise<void> {
    await this.http("POST", `/v1/topics/${topic}/records`, { records: values.map((value) => ({ value, partition })) });
  }
}
