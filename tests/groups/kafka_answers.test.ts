/** The same conversations as with Apache Kafka 4.4 end the same (recorded by record_answers.ts). */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestNode, type TestNode } from "../harness/node.ts";
import recorded from "../vectors/groups/answers.json";
import { type Line, playAll, scenarios } from "./scenarios.ts";

let node: TestNode;
let played: Record<string, Line[]>;
beforeAll(async () => {
  node = await startTestNode();
  played = await playAll(node.kafkaPort, "story");
}, 60_000);
afterAll(() => node.remove());

const expected = recorded as Record<string, Line[]>;
for (const name of Object.keys(scenarios)) test(name, () => expect(played[name]).toEqual(expected[name]!));
