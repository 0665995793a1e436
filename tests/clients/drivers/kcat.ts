/**
 * Drives kcat: each operation is one or more runs of the program itself. What its command line cannot say stays out: binary keys
 * or values with its delimiters in them, nameless headers, timestamps, and commits at a chosen offset (it stores what it printed).
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import {
  byPosition,
  ClientError,
  decode,
  encode,
  event,
  type JoinCommand,
  type ProduceCommand,
  type RecordLine,
  serve,
} from "./protocol.ts";

const run = promisify(execFile);

/** Numbers of librdkafka's texts for the broker errors that the scenarios provoke. */
const errorCodes: [text: string, code: number][] = [
  ["Message size too large", 10],
  ["failed to validate record", 87],
  ["Unknown topic or partition", 3],
];

function clientError(output: string): ClientError {
  const found = errorCodes.find(([text]) => output.includes(text));
  return new ClientError(found?.[1] ?? -1, output.trim());
}

/** Feeds standard input to kcat and waits for its end. */
function produceRun(parameters: string[], input: Buffer): Promise<void> {
  return new Promise((finish, fail) => {
    const child = spawn("kcat", parameters, { stdio: ["pipe", "ignore", "pipe"] });
    let output = "";
    child.stderr.on("data", (data) => {
      output += data;
    });
    child.on("error", fail);
    child.on("close", (status) =>
      status === 0 && !output.includes("Delivery failed") ? finish() : fail(clientError(output)),
    );
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

const keyDelimiter = "\x1f";
const recordDelimiter = "\x1e";

/** One run's worth: records that share partition, headers and whether empty means null. */
async function produceRecords(command: ProduceCommand, records: RecordLine[], emptyIsNull: boolean): Promise<void> {
  const first = records[0];
  if (first === undefined) return;
  const { bootstrap, topic, acks, codec, idempotent, clientId } = command;
  const parameters = ["-P", "-E", "-b", bootstrap, "-t", topic, "-z", codec, "-K", keyDelimiter, "-D", recordDelimiter];
  const settings = [
    `acks=${acks}`,
    `enable.idempotence=${idempotent}`,
    `client.id=${clientId ?? "rowlog-tests"}`,
    "message.max.bytes=20000000",
    "queue.buffering.max.ms=50",
    "retry.backoff.ms=50",
    "message.timeout.ms=30000",
  ];
  for (const setting of settings) parameters.push("-X", setting);
  if (first.partition != null) parameters.push("-p", `${first.partition}`);
  if (emptyIsNull) parameters.push("-Z");
  for (const [name, data] of first.headers) {
    if (name !== "") parameters.push("-H", data === null ? name : `${name}=${decode(data)}`);
  }
  const parts: (Buffer | string)[] = [];
  for (const { key, value } of records) {
    if (parts.length > 0) parts.push(recordDelimiter);
    parts.push(decode(key ?? "") as Buffer, keyDelimiter, decode(value ?? "") as Buffer);
  }
  await produceRun(parameters, Buffer.concat(parts.map((part) => Buffer.from(part))));
}

/** Names, per record, what decides the run that it goes into. */
function classOf(record: RecordLine): string {
  return JSON.stringify([record.partition ?? null, record.headers, record.key === null || record.value === null]);
}

async function produce(command: ProduceCommand): Promise<{ offsets: null[] }> {
  let batch: RecordLine[] = [];
  for (const record of command.records) {
    if (batch[0] !== undefined && classOf(batch[0]) !== classOf(record)) {
      await produceRecords(command, batch, batch[0].key === null || batch[0].value === null);
      batch = [];
    }
    batch.push(record);
  }
  await produceRecords(command, batch, batch[0]?.key === null || batch[0]?.value === null);
  return { offsets: command.records.map(() => null) };
}

/** A line with partition, offset, timestamp and the two lengths (-1 for null), then key and value as they are, then a line of headers. */
const format = "%p %o %T %K %S\\n%k%s%h\\n";

/** The whole records at the start of `output`, and what is left behind them. */
function takeRecords(output: Buffer): { records: RecordLine[]; rest: Buffer } {
  const records: RecordLine[] = [];
  let at = 0;
  for (;;) {
    const headEnd = output.indexOf(10, at);
    if (headEnd < 0) break;
    const head = output.subarray(at, headEnd).toString().split(" ").map(Number);
    const [partition = 0, offset = 0, timestamp = 0, keyLength = 0, valueLength = 0] = head;
    const keyEnd = headEnd + 1 + Math.max(keyLength, 0);
    const valueEnd = keyEnd + Math.max(valueLength, 0);
    const headersEnd = valueEnd > output.length ? -1 : output.indexOf(10, valueEnd);
    if (headersEnd < 0) break;
    const text = output.subarray(valueEnd, headersEnd).toString();
    const headers = text === "" ? [] : text.split(",").map((pair): [string, string] => splitHeader(pair));
    const key = keyLength < 0 ? null : encode(output.subarray(headEnd + 1, keyEnd));
    const value = valueLength < 0 ? null : encode(output.subarray(keyEnd, valueEnd));
    records.push({ partition, offset, timestamp, key, value, headers });
    at = headersEnd + 1;
  }
  return { records, rest: output.subarray(at) };
}

function splitHeader(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return [pair.slice(0, at), encode(Buffer.from(pair.slice(at + 1))) as string];
}

const commonSettings = ["-X", "fetch.wait.max.ms=100", "-X", "auto.offset.reset=earliest"];
const members = new Map<string, ChildProcess>();
/** librdkafka's default; kcat takes auto.commit.interval.ms for the old topic setting of that name, which does nothing. */
const commitIntervalMs = 5000;

async function join(command: JoinCommand): Promise<void> {
  const strategy = command.assignor === "cooperative" ? "cooperative-sticky" : "range";
  const settings = [`session.timeout.ms=${command.sessionMs ?? 6000}`, "heartbeat.interval.ms=300"];
  // Otherwise it commits only when it ends in order.
  settings.push("enable.auto.offset.store=true");
  settings.push(`partition.assignment.strategy=${strategy}`);
  if (command.instanceId !== undefined) settings.push(`group.instance.id=${command.instanceId}`);
  const parameters = ["-b", command.bootstrap, "-G", command.group, "-u", "-f", format, ...commonSettings];
  for (const setting of settings) parameters.push("-X", setting);
  const child = spawn("kcat", [...parameters, command.topic], { stdio: ["ignore", "pipe", "pipe"] });
  members.set(command.consumer, child);
  let unread: Buffer = Buffer.alloc(0);
  child.stdout.on("data", (data: Buffer) => {
    const { records, rest } = takeRecords(Buffer.concat([unread, data]));
    unread = rest;
    for (const record of records) event("record", command.consumer, { record });
  });
  // "% Group g rebalanced (memberid m): assigned: t [0], t [1]", "% Group g rebalanced: incremental revoke of 1 partition(s) (memberid m, ...): t [0]"
  const assigned = new Set<number>();
  createInterface({ input: child.stderr }).on("line", (line) => {
    const change =
      /rebalanced(?:: incremental (assign|revoke))?.*\(memberid [^)]*\): (?:(assign|revok)ed: ?)?(.*)/.exec(line);
    if (change === null) return;
    const partitions = [...(change[3] ?? "").matchAll(/\[(\d+)\]/g)].map((match) => Number(match[1]));
    const gains = (change[1] ?? change[2]) === "assign";
    for (const partition of partitions) gains ? assigned.add(partition) : assigned.delete(partition);
    event("assignment", command.consumer, { partitions: [...assigned].sort() });
  });
}

await serve({
  hello: () => {
    const version = spawnSync("kcat", ["-V"], { encoding: "utf8" }).stdout;
    return { client: "kcat", version: /Version (.*)/.exec(version)?.[1] ?? version };
  },
  produce,
  async consume({ bootstrap, topic, counts }) {
    const records: RecordLine[] = [];
    for (const [partition, count] of Object.entries(counts)) {
      if (count === 0) continue;
      const parameters = [
        "-C",
        "-q",
        "-b",
        bootstrap,
        "-t",
        topic,
        "-p",
        partition,
        "-o",
        "beginning",
        "-c",
        `${count}`,
      ];
      const output = await run("kcat", [...parameters, "-f", format, ...commonSettings], {
        encoding: "buffer",
        maxBuffer: 64 * 1024 * 1024,
        timeout: 30_000,
      });
      records.push(...takeRecords(output.stdout).records);
    }
    return { records: byPosition(records) };
  },
  join,
  async commit() {
    await new Promise((wake) => setTimeout(wake, commitIntervalMs + 1000));
    return { automatic: true };
  },
  async leave({ consumer }) {
    const child = members.get(consumer);
    members.delete(consumer);
    if (child === undefined || child.exitCode !== null) return;
    await new Promise((ended) => {
      child.once("close", ended);
      child.kill("SIGTERM");
    });
  },
});
