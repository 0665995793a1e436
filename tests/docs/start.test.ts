/**
 * The README's ways to start a node from a clone, which docs.test.ts leaves out: `npm run serve` and `deno task serve`. Of the
 * container image, what can be run without a container engine.
 */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startNodeProcess } from "../harness/process.ts";

const root = join(import.meta.dirname, "../..");
const flags = ["--kafka", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-format", "json"];

const ways: Record<string, string[]> = {
  "npm run serve": ["npm", "run", "--silent", "serve", "--"],
  "deno task serve": [join(root, "node_modules/.bin/deno"), "task", "serve"],
};

for (const [name, [program, ...parameters]] of Object.entries(ways))
  test(`${name} starts a node that answers SQL, and Ctrl-C stops it in order`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "rowlog-start-"));
    // A process group of its own, because a terminal sends Ctrl-C to the whole group.
    const child = spawn(program!, [...parameters, join(folder, "lake"), ...flags], { cwd: root, detached: true });
    let output = "";
    const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
    try {
      const ready = new Promise<{ http: string }>((resolve, reject) => {
        const take = (bytes: Buffer) => {
          output += bytes.toString();
          const line = output.split("\n").find((one) => one.includes('"Rowlog is ready"') && one.endsWith("}"));
          if (line) resolve(JSON.parse(line) as { http: string });
        };
        child.stdout.on("data", take);
        child.stderr.on("data", take);
        void ended.then(() => reject(new Error(output)));
      });
      const { http } = await ready;
      const answer = await fetch(`http://${http}/v1/sql`, { method: "POST", body: '{"sql": "SELECT 6 * 7 AS x"}' });
      expect(await answer.json()).toMatchObject({ rows: [[42]] });
      process.kill(-child.pid!, "SIGINT");
      await ended;
      expect(output).toContain('"Stopped"');
    } finally {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, "SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    }
  }, 120_000);

test("the image's health check passes for a node that is ready, and fails without one", async () => {
  const line = /^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(readFileSync(join(root, "Dockerfile"), "utf8"));
  const [program, ...parameters] = JSON.parse(line![1]!) as string[];
  const check = (port: number) =>
    Bun.spawnSync([program!, ...parameters.map((text) => text.replace("/8080", `/${port}`))]).exitCode;
  const node = await startNodeProcess();
  try {
    expect(check(node.httpPort)).toBe(0);
  } finally {
    await node.remove();
  }
  expect(check(node.httpPort)).not.toBe(0);
}, 60_000);
