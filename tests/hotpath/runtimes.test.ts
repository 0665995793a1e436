import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

function digest(command: string, ...more: string[]): string[] {
  const run = spawnSync(command, [...more], { cwd: root, encoding: "utf8" });
  expect(run.stderr).toBe("");
  return run.stdout.trim().split("\n");
}

test("Bun, Deno, and the twins without WebAssembly give the same answers", () => {
  const script = "tests/hotpath/digest.ts";
  const bun = digest(process.execPath, "run", script);
  expect(bun[0]).toBe("loaded true");
  expect(bun.length).toBeGreaterThan(40);
  const twins = digest(process.execPath, "run", script, "without-webassembly");
  expect(twins[0]).toBe("loaded false");
  expect(twins.slice(1)).toEqual(bun.slice(1));
  expect(digest(join(root, "node_modules/.bin/deno"), "run", "-A", script)).toEqual(bun);
}, 60_000);
