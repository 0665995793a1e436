/** POST /v1/sql: forms of the answer, parameters, errors, cancellation. */
import { beforeEach, describe, expect, test } from "bun:test";
import { limits } from "../../src/base/limits.ts";
import { SqlError } from "../../src/base/sql_error.ts";
import { createHttpApp } from "../../src/http/app.ts";
import { type FakeNode, fakeAnswer, fakeNode } from "./fakes.ts";

let node: FakeNode;
let app: ReturnType<typeof createHttpApp>;
const columns = [
  { name: "user", type: "VARCHAR" },
  { name: "n", type: "HUGEINT" },
];

beforeEach(() => {
  node = fakeNode();
  app = createHttpApp(node);
  node.answer = () =>
    fakeAnswer(node, columns, [
      ['["ada",170141183460469231731687303715884105727]', "[null,1.0]"],
      [],
      ['["a,\\"b\\"\\n",{"x":[1,"],"]}]', '["",-0]'],
    ]);
});

const post = (body: unknown, headers: Record<string, string> = {}) =>
  app.request("/v1/sql", {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });

describe("forms of the answer", () => {
  test("JSON keeps every digit of the rows' text", async () => {
    const response = await post({ sql: "SELECT 1" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe(
      '{"columns":[{"name":"user","type":"VARCHAR"},{"name":"n","type":"HUGEINT"}],"rows":[' +
        '["ada",170141183460469231731687303715884105727],[null,1.0],["a,\\"b\\"\\n",{"x":[1,"],"]}],["",-0]],"row_count":4}\n',
    );
    expect(node.closed).toBe(1);
  });

  test("NDJSON gives one object a row", async () => {
    const response = await post({ sql: "SELECT 1" }, { accept: "application/x-ndjson" });
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect((await response.text()).split("\n")).toEqual([
      '{"user":"ada","n":170141183460469231731687303715884105727}',
      '{"user":null,"n":1.0}',
      '{"user":"a,\\"b\\"\\n","n":{"x":[1,"],"]}}',
      '{"user":"","n":-0}',
      "",
    ]);
  });

  test("NDJSON keeps both of two columns with one name", async () => {
    node.answer = () =>
      fakeAnswer(
        node,
        ["a", "a", "a_1"].map((name) => ({ name, type: "INTEGER" })),
        [["[1,2,3]"]],
      );
    const response = await post({ sql: "SELECT 1" }, { accept: "application/x-ndjson" });
    expect(await response.text()).toBe('{"a":1,"a_2":2,"a_1":3}\n');
  });

  test("CSV tells NULL from empty text", async () => {
    const response = await post({ sql: "SELECT 1" }, { accept: "text/csv" });
    expect(response.headers.get("content-type")).toStartWith("text/csv");
    expect(await response.text()).toBe(
      'user,n\r\nada,170141183460469231731687303715884105727\r\n,1.0\r\n"a,""b""\n","{""x"":[1,""],""]}"\r\n"",-0\r\n',
    );
  });

  test("Arrow bytes pass through", async () => {
    const response = await post({ sql: "SELECT 1" }, { accept: "application/vnd.apache.arrow.stream" });
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array([1, 2, 3]));
  });

  test("q decides between accepted types; an unknown type is 406", async () => {
    const csv = await post({ sql: "SELECT 1" }, { accept: "application/json;q=0.5, text/csv" });
    expect(csv.headers.get("content-type")).toStartWith("text/csv");
    const none = await post({ sql: "SELECT 1" }, { accept: "image/png" });
    expect(none.status).toBe(406);
    expect(node.executed).toHaveLength(1);
  });
});

describe("requests", () => {
  test("parameters keep their digits", async () => {
    await post('{"sql":"SELECT ?","params":[9007199254740993,1.10,12345678901234567.89,"x",null,true,{"a":1.50},7]}');
    expect(node.executed[0]?.options.params).toEqual([
      9007199254740993n,
      1.1,
      "12345678901234567.89",
      "x",
      null,
      true,
      '{"a":1.50}',
      7,
    ]);
    await post('{"sql":"SELECT $a","params":{"a":-1},"timeout_ms":50}');
    expect(node.executed[1]?.options).toMatchObject({ params: { a: -1 }, timeoutMs: 50 });
  });

  test("plain text is the statement itself", async () => {
    await post("SELECT 42", { "content-type": "application/sql; charset=utf-8" });
    expect(node.executed[0]?.sql).toBe("SELECT 42");
  });

  test("JSON without its Content-Type works, as with curl -d", async () => {
    const response = await post('{"sql":"SELECT 1"}', { "content-type": "application/x-www-form-urlencoded" });
    expect(response.status).toBe(200);
  });

  test.each([
    ["", "INVALID_REQUEST"],
    ["{", "INVALID_JSON"],
    ["[]", "INVALID_REQUEST"],
    ['{"sql":1}', "INVALID_REQUEST"],
    ['{"sql":""}', "INVALID_REQUEST"],
    ['{"sql":"x","colour":1}', "INVALID_REQUEST"],
    ['{"sql":"x","timeout_ms":0}', "INVALID_REQUEST"],
  ])("body %p is refused", async (body, code) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({ status: 400, code });
    expect(node.executed).toHaveLength(0);
  });

  test("a body over the limit is 413, with or without its length", async () => {
    const large = `{"sql":"${"x".repeat(limits.httpBodyBytesMax)}"}`;
    expect((await post(large)).status).toBe(413);
    const stream = new Response(large).body as ReadableStream;
    const request = new Request("http://h/v1/sql", { method: "POST", body: stream, duplex: "half" } as RequestInit);
    expect((await app.fetch(request)).status).toBe(413);
  });

  test("bytes that are not UTF-8 are refused", async () => {
    const response = await app.request("/v1/sql", { method: "POST", body: new Uint8Array([0x7b, 0xff, 0x7d]) });
    expect(await response.json()).toMatchObject({ status: 400, code: "INVALID_UTF8" });
  });
});

describe("failures", () => {
  test.each([
    ["42601", 400],
    ["42P01", 404],
    ["42P07", 409],
    ["57014", 504],
    ["53200", 503],
    ["XX000", 500],
  ])("SQLSTATE %s is status %p", async (sqlstate, status) => {
    node.answer = () => {
      throw new SqlError(sqlstate, "no good", 8);
    };
    const response = await post({ sql: "SELECT" });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code: sqlstate, detail: "no good", position: 8, status });
  });

  test("a statement that fails on its first rows is a problem document in every form", async () => {
    for (const accept of ["application/json", "application/x-ndjson", "text/csv"]) {
      node.answer = () => fakeAnswer(node, columns, [], new SqlError("22003", "out of range"));
      const response = await post({ sql: "SELECT 1" }, { accept });
      expect(response.status).toBe(400);
    }
    expect(node.closed).toBe(3);
  });

  test("a statement that fails later never looks complete", async () => {
    const many = Array.from({ length: 5000 }, () => '["x",1]');
    const fail = () => {
      node.answer = () => fakeAnswer(node, columns, [many, many], new SqlError("22003", "out of range"));
    };
    fail();
    expect(await failureOf(await post({ sql: "SELECT 1" }))).toBeInstanceOf(Error);
    fail();
    expect(await failureOf(await post({ sql: "SELECT 1" }, { accept: "text/csv" }))).toBeInstanceOf(Error);
    fail();
    const lines = (await (await post({ sql: "SELECT 1" }, { accept: "application/x-ndjson" })).text())
      .trim()
      .split("\n");
    expect(JSON.parse(lines.at(-1) as string)).toEqual({ error: { code: "22003", detail: "out of range" } });
    expect(lines).toHaveLength(10_001);
  });

  test("an unexpected failure is 500 without its inside", async () => {
    node.answer = () => {
      throw new Error("secret path /x");
    };
    const response = await post({ sql: "SELECT 1" });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
  });
});

test("a reader that goes away closes the answer", async () => {
  const many = Array.from({ length: 10_000 }, () => '["x",1]');
  node.answer = () => fakeAnswer(node, columns, [many, many, many, many]);
  const response = await post({ sql: "SELECT 1" });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  await reader.cancel();
  expect(node.closed).toBe(1);
});

async function failureOf(response: Response): Promise<unknown> {
  expect(response.status).toBe(200);
  return response.text().then(
    () => undefined,
    (error) => error,
  );
}
