/**
 * A real Apache Kafka on this machine, for comparing: one KRaft node from Maven's jars (see install-clients.ts for where they are).
 *
 *   bun scripts/kafka-reference.ts start DIR PORT [KEY=VALUE...]   formats DIR if it is new, starts, returns when it answers
 *   bun scripts/kafka-reference.ts stop DIR                        orderly (SIGTERM); `kill DIR` for SIGKILL
 *   bun scripts/kafka-reference.ts tool NAME ARGUMENTS...          one of Kafka's own tools, e.g. tool topics --bootstrap-server ...
 *
 * Each KEY=VALUE is a line of server.properties and overrides ours. The controller listens on PORT + 10000.
 * Invariant: the process id is in DIR/pid; nothing else of the machine is touched.
 */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { installMissing, kafkaClassPath } from "./install-clients.ts";

/** Main classes of Kafka's tools, by the name of the script that Kafka's own distribution has for each. */
export const toolClasses: Readonly<Record<string, string>> = {
  topics: "org.apache.kafka.tools.TopicCommand",
  configs: "org.apache.kafka.tools.ConfigCommand",
  "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
  groups: "org.apache.kafka.tools.GroupsCommand",
  "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
  "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
  "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
  "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
  cluster: "org.apache.kafka.tools.ClusterTool",
  "producer-perf": "org.apache.kafka.tools.ProducerPerformance",
  "consumer-perf": "org.apache.kafka.tools.ConsumerPerformance",
  "console-producer": "org.apache.kafka.tools.ConsoleProducer",
  "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
  "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
  "verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
  "dump-log": "org.apache.kafka.tools.DumpLogSegments",
};

const clusterId = "AAAAAAAAAAAAAAAAAAAAAQ";

function properties(directory: string, port: number, overrides: readonly string[]): string {
  const lines = [
    "process.roles=broker,controller",
    "node.id=1",
    `controller.quorum.voters=1@127.0.0.1:${port + 10_000}`,
    `listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${port + 10_000}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${port}`,
    "controller.listener.names=CONTROLLER",
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    `log.dirs=${join(directory, "data")}`,
    "auto.create.topics.enable=false",
    "num.partitions=1",
    "group.initial.rebalance.delay.ms=0",
  ];
  for (const topic of ["offsets.topic", "transaction.state.log", "share.coordinator.state.topic"]) {
    lines.push(`${topic}.replication.factor=1`, `${topic}.num.partitions=4`);
    if (topic !== "offsets.topic") lines.push(`${topic}.min.isr=1`);
  }
  return `${[...lines, ...overrides].join("\n")}\n`;
}

function portAnswers(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      answer(true);
    });
    socket.once("error", () => answer(false));
  });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

/** Starts a node with its data in `directory`; resolves to its process id when its port answers, rejects after 60 s. */
export async function startKafka(directory: string, port: number, overrides: readonly string[] = []): Promise<number> {
  const home = resolve(directory);
  mkdirSync(home, { recursive: true });
  const file = join(home, "server.properties");
  writeFileSync(file, properties(home, port, overrides));
  if (!existsSync(join(home, "data/meta.properties"))) {
    const format = ["-cp", kafkaClassPath(), "kafka.tools.StorageTool", "format", "-t", clusterId, "-c", file];
    const result = spawnSync("java", format, { encoding: "utf8" });
    if (result.status !== 0) throw new Error(`kafka: formatting ${home} failed: ${result.stdout}${result.stderr}`);
  }
  const log = openSync(join(home, "server.log"), "a");
  const flags = ["-Xms512m", "-Xmx1g", "-Djava.awt.headless=true", "-cp", kafkaClassPath(), "kafka.Kafka", file];
  const child = spawn("java", flags, { detached: true, stdio: ["ignore", log, log] });
  closeSync(log);
  child.unref();
  const pid = child.pid;
  if (pid === undefined) throw new Error("kafka: java could not be started; is it installed?");
  writeFileSync(join(home, "pid"), `${pid}\n`);
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (await portAnswers(port)) return pid;
    if (child.exitCode !== null || !isAlive(pid))
      throw new Error(`kafka: ended at start, see ${join(home, "server.log")}`);
    await sleep(50);
  }
  throw new Error(`kafka: no answer on port ${port} within 60 s, see ${join(home, "server.log")}`);
}

/** Ends the node of `directory` and waits until its process is gone. */
export async function stopKafka(directory: string, signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
  const pid = Number(readFileSync(join(directory, "pid"), "utf8"));
  if (!isAlive(pid)) return;
  process.kill(pid, signal);
  while (isAlive(pid)) await sleep(50);
}

async function main(parameters: readonly string[]): Promise<number> {
  const [verb, first, ...rest] = parameters;
  const failure = installMissing(["jars"], (line) => console.error(line)).get("jars");
  if (failure !== undefined) throw new Error(failure);
  if (verb === "start" && first !== undefined && rest[0] !== undefined) {
    await startKafka(first, Number(rest[0]), rest.slice(1));
  } else if ((verb === "stop" || verb === "kill") && first !== undefined) {
    await stopKafka(first, verb === "stop" ? "SIGTERM" : "SIGKILL");
  } else if (verb === "tool" && first !== undefined) {
    const name = toolClasses[first] ?? first;
    return spawnSync("java", ["-Xmx512m", "-cp", kafkaClassPath(), name, ...rest], { stdio: "inherit" }).status ?? 1;
  } else {
    console.error(
      "usage: kafka-reference.ts start DIR PORT [KEY=VALUE...] | stop DIR | kill DIR | tool NAME ARGUMENTS...",
    );
    return 2;
  }
  return 0;
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
