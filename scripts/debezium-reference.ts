/**
 * A real Debezium on this machine: its PostgreSQL connector in a Kafka Connect worker, and a throw-away PostgreSQL (see install-clients.ts for
 * where their programs are).
 *
 *   bun scripts/debezium-reference.ts postgres DIR PORT            makes DIR if it is new, starts, returns when it answers
 *   bun scripts/debezium-reference.ts connect DIR BOOTSTRAP PORT   starts a worker against that Kafka, returns when it is ready
 *   bun scripts/debezium-reference.ts stop DIR                     ends what runs there
 *
 * PostgreSQL listens on 127.0.0.1 for user postgres with password postgres; started by root, it runs as the user postgres.
 * Invariant: process ids are in DIR/pid; nothing else of the machine is touched.
 */
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { debeziumFiles, installMissing, postgresPrograms } from "./install-clients.ts";
import { isAlive } from "./kafka-reference.ts";

/** Runs a program to its end; resolves to its output, rejects with it when it fails. */
export async function runProgram(
  program: string,
  parameters: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<string> {
  const child = spawn(program, parameters, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  child.stdin.end(options.input ?? "");
  const status = await new Promise<number | string>((ended, failed) => {
    child.on("error", failed);
    child.on("close", (code, signal) => ended(code ?? signal ?? 1));
  });
  if (status !== 0) throw new Error(`${program} ${parameters.join(" ")} ended with ${status}:\n${errors}${output}`);
  return output;
}

const isRoot = process.getuid?.() === 0;

/** PostgreSQL refuses to run as root. */
function asPostgres(program: string, parameters: readonly string[]): [string, string[]] {
  return isRoot ? ["runuser", ["-u", "postgres", "--", program, ...parameters]] : [program, [...parameters]];
}

/** Starts a PostgreSQL with logical decoding, its data in `directory`; resolves when it answers. */
export async function startPostgres(directory: string, port: number): Promise<void> {
  const home = resolve(directory);
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error("postgres: initdb is not installed");
  const data = join(home, "data");
  mkdirSync(home, { recursive: true });
  if (isRoot) await runProgram("chown", ["postgres", home]);
  if (!existsSync(join(data, "PG_VERSION"))) {
    const password = join(home, "password");
    writeFileSync(password, "postgres\n");
    const initdb = ["-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256"];
    await runProgram(...asPostgres(join(programs, "initdb"), [...initdb, `--pwfile=${password}`]), { cwd: home });
  }
  const settings = [
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    "unix_socket_directories=",
    "wal_level=logical",
    "timezone=UTC",
    "fsync=off",
  ];
  const flags = settings.map((setting) => `-c ${setting}`).join(" ");
  const start = ["-D", data, "-l", join(home, "data", "server.log"), "-w", "-t", "60", "-o", flags, "start"];
  await runProgram(...asPostgres(join(programs, "pg_ctl"), start), { cwd: home });
  writeFileSync(join(home, "pid"), `${readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]}\n`);
}

function workerProperties(home: string, bootstrap: string, port: number): string {
  const storage = ["config", "offset", "status"].flatMap((name) => [
    `${name}.storage.topic=connect-${name}s`,
    `${name}.storage.replication.factor=1`,
  ]);
  const lines = [
    `bootstrap.servers=${bootstrap}`,
    "group.id=connect",
    `listeners=http://127.0.0.1:${port}`,
    "rest.advertised.host.name=127.0.0.1",
    `plugin.path=${debeziumFiles().plugins}`,
    "plugin.discovery=service_load",
    ...storage,
    "offset.storage.partitions=1",
    "status.storage.partitions=1",
    "offset.flush.interval.ms=1000",
    "key.converter=org.apache.kafka.connect.json.JsonConverter",
    "value.converter=org.apache.kafka.connect.json.JsonConverter",
  ];
  writeFileSync(join(home, "log4j2.properties"), logging);
  const file = join(home, "worker.properties");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

const logging = `status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c{1}: %m%n
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
`;

/** Starts a Kafka Connect worker with Debezium's connector; resolves when its REST API says that it is ready. */
export async function startConnect(directory: string, bootstrap: string, port: number): Promise<void> {
  const home = resolve(directory);
  mkdirSync(home, { recursive: true });
  const file = workerProperties(home, bootstrap, port);
  const log = openSync(join(home, "worker.log"), "a");
  const flags = ["-Xms256m", "-Xmx768m", `-Dlog4j2.configurationFile=${join(home, "log4j2.properties")}`];
  const main = "org.apache.kafka.connect.cli.ConnectDistributed";
  const child = spawn("java", [...flags, "-cp", debeziumFiles().worker, main, file], {
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  child.unref();
  const pid = child.pid;
  if (pid === undefined) throw new Error("connect: java could not be started; is it installed?");
  writeFileSync(join(home, "pid"), `${pid}\n`);
  for (let waited = 0; waited < 120_000; waited += 200) {
    const ready = await fetch(`http://127.0.0.1:${port}/health`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return;
    if (!isAlive(pid)) throw new Error(`connect: ended at start, see ${join(home, "worker.log")}`);
    await sleep(200);
  }
  throw new Error(`connect: not ready within 120 s, see ${join(home, "worker.log")}`);
}

/** Ends what `startPostgres` or `startConnect` started in `directory`; resolves when it is gone. */
export async function stopProcess(directory: string): Promise<void> {
  const file = join(directory, "pid");
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, "utf8"));
  // SIGINT is PostgreSQL's fast shutdown; Java ends by it as by SIGTERM.
  for (let waited = 0; isAlive(pid); waited += 50) {
    if (waited % 30_000 === 0) process.kill(pid, waited === 0 ? "SIGINT" : "SIGKILL");
    await sleep(50);
  }
}

async function main(parameters: readonly string[]): Promise<number> {
  const [verb, directory, ...rest] = parameters;
  const wanted = verb === "postgres" ? ["postgres"] : verb === "connect" ? ["debezium"] : [];
  for (const why of installMissing(wanted, (line) => console.error(line)).values()) throw new Error(why);
  if (verb === "postgres" && directory !== undefined && rest.length === 1)
    await startPostgres(directory, Number(rest[0]));
  else if (verb === "connect" && directory !== undefined && rest.length === 2)
    await startConnect(directory, rest[0]!, Number(rest[1]));
  else if (verb === "stop" && directory !== undefined) await stopProcess(directory);
  else {
    console.error("usage: debezium-reference.ts postgres DIR PORT | connect DIR BOOTSTRAP PORT | stop DIR");
    return 2;
  }
  return 0;
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
