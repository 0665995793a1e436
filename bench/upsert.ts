/**
 * Ways of folding upserts into a table of DuckDB, compared: CPU time a row for batches of distinct keys against tables of several sizes.
 * Usage: bun bench/upsert.ts [way …]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeDisk } from "../src/platform/node_disk.ts";
import { EngineCore } from "../src/sql/engine_core.ts";

const wasmPath = new URL("../node_modules/@duckdb/duckdb-wasm/dist/duckdb-eh.wasm", import.meta.url).pathname;
const columns = "id BIGINT, name VARCHAR, amount DECIMAL(10,2), ok BOOLEAN, seen TIMESTAMP";
const others = ["name", "amount", "ok", "seen"];
const staged = "_topics._staging";

interface Way {
  key: boolean;
  apply(core: EngineCore): void;
}

const set = (table: string) => others.map((name) => `${name} = ${table}.${name}`).join(", ");
const ways: Record<string, Way> = {
  replace: { key: true, apply: (core) => core.write(`INSERT OR REPLACE INTO t SELECT * FROM ${staged}`) },
  replace_sorted: {
    key: true,
    apply: (core) => core.write(`INSERT OR REPLACE INTO t SELECT * FROM ${staged} ORDER BY id`),
  },
  update: {
    key: true,
    apply(core) {
      core.write(`UPDATE t SET ${set("s")} FROM ${staged} s WHERE t.id = s.id`);
      core.write(`INSERT INTO t SELECT * FROM ${staged} s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.id = s.id)`);
    },
  },
  update_bare: {
    key: false,
    apply(core) {
      core.write(`UPDATE t SET ${set("s")} FROM ${staged} s WHERE t.id = s.id`);
      core.write(`INSERT INTO t SELECT * FROM ${staged} s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.id = s.id)`);
    },
  },
  delete: {
    key: false,
    apply(core) {
      core.write(`DELETE FROM t USING ${staged} s WHERE t.id = s.id`);
      core.write(`INSERT INTO t SELECT * FROM ${staged}`);
    },
  },
  insert: { key: false, apply: (core) => core.write(`INSERT INTO t SELECT * FROM ${staged}`) },
  insert_key: { key: true, apply: (core) => core.write(`INSERT INTO t SELECT * FROM ${staged}`) },
};

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function stage(core: EngineCore, ids: string): void {
  core.write(
    `CREATE OR REPLACE TABLE ${staged} AS SELECT id::BIGINT AS id, 'name ' || (random() * 1e6)::INT AS name, (random() * 1e5)::DECIMAL(10,2) AS amount, random() < 0.5 AS ok, TIMESTAMP '2026-01-01' + INTERVAL (id) SECOND AS seen FROM (${ids}) AS ids(id)`,
  );
}

function transaction(core: EngineCore, way: Way): number {
  const before = cpuMs();
  core.write("BEGIN TRANSACTION");
  way.apply(core);
  core.write("COMMIT");
  return cpuMs() - before;
}

async function measure(name: string, batch: number, sizes: number[], rounds: number): Promise<void> {
  const way = ways[name]!;
  const directory = mkdtempSync(join(tmpdir(), "rowlog-bench-"));
  const core = await EngineCore.start(nodeDisk(), {
    path: `${directory}/bench.duckdb`,
    wasmPath,
    memoryBytesMax: 2_500_000_000,
  });
  core.write(`CREATE TABLE t (${columns}${way.key ? ", PRIMARY KEY (id)" : ""})`);
  let rows = 0;
  for (const size of sizes) {
    let filling = 0;
    for (const from = rows; rows < size; rows += batch) {
      stage(
        core,
        `SELECT unnest(range(${rows}, ${Math.min(size, rows + batch)})) AS n${shuffled ? " ORDER BY hash(n)" : ""}`,
      );
      filling += transaction(core, way);
      if (rows + batch >= size)
        console.log(`${name} fill ${from}..${size}: ${((filling / (size - from)) * 1000).toFixed(2)} us/row`);
    }
    rows = size;
    core.checkpoint();
    if (name.startsWith("insert")) continue;
    const all: number[] = [];
    for (let round = 0; round < rounds; round++) {
      stage(core, `SELECT DISTINCT (random() * ${size - 1})::BIGINT FROM range(${batch})`);
      const count = Number(core.rows(`SELECT count(*) FROM ${staged}`)[0]![0]);
      all.push((transaction(core, way) / count) * 1000);
    }
    const before = cpuMs();
    core.checkpoint();
    const checkpoint = cpuMs() - before;
    console.log(
      `${name} batch ${batch} of ${size}: us/row ${all.map((us) => us.toFixed(2)).join(" ")}; checkpoint ${checkpoint.toFixed(0)} ms; memory ${(core.status().memoryBytes / 1e6).toFixed(0)} MB`,
    );
  }
  core.close();
  rmSync(directory, { recursive: true, force: true });
}

/** Rows lie in the order of a shuffled first load. */
const shuffled = process.argv.includes("--shuffled");
const [wanted, batch = "100000", sizes = "100000,1000000", rounds = "12"] = process.argv.slice(2);
for (const name of wanted?.split(",") ?? Object.keys(ways))
  await measure(name, Number(batch), sizes.split(",").map(Number), Number(rounds));
