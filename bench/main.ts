/**
 * `bun run bench [NAME...]`: runs the benchmarks of this folder, all of them without a name. Each prints its figures as
 * ratios within one run; absolute rates are of the machine.
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
for (const name of wanted.length > 0 ? wanted : names) {
  console.log(`\n== ${name}`);
  if (spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: "inherit" }).status !== 0)
    failed++;
}
process.exit(failed === 0 ? 0 : 1);
