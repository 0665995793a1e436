/**
 * A file system of 64 MB that another program fills to the last byte, under SQL transactions and a keyed table: what was answered stays, what
 * was refused is nowhere, reads go on, and everything is taken again once there is space, without a restart. Needs the right to mount a tmpfs.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rowlog, TestLake } from "./commands.ts";

setDefaultTimeout(300_000);

const folder = mkdtempSync(join(tmpdir(), "rowlog-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", folder]).status === 0;
const testWithDisk = mounted ? test : test.skip;
if (!mounted) console.error("skipped: disk_full (this user may not mount a tmpfs)");

const lake = new TestLake();
const path = join(folder, "lake");
const hog = join(folder, "hog");
/** Transactions and keyed rows that were answered. */
const committed: number[] = [];
const produced = new Map<number, number>();
let next = 0;

beforeAll(async () => {
  if (!mounted) return;
  await lake.start([], path);
  await lake.sql("CREATE TABLE ledger (seq BIGINT NOT NULL, text VARCHAR)");
  await lake.sql("CREATE TABLE users (id INTEGER PRIMARY KEY, n BIGINT)");
  await lake.http("POST", "/v1/topics", { name: "audit" });
});
afterAll(async () => {
  await lake.remove();
  if (mounted) spawnSync("umount", [folder]);
  rmSync(folder, { recursive: true, force: true });
});

function takeAllSpace(): void {
  const piece = Buffer.alloc(64 * 1024, 1);
  for (let bytes = piece.length; bytes > 0; )
    try {
      appendFileSync(hog, piece.subarray(0, bytes));
    } catch {
      bytes = Math.floor(bytes / 2);
    }
}

/** One transaction over a table, a keyed table and a topic. */
async function commit(): Promise<boolean> {
  const seq = next++;
  const statements = [
    `INSERT INTO ledger VALUES (${seq}, repeat('x', 2000))`,
    `INSERT OR REPLACE INTO users VALUES (${seq % 7}, ${seq})`,
    `SELECT produce('audit', NULL, '${seq}')`,
  ];
  try {
    await lake.sql(["BEGIN", ...statements, "COMMIT"].join("; "));
  } catch {
    return false;
  }
  committed.push(seq);
  return true;
}

async function produce(): Promise<boolean> {
  const n = next++;
  const id = 100 + (n % 5);
  try {
    await lake.produce("users", [{ id, n }]);
  } catch {
    return false;
  }
  produced.set(id, n);
  return true;
}

/** Tries until it is taken. */
async function again(attempt: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await attempt()) return;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error("it is still refused after 30 s");
}

async function checkAll(): Promise<void> {
  const rows = (await lake.sql("SELECT seq FROM ledger ORDER BY seq")).map(([seq]) => seq as number);
  const records = (await lake.sql('SELECT _value::VARCHAR FROM "audit"')).map(([value]) => Number(value));
  // A commit whose answer was a failure may still be there, but then whole.
  expect(records.sort((a, b) => a - b)).toEqual(rows);
  // A transaction that failed half way must not leave its texts in others' (see DatabaseFiles.commitFault).
  expect(await lake.sql("SELECT DISTINCT length(text) FROM ledger")).toEqual([[2000]]);
  const there = new Set(rows);
  expect(committed.filter((seq) => !there.has(seq))).toEqual([]);
  const numbers = new Map((await lake.sql("SELECT id, n FROM users")) as [number, number][]);
  for (const [id, n] of produced) expect(numbers.get(id)).toBeGreaterThanOrEqual(n);
}

testWithDisk("keyed tables and SQL commits on a disk that is full, three times", async () => {
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 20; n++) expect([await commit(), await produce()]).toEqual([true, true]);
    takeAllSpace();
    let refused = 0;
    for (let n = 0; n < 60 && refused < 4; n++) {
      if (!(await commit())) refused++;
      if (!(await produce())) refused++;
    }
    expect(refused).toBeGreaterThanOrEqual(4);
    unlinkSync(hog);
    await again(commit);
    await again(produce);
    await checkAll();
  }
});

testWithDisk("nothing of it is lost by a kill while the disk is full", async () => {
  takeAllSpace();
  for (let n = 0; n < 5; n++) await commit();
  await lake.stop("SIGKILL");
  unlinkSync(hog);
  await lake.start([], path);
  await checkAll();
  await again(commit);
  await lake.stop();
  const { code, out } = await rowlog("check", path);
  expect([code, out]).toEqual([0, expect.stringContaining("0 faults")]);
});
