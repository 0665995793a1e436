/** Every scenario with every client against a Rowlog node; each result must equal what the same gave on a real Apache Kafka. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chosenClients, missing } from "./clients.ts";
import { limiter } from "./limiter.ts";
import { Stage } from "./scenario.ts";
import { scenarios } from "./scenarios/index.ts";
import { startRowlog } from "./target.ts";
import { tried } from "./tries.ts";
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
      const perform = (suffix: string) =>
        atOnce(async () => {
          const stage = new Stage(client, target, scenario.name + suffix);
          try {
            const result = await scenario.run(stage);
            const expected = vectors?.results[scenario.name];
            if (expected === undefined)
              throw new Error(`nothing recorded for it: bun run test clients --against-kafka`);
            expect(JSON.parse(JSON.stringify(result))).toEqual(expected);
          } finally {
            await stage.end();
          }
        });
      const tries = () => tried(client, scenario.name, perform);
      (why === undefined ? test.concurrent : test.skip)(scenario.name, tries, 600_000);
    }
  });
}
