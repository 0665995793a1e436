/** The program as a process: signals, exit codes, closed pipes. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

setDefaultTimeout(60_000);

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "rowlog-process-"));
afterAll(() => rmSync(folder, { recursive: true }));

function start(argv: string[], environment: Record<string, string> = {}) {
  return Bun.spawn([process.execPath, join(root, "src/cli/main.ts"), ...argv], {
    cwd: folder,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...environment },
  });
}

/** Reads until a line has the text; gives that line. */
async function lineWith(
  reader: { read(): Promise<{ value?: Uint8Array; done: boolean }> },
  text: string,
): Promise<string> {
  const decoder = new TextDecoder();
  let all = "";
  for (;;) {
    const found = all
      .split("\n")
      .slice(0, -1)
      .find((line) => line.includes(text));
    if (found !== undefined) return found;
    const { value, done } = await reader.read();
    if (done) throw new Error(`the process ended before "${text}": ${all}`);
    all += decoder.decode(value, { stream: true });
  }
}

test("serve logs JSON lines, stops cleanly at SIGTERM, and opens the same lake again", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const node = start(["--kafka", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
    const reader = node.stdout.getReader();
    const ready = JSON.parse(await lineWith(reader, "Rowlog is ready"));
    expect(ready).toMatchObject({ lake: "lake", durability: "sync" });
    expect((await fetch(`http://${ready.http}/readyz`)).status).toBe(200);
    const list = start(["topic", "list", "-b", ready.kafka, "--format", "json"]);
    expect(await new Response(list.stdout).text()).toBe("[]\n");
    expect(await list.exited).toBe(0);
    node.kill(signal);
    expect(JSON.parse(await lineWith(reader, "Stopped"))).toMatchObject({ level: "info" });
    expect(await node.exited).toBe(0);
    expect(await new Response(node.stderr).text()).toBe("");
  }
});

test("a second signal ends the node at once, though a request is still open", async () => {
  const node = start(["serve", join(folder, "other"), "--kafka", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
  const reader = node.stdout.getReader();
  const ready = JSON.parse(await lineWith(reader, "Rowlog is ready"));
  const body = '{"sql":"SELECT sum(range) FROM range(1000000000000)"}';
  const headers = { "content-type": "application/json" };
  const query = fetch(`http://${ready.http}/v1/sql`, { method: "POST", headers, body }).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 200));
  node.kill("SIGTERM");
  await lineWith(reader, "Stopping");
  // Sooner it would be taken for the same signal, passed on by a task runner.
  await new Promise((resolve) => setTimeout(resolve, 200));
  node.kill("SIGTERM");
  expect(await node.exited).toBe(143);
  await query;
});

test("wrong usage is exit code 2, a failure 1, help and version 0", async () => {
  const codes = await Promise.all(
    [["--nonsense"], ["topic", "list", "-b", "127.0.0.1:1"], ["--help"], ["--version"], ["tpic", "list"]].map(
      (argv) => start(argv).exited,
    ),
  );
  expect(codes).toEqual([2, 1, 0, 0, 2]);
});

test("a reader that closes the pipe ends the program quietly", async () => {
  const program = join(root, "src/cli/main.ts");
  const pipe = Bun.spawn(
    ["bash", "-c", `set -o pipefail; "${process.execPath}" "${program}" completion bash | head -1`],
    {
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  expect(await new Response(pipe.stdout).text()).toBe("# bash completion for rowlog\n");
  expect(await new Response(pipe.stderr).text()).toBe("");
  expect(await pipe.exited).toBe(0);
});

// `script`, of util-linux, gives the shell a terminal.
test.skipIf(Bun.which("script") === null)("the shell does all that was typed before Ctrl-D, then leaves", async () => {
  const node = start(["serve", join(folder, "typed"), "--kafka", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
  const ready = JSON.parse(await lineWith(node.stdout.getReader(), "Rowlog is ready"));
  const command = `'${process.execPath}' '${join(root, "src/cli/main.ts")}' sql --url http://${ready.http}`;
  const shell = Bun.spawn(["script", "-qec", command, "/dev/null"], {
    cwd: folder,
    stdin: new Blob(["SELECT 40 + 2 AS first;\nSELECT 80 + 3 AS second;\n\x04"]),
    stdout: "pipe",
    env: { ...process.env, ROWLOG_HISTORY: "" },
  });
  const text = await new Response(shell.stdout).text();
  expect(text).toContain("42 │");
  expect(text).toContain("83 │");
  expect(await shell.exited).toBe(0);
  node.kill("SIGTERM");
  expect(await node.exited).toBe(0);
});
