import { afterAll, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockDirectory } from "../../src/platform/lock.ts";

const folder = mkdtempSync(join(tmpdir(), "rowlog-lock-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a folder is locked once, and again after its release", () => {
  const lock = lockDirectory(folder);
  expect(() => lockDirectory(folder)).toThrow(/in use by another process \(process \d+\); stop it/);
  lock.release();
  lock.release();
  lockDirectory(folder).release();
});

test("another process is refused while the holder lives, however that one ends", async () => {
  const script = join(folder, "holder.ts");
  const source = new URL("../../src/platform/lock.ts", import.meta.url).pathname;
  writeFileSync(
    script,
    `import { lockDirectory } from ${JSON.stringify(source)};
     lockDirectory(${JSON.stringify(folder)});
     console.log("locked");
     setInterval(() => {}, 1000);`,
  );
  const holder = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve) => holder.stdout.once("data", () => resolve()));
  expect(() => lockDirectory(folder)).toThrow(`process ${holder.pid}`);
  const gone = new Promise((resolve) => holder.once("exit", resolve));
  holder.kill("SIGKILL");
  await gone;
  lockDirectory(folder).release();
});
