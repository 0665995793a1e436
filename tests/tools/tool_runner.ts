/** Runs Kafka's command line tools, one after the other in one JVM (see java/Tools.java). */
import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { javaClasses, javaToolsDirectory, kafkaClassPath } from "../../scripts/install-clients.ts";
import { toolClasses } from "../../scripts/kafka-reference.ts";

export interface ToolAnswer {
  status: number;
  output: string;
  errors: string;
}

/** Tools that keep counts in static fields, so that a second run in the same classes would go wrong. */
const fresh = new Set(["console-consumer"]);

/** Tools that end in a shutdown hook of their own JVM. */
const alone = new Set(["verifiable-producer"]);

function runAlone(main: string, parameters: readonly string[]): Promise<ToolAnswer> {
  const flags = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", kafkaClassPath(), main];
  return new Promise((answer) => {
    execFile("java", [...flags, ...parameters], { timeout: 60_000 }, (error, output, errors) => {
      answer({ status: error === null ? 0 : Number(error.code ?? 1), output, errors });
    });
  });
}

export class ToolRunner {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers: ((line: string) => void)[] = [];
  readonly #ended: Promise<void>;

  constructor() {
    const libs = dirname(kafkaClassPath());
    const flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-Xshare:auto"];
    const path = `${javaClasses(javaToolsDirectory)}:${kafkaClassPath()}`;
    this.#child = spawn("java", [...flags, "-cp", path, "Tools", libs], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin.on("error", () => {});
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#answers.shift()?.(line));
    this.#ended = new Promise((ended) => this.#child.on("close", () => ended()));
  }

  /** Runs a tool by its script's name (topics, configs, ...); rejects when the JVM dies. */
  async run(tool: string, parameters: readonly string[], input = ""): Promise<ToolAnswer> {
    const main = toolClasses[tool];
    if (main === undefined) throw new Error(`no tool ${tool}`);
    if (alone.has(tool)) return runAlone(main, parameters);
    const line = await Promise.race([
      new Promise<string>((answer) => {
        this.#answers.push(answer);
        const command = { main, arguments: parameters, input, fresh: fresh.has(tool) };
        this.#child.stdin.write(`${JSON.stringify(command)}\n`);
      }),
      this.#ended.then(() => {
        throw new Error(`the JVM of Kafka's tools ended while it ran ${tool} ${parameters.join(" ")}`);
      }),
    ]);
    return JSON.parse(line) as ToolAnswer;
  }

  async end(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}
