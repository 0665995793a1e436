/**
 * Generates src/protocol/generated/ from the message definitions inside Apache Kafka's jars, which Maven fetches.
 *
 *   bun scripts/generate-protocol.ts           write the files
 *   bun scripts/generate-protocol.ts --check   compare; exit code 1 when they are stale
 *
 * Without Maven the check compares the files with the digest that the last generation left beside them, and says so:
 * that finds edits by hand, though not a change of the generator.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findJar, jars, kafkaVersion, type Message, readDefinitions } from "./protocol/definitions.ts";
import { emitMessage, fileName } from "./protocol/emit.ts";
import { emitIndex } from "./protocol/emit_index.ts";
import { emitSchema } from "./protocol/emit_schema.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "src/protocol/generated");
const digestFile = "digest.json";
/** What the tests interpret, beside the other vectors. */
const schemaFile = join(root, "tests/vectors/protocol/schema.jsonl");

/** Messages beyond requests and responses: headers, what clients put into groups, and the records of internal topics. */
const dataTypes = new Set(["header", "data", "coordinator-key", "coordinator-value"]);
const dataMessages = new Set([
  "RequestHeader",
  "ResponseHeader",
  "ConsumerProtocolAssignment",
  "ConsumerProtocolSubscription",
  "EndTxnMarker",
]);

function main(): void {
  const check = process.argv.includes("--check");
  const definitions = loadDefinitions();
  if (definitions === undefined) {
    if (!check) throw new Error("Maven (mvn) is needed to fetch Kafka's jars: install it, or keep the generated files");
    console.log("generate-protocol: skipped the comparison with Kafka's definitions, there is no Maven (mvn) here");
    if (digestOf(readGenerated()) !== readDigest()) fail("src/protocol/generated/ was edited by hand");
    return;
  }
  const wanted = choose(definitions);
  const files = format(generate(wanted));
  const schema = emitSchema(wanted);
  if (check) {
    const stale = differences(files, readGenerated());
    if (digestOf(files) !== readDigest()) stale.push(digestFile);
    if (readFileSync(schemaFile, "utf8") !== schema) stale.push("schema.jsonl");
    if (stale.length > 0) fail(`stale: ${stale.join(", ")}; run bun scripts/generate-protocol.ts`);
    console.log(`generate-protocol: ${files.size} files are fresh`);
    return;
  }
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(join(folder, name));
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
  writeFileSync(schemaFile, schema);
  writeFileSync(join(folder, digestFile), `${JSON.stringify({ kafka: kafkaVersion, sha256: digestOf(files) })}\n`);
  console.log(`generate-protocol: wrote ${files.size} files`);
}

function fail(reason: string): void {
  console.error(`generate-protocol: ${reason}`);
  process.exitCode = 1;
}

function loadDefinitions(): Message[] | undefined {
  const messages: Message[] = [];
  for (const artifact of jars) {
    const jar = findJar(artifact);
    if (jar === undefined) return undefined;
    messages.push(...readDefinitions(jar));
  }
  return messages;
}

/** The messages of every API that a broker's clients can call, and those that are data. */
function choose(definitions: Message[]): Message[] {
  const forClients = new Set(
    definitions.filter((one) => one.type === "request" && one.listeners.includes("broker")).map((one) => one.apiKey),
  );
  return definitions.filter((one) => {
    if (one.type === "request" || one.type === "response") return forClients.has(one.apiKey);
    return dataTypes.has(one.type) && (one.type.startsWith("coordinator") || dataMessages.has(one.name));
  });
}

function generate(wanted: Message[]): Map<string, string> {
  const files = new Map<string, string>();
  for (const message of wanted) files.set(`${fileName(message.name)}.ts`, emitMessage(message));
  files.set("index.ts", emitIndex(wanted));
  return files;
}

/** Formats in a folder outside the repository, with its rules, since the repository's settings leave out generated files. */
function format(files: Map<string, string>): Map<string, string> {
  const work = mkdtempSync(join(tmpdir(), "rowlog-protocol-"));
  try {
    for (const [name, text] of files) writeFileSync(join(work, name), text);
    const settings = JSON.parse(readFileSync(join(root, "biome.json"), "utf8")) as Record<string, unknown>;
    const { formatter, javascript } = settings;
    writeFileSync(join(work, "biome.json"), JSON.stringify({ formatter, javascript }));
    const run = spawnSync(
      process.execPath,
      [join(root, "node_modules/@biomejs/biome/bin/biome"), "format", "--write", "."],
      {
        cwd: work,
        encoding: "utf8",
      },
    );
    if (run.status !== 0) throw new Error(`biome could not format the generated files: ${run.stdout}${run.stderr}`);
    return new Map([...files.keys()].sort().map((name) => [name, readFileSync(join(work, name), "utf8")]));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function readGenerated(): Map<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  return new Map(names.sort().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

function readDigest(): string {
  return (JSON.parse(readFileSync(join(folder, digestFile), "utf8")) as { sha256: string }).sha256;
}

function digestOf(files: Map<string, string>): string {
  const hash = createHash("sha256");
  for (const [name, text] of files) hash.update(`${name}\0${text}\0`);
  return hash.digest("hex");
}

function differences(fresh: Map<string, string>, present: Map<string, string>): string[] {
  const names = new Set([...fresh.keys(), ...present.keys()]);
  return [...names].filter((name) => fresh.get(name) !== present.get(name));
}

try {
  main();
} catch (error) {
  fail((error as Error).message);
}
