/** Every scenario with every client against a Rowlog node; each result must equal what the same gave on a real Apache Kafka. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chosenClients, missing } from "./clients.ts";
import { limiter } from "./limiter.ts";
import { Stage } from "./scenario.ts";
import { scenarios } from "./scenarios/index.ts";
import { startRowlog } from "./target.ts";
import { readVectors } from "./vectors.ts";

type Started = Awaited<ReturnType<typeof startRowlog>>;
let target: Started;
const atOnce = limiter(5);

beforeAll(async () => {
  target = await startRowlog();
});

afterAll(async () => {
  await target?.stop();
});

for (const client of chosenClients()) {
  const why = missing(client);
  const vectors = readVectors(client.name);
  describe(client.name, () => {
    if (why !== undefined) console.log(`skipped: ${client.name}: ${why}`);
    for (const scenario of scenarios) {
      if (scenario.applies?.(client) === false) continue;
      const perform = (attempt = 1): Promise<void> =>
        atOnce(async () => {
          // Topics and groups of its own for each try.
          const stage = new Stage(client, target, attempt === 1 ? scenario.name : `${scenario.name}-${attempt}`);
          try {
            const result = await scenario.run(stage);
            const expected = vectors?.results[scenario.name];
            if (expected === undefined)
              throw new Error(`nothing recorded for it: bun run test clients --against-kafka`);
            expect(JSON.parse(JSON.stringify(result))).toEqual(expected);
          } finally {
            await stage.end();
          }
        }).catch((error: Error) => {
          // kafka-python 3.0.12 at times stops to send any request once it is assigned its partitions: its log ends with the offsets that it
          // has reset, and it spins (on Apache Kafka it stalls too). The driver avoids one cause of that (drivers/kafka_python.py).
          if (client.name !== "kafka-python" || attempt === 3) throw error;
          console.error(`try ${attempt} failed: ${client.name} ${scenario.name}: ${error.message}`);
          return perform(attempt + 1);
        });
      (why === undefined ? test.concurrent : test.skip)(scenario.name, () => perform(), 600_000);
    }
  });
}
