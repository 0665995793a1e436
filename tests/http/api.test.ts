/** Tables, topics, records, groups, probes, metrics, and what holds for every route. */
import { beforeEach, describe, expect, test } from "bun:test";
import { createHttpApp } from "../../src/http/app.ts";
import { watchEventLoop } from "../../src/http/metrics_collectors.ts";
import { type FakeNode, fakeNode } from "./fakes.ts";

let node: FakeNode;
let app: ReturnType<typeof createHttpApp>;

beforeEach(() => {
  node = fakeNode();
  app = createHttpApp(node);
});

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  app.request(path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });

describe("topics and records", () => {
  test("create, list, describe, delete", async () => {
    const created = await send("POST", "/v1/topics", { name: "a.b", partitions: 2, configs: { "retention.ms": 5 } });
    expect(created.status).toBe(201);
    expect(created.headers.get("location")).toBe("/v1/topics/a.b");
    expect(await (await send("GET", "/v1/topics")).json()).toMatchObject({ topics: [{ name: "a.b", partitions: 2 }] });
    expect(await (await send("GET", "/v1/topics/a.b")).json()).toMatchObject({
      partition_details: [{ partition: 0 }, { partition: 1, high_watermark: 0 }],
    });
    expect((await send("POST", "/v1/topics", { name: "a.b" })).status).toBe(409);
    expect((await send("DELETE", "/v1/topics/a.b")).status).toBe(204);
    const gone = await send("GET", "/v1/topics/a.b");
    expect(gone.status).toBe(404);
    expect(await gone.json()).toMatchObject({ code: "UNKNOWN_TOPIC_OR_PARTITION" });
    expect((await send("DELETE", "/v1/topics/a.b")).status).toBe(404);
  });

  test("records go in as text, JSON or base64 and come out as they were", async () => {
    await send("POST", "/v1/topics", { name: "t" });
    const body =
      '{"records":[{"key":"k","value":{"id":9007199254740993,"x":1.10},"headers":{"h":"v","n":null},"timestamp_ms":42},' +
      '{"value_base64":"/w=="},{"key":"","value":null},{"value":7}]}';
    const produced = await send("POST", "/v1/topics/t/records", body);
    expect(produced.status).toBe(200);
    expect(await produced.json()).toEqual({
      offsets: [
        { partition: 0, offset: 0, timestamp_ms: 42 },
        { partition: 0, offset: 1, timestamp_ms: 7 },
        { partition: 0, offset: 2, timestamp_ms: 7 },
        { partition: 0, offset: 3, timestamp_ms: 7 },
      ],
    });
    const read = (await (await send("GET", "/v1/topics/t/records")).json()) as { records: object[] };
    expect(read).toMatchObject({ next_offset: 4, high_watermark: 4, log_start_offset: 0 });
    expect(read.records[0]).toEqual({
      partition: 0,
      offset: 0,
      timestamp_ms: 42,
      key: "k",
      value: '{"id":9007199254740993,"x":1.10}',
      headers: [
        { key: "h", value: "v" },
        { key: "n", value: null },
      ],
    });
    expect(read.records[1]).toMatchObject({ key: null, value_base64: "/w==" });
    expect(read.records[2]).toMatchObject({ key: "", value: null });
    expect(read.records[3]).toMatchObject({ value: "7" });
  });

  test("offsets count from the start, from the end, and by name", async () => {
    await send("POST", "/v1/topics", { name: "t" });
    await send("POST", "/v1/topics/t/records", { records: [{ value: "a" }, { value: "b" }, { value: "c" }] });
    const values = async (query: string) => {
      const response = await send("GET", `/v1/topics/t/records?${query}`);
      return ((await response.json()) as { records: { value: string }[] }).records.map((record) => record.value);
    };
    expect(await values("offset=1")).toEqual(["b", "c"]);
    expect(await values("offset=1&limit=1")).toEqual(["b"]);
    expect(await values("offset=-2")).toEqual(["b", "c"]);
    expect(await values("offset=-200")).toEqual(["a", "b", "c"]);
    expect(await values("offset=latest")).toEqual([]);
    expect(await values("offset=earliest&limit=2")).toEqual(["a", "b"]);
  });

  test.each(["offset=x", "limit=0", "limit=10001", "partition=-1", "wait_ms=60001", "colour=red"])(
    "query %p is refused",
    async (query) => {
      await send("POST", "/v1/topics", { name: "t" });
      expect((await send("GET", `/v1/topics/t/records?${query}`)).status).toBe(400);
    },
  );

  test.each([
    { records: [] },
    { records: [{ key: "a", key_base64: "YQ==" }] },
    { records: [{ value_base64: "?" }] },
    { records: [{ value: "a", partition: -1 }] },
    { records: [{ valu: "a" }] },
    {},
  ])("body %j is refused", async (body) => {
    await send("POST", "/v1/topics", { name: "t" });
    expect((await send("POST", "/v1/topics/t/records", body)).status).toBe(400);
    expect(node.logs.get("t")?.[0]).toEqual([]);
  });

  test("an unknown topic or partition is 404", async () => {
    expect((await send("POST", "/v1/topics/none/records", { records: [{ value: "a" }] })).status).toBe(404);
    expect((await send("GET", "/v1/topics/none/records")).status).toBe(404);
    await send("POST", "/v1/topics", { name: "t" });
    expect((await send("GET", "/v1/topics/t/records?partition=5")).status).toBe(404);
    expect((await send("GET", "/v1/topics/t/records?partition=5&offset=0")).status).toBe(404);
  });
});

describe("tables", () => {
  const table = (name: string, schema = "main") => ({
    name,
    schema,
    topic: schema === "main" ? name : `${schema}.${name}`,
    partitions: 1,
    raw: false,
    key: null,
    columns: [],
    sql: "",
  });

  test("columns become a quoted statement", async () => {
    node.answer = (sql) => {
      node.tableList.push(table('we"ird'));
      return { columns: [], async *rows() {}, async *arrow() {}, close: () => void sql };
    };
    const response = await send("POST", "/v1/tables", {
      name: 'we"ird',
      columns: [
        { name: "a b", type: "BIGINT", not_null: true },
        { name: "at", type: "TIMESTAMP", default: "now()" },
      ],
      key: ["a b"],
      partitions: 4,
    });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ name: 'we"ird' });
    expect(node.executed[0]?.sql).toBe(
      'CREATE TABLE "we""ird" ("a b" BIGINT NOT NULL, "at" TIMESTAMP DEFAULT (now()), PRIMARY KEY ("a b")) WITH (partitions = 4)',
    );
  });

  test("a statement that is no CREATE TABLE is refused before it runs", async () => {
    for (const sql of [
      "DROP TABLE t",
      "SELECT 1",
      "-- CREATE TABLE x (a INT)\nDROP TABLE t",
      `${"/**/".repeat(5000)}DROP`,
    ]) {
      const response = await send("POST", "/v1/tables", { sql });
      expect({ sql, status: response.status }).toEqual({ sql, status: 400 });
    }
    expect(node.executed).toEqual([]);
    node.answer = () => {
      node.tableList.push(table("x"));
      return { columns: [], async *rows() {}, async *arrow() {}, close: () => undefined };
    };
    const sql = "/* a * b */ -- c\n create or replace TABLE x (a INT)";
    expect((await send("POST", "/v1/tables", { sql })).status).toBe(201);
    expect(node.executed.map((one) => one.sql)).toEqual([sql]);
  });

  test("drop names the schema; an unknown table is 404", async () => {
    node.tableList.push(table("t"), table("u", "s"));
    expect((await send("DELETE", "/v1/tables/u")).status).toBe(204);
    expect((await send("DELETE", "/v1/tables/t")).status).toBe(204);
    expect(node.executed.map(({ sql }) => sql)).toEqual(['DROP TABLE "s"."u"', 'DROP TABLE "t"']);
    expect((await send("GET", "/v1/tables/none")).status).toBe(404);
    expect((await send("DELETE", "/v1/tables/none")).status).toBe(404);
  });
});

test("groups with lag; an unknown one is 404", async () => {
  node.groupList.push({
    group_id: "g/1",
    state: "Stable",
    protocol_type: "consumer",
    protocol: "range",
    members: [{ member_id: "m", instance_id: null, client_id: "c", host: "/h", assignments: [] }],
    offsets: [{ topic: "t", partition: 0, committed_offset: 3, log_end_offset: 5, lag: 2, metadata: "" }],
    total_lag: 2,
  });
  expect(await (await send("GET", "/v1/groups")).json()).toMatchObject({ groups: [{ group_id: "g/1", members: 1 }] });
  expect(await (await send("GET", "/v1/groups/g%2F1")).json()).toMatchObject({ total_lag: 2 });
  expect((await send("GET", "/v1/groups/none")).status).toBe(404);
});

describe("probes", () => {
  test("readiness names what is missing", async () => {
    expect(await (await send("GET", "/livez")).text()).toBe("ok\n");
    expect((await send("GET", "/readyz")).status).toBe(200);
    node.reasons = [{ part: "log", reason: "recovering 1/2 partitions" }];
    const response = await send("GET", "/readyz");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ status: "not_ready", reasons: node.reasons });
    expect((await send("GET", "/v1/status/ready")).status).toBe(503);
    expect((await send("GET", "/healthz")).status).toBe(200);
    expect((await send("GET", "/livez")).status).toBe(200);
    expect(await (await send("GET", "/version")).json()).toMatchObject({ name: "rowlog", version: "1.2.3" });
  });

  test("metrics under the names that dashboards know", async () => {
    await send("POST", "/v1/topics", { name: "t", partitions: 2 });
    await send("POST", "/v1/topics/t/records", { records: [{ value: "a", partition: 1 }] });
    node.groupList.push({
      group_id: 'quote"d',
      state: "Empty",
      protocol_type: "consumer",
      protocol: "",
      members: [],
      offsets: [{ topic: "t", partition: 1, committed_offset: 0, log_end_offset: 1, lag: 1, metadata: null }],
      total_lag: 1,
    });
    const stop = watchEventLoop(node.metrics);
    await new Promise((resolve) => setTimeout(resolve, 250));
    stop();
    const text = await (await send("GET", "/metrics")).text();
    expect(text).toContain('kafka_topic_partitions{topic="t"} 2\n');
    expect(text).toContain('kafka_topic_partition_current_offset{topic="t",partition="1"} 1\n');
    expect(text).toContain('kafka_topic_partition_oldest_offset{topic="t",partition="1"} 0\n');
    expect(text).toContain('kafka_consumergroup_lag{consumergroup="quote\\"d",topic="t",partition="1"} 1\n');
    expect(text).toContain('kafka_consumergroup_lag_sum{consumergroup="quote\\"d",topic="t"} 1\n');
    expect(text).toContain('rowlog_http_request_seconds_count{route="/v1/topics/:name/records",status="200"} 1\n');
    expect(text).toMatch(/process_resident_memory_bytes \d+/);
    expect(text).toMatch(/process_event_loop_delay_seconds_count [1-9]/);
    expect(text).toContain("rowlog_storage_free_bytes 10\n");
    for (const line of text.trimEnd().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="([^"\\]|\\.)*",?)+\})? [-+.\de]+(Inf)?)$/);
  });
});

describe("every route", () => {
  test("a wrong method is 405 with Allow, a wrong path 404", async () => {
    const wrong = await send("DELETE", "/v1/sql");
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get("allow")).toBe("POST");
    expect((await send("PUT", "/v1/topics")).headers.get("allow")).toBe("GET, POST");
    const missing = await send("GET", "/nothing/here");
    expect(missing.status).toBe(404);
    expect(await missing.json()).toMatchObject({ code: "NOT_FOUND" });
  });

  test("a page of another origin is refused, our own is not", async () => {
    const headers = { host: "127.0.0.1:8080" };
    const foreign = await send("GET", "/v1/topics", undefined, { ...headers, origin: "https://evil.example" });
    expect(foreign.status).toBe(403);
    expect((await send("GET", "/v1/topics", undefined, { ...headers, origin: "null" })).status).toBe(403);
    const own = await send("GET", "/v1/topics", undefined, { ...headers, origin: "http://127.0.0.1:8080" });
    expect(own.status).toBe(200);
  });

  test("a node on a loopback address answers to no other name", async () => {
    const local = createHttpApp(fakeNode(), { host: "127.0.0.1" });
    const status = async (host: string) => (await local.request("/livez", { headers: { host } })).status;
    for (const host of ["127.0.0.1:8080", "localhost", "node.localhost:8080", "[::1]:8080", "10.0.0.7:8080"])
      expect([host, await status(host)]).toEqual([host, 200]);
    expect(await status("evil.example:8080")).toBe(421);
    const open = createHttpApp(fakeNode(), { host: "0.0.0.0" });
    expect((await open.request("/livez", { headers: { host: "db.example:8080" } })).status).toBe(200);
  });

  test("the OpenAPI document has every route and resolves its references", async () => {
    const document = (await (await send("GET", "/openapi.json")).json()) as {
      paths: Record<string, Record<string, unknown>>;
      components: { schemas: Record<string, unknown> };
    };
    expect(Object.keys(document.paths).sort()).toEqual([
      "/healthz",
      "/livez",
      "/metrics",
      "/readyz",
      "/v1/groups",
      "/v1/groups/{id}",
      "/v1/sessions",
      "/v1/sessions/{id}",
      "/v1/sql",
      "/v1/tables",
      "/v1/tables/{name}",
      "/v1/topics",
      "/v1/topics/{name}",
      "/v1/topics/{name}/records",
      "/version",
    ]);
    for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(document.components.schemas).toHaveProperty(name as string);
  });
});
