/**
 * Records what an Apache Kafka broker answers: `bun tests/protocol/parity/record.ts PORT > tests/vectors/protocol/parity.jsonl`
 * (the broker's node id must be 1, as scripts/kafka-reference.ts makes it). A line: a case and its answers.
 */
import { cases, runCase } from "./cases.ts";
import { Peer } from "./peer.ts";

/** A new broker has no producer ids to give and no coordinators yet. */
async function waitUntilReady(port: number): Promise<void> {
  const peer = await Peer.open(port, "ready-");
  for (let ready = false; !ready; ) {
    const group = { groupId: "ready", sessionTimeoutMs: 10_000, memberId: "nobody", protocolType: "consumer" };
    const joined = await peer.raw("JoinGroup", 5, {
      ...group,
      protocols: [{ name: "x", metadata: new Uint8Array(0) }],
    });
    const { errorCode } = await peer.raw("InitProducerId", 4, { transactionalId: null, transactionTimeoutMs: 1000 });
    await peer.raw("FindCoordinator", 3, { key: "ready" });
    ready = joined.errorCode === 25 && errorCode === 0;
    await new Promise((done) => setTimeout(done, 100));
  }
  peer.close();
}

const port = Number(process.argv[2] ?? 9092);
const only = process.argv[3];
await waitUntilReady(port);
for (const [index, one] of cases.entries()) {
  if (only !== undefined && !one.name.includes(only)) continue;
  console.log(JSON.stringify({ name: one.name, answers: await runCase(one, port, `r${Date.now()}-${index}-`) }));
}
