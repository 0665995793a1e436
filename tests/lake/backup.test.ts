/** `rowlog backup` of a running node and of a stopped one, `restore`, and what they say to damage. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rowlog, TestLake } from "./commands.ts";

setDefaultTimeout(300_000);

let lake: TestLake;
beforeEach(() => {
  lake = new TestLake();
});
afterEach(() => lake.remove());

const rows = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: from + i, name: `n${from + i}`, note: "x".repeat(100) }));

async function fill(): Promise<void> {
  await lake.sql("CREATE TABLE rows (id BIGINT NOT NULL, name VARCHAR, note VARCHAR)");
  await lake.http("POST", "/v1/topics", { name: "plain", partitions: 2 });
  await lake.produce("rows", rows(0, 100));
  await lake.produce("plain", rows(0, 10), 1);
}

test("a backup of a running node, under load, restores to a lake that has all that was acknowledged before it", async () => {
  await lake.start();
  await fill();
  let next = 100;
  let isOver = false;
  const load = (async () => {
    while (!isOver) {
      await lake.produce("rows", rows(next, 10));
      next += 10;
    }
  })();
  const before = next;
  const copy = join(lake.folder, "copy");
  const made = await rowlog("backup", lake.lake, copy);
  const after = next + 10;
  isOver = true;
  await load;
  expect(made).toMatchObject({ code: 0, err: "" });
  expect(existsSync(join(lake.lake, "backup"))).toBe(false);
  const again = await rowlog("backup", lake.lake, copy);
  expect(again.code).toBe(0);
  await lake.stop();
  expect((await rowlog("restore", copy, "--dry")).code).toBe(0);
  const restored = join(lake.folder, "restored");
  expect(await rowlog("restore", copy, restored)).toMatchObject({ code: 0, err: "" });
  await lake.start([], restored);
  const [[count, distinct, least]] = (await lake.sql(
    "SELECT count(*), count(DISTINCT id), max(id) + 1 - count(*) FROM rows",
  )) as [[number, number, number]];
  expect(count).toBeGreaterThanOrEqual(before);
  expect([distinct, least]).toEqual([count, 0]);
  expect(count).toBeLessThanOrEqual(Math.max(after, next));
  expect(await lake.sql('SELECT count(*) FROM "plain"')).toEqual([[10]]);
  // It takes more.
  await lake.produce("rows", rows(count, 1));
  expect(await lake.sql("SELECT count(*) FROM rows")).toEqual([[count + 1]]);
});

test("a backup goes on where it was cut off, and copies only what has changed", async () => {
  await lake.start();
  await fill();
  const copy = join(lake.folder, "copy");
  await rowlog("backup", lake.lake, copy);
  const manifest = readFileSync(join(copy, "manifest.json"), "utf8");
  const { files } = JSON.parse(manifest) as { files: { path: string; bytes: number }[] };
  // As an interruption leaves it: no manifest, a list of what is there, the last line torn.
  rmSync(join(copy, "manifest.json"));
  writeFileSync(join(copy, "partial.ndjson"), `${files.map((file) => JSON.stringify(file)).join("\n")}\n{"path":"lo`);
  const refused = await rowlog("restore", copy, join(lake.folder, "restored"));
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("was not finished");
  await lake.produce("plain", rows(10, 5), 0);
  const resumed = await rowlog("backup", lake.lake, copy);
  const [, count, total, copied] = /^(\d+) files, (\d+) bytes, of which (\d+) were/.exec(resumed.out)!.map(Number);
  expect(count).toBeGreaterThan(files.length);
  expect(copied).toBeLessThan(total!);
  const logBytes = files.filter(({ path }) => path.endsWith(".log")).reduce((sum, { bytes }) => sum + bytes, 0);
  expect(total! - copied!).toBeGreaterThanOrEqual(logBytes);
  expect(existsSync(join(copy, "partial.ndjson"))).toBe(false);
});

test("restore finds a bit that has flipped and a file that is gone, and makes nothing", async () => {
  await lake.start();
  await fill();
  await lake.stop();
  const copy = join(lake.folder, "copy");
  expect((await rowlog("backup", lake.lake, copy)).code).toBe(0);
  const log = "log/rows-0/00000000000000000000.log";
  const bytes = readFileSync(join(copy, "lake", log));
  bytes[200]! ^= 4;
  writeFileSync(join(copy, "lake", log), bytes);
  rmSync(join(copy, "lake/tables.duckdb"));
  const restored = join(lake.folder, "restored");
  const found = await rowlog("restore", copy, restored);
  expect(found.code).toBe(1);
  expect(found.err).toContain(`${log} is not as it was backed up`);
  expect(found.err).toContain("tables.duckdb is not as it was backed up");
  expect(readdirSync(lake.folder).sort()).toEqual(["copy", "lake"]);
});

test("a stopped lake, torn by a crash, is backed up as it is", async () => {
  await lake.start();
  await fill();
  await lake.stop("SIGKILL");
  appendFileSync(join(lake.lake, "log/plain-1/00000000000000000000.log"), "torn");
  const copy = join(lake.folder, "copy");
  expect((await rowlog("backup", lake.lake, copy)).code).toBe(0);
  expect((await rowlog("restore", copy, join(lake.folder, "restored"))).code).toBe(0);
  await lake.start([], join(lake.folder, "restored"));
  expect(await lake.sql("SELECT count(*) FROM rows")).toEqual([[100]]);
  expect(await lake.sql('SELECT count(*) FROM "plain"')).toEqual([[10]]);
});

test("refusals say what to do", async () => {
  const nothing = await rowlog("backup", join(lake.folder, "none"), join(lake.folder, "copy"));
  expect(nothing).toMatchObject({ code: 1, out: "" });
  expect(nothing.err).toContain("is not a lake");
  await lake.start();
  expect((await rowlog("backup", lake.lake, join(lake.lake, "copy"))).err).toContain("inside of the lake");
  await lake.stop();
  await rowlog("backup", lake.lake, join(lake.folder, "copy"));
  expect((await rowlog("restore", join(lake.folder, "copy"), lake.lake)).err).toContain("is not empty");
  cpSync(join(lake.folder, "copy"), join(lake.folder, "other"), { recursive: true });
  rmSync(join(lake.folder, "other/manifest.json"));
  expect((await rowlog("restore", join(lake.folder, "other"), "x")).err).toContain("it has no manifest.json");
  expect((await rowlog("restore", join(lake.folder, "copy"))).code).toBe(2);
});
