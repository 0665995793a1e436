/**
 * Kafka's own command line tools against a node: every step's output must equal what the tool printed with a real Apache Kafka, and
 * `kafka-dump-log` must read the node's files as it reads Kafka's.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { component } from "../../scripts/install-clients.ts";
import { startRowlog } from "../clients/target.ts";
import { dumpNames, LogDump } from "./dump_log.ts";
import { runSteps, type StepResult, stepName } from "./run_steps.ts";
import { type Step, steps } from "./steps.ts";
import { ToolRunner } from "./tool_runner.ts";

const installed = component("jars").installed() && component("tools").installed();
const file = new URL("../vectors/tools.json", import.meta.url);
const recorded = JSON.parse(readFileSync(file, "utf8")).results as Record<string, StepResult>;

/** Every API that the node advertises has Kafka's own range: no line that Kafka does not have too. */
function expectSubset(actual: StepResult, expected: StepResult): void {
  expect(actual.output.filter((line) => !expected.output.includes(line))).toEqual([]);
  expect(actual.output.length).toBeGreaterThan(25);
}

function compare(step: Step, actual: StepResult | undefined): void {
  const expected = recorded[stepName(step)];
  if (expected === undefined) throw new Error("nothing recorded for it: bun tests/tools/record.ts");
  if (actual === undefined) throw new Error("it did not run");
  if (step.compare === "api-versions") expectSubset(actual, expected);
  else expect(actual).toEqual(expected);
}

describe.skipIf(!installed)("Kafka's tools", () => {
  let results = new Map<string, StepResult>();
  let dump = new Map<string, StepResult>();
  const complaints: string[] = [];
  let performanceRecords = 0;

  beforeAll(async () => {
    const target = await startRowlog([], true);
    const runner = new ToolRunner();
    try {
      results = await runSteps(runner, target.bootstrap);
      expect(await target.node.end("SIGTERM")).toBe(0);
      const logs = new LogDump(runner, join(target.directory, "log"));
      dump = await logs.all();
      for (const partition of ["perf-0", "perf-1"]) {
        performanceRecords += await logs.recordCount(partition);
        complaints.push(...(await logs.indexComplaints(partition)));
      }
    } finally {
      await runner.end();
      await target.stop();
    }
  }, 300_000);

  for (const step of steps) test(stepName(step), () => compare(step, results.get(stepName(step))));

  for (const name of dumpNames) test(name, () => expect(dump.get(name)).toEqual(recorded[name]));

  test("dump-log: every batch of a busy topic is valid, and no index entry is wrong", () => {
    expect(performanceRecords).toBe(20_000);
    expect(complaints).toEqual([]);
  });
});
