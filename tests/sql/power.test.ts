/**
 * Power cuts at any write, on a simulated disk that loses, tears and reorders what was not synced: the database always opens again, rows
 * and cursor always agree, and nothing is lost that was synced (`syncLog`, or a checkpoint).
 */
import { expect, test } from "bun:test";
import { duckdbWasmPath } from "../../src/platform/duckdb_assets.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { applyInserts, readCursors } from "../../src/sql/apply.ts";
import { EngineCore } from "../../src/sql/engine_core.ts";

const seed = Number(process.env.ROWLOG_TEST_SEED ?? Date.now() % 1_000_000);
const rounds = Number(process.env.ROWLOG_TEST_POWER_ROUNDS ?? 3);

/** Every cut leaves a broken module behind, so each start has a new one; compiling it once is enough. */
const instantiate = WebAssembly.instantiate as (source: unknown, imports: unknown) => Promise<unknown>;
let compiled: WebAssembly.Module | undefined;
async function instantiateOnce(source: Uint8Array, imports: unknown) {
  compiled ??= await WebAssembly.compile(source as Uint8Array<ArrayBuffer>);
  return { module: compiled, instance: await instantiate(compiled, imports) };
}

test(`${rounds} power cuts, seed ${seed}`, async () => {
  const wasmPath = await duckdbWasmPath();
  const random = new SeededRandom(seed);
  const disk = new SimDisk({ random });
  disk.makeDirectory("/lake");
  disk.syncDirectory("/");
  let synced = 0;
  let last = 0;
  let cuts = 0;
  for (let round = 0; round < rounds; round++) {
    const core = await open(disk, wasmPath, random);
    const found = check(core);
    expect([round, found >= synced, found <= last]).toEqual([round, true, true]);
    disk.cutPowerAfter(1 + random.below(60));
    synced = last = found;
    try {
      for (let step = 0; step < 30; step++) {
        last += 20;
        apply(core, last);
        const choice = random.below(6);
        if (choice === 0) core.files.syncLog();
        else if (choice === 1) core.checkpoint();
        if (choice <= 1) synced = last;
      }
    } catch (error) {
      if (!disk.isPowerOff) throw error;
      cuts++;
    }
    disk.restart();
  }
  expect(cuts).toBeGreaterThan(rounds / 2);
}, 300_000);

/** The start itself may lose its power, more than once. */
async function open(disk: SimDisk, wasmPath: string, random: SeededRandom): Promise<EngineCore> {
  for (let attempt = 0; ; attempt++) {
    if (attempt < 3 && random.below(3) === 0) disk.cutPowerAfter(1 + random.below(25));
    WebAssembly.instantiate = instantiateOnce as unknown as typeof WebAssembly.instantiate;
    try {
      const core = await EngineCore.start(disk, { path: "/lake/db", wasmPath, memoryBytesMax: 256 * 1024 * 1024 });
      core.run("CREATE TABLE IF NOT EXISTS rows (n BIGINT, text VARCHAR)");
      disk.cutPowerAfter(Number.POSITIVE_INFINITY);
      return core;
    } catch (error) {
      if (!disk.isPowerOff) throw error;
      disk.restart();
    } finally {
      WebAssembly.instantiate = instantiate as unknown as typeof WebAssembly.instantiate;
    }
  }
}

function check(core: EngineCore): number {
  const [[count, sum]] = core.rows("SELECT count(*), coalesce(sum(n), 0)::BIGINT FROM rows") as [[bigint, bigint]];
  const cursor = BigInt(readCursors(core)[0]?.nextOffset ?? 0);
  expect([count, sum]).toEqual([cursor, (cursor * (cursor - 1n)) / 2n]);
  return Number(count);
}

function apply(core: EngineCore, next: number): void {
  applyInserts(core, {
    inserts: [],
    statements: [`INSERT INTO rows SELECT n, repeat('x', 200) FROM range(${next - 20}, ${next}) t(n)`],
    cursors: [{ topicId: "topic", partition: 0, nextOffset: next }],
  });
}
