/**
 * `bun run check`: formatter and linter, types, import direction, freshness of generated files. Prints each finding and
 * exits 1 when there is any.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { generators } from "./generators.ts";
import { directionFaults } from "./import_direction.ts";

const root = join(import.meta.dirname, "..");
const bin = (name: string) => join(root, "node_modules", ".bin", name);

interface Step {
  name: string;
  run(): boolean;
}

function command(...line: string[]): boolean {
  return spawnSync(line[0]!, line.slice(1), { cwd: root, stdio: "inherit" }).status === 0;
}

const steps: Step[] = [
  { name: "format and lint", run: () => command(bin("biome"), "check", "--error-on-warnings", ".") },
  { name: "types", run: () => command(bin("tsc"), "--project", ".") },
  {
    name: "import direction",
    run() {
      const faults = directionFaults(join(root, "src"));
      for (const fault of faults) console.error(fault);
      return faults.length === 0;
    },
  },
  ...generators.map((script) => ({
    name: `${script} is fresh`,
    run: () => command(process.execPath, join("scripts", script), "--check"),
  })),
];

if (!existsSync(join(root, "node_modules"))) {
  console.error("node_modules is missing: run npm ci first");
  process.exit(1);
}
const failed = steps.filter(({ name, run }) => {
  const passed = run();
  console.log(`${passed ? "ok    " : "FAILED"} ${name}`);
  return !passed;
});
process.exit(failed.length === 0 ? 0 : 1);
