/** A whole node inside the test process, on free ports and a temporary lake. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "../../src/base/log.ts";
import { resolveConfig } from "../../src/cli/config.ts";
import { startNode } from "../../src/cli/node.ts";
import type { NodeOptionName } from "../../src/cli/options.ts";

export interface TestNode {
  kafkaPort: number;
  httpPort: number;
  lake: string;
  /** The node's own log so far. */
  lines: string[];
  /** Closes the node; the lake stays for a next one. */
  close(): Promise<void>;
  /** Closes the node and removes the lake. */
  remove(): Promise<void>;
}

/** `flags` as on the command line, without dashes: `{ "auto-create-topics": "true" }` by option name. */
export async function startTestNode(
  flags: Partial<Record<NodeOptionName, string>> = {},
  lake = mkdtempSync(join(tmpdir(), "rowlog-test-")),
): Promise<TestNode> {
  const lines: string[] = [];
  const { config } = resolveConfig(
    { kafka: "127.0.0.1:0", http: "127.0.0.1:0", shutdownTimeoutMs: "2s", ...flags, lake },
    {},
  );
  const node = await startNode(config, createLogger({ level: "debug", sink: (line) => void lines.push(line) }));
  return {
    kafkaPort: node.kafkaAddress.port,
    httpPort: node.httpAddress.port,
    lake,
    lines,
    close: () => node.close(),
    async remove() {
      await node.close();
      rmSync(lake, { recursive: true, force: true });
    },
  };
}
