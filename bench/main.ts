/**
 * `bun run bench [NAME...]`: runs benchmarks of this folder; without a name `compare`, which measures Rowlog beside Apache Kafka and writes
 * docs/performance.md. Absolute rates are of the machine; look at ratios within one run.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";

const own = basename(import.meta.filename);
const names = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".ts") && name !== own)
  .map((name) => name.slice(0, -3));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`no benchmark ${unknown.join(", ")}; there are ${names.join(", ")}`);
  process.exit(2);
}
let failed = 0;
for (const name of wanted.length > 0 ? wanted : ["compare"]) {
  console.log(`\n== ${name}`);
  if (spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: "inherit" }).status !== 0)
    failed++;
}
process.exit(failed === 0 ? 0 : 1);
