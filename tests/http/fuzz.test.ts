/** Mutated requests and random bytes at the HTTP door: refused or answered, never an internal error, never the end of the node. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:net";
import { createHttpApp } from "../../src/http/app.ts";
import { serveHttp } from "../../src/platform/http_server.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { fakeNode } from "./fakes.ts";

setDefaultTimeout(60_000);

const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`FUZZ_SEED=${seed}`);

function random(from: number): () => number {
  const source = new SeededRandom(from);
  return () => source.fraction();
}

const samples: [method: string, path: string, body?: string][] = [
  ["POST", "/v1/sql", '{"sql":"SELECT $1","params":[1,null,"x",9007199254740993,{"a":1}],"timeout_ms":5}'],
  ["POST", "/v1/topics", '{"name":"t2","partitions":3,"configs":{"retention.ms":"5"}}'],
  [
    "POST",
    "/v1/topics/t/records",
    '{"records":[{"key":"k","value":{"a":[1.10]},"headers":{"h":null},"partition":0},{"value_base64":"AA=="}]}',
  ],
  ["GET", "/v1/topics/t/records?partition=0&offset=-5&limit=10&wait_ms=0"],
  ["POST", "/v1/tables", '{"name":"x","columns":[{"name":"a","type":"INTEGER","not_null":true,"default":"1"}]}'],
  ["GET", "/v1/topics/t"],
  ["DELETE", "/v1/topics/none"],
  ["GET", "/v1/groups/g"],
];
const fragments = [
  '"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "null",
  "-1",
  "1e999",
  "\\u0000",
  "\\ud800",
  "é",
  "%00",
  "%",
  "../",
  "__proto__",
  "\u0000",
];

function mutated(text: string, next: () => number): string {
  let result = text;
  for (let times = Math.floor(next() * 4); times >= 0; times--) {
    const at = Math.floor(next() * (result.length + 1));
    const cut = Math.floor(next() * 6);
    const fragment = fragments[Math.floor(next() * fragments.length)] as string;
    result = result.slice(0, at) + (next() < 0.7 ? fragment : "") + result.slice(at + cut);
  }
  return result;
}

test("20,000 mutated requests: none is an internal error", async () => {
  const next = random(seed);
  const app = createHttpApp(fakeNode());
  await app.request("/v1/topics", { method: "POST", body: '{"name":"t"}' });
  const statuses = new Map<number, number>();
  for (let i = 0; i < 20_000; i++) {
    const [method, path, body] = samples[Math.floor(next() * samples.length)] as (typeof samples)[number];
    const url = next() < 0.5 ? `/${encodeURI(mutated(path, next)).replace(/^\/+/, "")}` : path;
    const content = body !== undefined ? mutated(body, next) : undefined;
    const response = await app.request(`http://localhost${url}`, { method, body: content });
    await response.text();
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    if (response.status >= 500)
      throw new Error(`seed ${seed}, request ${i}: ${method} ${url} ${content} gave ${response.status}`);
  }
  expect(statuses.get(200) ?? 0).toBeGreaterThan(500);
  expect(statuses.get(400) ?? 0).toBeGreaterThan(500);
  expect((await app.request("/livez")).status).toBe(200);
});

test("500 connections of random bytes: the server goes on", async () => {
  const next = random(seed + 1);
  const server = serveHttp({
    host: "127.0.0.1",
    port: 0,
    bodyBytesMax: 1_000_000,
    fetch: createHttpApp(fakeNode()).fetch,
  });
  const send = (bytes: Uint8Array) =>
    new Promise<void>((resolve) => {
      const socket = connect(server.port, "127.0.0.1", () => socket.end(bytes));
      socket.setTimeout(500, () => socket.destroy());
      socket.on("error", () => {});
      socket.on("close", () => resolve());
      socket.resume();
    });
  for (let round = 0; round < 10; round++)
    await Promise.all(
      Array.from({ length: 50 }, () => {
        const text = mutated(
          "POST /v1/sql HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
          next,
        );
        const noise = Uint8Array.from({ length: Math.floor(next() * 200) }, () => Math.floor(next() * 256));
        return send(next() < 0.5 ? noise : new TextEncoder().encode(text));
      }),
    );
  expect((await fetch(`http://127.0.0.1:${server.port}/livez`)).status).toBe(200);
  await server.stop(1_000);
});
