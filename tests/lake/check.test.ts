/** `rowlog check`: nothing to say of a sound lake, a fault for each kind of damage, and no byte changed. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { silentLogger } from "../../src/base/log.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { SqlEngine } from "../../src/sql/engine.ts";
import { rowlog, TestLake } from "./commands.ts";

setDefaultTimeout(300_000);

let lake: TestLake;
let copies = 0;
/** A lake that was stopped cleanly, and one whose node was killed. */
let clean: string;
let killed: string;

beforeAll(async () => {
  lake = new TestLake();
  await lake.start();
  await lake.sql("CREATE TABLE rows (id BIGINT NOT NULL, name VARCHAR)");
  await lake.sql("CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR)");
  await lake.sql("CREATE TABLE notes (text VARCHAR)");
  await lake.http("POST", "/v1/topics", { name: "plain", partitions: 1, configs: { "index.interval.bytes": "0" } });
  for (let n = 0; n < 20; n++) {
    await lake.produce("rows", [{ id: n, name: `n${n}` }]);
    await lake.produce("plain", [{ n, text: "x".repeat(200) }]);
    await lake.sql(`INSERT INTO users VALUES (${n % 5}, 'u${n}') ON CONFLICT (id) DO UPDATE SET name = excluded.name`);
  }
  await lake.sql("DELETE FROM users WHERE id = 3");
  await lake.sql("INSERT INTO notes VALUES ('a'), ('b')");
  await lake.sql("UPDATE notes SET text = 'c' WHERE text = 'a'");
  killed = join(lake.folder, "killed");
  await lake.stop("SIGKILL");
  cpSync(lake.lake, killed, { recursive: true });
  await lake.start();
  // A clean stop vouches for the partitions that were used.
  await lake.produce("rows", [{ id: 20, name: "n20" }]);
  await lake.produce("plain", [{ n: 20 }]);
  await lake.sql("INSERT INTO users VALUES (9, 'u9')");
  await lake.stop();
  clean = lake.lake;
});
afterAll(() => lake.remove());

function copyOf(from: string): string {
  const to = join(lake.folder, `copy-${copies++}`);
  cpSync(from, to, { recursive: true });
  return to;
}

function digest(folder: string): string {
  const hash = createHash("sha256");
  const visit = (path: string) => {
    for (const entry of readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)))
      if (entry.isDirectory()) visit(join(path, entry.name));
      else if (entry.name !== ".lock") hash.update(entry.name).update(readFileSync(join(path, entry.name)));
  };
  visit(folder);
  return hash.digest("hex");
}

const log = (folder: string, topic: string, ending = "log") =>
  join(folder, "log", `${topic}-0`, `00000000000000000000.${ending}`);

/** The faults of a lake after `damage`. */
async function faults(damage: (folder: string) => void | Promise<void>, ...flags: string[]): Promise<string[]> {
  const folder = copyOf(clean);
  await damage(folder);
  const { code, out } = await rowlog("check", folder, ...flags);
  const found = out.split("\n").filter((line) => line.startsWith("fault: "));
  expect([code, found.length > 0]).toEqual([1, true]);
  return found;
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at < 0 ? bytes.length + at : at]! ^= 1;
  writeFileSync(path, bytes);
}

test("a sound lake has no faults, and no byte of it changes", async () => {
  for (const folder of [clean, killed]) {
    const before = digest(folder);
    const { code, out } = await rowlog("check", folder);
    expect(out).toContain("note: table notes is not compared: SQL has updated or deleted rows of it");
    expect(out).toMatch(/\d+ batches, \d+ records, \d+ bytes; 2 tables compared; 0 faults\n$/);
    expect(code).toBe(0);
    expect(digest(folder)).toBe(before);
  }
});

test("a flipped bit is found, in the middle and in the last batch", async () => {
  const [middle] = await faults((folder) => flip(log(folder, "plain"), 3_000));
  expect(middle).toMatch(
    /^fault: plain-0\/0{20}\.log: from byte \d+ of \d+ on, offset \d+, is no good batch: the file is damaged$/,
  );
  const [last] = await faults((folder) => flip(log(folder, "plain"), -1));
  expect(last).toContain("offset 20, is no good batch");
});

test("a segment that was cut, or is gone, is found", async () => {
  const cut = await faults((folder) => truncateSync(log(folder, "rows"), statSync(log(folder, "rows")).size - 40));
  expect(cut.join("\n")).toContain("rows-0 ends at offset 20, but had reached 21: records are missing");
  const gone = await faults((folder) => rmSync(log(folder, "plain")));
  expect(gone.join("\n")).toContain("plain-0 ends at offset 0, but had reached 21: records are missing");
});

test("an index that is wrong is found", async () => {
  const [offsets] = await faults((folder) => flip(log(folder, "plain", "index"), 7));
  expect(offsets).toMatch(/^fault: plain-0\/0{20}\.index: entry 0 points to byte \d+, where no batch begins$/);
  const [times] = await faults((folder) => flip(log(folder, "plain", "timeindex"), 7));
  expect(times).toContain(".timeindex: entry 0 says time");
});

test("a producer snapshot that says another sequence is found", async () => {
  const found = await faults((folder) => {
    const topic = join(folder, "log/plain-0");
    const batch = encodeBatch([{ value: "{}" }], { baseOffset: 21, producerId: 7n, producerEpoch: 0, baseSequence: 5 });
    appendFileSync(log(folder, "plain"), batch);
    const [snapshot] = readdirSync(join(folder, "log/users-0")).filter((name) => name.endsWith(".snapshot"));
    cpSync(join(folder, "log/users-0", snapshot!), join(topic, "00000000000000000022.snapshot"));
  });
  expect(found.join("\n")).toContain("00000000000000000022.snapshot: producer");
  expect(found.join("\n")).toContain("but ended at 21 when the node stopped");
});

test("a row that somebody edited in DuckDB's file is found, and shown", async () => {
  const found = await faults(async (folder) => {
    const engine = await SqlEngine.start({ path: join(folder, "tables.duckdb"), logger: silentLogger });
    await engine.query("UPDATE rowlog.main.rows SET name = 'edited' WHERE id = 7");
    await engine.query("DELETE FROM rowlog.main.users WHERE id = 1");
    await engine.close();
  });
  expect(found).toEqual([
    "fault: table rows is not the fold of its log: it has 21 rows, its log gives 21",
    "fault: table rows has a row that its log does not give: {'id': 7, 'name': edited}",
    "fault: table rows lacks a row that its log gives: {'id': 7, 'name': n7}",
    "fault: table users is not the fold of its log: it has 4 rows, its log gives 5",
    "fault: table users lacks a row that its log gives: {'id': 1, 'name': u16}",
  ]);
});

test("what a crash tears is no fault; the same in the middle is", async () => {
  const torn = copyOf(killed);
  appendFileSync(log(torn, "plain"), readFileSync(log(torn, "plain")).subarray(0, 150));
  const { code, out } = await rowlog("check", torn, "--no-tables");
  expect(out).toContain("note: plain-0/00000000000000000000.log: from byte");
  expect(out).toContain("never acknowledged");
  expect(code).toBe(0);
  const damaged = copyOf(killed);
  flip(log(damaged, "plain"), 1_000);
  const found = await rowlog("check", damaged, "--no-tables");
  expect(found.out).toContain("the file is damaged");
  expect(found.code).toBe(1);
});

test("a lake that a node runs on is not read", async () => {
  await lake.start();
  const { code, err } = await rowlog("check", lake.lake);
  expect([code, err]).toEqual([1, expect.stringContaining("stop it first")]);
  await lake.stop();
});
