/**
 * What every command that talks to the Kafka port has in common: how brokers and properties are given, and the client.
 * Properties have librdkafka's names (`-X acks=1`, kcat's way) or rpk's (`-X brokers=…`); one that we do not know is an error,
 * because silently ignored security or delivery settings are worse than none.
 */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { type ClientOptions, KafkaClient, parseBrokers } from "../client/client.ts";
import { type Codec, type CodecName, codecNames, codecs } from "../hotpath/codecs.ts";
import { CliError, type Io, UsageError } from "./io.ts";

export interface KafkaFlags {
  brokers?: string;
  bootstrapServer?: string;
  X?: string[];
  F?: string;
  quiet?: boolean;
  verbose?: boolean;
}

/** Adds up a flag that may be given several times. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value];

export function addKafkaFlags(command: Command): Command {
  return command
    .option("-b, --brokers <HOST:PORT,...>", "brokers to ask first [env: ROWLOG_BROKERS] [default: 127.0.0.1:9092]")
    .option("--bootstrap-server <HOST:PORT,...>", "the same, as kafka-*.sh call it")
    .option(
      "-X <PROPERTY=VALUE>",
      "a client property by librdkafka's name, for example acks=1; `-X list` lists them",
      collect,
    )
    .option("-F <FILE>", "properties from a file, one `name=value` a line")
    .option("-q, --quiet", "results only")
    .option("-v, --verbose", "say more");
}

/** Our name of a property: the first is librdkafka's, others mean the same. */
const propertyNames: Record<string, string> = {
  "bootstrap.servers": "bootstrap.servers",
  "metadata.broker.list": "bootstrap.servers",
  brokers: "bootstrap.servers",
  "client.id": "client.id",
  "socket.timeout.ms": "socket.timeout.ms",
  "request.timeout.ms": "socket.timeout.ms",
  acks: "acks",
  "request.required.acks": "acks",
  "compression.codec": "compression.type",
  "compression.type": "compression.type",
  "message.timeout.ms": "delivery.timeout.ms",
  "delivery.timeout.ms": "delivery.timeout.ms",
  "group.id": "group.id",
  "group.instance.id": "group.instance.id",
  "session.timeout.ms": "session.timeout.ms",
  "heartbeat.interval.ms": "heartbeat.interval.ms",
  "auto.offset.reset": "auto.offset.reset",
  "enable.auto.commit": "enable.auto.commit",
  "isolation.level": "isolation.level",
  "fetch.wait.max.ms": "fetch.wait.max.ms",
  "fetch.min.bytes": "fetch.min.bytes",
  "security.protocol": "security.protocol",
};

export function properties(flags: KafkaFlags): Map<string, string> {
  const found = new Map<string, string>();
  const set = (line: string, place: string) => {
    const at = line.indexOf("=");
    const name = line
      .slice(0, Math.max(at, 0))
      .trim()
      .replace(/^topic\./, "");
    const known = propertyNames[name];
    if (at <= 0) throw new UsageError(`${place}: "${line}" is not PROPERTY=VALUE`);
    if (!known) throw new UsageError(`${place}: the property "${name}" is not known; -X list lists those that are`);
    found.set(known, line.slice(at + 1).trim());
  };
  if (flags.F !== undefined) for (const line of propertyLines(flags.F)) set(line, flags.F);
  for (const line of flags.X ?? []) if (line !== "list") set(line, "-X");
  const security = found.get("security.protocol")?.toLowerCase();
  if (security !== undefined && security !== "plaintext")
    throw new UsageError(`security.protocol=${security} is not supported by this command; it speaks plaintext`);
  return found;
}

function propertyLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8")
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#"));
  } catch (error) {
    throw new CliError(`cannot read ${path}: ${(error as Error).message}`);
  }
}

/** Runs with a client and closes it whatever happens. `-X list` is answered here. */
export async function withClient(
  flags: KafkaFlags,
  io: Io,
  work: (client: KafkaClient, properties: Map<string, string>) => Promise<number>,
): Promise<number> {
  if (flags.X?.includes("list")) {
    await io.out(`${Object.keys(propertyNames).join("\n")}\n`);
    return 0;
  }
  const given = properties(flags);
  const client = new KafkaClient(clientOptions(flags, given, io));
  try {
    return await work(client, given);
  } catch (error) {
    throw explained(error, flags);
  } finally {
    client.close();
  }
}

function clientOptions(flags: KafkaFlags, given: Map<string, string>, io: Io): ClientOptions {
  const text =
    flags.brokers ??
    flags.bootstrapServer ??
    given.get("bootstrap.servers") ??
    io.environment.ROWLOG_BROKERS ??
    io.environment.RPK_BROKERS ??
    "127.0.0.1:9092";
  const brokers = parseBrokers(text);
  if (!brokers) throw new UsageError(`"${text}" is not HOST:PORT or a list of them (for example 127.0.0.1:9092)`);
  const timeoutMs = numberProperty(given, "socket.timeout.ms", 30_000);
  return { brokers, clientId: given.get("client.id") ?? "rowlog", timeoutMs, signal: io.signal };
}

function explained(error: unknown, flags: KafkaFlags): unknown {
  if (!(error instanceof Error) || error.name !== "ConnectionError") return error;
  const code = (error as { code?: string }).code;
  const asked = flags.brokers ?? flags.bootstrapServer;
  const hint =
    code === "ECONNREFUSED"
      ? `; start a node with "rowlog serve"${asked ? "" : ", or name another with -b HOST:PORT"}`
      : "";
  return new CliError(`${error.message}${hint}`);
}

export function numberProperty(given: Map<string, string>, name: string, otherwise: number): number {
  const text = given.get(name);
  if (text === undefined) return otherwise;
  if (!/^\d+$/.test(text)) throw new UsageError(`-X ${name}: "${text}" is not a number`);
  return Number(text);
}

export function parseCodec(text: string): Codec {
  const name = text.toLowerCase();
  if (!codecNames.includes(name as CodecName))
    throw new UsageError(`"${text}" is no compression; there are ${codecNames.join(", ")}`);
  return codecs[name as CodecName];
}

export function parseAcks(text: string): -1 | 0 | 1 {
  if (text === "-1" || text.toLowerCase() === "all") return -1;
  if (text === "0" || text === "1") return Number(text) as 0 | 1;
  throw new UsageError(`acks "${text}" is not 0, 1, all or -1`);
}

/** `0,1,5` or repeated flags. */
export function parsePartitions(texts: readonly string[]): number[] {
  return texts
    .flatMap((text) => text.split(","))
    .map((text) => {
      if (!/^\d{1,9}$/.test(text.trim())) throw new UsageError(`"${text}" is not a partition number`);
      return Number(text);
    });
}

export function parseCount(text: string, flag: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${flag}: "${text}" is not a count`);
  return Number(text);
}
