/**
 * What the scenarios run against: a Rowlog node, or an Apache Kafka for the results to compare with. Each stands behind a CuttingProxy, whose port it
 * advertises. Invariant: `stop` ends every process that was started and removes the folder.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import kafkajs from "kafkajs";
import { startKafka, stopKafka } from "../../scripts/kafka-reference.ts";
import { rowlogCommand } from "../harness/process.ts";
import { CuttingProxy } from "./proxy.ts";

export interface Target {
  /** HOST:PORT that clients start from. */
  readonly bootstrap: string;
  /** Set when clients come through one. */
  readonly proxy?: CuttingProxy;
  /** Base address of the HTTP port; Rowlog only. */
  readonly http?: string;
  stop(): Promise<void>;
}

/** A port that was free a moment ago, below the range from which the system picks by itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const free = await new Promise<boolean>((answer) => {
      const server = createServer();
      server.once("error", () => answer(false));
      server.listen(port, "127.0.0.1", () => server.close(() => answer(true)));
    });
    if (free) return port;
  }
}

export interface NodeOptions {
  directory: string;
  kafkaPort: number;
  httpPort: number;
  options?: readonly string[];
  /** Another program than rowlogCommand's. */
  command?: readonly string[];
  cwd?: string;
  /** All of its environment, instead of ours. */
  environment?: Record<string, string>;
}

/** One process of Rowlog on a lake folder; it may be killed and started again on the same one. */
export class RowlogNode {
  readonly http: string;
  readonly bootstrap: string;
  /** Nodes between their start and their being ready, by folder. */
  static readonly #starting = new Map<string, ChildProcess>();
  readonly #child: ChildProcess;
  readonly #log: string;
  readonly ended: Promise<number | null>;

  private constructor(child: ChildProcess, { kafkaPort, httpPort }: NodeOptions, log: string) {
    this.#child = child;
    this.#log = log;
    this.http = `http://127.0.0.1:${httpPort}`;
    this.bootstrap = `127.0.0.1:${kafkaPort}`;
    this.ended = new Promise((ended) => child.once("exit", (code) => ended(code)));
  }

  /** Starts it and waits until `/readyz` answers 200; rejects with the end of its log after 60 s, or when it ends. */
  static async start(options: NodeOptions): Promise<RowlogNode> {
    const log = `${options.directory}.log`;
    const file = openSync(log, "a");
    const [program, ...first] = options.command ?? rowlogCommand();
    const ports = ["--kafka", `127.0.0.1:${options.kafkaPort}`, "--http", `127.0.0.1:${options.httpPort}`];
    const parameters = [...first, "serve", options.directory, ...ports, ...(options.options ?? [])];
    const child = spawn(program as string, parameters, {
      stdio: ["ignore", file, file],
      cwd: options.cwd,
      env: options.environment ?? process.env,
    });
    closeSync(file);
    const node = new RowlogNode(child, options, log);
    RowlogNode.#starting.set(options.directory, child);
    try {
      await node.#ready();
    } finally {
      RowlogNode.#starting.delete(options.directory);
    }
    return node;
  }

  /** Kills the node of that folder which is about to start; its `start` rejects. */
  static async killStarting({ directory }: NodeOptions): Promise<void> {
    const child = RowlogNode.#starting.get(directory);
    if (child === undefined || child.exitCode !== null) return;
    child.kill("SIGKILL");
    await new Promise((ended) => child.once("exit", ended));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async #ready(): Promise<void> {
    for (let waited = 0; waited < 60_000; waited += 50) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new Error(`the node ended at start:\n${this.logTail()}`);
      try {
        if ((await fetch(`${this.http}/readyz`)).ok) return;
      } catch {
        // not listening yet
      }
      await new Promise((wake) => setTimeout(wake, 50));
    }
    throw new Error(`the node is not ready after 60 s:\n${this.logTail()}`);
  }

  logTail(): string {
    return readFileSync(this.#log, "utf8").slice(-3000);
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    return this.ended;
  }
}

/** Runs SQL on a node by HTTP and answers the rows; rejects with the node's own words. */
export async function sql(http: string, text: string): Promise<unknown[][]> {
  const response = await fetch(`${http}/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: text }),
  });
  const answer = (await response.json()) as { rows?: unknown[][]; detail?: string };
  if (!response.ok) throw new Error(`${text}: ${response.status} ${JSON.stringify(answer)}`);
  return answer.rows ?? [];
}

/** A fresh Rowlog node, behind a proxy unless `direct`. */
export async function startRowlog(
  options: readonly string[] = [],
  direct = false,
): Promise<Target & { node: RowlogNode; directory: string }> {
  const folder = mkdtempSync(join(tmpdir(), "rowlog-clients-"));
  const [kafkaPort, httpPort] = [await freePort(), await freePort()];
  const proxy = direct ? undefined : await CuttingProxy.start();
  proxy?.forwardTo(kafkaPort);
  const advertise = proxy === undefined ? [] : ["--kafka-advertise", `127.0.0.1:${proxy.port}`];
  const directory = join(folder, "lake");
  const node = await RowlogNode.start({ directory, kafkaPort, httpPort, options: [...advertise, ...options] });
  return {
    bootstrap: `127.0.0.1:${proxy?.port ?? kafkaPort}`,
    ...(proxy === undefined ? {} : { proxy }),
    http: node.http,
    node,
    directory,
    async stop() {
      await node.end("SIGTERM");
      await proxy?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A fresh Apache Kafka, behind a proxy unless `direct`. */
export async function startReference(
  settings: readonly string[] = [],
  direct = false,
): Promise<Target & { directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), "rowlog-kafka-"));
  const port = await freePort();
  const proxy = direct ? undefined : await CuttingProxy.start();
  proxy?.forwardTo(port);
  const advertise = proxy === undefined ? [] : [`advertised.listeners=PLAINTEXT://127.0.0.1:${proxy.port}`];
  await startKafka(directory, port, [...advertise, ...settings]);
  return {
    bootstrap: `127.0.0.1:${proxy?.port ?? port}`,
    ...(proxy === undefined ? {} : { proxy }),
    directory,
    async stop() {
      await stopKafka(directory);
      await proxy?.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Makes a topic through the broker's CreateTopics, with an admin client that is not ours, and waits until its metadata show it. Its records
 * stay for ever: scenarios stamp some with 2023, which a round of retention would take away between the produce and the consume.
 */
export async function createTopic(bootstrap: string, topic: string, partitions: number): Promise<void> {
  const { Kafka, logLevel } = kafkajs;
  const admin = new Kafka({ clientId: "rowlog-tests-admin", brokers: [bootstrap], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await admin.createTopics({
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor: 1,
          configEntries: [{ name: "retention.ms", value: "-1" }],
        },
      ],
      waitForLeaders: false,
    });
    // Its own waiting for leaders gives up at once when the metadata are a moment behind.
    for (let tries = 0; tries < 100; tries++) {
      const seen = await admin.fetchTopicMetadata({ topics: [topic] }).catch(() => undefined);
      if (seen?.topics[0]?.partitions.length === partitions) return;
      await new Promise((wake) => setTimeout(wake, 50));
    }
    throw new Error(`topic ${topic} was created and is not in the metadata after 5 s`);
  } finally {
    await admin.disconnect();
  }
}
