/**
 * kafka-python's own integration tests, whole, against a node. kafka-python.json names every one of them, and why the few that do not run
 * do not. They run in one process of pytest, with a limit for each; here each is a test of its own.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { component, kafkaPythonSuite } from "../../scripts/install-clients.ts";
import { startRowlog } from "../clients/target.ts";

interface SuiteFile {
  excluded: Record<string, string>;
  skipped: Record<string, string>;
  tests: string[];
}

const suite = JSON.parse(readFileSync(new URL("kafka-python.json", import.meta.url), "utf8")) as SuiteFile;
const folder = "test/integration/test_";
const files = ["admin", "consumer", "producer"].map((name) => `${folder}${name}_integration.py`);

/** As the suite's own pipelines have it: topics come into being on first use, with four partitions, and sessions may be short. */
const nodeOptions = ["--auto-create-topics", "--num-partitions", "4", "--group-min-session-timeout-ms", "1000"];

/** More failures than this are no race. */
const secondTriesMax = 2;

/** pytest's output for all tests but the excluded ones, or for the ones named. */
function runPytest(bootstrap: string, names?: readonly string[]): Promise<string> {
  const { sources, python } = kafkaPythonSuite();
  const deselected = Object.keys(suite.excluded).flatMap((name) => ["--deselect", `${folder}${name}`]);
  const options = [
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=",
    "-o",
    "log_level=ERROR",
    "--tb=short",
    "-v",
    "--timeout",
    "60",
  ];
  const environment = { KAFKA_URI: `kafka://${bootstrap}`, KAFKA_ROOT: sources, KAFKA_VERSION: "4.3.0" };
  const child = spawn(
    python,
    ["-m", "pytest", ...options, ...deselected, ...(names?.map((name) => `${folder}${name}`) ?? files)],
    {
      cwd: sources,
      env: { ...process.env, ...environment, PYTHONDONTWRITEBYTECODE: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((finish) => child.on("close", () => finish(output)));
}

describe.skipIf(!component("suites").installed())("kafka-python's suite", () => {
  const verdicts = new Map<string, string>();
  let output = "";

  beforeAll(async () => {
    const target = await startRowlog(nodeOptions, true);
    const line = /^test\/integration\/test_(\S+::\S+(?: \S+\])?) (PASSED|FAILED|SKIPPED|ERROR)/gm;
    const take = (text: string) => {
      output += text;
      for (const [, name = "", verdict = ""] of text.matchAll(line)) verdicts.set(name, verdict);
    };
    try {
      take(await runPytest(target.bootstrap));
      // The client's own race, on Apache Kafka too: a new KafkaConsumer asks for the metadata of no topics, and a topic that is
      // subscribed before that answer arrives is forgotten for five minutes (cluster.py: set_topics, "TODO: handle future when old
      // metadata request is currently in-flight"). Tests that subscribe at once then get nothing. A lone failure gets a second try.
      const failed = [...verdicts].filter(([, verdict]) => verdict === "FAILED").map(([name]) => name);
      if (failed.length > 0 && failed.length <= secondTriesMax) {
        console.error(`second try: ${failed.join(", ")}\n${failed.map((name) => failureOf(output, name)).join("\n")}`);
        take(await runPytest(target.bootstrap, failed));
      }
    } finally {
      await target.stop();
    }
  }, 600_000);

  for (const name of suite.tests) {
    if (suite.excluded[name] !== undefined) continue;
    const wanted = suite.skipped[name] === undefined ? "PASSED" : "SKIPPED";
    test(name, () => {
      if (verdicts.get(name) !== wanted) console.error(failureOf(output, name));
      expect(verdicts.get(name)).toBe(wanted);
    });
  }

  test("has no tests that kafka-python.json does not name", () => {
    expect([...verdicts.keys()].filter((name) => !suite.tests.includes(name))).toEqual([]);
  });
});

/** What pytest says of one failure: the part below its headline, "____ test_name ____". */
function failureOf(output: string, name: string): string {
  const test = name.slice(name.indexOf("::") + 2);
  const start = output.indexOf(`_ ${test} _`);
  return start < 0 ? output.slice(-2000) : output.slice(start, start + 3000);
}
