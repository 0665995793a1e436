/** What the comparing cases share: their shape, and the topics and batches that they need. */

import type { Value } from "../twin.ts";
import type { Peer } from "./peer.ts";

export interface Case {
  name: string;
  /** What the broker answered, step by step. */
  run(peer: Peer): Promise<Value[]>;
  /** Names of steps (their index) where this node differs on purpose, with the reason. */
  differs?: Record<number, string>;
}

/** Makes a topic and gives its full name and id. */
export async function makeTopic(peer: Peer, name: string, partitions = 1, configs: [string, string][] = []) {
  const topic = {
    name: peer.prefix + name,
    numPartitions: partitions,
    replicationFactor: 1,
    configs: configs.map(([key, value]) => ({ name: key, value })),
  };
  const answer = await peer.raw("CreateTopics", 7, { topics: [topic], timeoutMs: 5000 });
  if (answer.topics[0].errorCode !== 0)
    throw new Error(`could not create ${topic.name}: ${answer.topics[0].errorMessage}`);
  // A broker with a controller of its own answers before it has taken the partitions over.
  const wanted = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp: -1 }));
  for (let tries = 0; tries < 200; tries++) {
    const { topics } = await peer.raw("ListOffsets", 7, { topics: [{ name: topic.name, partitions: wanted }] });
    if (topics[0].partitions.every((one: Value) => one.errorCode === 0)) break;
    await new Promise((done) => setTimeout(done, 10));
  }
  return { name: topic.name, id: answer.topics[0].topicId as string };
}

/** Runs the steps one after the other. */
export async function inTurn(steps: (() => Promise<Value>)[]): Promise<Value[]> {
  const answers: Value[] = [];
  for (const step of steps) answers.push(await step());
  return answers;
}

/** `{ api, version, fields }` for each, asked in turn. */
export function asks(peer: Peer, ...questions: Parameters<Peer["ask"]>[]): Promise<Value[]> {
  return inTurn(questions.map((question) => () => peer.ask(...question)));
}
