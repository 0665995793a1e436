/**
 * Kafka's message definitions as objects: finds the jars with Maven, reads `common/message/*.json` out of them, and
 * resolves versions, defaults and types. Nothing of the definitions' text is kept.
 * Format: https://github.com/apache/kafka/tree/trunk/clients/src/main/resources/common/message (README.md there).
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { strFromU8, unzipSync } from "fflate";

export const kafkaVersion = "4.4.0";
export const jars = ["kafka-clients", "kafka-group-coordinator", "kafka-transaction-coordinator"] as const;

/** Inclusive; an empty range has max < min. */
export interface Versions {
  min: number;
  max: number;
}

export const versionMax = 32767;
export const noVersions: Versions = { min: 0, max: -1 };

export type Primitive =
  | "bool"
  | "int8"
  | "int16"
  | "uint16"
  | "int32"
  | "int64"
  | "float64"
  | "uuid"
  | "string"
  | "bytes"
  | "records";

export type FieldType =
  | { kind: Primitive }
  | { kind: "struct"; struct: string }
  | { kind: "array"; element: FieldType };

export interface Field {
  /** camelCase. */
  name: string;
  type: FieldType;
  versions: Versions;
  nullableVersions: Versions;
  taggedVersions: Versions;
  flexibleVersions: Versions | undefined;
  tag: number;
  ignorable: boolean;
  /** As in the definition; "" when there is none, "null" for null. */
  default: string;
}

export interface Struct {
  name: string;
  fields: Field[];
}

export interface Message {
  name: string;
  type: string;
  apiKey: number | undefined;
  listeners: string[];
  versions: Versions;
  flexibleVersions: Versions;
  latestVersionUnstable: boolean;
  /** The message itself first, then the structs that it uses, each once. */
  structs: Struct[];
}

/** Path of a jar of the stated release, copied by Maven into a cache folder; undefined when there is no Maven. */
export function findJar(artifact: string): string | undefined {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "rowlog", "kafka-jars", kafkaVersion);
  const jar = join(folder, `${artifact}-${kafkaVersion}.jar`);
  if (existsSync(jar)) return jar;
  mkdirSync(folder, { recursive: true });
  const coordinates = `org.apache.kafka:${artifact}:${kafkaVersion}`;
  const run = spawnSync(
    "mvn",
    ["-q", "-B", "dependency:copy", `-Dartifact=${coordinates}`, `-DoutputDirectory=${folder}`],
    {
      encoding: "utf8",
    },
  );
  if (run.error && (run.error as { code?: string }).code === "ENOENT") return undefined;
  if (run.status !== 0 || !existsSync(jar)) {
    throw new Error(`Maven could not fetch ${coordinates}: ${run.stdout ?? ""}${run.stderr ?? ""}`);
  }
  return jar;
}

/** All definitions of a jar that still have versions, by message name. */
export function readDefinitions(jar: string): Message[] {
  const files = unzipSync(new Uint8Array(readFileSync(jar)), {
    filter: (file) => /^common\/message\/[A-Za-z]+\.json$/.test(file.name),
  });
  const messages: Message[] = [];
  for (const name of Object.keys(files).sort()) {
    const raw = JSON.parse(strFromU8(files[name]!).replace(/^\s*\/\/.*$/gm, "")) as RawMessage;
    if (raw.validVersions !== "none") messages.push(toMessage(raw));
  }
  return messages;
}

interface RawField {
  name: string;
  type: string;
  versions?: string;
  nullableVersions?: string;
  taggedVersions?: string;
  flexibleVersions?: string;
  tag?: number;
  ignorable?: boolean;
  default?: string | number | boolean | null;
  fields?: RawField[];
}

interface RawMessage {
  name: string;
  type: string;
  apiKey?: number;
  listeners?: string[];
  validVersions: string;
  flexibleVersions?: string;
  latestVersionUnstable?: boolean;
  fields?: RawField[];
  commonStructs?: { name: string; fields: RawField[] }[];
}

function toMessage(raw: RawMessage): Message {
  const structs: Struct[] = [];
  const addStruct = (name: string, fields: RawField[]) => {
    if (structs.some((known) => known.name === name)) throw new Error(`${raw.name}: struct ${name} is defined twice`);
    const struct: Struct = { name, fields: fields.map((field) => toField(field, raw.name)) };
    structs.push(struct);
    for (const field of fields) if (field.fields) addStruct(field.type.replace("[]", ""), field.fields);
  };
  addStruct(raw.name, raw.fields ?? []);
  for (const common of raw.commonStructs ?? []) addStruct(common.name, common.fields);
  return {
    name: raw.name,
    type: raw.type,
    apiKey: raw.apiKey,
    listeners: raw.listeners ?? [],
    versions: parseVersions(raw.validVersions, noVersions),
    flexibleVersions: parseVersions(raw.flexibleVersions, noVersions),
    latestVersionUnstable: raw.latestVersionUnstable ?? false,
    structs,
  };
}

function toField(raw: RawField, message: string): Field {
  const taggedVersions = parseVersions(raw.taggedVersions, noVersions);
  if (raw.versions === undefined && raw.taggedVersions === undefined)
    throw new Error(`${message}.${raw.name}: no versions`);
  return {
    name: raw.name.charAt(0).toLowerCase() + raw.name.slice(1),
    type: parseType(raw.type),
    versions: parseVersions(raw.versions, taggedVersions),
    nullableVersions: parseVersions(raw.nullableVersions, noVersions),
    taggedVersions,
    flexibleVersions: raw.flexibleVersions === undefined ? undefined : parseVersions(raw.flexibleVersions, noVersions),
    tag: raw.tag ?? -1,
    ignorable: raw.ignorable ?? false,
    default: raw.default === undefined || raw.default === null ? "" : String(raw.default),
  };
}

const primitives = new Set<string>(
  "bool int8 int16 uint16 int32 int64 float64 uuid string bytes records".split(" ") satisfies string[],
);

function parseType(text: string): FieldType {
  if (text.startsWith("[]")) return { kind: "array", element: parseType(text.slice(2)) };
  if (primitives.has(text)) return { kind: text as Primitive };
  if (/^[A-Z]/.test(text)) return { kind: "struct", struct: text };
  throw new Error(`unknown field type ${text}`);
}

/** "3", "0-12", "9+", "none". */
export function parseVersions(text: string | undefined, absent: Versions): Versions {
  if (text === undefined || text === "") return absent;
  if (text === "none") return noVersions;
  const match = /^(\d+)(?:(\+)|-(\d+))?$/.exec(text.trim());
  if (!match) throw new Error(`"${text}" is no version range`);
  const min = Number(match[1]);
  return { min, max: match[2] ? versionMax : match[3] === undefined ? min : Number(match[3]) };
}
