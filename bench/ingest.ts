/**
 * Rows a second from produced batches into columns (`decode`: the check before the acknowledgement), and from there into DuckDB (`apply`).
 * One batch of 5,000 JSON rows of 5 columns, again and again for a few seconds.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../src/base/log.ts";
import { decodeBatch } from "../src/protocol/records/decode.ts";
import { encodeBatch } from "../src/protocol/records/encode.ts";
import { SqlEngine } from "../src/sql/engine.ts";
import { encodeStream } from "../src/tables/arrow/stream.ts";
import { RowDecoder } from "../src/tables/row_decoder.ts";
import { compileTable, type RowSchema } from "../src/tables/row_schema.ts";

const batchRows = 5_000;
const measuredMs = 2_000;

const columns = [
  ["id", "BIGINT"],
  ["user", "VARCHAR"],
  ["price", "DECIMAL(12,2)"],
  ["active", "BOOLEAN"],
  ["seen", "TIMESTAMP"],
].map(([name, type]) => ({ name: name!, type: type!, notNull: false }));

/** `pretty`: as Python's json.dumps spells it; `partial`: fields are missing, so the value is written anew. */
const rows: Record<string, (n: number) => string> = {
  compact: (n) =>
    `{"id":${n},"user":"user-${n % 977}","price":${n % 1000}.25,"active":true,"seen":"2026-01-31T12:00:00.5"}`,
  pretty: (n) =>
    `{"id": ${n}, "user": "user-${n % 977}", "price": ${n % 1000}.25, "active": false, "seen": "2026-01-31T12:00:00.5"}`,
  partial: (n) => `{"user":"user-${n % 977}","id":${n}}`,
};

function batchOf(row: (n: number) => string) {
  const records = Array.from({ length: batchRows }, (_, n) => ({ value: row(n), timestamp: 1_700_000_000_000 }));
  return decodeBatch(encodeBatch(records));
}

function measureDecode(schema: RowSchema, name: string, kernel: boolean): void {
  const decoder = new RowDecoder(schema, { kernel });
  const batch = batchOf(rows[name]!);
  const missing = schema.fields.map(() => ({ kind: "null" as const }));
  const started = performance.now();
  let count = 0;
  while (performance.now() - started < measuredMs) count += decoder.decode(batch, 0, missing).rows;
  report(`decode ${name}${kernel ? "" : " (TypeScript alone)"}`, count, performance.now() - started);
}

async function measureApply(schema: RowSchema, staged: boolean): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "rowlog-bench-"));
  const engine = await SqlEngine.start({ path: `${directory}/bench.duckdb`, logger: silentLogger });
  try {
    await engine.query(`CREATE TABLE t (${columns.map(({ name, type }) => `"${name}" ${type}`).join(", ")})`);
    const decoder = new RowDecoder(schema);
    const decoded = decoder.decode(
      batchOf(rows.compact!),
      0,
      schema.fields.map(() => ({ kind: "null" as const })),
    );
    const staging = { columns: columns.map((column) => column.name), select: schema.select };
    const started = performance.now();
    let count = 0;
    for (let next = 1; performance.now() - started < measuredMs * 2; next++) {
      const arrow = encodeStream(schema.arrowSchema, decoded.columns, decoded.rows);
      await engine.apply({
        inserts: [{ table: "t", arrow, ...(staged ? { staging } : {}) }],
        cursors: [{ topicId: "bench", partition: 0, nextOffset: next * batchRows }],
      });
      count += decoded.rows;
    }
    report(`apply ${staged ? "through a staging table" : "directly"}`, count, performance.now() - started);
  } finally {
    await engine.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function report(what: string, count: number, ms: number): void {
  console.log(`${what.padEnd(40)} ${Math.round(count / (ms / 1000)).toLocaleString("en")} rows/s`);
}

const schema = compileTable({ name: "t", columns });
for (const name of Object.keys(rows)) for (const kernel of [true, false]) measureDecode(schema, name, kernel);
for (const staged of [false, true]) await measureApply(schema, staged);
