/**
 * Apache Kafka and Rowlog side by side on this machine: the same load on each, in alternating order, as ratios. Kafka comes from Maven's
 * jars (scripts/install-clients.ts), so Java and Maven must be there.
 *
 *   bun bench/compare.ts [--rounds N] [--quick] [--only NAME,...] [--system NAME,...] [--out FILE]
 *
 * Writes docs/performance.md when all of it was run, or the file of --out. ROWLOG_EXECUTABLE=dist/rowlog measures the executable instead
 * of the source. Figures of one round are compared only within it; what is shown are medians over the rounds. Processor time for each GB
 * is what other work on the machine disturbs least.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installMissing, versions } from "../scripts/install-clients.ts";
import { cpuSeconds, machineLines, peakMib, residentMib } from "./load/machine.ts";
import { percentile } from "./load/raw.ts";
import { systems } from "./load/systems.ts";
import { type Figure, workloads } from "./load/workloads.ts";

/** workload → figure → system → one value a round */
type Results = Map<string, Map<string, { figure: Figure; bySystem: Map<string, number[]> }>>;

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    system: { type: "string", default: Object.keys(systems).join(",") },
    out: { type: "string" },
  },
});
const list = (text: string) => text.split(",").filter((one) => one !== "");
const only = list(options.only);
const names = list(options.system);
const rounds = Number(options.rounds);
const scale = options.quick ? 0.1 : 1;
const unknown = [
  ...names.filter((name) => systems[name] === undefined),
  ...only.filter((name) => !workloads.some((workload) => workload.name.startsWith(name))),
];
if (unknown.length > 0 || !(rounds >= 1)) {
  console.error(`no system or workload ${unknown.join(", ")}: there are ${Object.keys(systems).join(", ")};`);
  console.error(workloads.map(({ name }) => name).join(", "));
  process.exit(2);
}
const failure = installMissing(["jars"], (line) => console.error(line)).get("jars");
if (failure !== undefined) {
  console.error(failure);
  process.exit(1);
}

const results: Results = new Map();

function note(workload: string, name: string, figure: Figure, system: string): void {
  const figures = results.get(workload) ?? results.set(workload, new Map()).get(workload)!;
  const entry = figures.get(name) ?? figures.set(name, { figure, bySystem: new Map() }).get(name)!;
  const seen = entry.bySystem.get(system) ?? entry.bySystem.set(system, []).get(system)!;
  seen.push(figure.value);
}

/** Three digits that count. */
function short(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString("en-US");
  const text = value.toPrecision(3);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

async function measure(name: string): Promise<void> {
  const system = await systems[name]!();
  try {
    note("start", "to the first topic", { unit: "ms", value: system.startMs, isCost: true }, name);
    note("start", "idle memory", { unit: "MiB", value: residentMib(system.pid), isCost: true }, name);
    for (const workload of workloads) {
      if (only.length > 0 && !only.some((one) => workload.name.startsWith(one))) continue;
      if (workload.needsSql && system.http === undefined) continue;
      const cpuBefore = cpuSeconds(system.pid);
      const { bytes, figures } = await workload.run(system, scale);
      const cpu = cpuSeconds(system.pid) - cpuBefore;
      for (const [figure, value] of Object.entries(figures)) note(workload.name, figure, value, name);
      if (bytes > 0) {
        const value = cpu / (bytes / 1e9);
        note(workload.name, "server's processor time", { unit: "s/GB", value, isCost: true }, name);
      }
      const shown = Object.entries(figures).map(([figure, { unit, value }]) => `${figure} ${short(value)} ${unit}`);
      console.log(`${name.padEnd(11)} ${workload.name.padEnd(22)} ${shown.join(", ")}; processor ${cpu.toFixed(2)} s`);
    }
    note("memory", "peak after all", { unit: "MiB", value: peakMib(system.pid), isCost: true }, name);
  } finally {
    await system.stop();
  }
}

/** Rowlog's figure by Kafka's of the same durability, median over the rounds in which both were measured. */
function ratio(bySystem: ReadonlyMap<string, readonly number[]>, ours: string, theirs: string): string {
  const [mine, other] = [bySystem.get(ours), bySystem.get(theirs)];
  if (!mine || !other) return "";
  const ratios = mine.map((value, round) => value / (other[round] ?? Number.NaN)).filter(Number.isFinite);
  return ratios.length === 0 ? "" : short(percentile(ratios, 0.5));
}

function table(): string {
  const lines = [
    `| workload | figure | ${names.join(" | ")} | rowlog / kafka-sync | rowlog-os / kafka |`,
    `|---|---|${"---|".repeat(names.length + 2)}`,
  ];
  for (const [workload, figures] of results) {
    for (const [name, { figure, bySystem }] of figures) {
      const cells = names.map((system) => {
        const values = bySystem.get(system);
        return values ? short(percentile(values, 0.5)) : "";
      });
      const ratios = [ratio(bySystem, "rowlog", "kafka-sync"), ratio(bySystem, "rowlog-os", "kafka")];
      const title = `${name}, ${figure.unit}${figure.isCost ? " (less is better)" : ""}`;
      lines.push(`| ${workload} | ${title} | ${[...cells, ...ratios].join(" | ")} |`);
    }
  }
  return lines.join("\n");
}

function report(): string {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
  const command = process.env.ROWLOG_EXECUTABLE ? "the executable" : "the source under Bun";
  return `# Performance beside Apache Kafka

Written by \`bun bench/compare.ts\` on ${new Date().toISOString().slice(0, 10)}: Rowlog ${version} (${command}) and Apache Kafka ${versions.kafka}, ${rounds === 1 ? "1 round" : `${rounds} rounds`}${options.quick ? ", a tenth of the work" : ""}, each
system started anew in an empty folder, in alternating order. Load and broker shared the machine:

${machineLines()
  .map((line) => `- ${line}`)
  .join("\n")}

\`kafka\` and \`rowlog-os\` answer once the operating system has the bytes, \`kafka-sync\` (\`log.flush.interval.messages=1\`) and \`rowlog\` (the
default) once the disk has them. Figures are medians over the rounds, ratios medians of the rounds' own ratios; absolute rates are of this machine.

${table()}

${workloads.map(({ name, about }) => `- \`${name}\`: ${about}.`).join("\n")}
`;
}

/** What the page says of profiles, which are made by hand. */
function profilesIn(path: string): string {
  const old = existsSync(path) ? readFileSync(path, "utf8") : "";
  const at = old.indexOf("\n## ");
  return at < 0 ? "" : old.slice(at);
}

for (let round = 1; round <= rounds; round++) {
  console.log(`round ${round} of ${rounds}`);
  for (const name of round % 2 === 1 ? names : names.toReversed()) await measure(name);
}
console.log(`\n${table()}`);
const isWhole = only.length === 0 && !options.quick && names.length === Object.keys(systems).length;
const out = options.out ?? (isWhole ? join(import.meta.dirname, "../docs/performance.md") : undefined);
if (out !== undefined) writeFileSync(out, report() + profilesIn(out));
