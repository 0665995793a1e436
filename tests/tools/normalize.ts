/** Takes out of a tool's output what a run decides (ids, times, speeds, places), so that the rest can be compared. */
import type { Step } from "./steps.ts";

const replacements: [RegExp, string][] = [
  [/(TopicId: ?)[A-Za-z0-9_-]{22}/g, "$1ID"],
  [/(Cluster ID: )\S+/g, "$1ID"],
  [/"(timestamp|send_time_ms)":\d+/g, '"$1":TIME'],
  [/"(avg_throughput|target_throughput)":[-0-9.E]+/g, '"$1":N'],
  [/(consumer|console-consumer|producer)-[A-Za-z0-9]*-?[0-9a-f]{8}-[0-9a-f-]{27}/g, "$1-ID"],
  [/console-consumer-\d+/g, "console-consumer-N"],
  [/127\.0\.0\.1:\d+|localhost:\d+/g, "BROKER"],
  [/\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] /g, "[TIME] "],
  // The reason is each broker's own words.
  [/(Unable to replicate the partition 3 time\(s\)): .*/g, "$1: REASON"],
  [/[ \t]+$/gm, ""],
];

/**
 * Kafka from 4.1 on shows min.insync.replicas=1 with every topic, since it keeps that setting for its controllers; and it gives
 * configs in no order.
 */
function topicConfigs(line: string): string {
  const parts = line.split("Configs: ");
  if (parts[1] === undefined) return line.replace(/\{DYNAMIC_DEFAULT_BROKER_CONFIG:min\.insync\.replicas=1, /, "{");
  const configs = parts[1].split(",").filter((config) => config !== "min.insync.replicas=1");
  return `${parts[0]}Configs: ${configs.sort().join(",")}`;
}

/** Columns are padded to the longest value, and ids differ in length between runs. */
const squeeze = (text: string) => text.replace(/ {2,}/g, "  ");

/** Stack traces name lines of Kafka's client and say nothing of the broker. */
const withoutTraces = (text: string) => text.replace(/\n(\tat |\t\.\.\. \d+ more).*/g, "");

/** "Produce(0): 0 to 13 [usable: 13]," to the names and ranges, for those the node serves. */
function apiVersions(output: string): string {
  const lines = [...output.matchAll(/^\t(\w+\(\d+\): .*?),?$/gm)].map((match) => match[1] ?? "");
  return lines
    .filter((line) => !line.endsWith("UNSUPPORTED"))
    .sort()
    .join("\n");
}

interface LogDirs {
  brokers: {
    broker: number;
    logDirs: { error: string | null; logDir: string; partitions: { partition: string; size: number | string }[] }[];
  }[];
}

function logDirs(output: string): string {
  const json = output.split("\n").find((line) => line.startsWith("{")) ?? "{}";
  const { brokers } = JSON.parse(json) as LogDirs;
  for (const broker of brokers) {
    for (const directory of broker.logDirs) {
      directory.logDir = "DIRECTORY";
      // A byte more or less by the length of a time's difference from the first.
      for (const partition of directory.partitions) if (partition.size !== 0) partition.size = "not zero";
      directory.partitions.sort((a, b) => (a.partition < b.partition ? -1 : 1));
    }
  }
  return JSON.stringify(brokers, null, 1);
}

/** Speeds are the machine's: what is left is how many records, and which figures are shown. */
function performance(output: string): string {
  const lines = output.split("\n").filter((line) => line !== "");
  const last = lines.at(-1) ?? "";
  const produced = /^(\d+ records sent)/.exec(last)?.[1];
  if (produced !== undefined) return produced;
  const header = lines.find((line) => line.includes("data.consumed.in.MB")) ?? "";
  const columns = header.split(", ");
  return `${header}\n${last.split(", ")[columns.indexOf("data.consumed.in.nMsg")]}`;
}

/** The form of one step's output in which it is recorded and compared. */
export function normalize(step: Step, output: string, errors: string): string {
  if (step.compare === "api-versions") return apiVersions(output);
  if (step.compare === "log-dirs") return logDirs(output);
  if (step.compare === "performance") return performance(output);
  let text = withoutTraces(`${output}${errors === "" ? "" : `--- standard error\n${errors}`}`);
  text = text.split("\n").map(topicConfigs).join("\n");
  for (const [pattern, replacement] of replacements) text = text.replace(pattern, replacement);
  text = squeeze(text);
  // Kafka lists every topic here, for its min.insync.replicas alone.
  if (step.compare === "overrides") return text.replace(/.*Configs:\n/g, "");
  return step.compare === "lines" ? text.split("\n").sort().join("\n") : text;
}
