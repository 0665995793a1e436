/**
 * Works out a node's configuration. Precedence: flag, then environment, then the `--config` file, then the default.
 * Everything arrives as text and goes through the same parser; an error names the place that the text came from.
 *
 * A configuration file is a JSON object (flat, or nested with the levels joined by a dash), or Kafka-style properties
 * (`key = value` lines, `#` comments). Both need nothing but JSON.parse and a line splitter, and both are what people
 * already have: Kafka's own server.properties is read, its unknown keys reported.
 */
import { readFileSync } from "node:fs";
import { OptionError } from "./option_types.ts";
import {
  type Alias,
  environmentName,
  type NodeConfig,
  type NodeOption,
  type NodeOptionName,
  nodeOptionEntries,
} from "./options.ts";

/** Wrong usage: exit code 2. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

export interface ResolvedConfig {
  config: NodeConfig;
  /** Where each value came from: `flag`, `default`, a variable's name, or the file's path. */
  origins: Record<NodeOptionName, string>;
  /** Things given that we do not know (file keys, `ROWLOG_…` and `KAFKA_…` variables): named once at start, never fatal. */
  ignored: string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** `flags` by option name, as text (`true` for a switch). `file` is the content of `--config` with its path. */
export function resolveConfig(
  flags: Partial<Record<NodeOptionName, string>>,
  environment: Environment,
  file?: { path: string; content: string },
): ResolvedConfig {
  const fileValues = file ? parseConfigFile(file.content, file.path) : new Map<string, string>();
  const config: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  const usedKeys = new Set<string>();
  for (const [name, option] of nodeOptionEntries) {
    const found = findText(name, option, flags, environment, fileValues, file?.path, usedKeys);
    if (found === undefined) {
      config[name] = option.default;
      origins[name] = "default";
      continue;
    }
    origins[name] = found.origin;
    config[name] = parse(option, found.text, found.place);
  }
  return {
    config: config as NodeConfig,
    origins: origins as Record<NodeOptionName, string>,
    ignored: [
      ...[...fileValues.keys()].filter((key) => !usedKeys.has(key)).map((key) => `${key} in ${file?.path}`),
      ...unknownVariables(environment),
    ],
  };
}

/** Reads `--config FILE`; a `ConfigError` says why it cannot. */
export function readConfigFile(path: string): { path: string; content: string } {
  try {
    return { path, content: readFileSync(path, "utf8") };
  } catch (error) {
    throw new ConfigError(`cannot read the configuration file ${path}: ${reason(error)}; check --config`);
  }
}

function findText(
  name: NodeOptionName,
  option: NodeOption<unknown>,
  flags: Partial<Record<NodeOptionName, string>>,
  environment: Environment,
  fileValues: Map<string, string>,
  filePath: string | undefined,
  usedKeys: Set<string>,
): { text: string; origin: string; place: string } | undefined {
  const keys: Alias[] = [{ name: option.flag }, ...(option.fileAliases ?? [])];
  for (const key of keys) usedKeys.add(normalKey(key.name));
  const flag = flags[name];
  if (flag !== undefined) return { text: flag, origin: "flag", place: name === "lake" ? "LAKE" : `--${option.flag}` };
  const own = environmentName(option.flag);
  const value = environment[own];
  if (value !== undefined && value !== "") return { text: value, origin: own, place: own };
  for (const alias of option.environmentAliases ?? []) {
    const other = environment[alias.name];
    if (other === undefined || other === "") continue;
    return { text: alias.convert ? alias.convert(other) : other, origin: alias.name, place: alias.name };
  }
  for (const key of keys) {
    const text = fileValues.get(normalKey(key.name));
    if (text === undefined) continue;
    const place = `${key.name} in ${filePath}`;
    return { text: key.convert ? key.convert(text) : text, origin: filePath ?? "file", place };
  }
  return undefined;
}

function parse(option: NodeOption<unknown>, text: string, place: string): unknown {
  try {
    return option.kind.parse(text);
  } catch (error) {
    if (error instanceof OptionError) throw new ConfigError(`${place}: ${error.message}`);
    throw error;
  }
}

function unknownVariables(environment: Environment): string[] {
  const known = new Set(["ROWLOG_CONFIG", "ROWLOG_URL", "ROWLOG_BROKERS", "ROWLOG_COLOR", "ROWLOG_HISTORY"]);
  for (const [, option] of nodeOptionEntries) {
    known.add(environmentName(option.flag));
    for (const alias of option.environmentAliases ?? []) known.add(alias.name);
  }
  return Object.keys(environment)
    .filter((name) => /^(ROWLOG|KAFKA)_/.test(name) && !known.has(name))
    .sort();
}

/** Flat map of normalised keys (dots, underscores and capitals make no difference) to text. */
export function parseConfigFile(content: string, path: string): Map<string, string> {
  return content.trimStart().startsWith("{") ? parseJson(content, path) : parseProperties(content, path);
}

function normalKey(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll(/[._]/g, "-")
    .toLowerCase();
}

function parseJson(content: string, path: string): Map<string, string> {
  let root: unknown;
  try {
    root = JSON.parse(content);
  } catch (error) {
    throw new ConfigError(`${path} is not valid JSON: ${reason(error)}`);
  }
  const values = new Map<string, string>();
  const visit = (value: unknown, key: string) => {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      for (const [name, inner] of Object.entries(value)) visit(inner, key === "" ? name : `${key}-${name}`);
    } else if (value !== null) {
      if (Array.isArray(value)) throw new ConfigError(`${path}: ${key} must be one value, not a list`);
      values.set(normalKey(key), String(value));
    }
  };
  visit(root, "");
  return values;
}

function parseProperties(content: string, path: string): Map<string, string> {
  const values = new Map<string, string>();
  let number = 0;
  for (const raw of content.split(/\r?\n/)) {
    number++;
    const line = raw.trim();
    if (line === "" || line.startsWith("#") || line.startsWith("!")) continue;
    const at = line.search(/[=:]/);
    if (at <= 0) throw new ConfigError(`${path} line ${number} is not "key = value": ${line}`);
    values.set(normalKey(line.slice(0, at).trim()), line.slice(at + 1).trim());
  }
  return values;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
