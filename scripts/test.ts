/**
 * Every test of the project by one command (`npm test`): installs the Kafka clients that are missing, runs `bun test` for the unit
 * tests and for the suites that use other people's programs, and ends with one line `N passed, N failed`.
 *
 *   bun run test [LANE...] [--client NAME]... [--rounds N] [--against-kafka]
 *
 * Lanes: unit, clients, tools, suites, kill, debezium; all of them without a name. --client keeps to some clients of the clients lane;
 * --rounds says how often the kill lane kills; --against-kafka runs the clients' scenarios on a real Apache Kafka instead and
 * records the results that the clients lane compares with.
 *
 * A client that cannot be installed is skipped by name, and with CI=true counts as a failure. Exit status 0 only if nothing failed.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { clients, missing } from "../tests/clients/clients.ts";
import { component, installMissing } from "./install-clients.ts";

const projectDirectory = fileURLToPath(new URL("..", import.meta.url));
const bun = process.execPath;

/** Folders of tests/ that need other people's programs, with the components that each lane needs besides the chosen clients'. */
const external: Readonly<Record<string, readonly string[]>> = {
  clients: [],
  tools: ["jars", "tools"],
  suites: ["suites"],
  kill: ["python"],
  debezium: ["debezium", "postgres"],
};
const notTests = ["vectors", ...Object.keys(external)];

/** In the order in which they start, two at once: the longest first, and what mostly waits for timeouts beside it. */
const lanes = ["unit", "clients", "tools", "suites", "kill", "debezium"];
const lanesAtOnce = 2;

interface Totals {
  passed: number;
  failed: number;
}

interface Options {
  lanes: string[];
  clients: string[];
  rounds: string | undefined;
  againstKafka: boolean;
}

function readOptions(): Options {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      client: { type: "string", multiple: true },
      rounds: { type: "string" },
      "against-kafka": { type: "boolean" },
    },
  });
  const known = lanes;
  for (const lane of positionals) {
    if (!known.includes(lane)) throw new Error(`no lane ${lane}; there are ${known.join(", ")}`);
  }
  for (const name of values.client ?? []) {
    if (!clients.some((client) => client.name === name)) {
      throw new Error(`no client ${name}; there are ${clients.map((client) => client.name).join(", ")}`);
    }
  }
  return {
    lanes: positionals.length > 0 ? positionals : known,
    clients: values.client ?? [],
    rounds: values.rounds,
    againstKafka: values["against-kafka"] ?? false,
  };
}

function pathsOf(lane: string): string[] {
  const root = join(projectDirectory, "tests");
  const names = lane === "unit" ? readdirSync(root).filter((name) => !notTests.includes(name)) : [lane];
  return names.filter((name) => existsSync(join(root, name))).map((name) => `./tests/${name}/`);
}

/** Installs what the lanes need; answers what could not be had, as lines. */
function prepare(options: Options): string[] {
  const chosen = clients.filter((client) => options.clients.length === 0 || options.clients.includes(client.name));
  const wanted = new Set<string>();
  for (const lane of options.lanes) for (const name of external[lane] ?? []) wanted.add(name);
  if (options.lanes.includes("clients"))
    for (const client of chosen) for (const name of client.components) wanted.add(name);
  const failures = installMissing([...wanted], (line) => console.error(line));
  const skips: string[] = [];
  for (const [name, why] of failures) console.error(`could not install ${name}: ${why}`);
  if (options.lanes.includes("clients")) {
    for (const client of chosen) {
      const why = missing(client);
      if (why !== undefined) skips.push(`${client.name}: ${why}`);
    }
  }
  for (const lane of options.lanes) {
    const absent = (external[lane] ?? []).filter((name) => !component(name).installed());
    if (absent.length > 0) skips.push(`${lane}: not installed: ${absent.join(", ")}`);
  }
  return skips;
}

/** Bun's closing totals; a run that ended badly without saying what failed counts as one failure. */
function readTotals(output: string, status: number): Totals {
  const count = (pattern: RegExp) => [...output.matchAll(pattern)].reduce((sum, match) => sum + Number(match[1]), 0);
  const passed = count(/^ *(\d+) pass$/gm);
  const failed = count(/^ *(\d+) fail$/gm) + count(/^ *(\d+) errors?$/gm);
  return { passed, failed: failed === 0 && (status !== 0 || passed === 0) ? 1 : failed };
}

/** Runs one lane; its output comes at its end, or as it happens when no other lane runs. */
async function runLane(lane: string, options: Options, live: boolean): Promise<Totals> {
  const paths = pathsOf(lane);
  if (paths.length === 0) return { passed: 0, failed: 0 };
  const environment: Record<string, string> = { ROWLOG_TEST_CLIENTS: options.clients.join(",") };
  if (options.rounds !== undefined) environment.ROWLOG_KILL_ROUNDS = options.rounds;
  // What users run is killed: the executable.
  if (lane === "kill")
    environment.ROWLOG_EXECUTABLE = process.env.ROWLOG_EXECUTABLE ?? join(projectDirectory, "dist/rowlog");
  const started = Date.now();
  // Bun's own 5 seconds are too short where a node starts with DuckDB on a busy machine.
  const child = spawn(bun, ["test", "--timeout", "120000", ...paths], {
    cwd: projectDirectory,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (live) process.stderr.write(text);
    });
  }
  const status = await new Promise<number>((ended) => child.on("close", (code) => ended(code ?? 1)));
  if (!live) process.stderr.write(`\n=== ${lane}\n${output}\n`);
  const totals = readTotals(output, status);
  console.error(
    `${lane}: ${totals.passed} pass, ${totals.failed} fail, ${((Date.now() - started) / 1000).toFixed(0)} s`,
  );
  return totals;
}

/** Makes `dist/rowlog` of the source as it is. */
function build(): void {
  const { status, stderr } = spawnSync(bun, [join(projectDirectory, "scripts/build.ts")], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the executable could not be built:\n${stderr}`);
}

async function main(): Promise<number> {
  const options = readOptions();
  const skips = prepare(options);
  if (options.againstKafka) {
    const failures = installMissing(["jars"], (line) => console.error(line));
    for (const why of failures.values()) throw new Error(why);
    const child = spawn(bun, [join(projectDirectory, "tests/clients/record.ts"), ...options.clients], {
      stdio: "inherit",
    });
    return new Promise((ended) => child.on("close", (code) => ended(code ?? 1)));
  }
  if (options.lanes.includes("kill") && process.env.ROWLOG_EXECUTABLE === undefined) build();
  const total: Totals = { passed: 0, failed: 0 };
  const waiting = lanes.filter((name) => options.lanes.includes(name));
  const live = waiting.length === 1;
  const worker = async () => {
    for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) {
      const { passed, failed } = await runLane(lane, options, live);
      total.passed += passed;
      total.failed += failed;
    }
  };
  await Promise.all(Array.from({ length: lanesAtOnce }, worker));
  if (skips.length > 0) {
    console.error(`\nskipped:\n${skips.map((line) => `  ${line}`).join("\n")}`);
    if (process.env.CI === "true") total.failed += skips.length;
  }
  console.log(`${total.passed} passed, ${total.failed} failed`);
  return total.failed > 0 ? 1 : 0;
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
}
