/** A real Debezium writes into keyed tables while pgbench works on the source; then both sides are compared. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runProgram, startConnect, startPostgres, stopProcess } from "../../scripts/debezium-reference.ts";
import { component, postgresPrograms } from "../../scripts/install-clients.ts";
import { type NodeProcess, startNodeProcess } from "../harness/process.ts";
import {
  createTable,
  ownQuery,
  ownScript,
  postgresQuery,
  type SourceTable,
  setUp,
  sourceTables,
} from "./source_tables.ts";

const installed = component("debezium").installed() && component("postgres").installed();
const accounts = 3_000;
/** A connector each: with schemas in every record, and without. */
const prefixes = { schemas: true, plain: false };

let folder: string;
let postgresPort: number;
let connectPort: number;
let node: NodeProcess;

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((found) =>
    server.listen(0, "127.0.0.1", () => found((server.address() as { port: number }).port)),
  );
  await new Promise((closed) => server.close(closed));
  return port;
}

async function postgres(program: string, parameters: string[], input?: string): Promise<string> {
  const place = ["-h", "127.0.0.1", "-p", String(postgresPort), "-U", "postgres"];
  return await runProgram(join(postgresPrograms()!, program), [...place, ...parameters], {
    env: { PGPASSWORD: "postgres", PGDATABASE: "postgres", PGOPTIONS: "-c timezone=UTC" },
    ...(input === undefined ? {} : { input }),
  });
}

const psql = (text: string) => postgres("psql", ["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1"], text);

async function sql(text: string): Promise<unknown[][]> {
  const answer = await fetch(`http://127.0.0.1:${node.httpPort}/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: text }),
  });
  const body = await answer.text();
  if (!answer.ok) throw new Error(`${text}: ${body}`);
  return (JSON.parse(body) as { rows: unknown[][] }).rows;
}

async function connect(path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${connectPort}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

function connectorConfig(prefix: string, schemas: boolean): Record<string, string> {
  const converter = (side: string) => ({
    [`${side}.converter`]: "org.apache.kafka.connect.json.JsonConverter",
    [`${side}.converter.schemas.enable`]: String(schemas),
    // Otherwise a null arrives as the column's default.
    [`${side}.converter.replace.null.with.default`]: "false",
  });
  return {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "database.hostname": "127.0.0.1",
    "database.port": String(postgresPort),
    "database.user": "postgres",
    "database.password": "postgres",
    "database.dbname": "postgres",
    "topic.prefix": prefix,
    "plugin.name": "pgoutput",
    "slot.name": prefix,
    // One publication for both would be altered by both.
    "publication.name": prefix,
    "time.precision.mode": schemas ? "adaptive" : "adaptive_time_microseconds",
    "interval.handling.mode": "string",
    "poll.interval.ms": "50",
    // Truncations are left out otherwise.
    "skipped.operations": "none",
    "heartbeat.interval.ms": "1000",
    "provide.transaction.metadata": "true",
    "topic.heartbeat.prefix": "heartbeat",
    // The producer sends one request at a time, and each is answered after a sync.
    "producer.override.batch.size": "262144",
    "producer.override.linger.ms": "20",
    "topic.creation.default.replication.factor": "1",
    "topic.creation.default.partitions": "1",
    ...converter("key"),
    ...converter("value"),
  };
}

/** Waits until `done` says true; fails with the worker's last errors. */
async function until(what: string, seconds: number, done: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(200)) if (await done()) return;
  const log = readFileSync(join(folder, "connect/worker.log"), "utf8");
  const errors = log.split("\n").filter((line) => / ERROR |Caused by|Exception/.test(line));
  throw new Error(
    `${what} did not happen within ${seconds} s:\n${errors.slice(-20).join("\n")}\n${node.output().slice(-2000)}`,
  );
}

const isDone = async (prefix: string, mark: number) =>
  (await sql(`SELECT count(*) FROM "${prefix}.public.finished" WHERE id = ${mark}`))[0]![0] === 1;

/** Everything committed so far has arrived: the mark comes last. */
async function caughtUp(mark: number): Promise<void> {
  await psql(`insert into finished values (${mark})`);
  for (const prefix of Object.keys(prefixes))
    await until(`the end of connector ${prefix}`, 90, () => isDone(prefix, mark));
}

async function load(seconds: number): Promise<void> {
  const script = join(folder, "own.sql");
  writeFileSync(script, ownScript);
  const weights = ["-b", "tpcb-like@1", "-f", `${script}@3`];
  // A changed key may be taken already, and two transactions may wait for each other: pgbench goes on with the next.
  await postgres("pgbench", [
    "-n",
    "-c",
    "4",
    "-j",
    "1",
    "-R",
    "400",
    "-T",
    String(seconds),
    "--max-tries=5",
    ...weights,
  ]);
}

/** The first row in which a table here differs from its source; undefined when they are equal. */
async function difference(table: SourceTable, prefix: string): Promise<unknown> {
  const wanted = (await psql(`${postgresQuery(table)};`)).split("\n").slice(0, -1);
  expect(wanted.length).toBeGreaterThan(0);
  const rows = (await sql(ownQuery(table, prefix))).map(([row]) => row as string);
  const at = wanted.findIndex((row, i) => row !== rows[i]);
  if (at < 0 && rows.length === wanted.length) return undefined;
  return { table: `${prefix} ${table.name}`, rows: rows.length, of: wanted.length, row: rows[at], wanted: wanted[at] };
}

/** Fails when a table does not become equal to its source: the tables' topics reach the node in no order among each other. */
async function expectEqual(tables: readonly SourceTable[]): Promise<void> {
  for (const prefix of Object.keys(prefixes))
    for (const table of tables) {
      const end = Date.now() + 40_000;
      let differs = await difference(table, prefix);
      for (; differs !== undefined && Date.now() < end; differs = await difference(table, prefix)) await sleep(500);
      expect(differs).toBeUndefined();
    }
}

describe.skipIf(!installed)("a Debezium connector and keyed tables", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rowlog-debezium-"));
    chmodSync(folder, 0o755); // PostgreSQL runs as another user.
    [postgresPort, connectPort] = [await freePort(), await freePort()];
    node = await startNodeProcess(["--auto-create-topics"]);
    await startPostgres(join(folder, "postgres"), postgresPort);
    await postgres("pgbench", ["-i", "-q", "-s", "1"]);
    await psql(setUp(accounts));
    await startConnect(join(folder, "connect"), `127.0.0.1:${node.kafkaPort}`, connectPort);
    for (const [prefix, schemas] of Object.entries(prefixes)) {
      for (const table of sourceTables) await sql(createTable(table, prefix));
      await sql(`CREATE TABLE "${prefix}.public.finished" (id INTEGER PRIMARY KEY)`);
      await connect("/connectors", { name: prefix, config: connectorConfig(prefix, schemas) });
    }
  }, 170_000);

  afterAll(async () => {
    await stopProcess(join(folder, "connect"));
    await stopProcess(join(folder, "postgres"));
    await node?.remove();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  test("the snapshot, then six seconds of load: every table equals its source", async () => {
    await load(6);
    await caughtUp(1);
    await expectEqual(sourceTables);
  }, 170_000);

  test("a truncated table is empty, and goes on", async () => {
    await psql("truncate pair; insert into pair values ('b', 1, null), ('c', 2, 'after');");
    await caughtUp(2);
    await expectEqual(sourceTables.filter(({ name }) => name === "pair"));
  }, 120_000);

  test("the worker's state in compacted topics outlives a restart of worker and node", async () => {
    await stopProcess(join(folder, "connect"));
    await psql("update various set n = 0 where id % 5 = 0; delete from various where id % 7 = 0;");
    const ports = [node.kafkaPort, node.httpPort];
    await node.stop("SIGKILL");
    const again = ["--kafka", `127.0.0.1:${ports[0]}`, "--http", `127.0.0.1:${ports[1]}`];
    node = await startNodeProcess(["--auto-create-topics", ...again], node.lake);
    await startConnect(join(folder, "connect"), `127.0.0.1:${node.kafkaPort}`, connectPort);
    await caughtUp(3);
    await expectEqual(sourceTables.filter(({ name }) => name !== "pgbench_history"));
    expect(await connect("/connectors")).toEqual(expect.arrayContaining(Object.keys(prefixes)));
  }, 170_000);
});
