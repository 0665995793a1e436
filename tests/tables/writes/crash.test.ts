/**
 * A process that writes SQL transactions is killed: at random, right between a commit and the append of its records, and right after. Of each
 * transaction there are then both rows and records, each once, or neither; of each that was answered, both. `ROWLOG_OUTBOX_ROUNDS` makes more.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeDisk } from "../../../src/platform/node_disk.ts";
import { Lake } from "../lake.ts";
import { pairs } from "./records.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

const rounds = Number(process.env.ROWLOG_OUTBOX_ROUNDS ?? 1);
let directory: string;
let next = 0;
const acknowledged = new Set<number>();

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "rowlog-outbox-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Resolves when the child is gone. */
async function runChild(where: "never" | "before" | "after", killAfterMs: number): Promise<void> {
  const script = fileURLToPath(new URL("./crash_child.ts", import.meta.url));
  const child = spawn(process.execPath, [script, directory, String(next), where], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const isReady = text.includes("ready");
    text += chunk.toString();
    if (!isReady && text.includes("ready") && where === "never") setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  });
  await new Promise((resolve) => child.on("close", resolve));
  expect(child.signalCode).toBe("SIGKILL");
  const lines = text.split("\n").slice(0, -1);
  for (const line of lines) if (/^\d+$/.test(line)) acknowledged.add(Number(line));
}

/** Reads everything, and finds the same transactions everywhere. */
async function check(): Promise<void> {
  const lake = await Lake.open(nodeDisk(), directory);
  try {
    await lake.tables.engine();
    const produced = [0, 1]
      .flatMap((partition) => pairs(lake, "plain", partition))
      .map((pair) => Number(pair.split("=")[0]));
    expect(new Set(produced).size).toBe(produced.length);
    const logged = [0, 1]
      .flatMap((partition) => lake.logged("added", partition))
      .map((row) => JSON.parse(row!) as { n: number; part: number });
    const rows = await lake.sql("SELECT n, part FROM added ORDER BY n, part");
    expect(logged.toSorted((a, b) => a.n - b.n || a.part - b.part).map(({ n, part }) => [n, part])).toEqual(
      rows as number[][],
    );
    const committed = new Set(rows.map(([n]) => n as number));
    expect(rows.length).toBe(committed.size * 2);
    expect(new Set(produced)).toEqual(committed);
    for (const n of acknowledged) expect(committed.has(n)).toBe(true);
    const state = new Map<string, string>();
    for (const { key, value } of lake.records("keyed")) {
      const text = new TextDecoder().decode(key!);
      if (value === null) state.delete(text);
      else state.set(text, new TextDecoder().decode(value));
    }
    const folded = [...state.values()].map((value) => JSON.parse(value) as { id: number; n: number });
    expect(folded.toSorted((a, b) => a.id - b.id).map(({ id, n }) => [id, n])).toEqual(
      (await lake.sql("SELECT id, n FROM keyed ORDER BY id")) as number[][],
    );
    next = Math.max(-1, ...committed) + 1;
  } finally {
    await lake.stop();
  }
}

for (let round = 0; round < rounds; round++)
  for (const [where, ms] of [
    ["before", 0],
    ["after", 0],
    ["never", Math.floor(Math.random() * 400)],
  ] as const)
    test(`round ${round}: killed ${where === "never" ? `after ${ms} ms` : `${where} the append`}`, async () => {
      await runChild(where, ms);
      const before = acknowledged.size;
      await check();
      // Once more, from what recovery left.
      await check();
      expect(next).toBeGreaterThanOrEqual(before);
    }, 240_000);
