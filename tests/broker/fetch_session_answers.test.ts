/** Fetch sessions end as with Apache Kafka 4.4 (recorded by fetch_conversation.ts). */
import { expect, test } from "bun:test";
import { startTestNode } from "../harness/node.ts";
import recorded from "../vectors/broker/fetch_sessions.json";
import { converse, type FetchLine } from "./fetch_conversation.ts";

test("the same conversation, the same answers", async () => {
  const node = await startTestNode();
  try {
    const answers = await converse(node.kafkaPort, "fetch");
    const expected = recorded as FetchLine[];
    for (const [index, line] of expected.entries()) expect(answers[index]).toEqual(line);
    expect(answers).toHaveLength(expected.length);
  } finally {
    await node.remove();
  }
}, 30_000);
