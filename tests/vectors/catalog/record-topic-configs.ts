/**
 * Records how an Apache Kafka broker answers changes of topic configs, as vectors for tests/catalog.
 *
 *   bun tests/vectors/catalog/record-topic-configs.ts HOST PORT > tests/vectors/catalog/topic_config_changes.jsonl
 *
 * Each line: the steps made on a fresh topic, and for each step the error code, the message, and what is then set on the topic.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { decodeResponse, encodeRequest } from "../../../src/protocol/frames.ts";
import type { ApiKey, RequestOf, ResponseOf } from "../../../src/protocol/generated/index.ts";

type Step =
  | { create: [name: string, value: string | null][] }
  | { alter: [name: string, value: string | null][] }
  | { incremental: [name: string, operation: number, value: string | null][] };

const [host = "127.0.0.1", port = "9092"] = process.argv.slice(2);
const socket = connect(Number(port), host);
let received = Buffer.alloc(0);
const waiting: ((frame: Uint8Array) => void)[] = [];
socket.on("data", (bytes: Buffer) => {
  received = Buffer.concat([received, bytes]);
  while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
    const end = 4 + received.readInt32BE(0);
    waiting.shift()!(received.subarray(4, end));
    received = received.subarray(end);
  }
});

async function call<K extends ApiKey>(key: K, version: number, body: RequestOf<K>): Promise<ResponseOf<K>> {
  const answer = new Promise<Uint8Array>((resolve) => waiting.push(resolve));
  for (const chunk of encodeRequest(key, version, 1, "recorder", body)) socket.write(chunk);
  return decodeResponse(key, version, await answer).body;
}

async function run(topic: string, step: Step): Promise<{ code: number; message: string | null }> {
  const resource = { resourceType: 2, resourceName: topic };
  if ("create" in step) {
    const configs = step.create.map(([name, value]) => ({ name, value }));
    const asked = { name: topic, numPartitions: 1, replicationFactor: 1, assignments: [], configs };
    const made = await call(19, 7, { topics: [asked], timeoutMs: 5000, validateOnly: false });
    return { code: made.topics[0]!.errorCode, message: made.topics[0]!.errorMessage };
  }
  if ("alter" in step) {
    const configs = step.alter.map(([name, value]) => ({ name, value }));
    const answer = await call(33, 2, { resources: [{ ...resource, configs }], validateOnly: false });
    return { code: answer.responses[0]!.errorCode, message: answer.responses[0]!.errorMessage };
  }
  const configs = step.incremental.map(([name, configOperation, value]) => ({ name, configOperation, value }));
  const answer = await call(44, 1, { resources: [{ ...resource, configs }], validateOnly: false });
  return { code: answer.responses[0]!.errorCode, message: answer.responses[0]!.errorMessage };
}

async function setOn(topic: string): Promise<Record<string, string | null>> {
  const resources = [{ resourceType: 2, resourceName: topic, configurationKeys: null }];
  const answer = await call(32, 4, { resources, includeSynonyms: false, includeDocumentation: false });
  const set = answer.results[0]!.configs.filter((config) => config.configSource === 1);
  return Object.fromEntries(set.map((config) => [config.name, config.value] as const).sort());
}

const scripts = readFileSync(join(import.meta.dirname, "topic_config_steps.jsonl"), "utf8").trim().split("\n");
const run0 = Date.now();
for (const [number, text] of scripts.entries()) {
  const steps = JSON.parse(text) as Step[];
  const topic = `configs-${run0}-${number}`;
  if (!("create" in steps[0]!)) await run(topic, { create: [] });
  const results = [];
  for (const step of steps) {
    const { code, message } = await run(topic, step);
    await new Promise((resolve) => setTimeout(resolve, 30));
    results.push({ ...step, code, message: message?.replaceAll(topic, "TOPIC") ?? null, set: await setOn(topic) });
  }
  console.log(JSON.stringify(results));
}
socket.end();
