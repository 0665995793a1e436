#!/usr/bin/env bun
/** Entry point of the `rowlog` program. */
import process from "node:process";
import { processIo } from "./io.ts";
import { run } from "./program.ts";
import type { StartNode } from "./serve.ts";

const startNode: StartNode = async (config, logger) => {
  const node = await import("./node.ts");
  return node.startNode(config, logger);
};

const code = await run(process.argv.slice(2), processIo(), { startNode });
// Sockets and timers of a finished command must not keep the process.
process.exit(code);
