/**
 * The node's answers beside those of an Apache Kafka 4.4 broker (tests/vectors/protocol/parity.jsonl, made by parity/record.ts).
 * A message of ours where Kafka has none is no difference, nor is the log start offset beside an error.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startTestNode, type TestNode } from "../harness/node.ts";
import { cases, runCase } from "./parity/cases.ts";
import type { Value } from "./twin.ts";

const file = join(import.meta.dirname, "../vectors/protocol/parity.jsonl");
const recorded = new Map(
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { name: string; answers: Value[] })
    .map(({ name, answers }) => [name, answers]),
);

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.remove());

/** Ours with what is no difference taken from Kafka's. */
function aligned(ours: Value, theirs: Value): Value {
  if (Array.isArray(ours) && Array.isArray(theirs)) return ours.map((item, index) => aligned(item, theirs[index]));
  if (!ours || !theirs || typeof ours !== "object" || typeof theirs !== "object") return ours;
  const value = Object.fromEntries(Object.entries(ours).map(([key, item]) => [key, aligned(item, theirs[key])]));
  if (value.errorMessage === "MESSAGE" && !theirs.errorMessage && "errorMessage" in theirs) {
    value.errorMessage = theirs.errorMessage;
  }
  if (value.errorCode !== 0 && value.errorCode === theirs.errorCode && "baseOffset" in value) {
    value.logStartOffset = theirs.logStartOffset;
  }
  return value;
}

for (const [index, one] of cases.entries()) {
  test(one.name, async () => {
    const theirs = recorded.get(one.name);
    if (!theirs) throw new Error("not recorded: run tests/protocol/parity/record.ts against an Apache Kafka broker");
    const ours = await runCase(one, node.kafkaPort, `p${index}-`);
    expect(ours).toHaveLength(theirs.length);
    for (const [step, answer] of ours.entries()) {
      const title = `step ${step}`;
      const reason = one.differs?.[step];
      if (reason === undefined) expect(aligned(answer, theirs[step]), title).toEqual(theirs[step]);
      else expect(aligned(answer, theirs[step]), `${title} no longer differs: ${reason}`).not.toEqual(theirs[step]);
    }
  });
}
