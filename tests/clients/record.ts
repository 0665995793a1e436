/**
 * Records what the scenarios give on a real Apache Kafka: `bun tests/clients/record.ts [CLIENT[:SCENARIO]...]`. What a run does not
 * cover is kept. Look at the difference before it is committed: a vector is the definition of right for that client.
 */
import { versions } from "../../scripts/install-clients.ts";
import { type ClientDefinition, clients, missing, startDriver } from "./clients.ts";
import { type Scenario, Stage } from "./scenario.ts";
import { scenarios } from "./scenarios/index.ts";
import { startReference, type Target } from "./target.ts";
import { readVectors, writeVectors } from "./vectors.ts";

async function recordOne(client: ClientDefinition, scenario: Scenario, target: Target): Promise<unknown> {
  const stage = new Stage(client, target, scenario.name);
  try {
    return await scenario.run(stage);
  } finally {
    await stage.end();
  }
}

async function recordClient(client: ClientDefinition, only: readonly string[], target: Target): Promise<number> {
  const hello = startDriver(client);
  const { client: name, version } = await hello.must("hello");
  await hello.kill();
  const provenance = {
    broker: `Apache Kafka ${versions.kafka}, one KRaft node, scripts/kafka-reference.ts`,
    client: `${name} ${version}`,
    command: "bun run test clients --against-kafka",
  };
  const results = { ...readVectors(client.name)?.results };
  let failures = 0;
  const chosen = scenarios.filter(
    (one) => one.applies?.(client) !== false && (only.length === 0 || only.includes(one.name)),
  );
  await Promise.all(
    chosen.map(async (scenario) => {
      try {
        results[scenario.name] = await recordOne(client, scenario, target);
        console.log(`recorded ${client.name} ${scenario.name}`);
      } catch (error) {
        failures++;
        console.log(`failed   ${client.name} ${scenario.name}: ${error instanceof Error ? error.message : error}`);
      }
    }),
  );
  writeVectors(client.name, { provenance, results });
  return failures;
}

const wanted = process.argv.slice(2);
const target = await startReference();
let failures = 0;
try {
  for (const client of clients) {
    const mine = wanted.filter((word) => word.split(":")[0] === client.name);
    if (wanted.length > 0 && mine.length === 0) continue;
    const why = missing(client);
    if (why !== undefined) console.log(`skipped  ${client.name}: ${why}`);
    else
      failures += await recordClient(
        client,
        mine.flatMap((word) => word.split(":").slice(1)),
        target,
      );
  }
} finally {
  await target.stop();
}
process.exit(failures > 0 ? 1 : 0);
