/**
 * What a setting with one of Kafka's names is: its type, default and rule. Parsing gives the value in the one text form
 * that Kafka shows (`" 007 "` is `7`), or the message that Kafka gives for it (org.apache.kafka.common.config.ConfigDef).
 */
import { KafkaError } from "../base/kafka_error.ts";

export type ConfigType = "boolean" | "string" | "int" | "long" | "double" | "list" | "short" | "class" | "password";

/** Numbers of the types in DescribeConfigs answers. */
export const configTypeCodes: Record<ConfigType, number> = {
  boolean: 1,
  string: 2,
  int: 3,
  short: 4,
  long: 5,
  double: 6,
  list: 7,
  class: 8,
  password: 9,
};

/** Numbers of the places that a value comes from, in DescribeConfigs answers. */
export const configSources = { topic: 1, staticBroker: 4, default: 5 } as const;

export interface ConfigDefinition {
  name: string;
  type: ConfigType;
  /** In the form that Kafka shows; null where there is none. */
  default: string | null;
  /** Bounds of a number, both inclusive. */
  min?: bigint | number;
  max?: bigint | number;
  /** The only values allowed: of a list, of its elements. */
  oneOf?: readonly string[];
  /** A rule beyond those; returns Kafka's message for a value that breaks it. `value` is in the form that Kafka shows. */
  fault?: (value: string) => string | undefined;
  /** The broker's setting that gives this one its default. */
  brokerName?: string;
  /** The broker's setting is among the synonyms even while it is not set. */
  brokerDefaultShown?: boolean;
  documentation: string;
}

export interface ConfigSynonym {
  name: string;
  value: string | null;
  source: number;
}

/** One entry of a DescribeConfigs answer. */
export interface ConfigEntry {
  name: string;
  value: string | null;
  readOnly: boolean;
  configSource: number;
  isSensitive: boolean;
  synonyms: ConfigSynonym[];
  configType: number;
  documentation: string | null;
}

export interface DescribeOptions {
  includeSynonyms?: boolean;
  includeDocumentation?: boolean;
}

const intMax = 2_147_483_647n;
const longMax = 9_223_372_036_854_775_807n;

/** The value in the form that Kafka shows; throws INVALID_CONFIG with Kafka's message. */
export function parseConfig(definition: ConfigDefinition, text: string): string {
  const trimmed = text.trim();
  switch (definition.type) {
    case "boolean": {
      const value = trimmed.toLowerCase();
      if (value !== "true" && value !== "false")
        refuse(definition, trimmed, "Expected value to be either true or false");
      return value;
    }
    case "int":
    case "long":
    case "short":
      return parseInteger(definition, trimmed);
    case "double":
      return parseDouble(definition, trimmed);
    case "list":
      return parseList(definition, trimmed);
    default: {
      const { oneOf } = definition;
      if (oneOf && !oneOf.includes(trimmed)) refuse(definition, trimmed, `String must be one of: ${oneOf.join(", ")}`);
      return trimmed;
    }
  }
}

/** The elements of a list value; empty text is the empty list. */
export function listElements(value: string): string[] {
  const trimmed = value.trim();
  return trimmed === "" ? [] : trimmed.split(",").map((element) => element.trim());
}

function parseInteger(definition: ConfigDefinition, text: string): string {
  const kind = definition.type.toUpperCase();
  if (!/^[+-]?[0-9]+$/.test(text)) refuse(definition, text, `Not a number of type ${kind}`);
  const value = BigInt(text.replace("+", ""));
  const largest = definition.type === "long" ? longMax : definition.type === "int" ? intMax : 32_767n;
  if (value > largest || value < -largest - 1n) refuse(definition, text, `Not a number of type ${kind}`);
  const { min, max, fault } = definition;
  if (min !== undefined && value < BigInt(min)) refuse(definition, String(value), `Value must be at least ${min}`);
  if (max !== undefined && value > BigInt(max)) refuse(definition, String(value), `Value must be no more than ${max}`);
  const broken = fault?.(String(value));
  if (broken !== undefined) refuse(definition, String(value), broken);
  return String(value);
}

function parseDouble(definition: ConfigDefinition, text: string): string {
  const digits = /^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[dDfF]?$/.exec(text);
  const infinite = /^([+-]?)Infinity$/.exec(text);
  if (!digits && !infinite) refuse(definition, text, "Not a number of type DOUBLE");
  const value = digits ? Number(digits[1]) : infinite![1] === "-" ? -Infinity : Infinity;
  const shown = doubleText(value);
  const { min, max } = definition;
  if (min !== undefined && value < Number(min)) refuse(definition, shown, `Value must be at least ${min}`);
  if (max !== undefined && value > Number(max)) refuse(definition, shown, `Value must be no more than ${max}`);
  return shown;
}

/** As Java's Double.toString: always a point; an exponent below 0.001 and from ten million on. */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) {
    const [mantissa, exponent] = value.toExponential().split("e") as [string, string];
    return `${mantissa.includes(".") ? mantissa : `${mantissa}.0`}E${Number(exponent)}`;
  }
  const text = String(value);
  return text.includes(".") ? text : `${text}.0`;
}

/** Repeated elements count once. */
function parseList(definition: ConfigDefinition, text: string): string {
  const elements = listElements(text);
  if (elements.includes("")) {
    throw new KafkaError("INVALID_CONFIG", `Configuration '${definition.name}' values must not be empty.`);
  }
  const { oneOf, fault } = definition;
  for (const element of elements) {
    if (oneOf && !oneOf.includes(element)) refuse(definition, element, `String must be one of: ${oneOf.join(", ")}`);
  }
  const broken = fault?.(elements.join(","));
  if (broken !== undefined) refuse(definition, `[${elements.join(", ")}]`, broken);
  return [...new Set(elements)].join(",");
}

function refuse(definition: ConfigDefinition, value: string, why: string): never {
  throw new KafkaError("INVALID_CONFIG", `Invalid value ${value} for configuration ${definition.name}: ${why}`);
}
