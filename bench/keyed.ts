/**
 * Upserts into a keyed table, from produced batches to DuckDB: decode (with keys), fold, apply, as CPU time a record, while the table grows.
 * Usage: bun bench/keyed.ts [keys [records [records a transaction]]]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../src/base/log.ts";
import type { TopicEntry } from "../src/catalog/entries.ts";
import { decodeBatch, type RecordBatchView } from "../src/protocol/records/decode.ts";
import { encodeBatch } from "../src/protocol/records/encode.ts";
import { SqlEngine } from "../src/sql/engine.ts";
import { type RowChunk, Table } from "../src/tables/table.ts";
import { insertOf } from "../src/tables/table_insert.ts";

const [keys = 100_000, total = 2_000_000, transactionRecords = 200_000] = process.argv.slice(2).map(Number);
const batchRecords = 8_000;
const types: [string, string][] = [
  ["id", "BIGINT"],
  ["name", "VARCHAR"],
  ["amount", "DECIMAL(10,2)"],
  ["ok", "BOOLEAN"],
  ["seen", "TIMESTAMP"],
];
const definition = {
  schema: "main",
  name: "t",
  sql: "",
  columns: types.map(([name, type]) => ({ name, type, notNull: name === "id" })),
  checks: [],
  unique: [],
  key: ["id"],
  raw: false,
};
const topic = { name: "t", id: "bench", partitions: 1 } as unknown as TopicEntry;
const table = new Table(topic, definition, new Map());

let state = 1;
function random(below: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

function batchAt(first: number): RecordBatchView {
  const records = Array.from({ length: batchRecords }, (_, i) => {
    const id = first + i < keys ? first + i : random(keys);
    const value = `{"id":${id},"name":"name ${random(100_000)}","amount":${random(100_000)}.25,"ok":true,"seen":"2026-01-${10 + random(20)}T12:00:00.5"}`;
    return { key: `{"id":${id}}`, value, timestamp: 1_700_000_000_000 };
  });
  return decodeBatch(encodeBatch(records));
}

/** Milliseconds of the process's CPU, DuckDB's thread too. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const directory = mkdtempSync(join(tmpdir(), "rowlog-bench-"));
const engine = await SqlEngine.start({ path: `${directory}/bench.duckdb`, logger: silentLogger });
try {
  await engine.query(`CREATE TABLE t (${types.map(([name, type]) => `${name} ${type}`).join(", ")})`);
  let made = 0;
  while (made < total) {
    const views: RecordBatchView[] = [];
    for (let count = 0; count < transactionRecords; count += batchRecords, made += batchRecords)
      views.push(batchAt(made));
    const started = cpuMs();
    const chunks: RowChunk[] = views.map((view, i) =>
      table.appendedChunk(table.decoder.decode(view, 0, table.missing), i * batchRecords, -1),
    );
    const decoded = cpuMs();
    const insert = insertOf(table, chunks);
    const folded = cpuMs();
    const wall = performance.now();
    await engine.apply({ inserts: [insert], cursors: [{ topicId: "bench", partition: 0, nextOffset: made }] });
    const applied = cpuMs();
    const us = (ms: number) => ((ms * 1000) / (views.length * batchRecords)).toFixed(2);
    console.log(
      `${made}: decode ${us(decoded - started)} fold ${us(folded - decoded)} apply ${us(applied - folded)} us of CPU a record (apply ${(performance.now() - wall).toFixed(0)} ms)`,
    );
  }
} finally {
  await engine.close();
  rmSync(directory, { recursive: true, force: true });
}
