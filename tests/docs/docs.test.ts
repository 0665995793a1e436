/**
 * Every shell, SQL, Python and JavaScript block of README.md and docs/guide runs against a node of its page's own, and the output that
 * the page shows is compared. Addresses of the pages (127.0.0.1:9092 and :8080) stand for the node's.
 */
import { describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pythonProgram } from "../../scripts/install-clients.ts";
import { type NodeProcess, rowlogCommand, startNodeProcess } from "../harness/process.ts";
import { type Block, blocksOf, outputFault } from "./blocks.ts";

const root = join(import.meta.dirname, "../..");
const pages = ["README.md", ...readdirSync(join(root, "docs/guide")).map((name) => `docs/guide/${name}`)].filter(
  (name) => name.endsWith(".md"),
);

/** Languages that are shown, not run. */
const shownOnly = new Set(["json", "text", "properties", "dockerfile", "typescript", "yaml", "http"]);

/** Commands that set up or test the whole project: .ci/run calls them itself, in a fresh clone. */
const wholeProject = /^npm (ci|test|run (build|serve))|^deno task|^docker /m;

interface Surroundings {
  node: NodeProcess;
  folder: string;
  python: string;
}

function adapted(text: string, { node }: Surroundings): string {
  return text
    .replaceAll(/(127\.0\.0\.1|localhost):9092/g, `127.0.0.1:${node.kafkaPort}`)
    .replaceAll(/(127\.0\.0\.1|localhost):8080/g, `127.0.0.1:${node.httpPort}`);
}

function commandOf(block: Block, around: Surroundings): string[] {
  switch (block.language) {
    case "sh":
      return ["bash", "-e", "-o", "pipefail", "-c", adapted(block.code, around)];
    case "sql":
      return [join(around.folder, "bin/rowlog"), "sql", "-c", adapted(block.code, around)];
    case "python":
      return [around.python, "-c", adapted(block.code, around)];
    case "javascript":
      return [process.execPath, "-e", adapted(block.code, around)];
    default:
      throw new Error(
        `a block of language "${block.language}": write sh, sql, python, javascript, or one of ${[...shownOnly]}`,
      );
  }
}

/** The tester's settings of Rowlog are not the reader's. */
function withoutOurs(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("ROWLOG_")));
}

function run(command: string[], { node, folder }: Surroundings): Promise<{ code: number | null; output: string }> {
  const child = spawn(command[0]!, command.slice(1), {
    cwd: join(folder, "work"),
    env: {
      ...withoutOurs(process.env),
      PATH: `${join(folder, "bin")}${delimiter}${process.env.PATH}`,
      ROWLOG_URL: `http://127.0.0.1:${node.httpPort}`,
      ROWLOG_BROKERS: `127.0.0.1:${node.kafkaPort}`,
      NO_COLOR: "1",
      // KafkaJS computes negative timeouts, and every runtime warns of them.
      NODE_NO_WARNINGS: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const take = (bytes: Buffer) => {
    output += bytes.toString();
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, output })));
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rowlog-docs-"));
  const bin = join(folder, "bin");
  for (const name of [bin, join(folder, "work")]) mkdirSync(name);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const script = `#!/bin/sh\nexec ${rowlogCommand()
    .map((part) => `'${part}'`)
    .join(" ")} "$@"\n`;
  writeFileSync(join(bin, "rowlog"), script);
  chmodSync(join(bin, "rowlog"), 0o755);
  return folder;
}

describe("documentation", () => {
  for (const page of pages) {
    const blocks = blocksOf(readFileSync(join(root, page), "utf8")).filter(
      ({ language, code }) => !shownOnly.has(language) && !wholeProject.test(code),
    );
    if (blocks.length === 0) continue;
    test(`${page}: ${blocks.length} blocks`, async () => {
      const folder = makeFolder();
      const node = await startNodeProcess(["--log-cleaner-backoff-ms", "500"]);
      const around = { node, folder, python: pythonProgram() };
      try {
        for (const block of blocks) {
          const { code, output } = await run(commandOf(block, around), around);
          const where = `${page}:${block.line}`;
          const shown = output
            .replaceAll(`127.0.0.1:${node.kafkaPort}`, "127.0.0.1:9092")
            .replaceAll(`127.0.0.1:${node.httpPort}`, "127.0.0.1:8080");
          const fault = block.output === undefined ? undefined : outputFault(block.output, shown);
          if (fault !== undefined) throw new Error(`${where}: ${fault}`);
          // A page may show a failure: then its message is what counts.
          if (block.output === undefined && code !== 0)
            throw new Error(`${where} ended with ${code}:\n${shown}\nthe node said\n${node.output()}`);
        }
      } finally {
        await node.remove();
        rmSync(folder, { recursive: true, force: true });
      }
    }, 180_000);
  }

  test("metrics that the operations guide names are there", async () => {
    const page = readFileSync(join(root, "docs/guide/operations.md"), "utf8");
    const named = [...page.matchAll(/`((?:kafka|rowlog|process)_[a-z_]+)`/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(10);
    const node = await startNodeProcess();
    try {
      const text = await (await fetch(`http://127.0.0.1:${node.httpPort}/metrics`)).text();
      const served = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!));
      expect(named.filter((name) => !served.has(name))).toEqual([]);
    } finally {
      await node.remove();
    }
  }, 60_000);

  test("links between pages lead somewhere", () => {
    for (const page of pages) {
      const text = readFileSync(join(root, page), "utf8");
      for (const [, target] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
        const path = join(root, page, "..", target!);
        expect({ page, target, exists: existsSync(path) }).toEqual({ page, target, exists: true });
      }
    }
  });
});
