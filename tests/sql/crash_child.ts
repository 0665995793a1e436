/**
 * Run by crash.test.ts and killed at any moment. Checks what the run before left, then applies rows and cursors as fast as it can,
 * with checkpoints between. Each line on standard output is a fact: `count N` (rows found at start), `applied N`.
 */
import { duckdbWasmPath } from "../../src/platform/duckdb_assets.ts";
import { nodeDisk } from "../../src/platform/node_disk.ts";
import { applyInserts, readCursors } from "../../src/sql/apply.ts";
import { EngineCore } from "../../src/sql/engine_core.ts";

const core = await EngineCore.start(nodeDisk(), {
  path: process.argv[2]!,
  wasmPath: await duckdbWasmPath(),
  memoryBytesMax: 512 * 1024 * 1024,
});
const batchRows = 50;
const say = (text: string) => process.stdout.write(`${text}\n`);

core.run("CREATE TABLE IF NOT EXISTS rows (n BIGINT CHECK (json_valid('1')), text VARCHAR)");
const [[count, sum]] = core.rows("SELECT count(*), coalesce(sum(n), 0)::BIGINT FROM rows") as [[bigint, bigint]];
const cursor = BigInt(readCursors(core)[0]?.nextOffset ?? 0);
if (count !== cursor) throw new Error(`the table has ${count} rows, the cursor stands at ${cursor}`);
if (sum !== (count * (count - 1n)) / 2n) throw new Error(`${count} rows, but their sum is ${sum}`);
say(`count ${count}`);

let next = Number(count);
for (let round = 0; ; round++) {
  const statement = `INSERT INTO rows SELECT n, repeat('x', 100) FROM range(${next}, ${next + batchRows}) t(n)`;
  next += batchRows;
  applyInserts(core, {
    inserts: [],
    statements: [statement],
    cursors: [{ topicId: "topic", partition: 0, nextOffset: next }],
  });
  say(`applied ${next}`);
  if (round % 7 === 6) core.checkpoint();
}
