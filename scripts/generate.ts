/** `bun run generate`: makes every generated file anew. With `--check` it compares instead, as `bun run check` does. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { generators } from "./generators.ts";

for (const script of generators) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, script), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
