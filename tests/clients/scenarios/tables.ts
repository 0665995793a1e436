/**
 * Scenarios in which a topic is a table, so they run against Rowlog only: what the issue of the first release says that a user does. Each
 * answers nothing and throws on any difference.
 */
import { expect } from "bun:test";
import { asText, plainRecord, range, type Scenario, type Stage } from "../scenario.ts";
import { sql } from "../target.ts";

const codecs = ["none", "gzip", "snappy", "lz4", "zstd"] as const;

/** A table's name as SQL takes it; it is the topic's name too. */
function tableName(stage: Stage, what: string): string {
  return stage.unique(what).replace(/[^a-z0-9]/g, "_");
}

function http(stage: Stage): string {
  if (stage.target.http === undefined) throw new Error("tables need a Rowlog node");
  return stage.target.http;
}

/** Five records keyed u0, u1, u0, ... with amounts from `from` on. */
function events(from: number): ReturnType<typeof plainRecord>[] {
  return range(from, from + 5).map((amount) => {
    const user = `u${amount % 2}`;
    return plainRecord(user, `{"user": "${user}", "amount": ${amount}}`);
  });
}

/** The five rows are there at once after the client's flush, for every codec and every level of acknowledgement. */
async function eventsTable(stage: Stage): Promise<void> {
  const table = tableName(stage, "events");
  await sql(http(stage), `CREATE TABLE ${table} (user VARCHAR, amount BIGINT, _key VARCHAR, _timestamp TIMESTAMP)`);
  const driver = stage.driver();
  const produced: unknown[][] = [];
  for (const acks of ["all", "1", "0"] as const) {
    for (const codec of codecs) {
      const records = events(produced.length);
      const fields = { topic: table, acks, codec, idempotent: acks === "all", records };
      await driver.must("produce", { bootstrap: stage.bootstrap, ...fields });
      for (const amount of range(produced.length, produced.length + 5))
        produced.push([`u${amount % 2}`, amount, `u${amount % 2}`]);
      const select = `SELECT user, amount, _key FROM ${table} ORDER BY amount`;
      // Without an acknowledgement nobody knows when the node has it.
      if (acks === "0") await untilRows(http(stage), select, produced.length);
      expect(await sql(http(stage), select)).toEqual(produced);
    }
  }
  const recent = await sql(
    http(stage),
    `SELECT count(*) FROM ${table} WHERE _timestamp > now()::TIMESTAMP - INTERVAL 1 HOUR`,
  );
  expect(recent).toEqual([[produced.length]]);
}

async function untilRows(address: string, select: string, count: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if ((await sql(address, select)).length >= count) return;
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

/** A raw table takes any value; JSON functions give NULL for what is not JSON. */
async function linesTable(stage: Stage): Promise<void> {
  const table = tableName(stage, "lines");
  await sql(http(stage), `CREATE TABLE ${table} (_key VARCHAR, _value VARCHAR, _timestamp TIMESTAMP)`);
  const records = [
    plainRecord("a", '{"event": "login", "n": 7}'),
    plainRecord("b", "plain text"),
    plainRecord("c", '{"n": "x"}'),
  ];
  const settings = { topic: table, acks: "all", codec: "zstd", idempotent: true, records };
  await stage.driver().must("produce", { bootstrap: stage.bootstrap, ...settings });
  const select = `SELECT _key, _value->>'event' AS event, json_get_int(_value, 'n') AS n FROM ${table} ORDER BY _key`;
  expect(await sql(http(stage), select)).toEqual([
    ["a", "login", 7],
    ["b", null, null],
    ["c", null, null],
  ]);
  expect(await sql(http(stage), `SELECT _value FROM ${table} ORDER BY _key`)).toEqual(
    records.map((record) => [asText(record.value)]),
  );
}

/** Rows that a table refuses are refused with INVALID_RECORD, and nothing of their batch is stored. */
async function refusedRows(stage: Stage): Promise<void> {
  const table = tableName(stage, "strict");
  await sql(http(stage), `CREATE TABLE ${table} (id BIGINT NOT NULL, name VARCHAR)`);
  const driver = stage.driver();
  const settings = { bootstrap: stage.bootstrap, topic: table, acks: "all", codec: "none", idempotent: false };
  const refused = await driver.ask("produce", {
    ...settings,
    records: [plainRecord(null, '{"id": "not a number"}', 0)],
  });
  expect(refused.error?.code).toBe(87);
  await driver.must("produce", { ...settings, records: [plainRecord(null, '{"id": 1, "name": "good"}', 0)] });
  expect(await sql(http(stage), `SELECT id, name FROM ${table}`)).toEqual([[1, "good"]]);
}

/** A consumer reads a table's log as JSON rows, is killed, and goes on where it had committed. */
async function followTable(stage: Stage): Promise<void> {
  const table = tableName(stage, "follow");
  await sql(http(stage), `CREATE TABLE ${table} (id BIGINT, name VARCHAR, price DECIMAL(10,2))`);
  const producer = stage.driver();
  const settings = { bootstrap: stage.bootstrap, topic: table, acks: "all", codec: "none", idempotent: true };
  const row = (id: number) =>
    plainRecord(null, `{"name": "n${id}", "id": "${id}", "price": ${id}.5, "unknown": true}`, 0);
  await producer.must("produce", { ...settings, records: range(0, 10).map(row) });
  const group = { bootstrap: stage.bootstrap, group: stage.unique("follow"), topic: table, assignor: "range" };
  const first = stage.driver();
  await first.must("join", { ...group, consumer: "c" });
  await first.until("ten rows", () => first.records("c").length >= 10);
  // The row as the table stores it: its columns in their order, and nothing that it does not have.
  expect(first.records("c").map((record) => asText(record.value))).toEqual(
    range(0, 10).map((id) => `{"id":${id},"name":"n${id}","price":${id}.50}`),
  );
  const committed = await first.must("commit", { consumer: "c", offsets: { 0: 8 } });
  const resumeFrom = committed.automatic ? 10 : 8;
  await first.kill();
  await producer.must("produce", { ...settings, records: range(10, 15).map(row) });
  const second = stage.driver();
  await second.must("join", { ...group, consumer: "c" });
  await second.until("the last row", () => second.records("c").some((record) => record.offset === 14));
  expect(second.records("c").map((record) => record.offset)).toEqual(range(resumeFrom, 15));
  expect(await sql(http(stage), `SELECT count(*), sum(price)::VARCHAR FROM ${table}`)).toEqual([[15, "112.50"]]);
}

/** A plain topic takes any bytes, and SELECT scans them. */
async function scanTopic(stage: Stage): Promise<void> {
  const topic = await stage.topic("plain.topic", 2);
  const records = [
    plainRecord("k", "text", 0),
    { ...plainRecord(null, "", 1), value: Buffer.from([1, 2, 250]).toString("base64") },
  ];
  const settings = { topic, acks: "all", codec: "lz4", idempotent: true, records };
  await stage.driver().must("produce", { bootstrap: stage.bootstrap, ...settings });
  const select = `SELECT _partition, _offset, _key, hex(_value) FROM "${topic}" ORDER BY _partition`;
  const rows = await sql(http(stage), select);
  // kcat has no way to say a null key beside a value that is not null, other than an empty one.
  expect(rows.map((row) => [row[0], row[1], row[3]])).toEqual([
    [0, 0, "74657874"],
    [1, 0, "0102FA"],
  ]);
}

export const tableScenarios: readonly Scenario[] = [
  { name: "events-table", run: eventsTable },
  { name: "lines-table", run: linesTable },
  { name: "refused-rows", run: refusedRows },
  { name: "follow-table", run: followTable },
  { name: "scan-topic", run: scanTopic },
];
