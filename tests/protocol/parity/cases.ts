/** All cases, and how one is run on a broker. */
import type { Value } from "../twin.ts";
import type { Case } from "./case.ts";
import { frameCases } from "./frame_cases.ts";
import { groupCases } from "./group_cases.ts";
import { Peer } from "./peer.ts";
import { recordCases } from "./record_cases.ts";
import { replicaCases } from "./replica_cases.ts";
import { topicCases } from "./topic_cases.ts";

export const cases: readonly Case[] = [...frameCases, ...topicCases, ...recordCases, ...replicaCases, ...groupCases];

/** The answers of the broker on `port`, with what differs from run to run replaced. */
export async function runCase(one: Case, port: number, prefix: string): Promise<Value[]> {
  const peer = await Peer.open(port, prefix);
  try {
    return JSON.parse(JSON.stringify(await one.run(peer))) as Value[];
  } finally {
    peer.close();
  }
}
