/** kill -9 at any moment: no transaction that was answered is lost, none is half there, none is there twice. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "rowlog-sql-crash-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rounds = Number(process.env.ROWLOG_TEST_CRASH_ROUNDS ?? 10);

test(`${rounds} rounds of kill -9 lose nothing`, async () => {
  let applied = 0;
  let total = 0;
  for (let round = 0; round < rounds; round++) {
    const found = await runAndKill(`${folder}/db`, 20 + ((round * 7919) % 400));
    expect(found.count).toBeGreaterThanOrEqual(applied);
    applied = found.applied;
    total += found.transactions;
  }
  expect(total).toBeGreaterThan(rounds);
}, 300_000);

/** Kills the child that many milliseconds after its first transaction. */
async function runAndKill(path: string, ms: number): Promise<{ count: number; applied: number; transactions: number }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "crash_child.ts"), path], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const result = { count: -1, applied: 0, transactions: 0 };
  let text = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    const lines = text.split("\n");
    text = lines.pop()!;
    for (const line of lines) {
      const [word, number] = line.split(" ");
      if (word === "count") result.count = result.applied = Number(number);
      if (word !== "applied") continue;
      result.applied = Number(number);
      result.transactions++;
      timer ??= setTimeout(() => child.kill("SIGKILL"), ms);
    }
  }
  clearTimeout(timer);
  await child.exited;
  if (child.signalCode !== "SIGKILL")
    throw new Error(`the child ended by itself: ${await new Response(child.stderr).text()}`);
  return result;
}
