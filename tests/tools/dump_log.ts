/**
 * `kafka-dump-log` over the files of a broker that has run the steps and was then stopped in order: the segments, indexes, producer
 * snapshots and committed offsets that it left.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { StepResult } from "./run_steps.ts";
import type { ToolRunner } from "./tool_runner.ts";

const replacements: [RegExp, string][] = [
  [/^Dumping .*$/gm, "Dumping FILE"],
  [/(CreateTime|lastTimestamp|timestamp|producerId|crc): \d+/g, "$1: N"],
  [/"(commitTimestamp|currentStateTimestamp)":\d+/g, '"$1":TIME'],
  [/"topicId":"[A-Za-z0-9_-]{22}"/g, '"topicId":"ID"'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID"],
  [/"clientHost":"[^"]*"/g, '"clientHost":"HOST"'],
];

function replace(text: string): string {
  let result = text;
  for (const [pattern, replacement] of replacements) result = result.replace(pattern, replacement);
  return result;
}

/** Sizes differ by the length of a time's difference from the first, a matter of milliseconds. */
const withoutSizes = (text: string) => text.replace(/ size: \d+/g, " size: N");

export class LogDump {
  readonly #runner: ToolRunner;
  readonly #folder: string;

  /** `folder` is the one with the partitions' folders. */
  constructor(runner: ToolRunner, folder: string) {
    this.#runner = runner;
    this.#folder = folder;
  }

  async #dump(files: readonly string[], ...options: string[]): Promise<StepResult> {
    const { status, output, errors } = await this.#runner.run("dump-log", ["--files", files.join(","), ...options]);
    return { status, output: replace(output + errors).split("\n") };
  }

  #files(partition: string, ending: string): string[] {
    const folder = join(this.#folder, partition);
    const names = readdirSync(folder).sort();
    return names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
  }

  /** Everything that is the same for two brokers that ran the same steps. */
  async all(): Promise<Map<string, StepResult>> {
    const results = new Map<string, StepResult>();
    const batches = await this.#dump(this.#files("t-4", ".log"), "--print-data-log");
    results.set("dump-log: batches and records", { ...batches, output: batches.output.map(withoutSizes) });
    results.set("dump-log: producer snapshot", await this.#dump(this.#files("t-4", ".snapshot")));
    const records = await this.#dump(this.#files("verify-0", ".log"), "--print-data-log");
    // How many batches the producer made of them is luck.
    const lines = records.output
      .filter((line) => line.startsWith("| "))
      .map((line) => line.replace(/sequence: .*header/, "header"));
    results.set("dump-log: records", { ...records, output: lines });
    for (const ending of [".index", ".timeindex"]) {
      const sanity = await this.#dump(this.#files("perf-0", ending), "--index-sanity-check");
      results.set(`dump-log: ${ending} passes the sanity check`, {
        ...sanity,
        output: sanity.output.map((line) => line.replace(/^.*\/(\d+\.\w+ passed)/, "$1")),
      });
    }
    results.set("dump-log: committed offsets", await this.#offsets());
    return results;
  }

  /** Records of `__consumer_offsets` about one group, in order, whichever of its partitions they are in. */
  async #offsets(): Promise<StepResult> {
    const partitions = readdirSync(this.#folder).filter((name) => name.startsWith("__consumer_offsets-"));
    const files = partitions.flatMap((partition) => this.#files(partition, ".log"));
    const { status, output } = await this.#dump(files, "--offsets-decoder");
    const lines = output.filter((line) => line.includes('"group":"verify"'));
    return { status, output: lines.map((line) => line.slice(line.indexOf("key: "))) };
  }

  /** Whether every batch of a partition is valid, with how many records they say they hold. */
  async recordCount(partition: string): Promise<number> {
    const { status, output } = await this.#dump(this.#files(partition, ".log"), "--deep-iteration");
    const batches = output.filter((line) => line.startsWith("baseOffset: "));
    const invalid = output.filter((line) => line.includes("isvalid: false"));
    if (status !== 0 || invalid.length > 0) throw new Error(`${partition}: status ${status}\n${invalid.join("\n")}`);
    return batches.reduce((sum, line) => sum + Number(/ count: (\d+) /.exec(line)?.[1]), 0);
  }

  /** What the tool complains of when it compares the indexes with the segment: nothing, of files that are right. */
  async indexComplaints(partition: string): Promise<string[]> {
    const files = [".index", ".timeindex"].flatMap((ending) => this.#files(partition, ending));
    const { output } = await this.#dump(files, "--verify-index-only");
    return output.filter((line) => line !== "" && !line.startsWith("Dumping "));
  }
}

export const dumpNames = [
  "dump-log: batches and records",
  "dump-log: producer snapshot",
  "dump-log: records",
  "dump-log: .index passes the sanity check",
  "dump-log: .timeindex passes the sanity check",
  "dump-log: committed offsets",
];
