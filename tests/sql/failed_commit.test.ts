/**
 * A commit that the disk cuts off: nothing of it may be seen in what is committed after it. DuckDB takes the rows of such a commit back but not
 * the bytes of their texts, so the engine must start anew; the test fails when DuckDB is let go on.
 */
import { expect, test } from "bun:test";
import { duckdbWasmPath } from "../../src/platform/duckdb_assets.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { applyInserts } from "../../src/sql/apply.ts";
import { EngineFailure } from "../../src/sql/duckdb_library.ts";
import { EngineCore } from "../../src/sql/engine_core.ts";

test("a commit whose write fails ends the engine, not only the statement; without space it is refused before", async () => {
  const disk = new SimDisk({ random: new SeededRandom(1), capacity: 64 << 20 });
  disk.makeDirectory("/lake");
  disk.syncDirectory("/");
  const wasmPath = await duckdbWasmPath();
  const core = await EngineCore.start(disk, { path: "/lake/db", wasmPath, memoryBytesMax: 256 << 20 });
  core.run("CREATE TABLE texts (n BIGINT, text VARCHAR)");
  const insert = (n: number) =>
    applyInserts(core, {
      inserts: [],
      cursors: [],
      statements: [`INSERT INTO texts VALUES (${n}, repeat('x', 2000))`],
    });
  const failureOf = (action: () => void): Error | undefined => {
    try {
      action();
      return undefined;
    } catch (error) {
      return error as Error;
    }
  };
  insert(1);
  disk.failWrites(1, (path) => path.endsWith(".wal"));
  const failed = failureOf(() => insert(2));
  expect(failed?.message).toContain("a transaction failed with the disk");
  // What is no EngineFailure makes the thread give its engine up.
  expect(failed instanceof EngineFailure).toBe(false);
  disk.capacity = 1_000;
  expect(failureOf(() => insert(3))).toMatchObject({ sqlstate: "53100" });
  disk.capacity = 64 << 20;
  // This is why: DuckDB itself would go on.
  insert(4);
  const lengths = core.rows("SELECT n::INTEGER, length(text)::INTEGER FROM texts ORDER BY n");
  expect(lengths).toEqual([
    [1, 2000],
    [4, 4000],
  ]);
}, 60_000);
