/**
 * Writes docs/reference/*.md from the tables that the program itself uses: node options, commands, HTTP routes, Kafka APIs,
 * bounds. `--check` writes nothing and fails when a page is not what would be written. What stands behind the line
 * `handWritten` in a page is kept as it is.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { MetricsRegistry } from "../src/base/metrics.ts";
import { topicConfigTable } from "../src/catalog/topic_config_table.ts";
import type { Io } from "../src/cli/io.ts";
import { environmentName, nodeOptionEntries } from "../src/cli/options.ts";
import { createProgram, defaultText } from "../src/cli/program.ts";
import { createHttpApp, openApiDocument } from "../src/http/app.ts";
import type { HttpServices } from "../src/http/services.ts";
import { servedApis } from "../src/protocol/apis.ts";
import { apiKeys } from "../src/protocol/generated/index.ts";

const root = join(import.meta.dirname, "..");
const note = "<!-- Made by `bun scripts/generate-docs.ts`; do not edit. -->\n";
const handWritten = "<!-- From here on written by hand. -->\n";

const pages: Record<string, () => string> = {
  "config.md": configPage,
  "cli.md": cliPage,
  "http.md": httpPage,
  "api-versions.md": apiVersionsPage,
  "limits.md": limitsPage,
  "topic-configs.md": topicConfigsPage,
};

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |\n`;
  return `${line(head)}|${head.map(() => "---").join("|")}|\n${rows.map(line).join("")}`;
}

function configPage(): string {
  const flagOf = ([name, { flag, kind }]: (typeof nodeOptionEntries)[number]) =>
    name === "lake"
      ? "`LAKE` (first argument)"
      : `\`--${flag}${kind.placeholder === "" ? "" : ` ${kind.placeholder}`}\``;
  const rows = nodeOptionEntries.map((entry) => {
    const [, option] = entry;
    const standard = option.defaultText ?? `\`${defaultText(option)}\``;
    return [flagOf(entry), `\`${environmentName(option.flag)}\``, standard, option.kind.accepts, option.description];
  });
  const aliases = nodeOptionEntries.flatMap(([, option]) => [
    ...(option.environmentAliases ?? []).map(({ name }) => [`\`${name}\``, "variable", `\`${option.flag}\``]),
    ...(option.fileAliases ?? []).map(({ name }) => [`\`${name}\``, "file key", `\`${option.flag}\``]),
  ]);
  return `# Configuration of a node

\`rowlog serve\` takes each option as a flag, as an environment variable, and as a key of the file that \`--config FILE\` (or
\`ROWLOG_CONFIG\`) names. A flag wins over a variable, a variable over the file, the file over the default.
\`rowlog config print\` shows every value in effect and where it came from.

${table(["flag", "variable", "default", "value", "meaning"], rows)}
The file's keys are the flags' names without dashes in front. It is a list of \`key = value\` lines (\`#\` begins a comment), or
a JSON object:

\`\`\`properties
kafka = 0.0.0.0:9092
kafka-advertise = db.example:9092
retain-secs = 3d
\`\`\`

\`\`\`json
{ "kafka": "0.0.0.0:9092", "kafka-advertise": "db.example:9092", "retain-secs": "3d" }
\`\`\`

A key or a \`ROWLOG_…\` or \`KAFKA_…\` variable that is not known is named once at start and otherwise ignored.

## Names of other products

These mean the same and are read when ours is not set. A listener list (\`PLAINTEXT://host:port,…\`) counts with its PLAINTEXT entry.

${table(["name", "where", "option"], aliases)}`;
}

function leaves(command: Command, path = "rowlog"): { path: string; command: Command }[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((sub) => leaves(sub, `${path} ${sub.name()}`));
}

function cliPage(): string {
  const silent = { out: async () => {}, err() {}, watchInterrupt() {}, environment: {} } as unknown as Io;
  const program = createProgram(silent, { startNode: () => Promise.reject(new Error("not here")) }, () => {}, []);
  const sections = leaves(program)
    .filter(({ path }) => path !== "rowlog serve" && path !== "rowlog config print")
    .map(({ path, command }) => {
      const usage = command.registeredArguments.map((argument) => {
        const name = argument.name().toUpperCase() + (argument.variadic ? "..." : "");
        return argument.required ? `<${name}>` : `[${name}]`;
      });
      const rows = command.options
        .filter((option) => !option.hidden)
        .map((option) => [
          `\`${option.flags}\``,
          optionText(option.description, option.defaultValue, option.argChoices),
        ]);
      const aliases = command.aliases();
      const also = aliases.length > 0 ? ` (also \`${aliases.join("`, `")}\`)` : "";
      const text = command.description();
      return `## ${path}\n\n\`${[path, "[options]", ...usage].join(" ")}\`${also}: ${text}\n\n${table(["flag", "meaning"], rows)}`;
    });
  return `# Commands

Without a command \`rowlog\` is \`rowlog serve\`; its flags, and those of \`rowlog config print\`, are in [config.md](config.md).
Exit codes: 0 done, 1 failure, 2 wrong usage, 130 interrupted. Results go to standard output, everything else to standard error.

${sections.join("\n")}`;
}

function optionText(description: string, value: unknown, choices: readonly string[] | undefined): string {
  const kinds = choices ? ` (${choices.join(", ")})` : "";
  return `${description}${kinds}${value === undefined || value === true ? "" : ` [default: ${value}]`}`;
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
}

interface Operation {
  tags: string[];
  summary: string;
  parameters?: { name: string; in: string; required?: boolean; schema: { default?: unknown }; description?: string }[];
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: { $ref?: string } }> }>;
}

function httpPage(): string {
  const services = { metrics: new MetricsRegistry(), node: { version: "" } } as unknown as HttpServices;
  const document = openApiDocument(createHttpApp(services), "") as OpenApi;
  const groups = new Map<string, string[][]>();
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags[0] ?? "Other";
      const rows = groups.get(tag) ?? [];
      groups.set(tag, rows);
      rows.push([
        `\`${method.toUpperCase()} ${path}\``,
        operation.summary,
        requestText(operation),
        answerText(operation),
      ]);
    }
  const sections = [...groups].map(
    ([tag, rows]) => `## ${tag}\n\n${table(["request", "does", "takes", "answers"], rows)}`,
  );
  return `# HTTP API

The node serves its own description at \`/openapi.json\` (OpenAPI 3.1), made from the same schemas that check each request.
Errors are \`application/problem+json\` with \`code\` (an SQLSTATE, a Kafka error's name, or a word of this API), \`detail\`, and for
SQL \`position\`, the 1-based character in the statement. Numbers keep their exact digits both ways.
Requests from web pages of another origin are refused.

${sections.join("\n")}`;
}

function requestText({ parameters = [], requestBody }: Operation): string {
  const query = parameters
    .filter((parameter) => parameter.in === "query")
    .map(
      ({ name, schema }) => `\`${name}\`${schema.default === undefined ? "" : ` (${JSON.stringify(schema.default)})`}`,
    );
  const body = requestBody?.content["application/json"]?.schema.$ref?.split("/").pop();
  return [...(body ? [`body \`${body}\``] : []), ...query].join(", ");
}

function answerText({ responses }: Operation): string {
  return Object.entries(responses)
    .map(([status, { content = {} }]) => {
      const names = Object.keys(content).filter(
        (type) => type !== "application/json" && type !== "application/problem+json",
      );
      const json = content["application/json"]?.schema.$ref?.split("/").pop();
      const all = [
        ...(json ? [json] : content["application/json"] ? ["JSON"] : []),
        ...names.map((name) => `\`${name}\``),
      ];
      return all.length > 0 ? `${status} ${all.join(", ")}` : status;
    })
    .join("; ");
}

function apiVersionsPage(): string {
  const digest = readFileSync(join(root, "src/protocol/generated/digest.json"), "utf8");
  const { kafka: kafkaVersion } = JSON.parse(digest) as { kafka: string };
  const served = new Set<string>(servedApis.map(({ name }) => name));
  const rows = servedApis.map(({ key, name, advertised, versions }) => {
    const range = ([least, most]: readonly [number, number]) => (least === most ? `${least}` : `${least} to ${most}`);
    const note = advertised[0] === versions[0] ? "" : `${advertised[0]} to ${versions[0] - 1} are refused`;
    return [String(key), name, range(advertised), note];
  });
  const others = Object.entries(apiKeys).filter(([name]) => !served.has(name));
  const names = others.map(([name, key]) => `${name} (${key})`).join(", ");
  return `# Kafka API versions

What a node advertises in its ApiVersions answer: for each API that it serves, the versions of Apache Kafka ${kafkaVersion}.

${table(["key", "API", "versions", ""], rows)}
A request of an API or version that is not in this list closes its connection, as in Apache Kafka; only ApiVersions of an unknown version is answered.

## Not served

These APIs of the same release are not advertised; [limits.md](limits.md) says why and what clients see:
${names}.
`;
}

function topicConfigsPage(): string {
  const range = ({ min, max, oneOf }: (typeof topicConfigTable)[number]) => {
    if (oneOf) return oneOf.map((one) => `\`${one}\``).join(", ");
    if (min === undefined && max === undefined) return "";
    return `${min ?? ""} to ${max ?? ""}`.trim().replace(/^to/, "up to").replace(/ to$/, " or more");
  };
  const rows = topicConfigTable.map((one) => {
    const standard = one.default === null || one.default === "" ? "" : `\`${one.default}\``;
    return [`\`${one.name}\``, one.type, standard, range(one), one.documentation];
  });
  return `# Topic configs

Every topic config of Apache Kafka is known, with its default, and read back as it was set. Set them with any of Kafka's tools,
with \`rowlog topic create -c NAME=VALUE\` and \`rowlog topic alter-config\`, or for a table in SQL:
\`CREATE TABLE … WITH ("retention.ms" = 3600000)\`. The node's \`--retain-secs\` and \`--changelog-secs\` set the default of \`retention.ms\`.

These act: \`cleanup.policy\`, \`compression.type\` with the levels of gzip and zstd, \`delete.retention.ms\`, \`index.interval.bytes\`,
\`max.compaction.lag.ms\`, \`max.decompressed.message.bytes\`, \`max.message.bytes\`, the \`message.timestamp.*\`, \`min.cleanable.dirty.ratio\`,
\`min.compaction.lag.ms\`, \`retention.bytes\`, \`retention.ms\`, \`segment.bytes\`, \`segment.index.bytes\`, \`segment.jitter.ms\`,
\`segment.ms\`. The others are checked, stored and shown, and change nothing.

${table(["name", "type", "default", "values", "meaning"], rows)}`;
}

/** Reads the comments of the table in src/base/limits.ts: they are the documentation. */
function limitsPage(): string {
  const whole = readFileSync(join(root, "src/base/limits.ts"), "utf8");
  const source = whole.slice(whole.indexOf("export const limits"));
  const rows: string[][] = [];
  for (const match of source.matchAll(/\/\*\*\s*([\s\S]*?)\s*\*\/\s*(\w+): ([^\n]+),\n/g)) {
    const [, comment = "", name = "", value = ""] = match;
    const text = comment.replaceAll(/\s*\n\s*\*\s?/g, " ").trim();
    rows.push([`\`${name}\``, value.replaceAll("_", ","), text]);
  }
  return `# Limits

Every queue, buffer, frame, wait and cache of a node has a bound. These are built in. What the node does not serve, and where
it differs from Apache Kafka, stands below.

${table(["name", "value", "bounds"], rows)}`;
}

const checkOnly = process.argv.includes("--check");
let stale = false;
for (const [name, page] of Object.entries(pages)) {
  const path = join(root, "docs", "reference", name);
  const before = (() => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return undefined;
    }
  })();
  const tail = before?.includes(handWritten) ? before.slice(before.indexOf(handWritten)) : "";
  const made = `${note}${page()}`.replace(/\n*$/, "\n");
  const text = tail === "" ? made : `${made}\n${tail}`;
  if (before === text) continue;
  if (checkOnly) {
    console.error(`docs/reference/${name} is stale; run: bun scripts/generate-docs.ts`);
    stale = true;
  } else writeFileSync(path, text);
}
process.exit(stale ? 1 : 0);
