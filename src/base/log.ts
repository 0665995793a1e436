/**
 * The node's own log (not the Kafka log): one line per event, JSON unless standard output is a terminal.
 * Nothing here may throw or block: a lost log line is better than a stopped node.
 */
export type LogLevel = "debug" | "info" | "warn" | "error";

const ranks: Record<LogLevel, number> = { debug: 10, info: 20, warn: 30, error: 40 };

/** Details of one event: plain values only, named in camelCase. */
export type LogFields = Record<string, string | number | bigint | boolean | null | undefined>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogSink = (line: string) => void;

/** `json`: one object per line with `time` (ISO 8601), `level`, `message` and the fields; `text`: for people. */
export function createLogger(options: { level?: LogLevel; format?: "json" | "text"; sink: LogSink }): Logger {
  const least = ranks[options.level ?? "info"];
  const write = (level: LogLevel, message: string, fields?: LogFields) => {
    if (ranks[level] < least) return;
    options.sink(options.format === "text" ? textLine(level, message, fields) : jsonLine(level, message, fields));
  };
  return {
    debug: (message, fields) => write("debug", message, fields),
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
  };
}

/** A logger for tests and for code that runs before a node exists. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

function jsonLine(level: LogLevel, message: string, fields?: LogFields): string {
  return JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }, (_key, value) =>
    typeof value === "bigint" ? value.toString() : value,
  );
}

function textLine(level: LogLevel, message: string, fields?: LogFields): string {
  let line = level === "info" ? message : `${level}: ${message}`;
  for (const [name, value] of Object.entries(fields ?? {})) if (value !== undefined) line += ` ${name}=${value}`;
  return line;
}
