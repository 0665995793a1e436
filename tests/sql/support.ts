/** One engine for a test file, in a folder of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../src/base/log.ts";
import type { SqlError } from "../../src/base/sql_error.ts";
import { type EngineOptions, SqlEngine } from "../../src/sql/engine.ts";

export interface TestEngine {
  engine: SqlEngine;
  path: string;
  stop(): Promise<void>;
}

export async function startEngine(options: Partial<EngineOptions> = {}): Promise<TestEngine> {
  const folder = mkdtempSync(join(tmpdir(), "rowlog-sql-"));
  const path = join(folder, "db");
  const engine = await SqlEngine.start({ path, logger: silentLogger, ...options });
  return {
    engine,
    path,
    async stop() {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The failure of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<SqlError> {
  try {
    await call;
  } catch (error) {
    return error as SqlError;
  }
  throw new Error("the call was expected to fail");
}
