/** The brokers that are compared: Apache Kafka as it comes and with a sync for each append, Rowlog with its sync and without. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kafkaClassPath } from "../../scripts/install-clients.ts";
import { startKafka, stopKafka, toolClasses } from "../../scripts/kafka-reference.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { freePort, RowlogNode } from "../../tests/clients/target.ts";
import { Wire } from "../../tests/harness/wire.ts";

export interface RunningSystem {
  pid: number;
  port: number;
  /** Base address of the HTTP port; Rowlog only. */
  http?: string;
  /** Milliseconds from the start of the process to its first answer. */
  startMs: number;
  stop(): Promise<void>;
}

async function kafka(settings: readonly string[]): Promise<RunningSystem> {
  const folder = mkdtempSync(join(tmpdir(), "rowlog-bench-"));
  const port = await freePort();
  const began = performance.now();
  await startKafka(folder, port, settings);
  await createTopic(port, "first", 1);
  return {
    pid: Number(readFileSync(join(folder, "pid"), "utf8")),
    port,
    startMs: performance.now() - began,
    async stop() {
      await stopKafka(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function rowlog(options: readonly string[]): Promise<RunningSystem> {
  const folder = mkdtempSync(join(tmpdir(), "rowlog-bench-"));
  const [kafkaPort, httpPort] = [await freePort(), await freePort()];
  const began = performance.now();
  const node = await RowlogNode.start({ directory: join(folder, "lake"), kafkaPort, httpPort, options });
  await createTopic(kafkaPort, "first", 1);
  return {
    pid: node.pid!,
    port: kafkaPort,
    http: node.http,
    startMs: performance.now() - began,
    async stop() {
      await node.end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** By name, in the order of the report's columns. */
export const systems: Readonly<Record<string, () => Promise<RunningSystem>>> = {
  kafka: () => kafka([]),
  "kafka-sync": () => kafka(["log.flush.interval.messages=1"]),
  rowlog: () => rowlog([]),
  "rowlog-os": () => rowlog(["--durability", "os"]),
};

/** Creates a topic and waits until the broker leads all of its partitions. */
export async function createTopic(port: number, name: string, partitions: number): Promise<void> {
  const topics = [{ name, numPartitions: partitions, replicationFactor: 1, assignments: [], configs: [] }];
  // Kafka accepts connections before its controller does.
  for (let tries = 0; ; tries++) {
    try {
      const wire = await Wire.open(port);
      const [topic] = (await wire.call(19, 7, newCreateTopicsRequest({ topics, timeoutMs: 10_000 }))).topics;
      wire.close();
      // 36: it exists already, from a try whose answer came too late.
      if (topic && [0, 36].includes(topic.errorCode)) break;
      if (tries > 200) throw new Error(`creating ${name}: error ${topic?.errorCode} ${topic?.errorMessage ?? ""}`);
    } catch (error) {
      if (tries > 200) throw error;
    }
    await new Promise((wake) => setTimeout(wake, 25));
  }
  if (name !== "first") await new Promise((wake) => setTimeout(wake, 300));
}

/** Many topics of one partition each, 500 a request; throws the first error. */
export async function createTopics(wire: Wire, names: readonly string[]): Promise<void> {
  for (let at = 0; at < names.length; at += 500) {
    const topics = names
      .slice(at, at + 500)
      .map((name) => ({ name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }));
    const answer = await wire.call(19, 7, newCreateTopicsRequest({ topics }));
    const failed = answer.topics.find(({ errorCode }) => errorCode !== 0);
    if (failed) throw new Error(`creating ${failed.name}: error ${failed.errorCode} ${failed.errorMessage ?? ""}`);
  }
}

/** What one of Kafka's own tools printed. Not counted as the broker's time: it is a process of its own. */
export function kafkaTool(name: string, parameters: readonly string[]): string {
  const java = ["-Xmx512m", "-cp", kafkaClassPath(), toolClasses[name] ?? name, ...parameters];
  return execFileSync("java", java, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 64 << 20 });
}
