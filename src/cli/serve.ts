/**
 * `rowlog serve`: resolves the configuration, starts the node, says where it listens, and stops it in order.
 * Invariant: every way to fail at start ends as one line that names the way out; a signal ends in a clean close (exit 0),
 * a second one ends the process at once.
 */
import { existsSync } from "node:fs";
import process from "node:process";
import { createLogger, type Logger } from "../base/log.ts";
import { ConfigError, type ResolvedConfig, readConfigFile, resolveConfig } from "./config.ts";
import { CliError, type Io, UsageError } from "./io.ts";
import { type Address, isWildcardHost, showAddress } from "./option_types.ts";
import { type NodeConfig, type NodeOptionName, nodeOptionEntries } from "./options.ts";
import { version } from "./version.ts";

/** What `startNode` gives back: where it really listens (a port 0 is resolved) and how to stop it. */
export interface RunningNode {
  kafkaAddress: Address;
  httpAddress: Address;
  /** Stops accepting, finishes what is in flight within `shutdownTimeoutMs`, syncs, releases the lake. */
  close(): Promise<void>;
  /** Resolves when the node cannot go on by itself (never for bad input), with the reason. */
  failed?: Promise<Error>;
}

export type StartNode = (config: NodeConfig, logger: Logger) => Promise<RunningNode>;

export async function serve(flags: ServeFlags, io: Io, startNode: StartNode): Promise<number> {
  const { config, ignored } = resolve(flags, io);
  const format = config.logFormat ?? (io.outIsTerminal ? "text" : "json");
  const logger = createLogger({ level: config.logLevel, format, sink: (line) => void io.out(`${line}\n`) });
  if (ignored.length > 0) logger.warn("Unknown settings are ignored", { settings: ignored.join(", ") });
  const stop = stopSignal(io, logger);
  let node: RunningNode;
  try {
    node = await startNode(config, logger);
  } catch (error) {
    throw new CliError(explainStartError(error, config));
  }
  if (format === "text") await io.out(banner(config, node, io));
  else
    logger.info("Rowlog is ready", {
      version,
      kafka: showAddress(node.kafkaAddress),
      advertised: config.kafkaAdvertise && showAddress(config.kafkaAdvertise),
      http: showAddress(node.httpAddress),
      lake: config.lake,
      durability: config.durability,
      pid: process.pid,
    });
  const failure = await Promise.race([stop, node.failed ?? new Promise<never>(() => {})]);
  if (failure instanceof Error) logger.error("The node cannot go on", { reason: failure.message });
  logger.info("Stopping: no new connections; finishing what is in flight", { timeoutMs: config.shutdownTimeoutMs });
  await node.close();
  logger.info("Stopped");
  return failure instanceof Error ? 1 : 0;
}

export interface ServeFlags {
  options: Partial<Record<NodeOptionName, string>>;
  config?: string;
  /** False when `serve` was not typed: then a mistyped command must not become a new lake. */
  named: boolean;
}

function resolve(flags: ServeFlags, io: Io): ResolvedConfig {
  const lake = flags.options.lake;
  if (!flags.named && lake !== undefined && !/[\\/]/.test(lake) && !existsSync(lake))
    throw new UsageError(
      `unknown command "${lake}" (to start a node on a new lake of that name: ${io.programName} serve ${lake}); see ${io.programName} --help`,
    );
  try {
    const path = flags.config ?? io.environment.ROWLOG_CONFIG;
    return resolveConfig(flags.options, io.environment, path ? readConfigFile(path) : undefined);
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message);
    throw error;
  }
}

/** `config print`: every value in effect and where it came from. */
export async function printConfig(flags: ServeFlags, io: Io): Promise<number> {
  const { config, origins } = resolve({ ...flags, named: true }, io);
  for (const [name, option] of nodeOptionEntries) {
    const value = option.kind.show(config[name]);
    await io.out(
      `${option.flag} = ${value}  # ${value === "" && option.defaultText ? option.defaultText : origins[name]}\n`,
    );
  }
  return 0;
}

/** `deno task` passes on a Ctrl-C that the terminal has already sent to the node: within this time it is the same one. */
const sameSignalMs = 100;

/** The first SIGTERM or SIGINT resolves; the second ends the process with the shell's code for that signal. */
function stopSignal(io: Io, logger: Logger): Promise<string> {
  return new Promise((resolvePromise) => {
    let first = true;
    let firstMs = 0;
    const onSignal = (name: "SIGTERM" | "SIGINT") => {
      if (!first && performance.now() - firstMs < sameSignalMs) return;
      if (!first) process.exit(name === "SIGINT" ? 130 : 143);
      first = false;
      firstMs = performance.now();
      logger.info(`Received ${name}; a second one stops at once`);
      resolvePromise(name);
    };
    process.on("SIGTERM", () => onSignal("SIGTERM"));
    process.on("SIGINT", () => onSignal("SIGINT"));
    // Tests stop a node through the signal of their Io.
    io.signal.addEventListener("abort", () => first && onSignal("SIGINT"));
  });
}

/** One line for a node that could not start. Failures that we do not know keep their own message. */
export function explainStartError(error: unknown, config: NodeConfig): string {
  const failure = error as { name?: string; code?: string; message?: string };
  const message = failure.message ?? String(error);
  if (failure.name === "ListenError") return explainListenError(failure.code, message, config);
  switch (failure.code) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `${message}; a node needs write permission on its lake "${config.lake}", or another folder: rowlog serve FOLDER`;
    case "ENOSPC":
      return `the disk of the lake "${config.lake}" is full (${message}); free space and start again`;
    case "ENOENT":
    case "ENOTDIR":
    case "EEXIST":
      return `"${config.lake}" cannot be a lake: ${message}; choose another folder: rowlog serve FOLDER`;
    default:
      return message;
  }
}

function explainListenError(code: string | undefined, message: string, config: NodeConfig): string {
  const isHttp = message.includes(` ${config.http.host}:${config.http.port}`);
  const [door, flag, address] = isHttp ? ["HTTP", "--http", config.http] : ["Kafka", "--kafka", config.kafka];
  const at = showAddress(address as Address);
  if (code === "EADDRINUSE")
    return `${door} cannot listen on ${at}: another program has that port; stop it, or choose another with ${flag} HOST:PORT`;
  if (code === "EACCES")
    return `${door} cannot listen on ${at}: this user may not use that port; choose one above 1023 with ${flag} HOST:PORT`;
  return `${door} cannot listen on ${at}: this machine has no such address (${code ?? message}); choose another with ${flag} HOST:PORT`;
}

function banner(config: NodeConfig, node: RunningNode, io: Io): string {
  const kafka = dialable(node.kafkaAddress, config.kafkaAdvertise);
  const http = dialable(node.httpAddress);
  const run = io.programName;
  const url = http === "127.0.0.1:8080" ? "" : ` --url http://${http}`;
  const brokers = kafka === "127.0.0.1:9092" ? "" : ` -b ${kafka}`;
  const kept =
    config.durability === "sync" ? "synced to disk before it is acknowledged" : "acknowledged before it is synced";
  return `Rowlog ${version}

  Kafka  ${showAddress(node.kafkaAddress)}${config.kafkaAdvertise ? `, advertised as ${showAddress(config.kafkaAdvertise)}` : ""}
  HTTP   http://${showAddress(node.httpAddress)}
  Lake   ${config.lake} (every produce is ${kept})

Try
  ${run} sql${url} -c "CREATE TABLE events (user VARCHAR, amount BIGINT)"
  echo '{"user": "ada", "amount": 1}' | ${run} produce${brokers} events
  ${run} sql${url} -c "SELECT * FROM events"
  kcat -b ${kafka} -L    (any Kafka client works)

Ctrl-C stops.
`;
}

function dialable(listening: Address, advertised?: Address): string {
  if (advertised) return showAddress(advertised);
  return showAddress(isWildcardHost(listening.host) ? { host: "127.0.0.1", port: listening.port } : listening);
}
