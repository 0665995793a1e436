/** Every client with topics that are tables: rows in, SQL out, the table's log followed. */
import { afterAll, beforeAll, describe, test } from "bun:test";
import { chosenClients, missing } from "./clients.ts";
import { limiter } from "./limiter.ts";
import { Stage } from "./scenario.ts";
import { sqlWriteScenarios } from "./scenarios/sql_writes.ts";
import { tableScenarios } from "./scenarios/tables.ts";
import { startRowlog } from "./target.ts";
import { tried } from "./tries.ts";

type Started = Awaited<ReturnType<typeof startRowlog>>;
let target: Started;
const atOnce = limiter(4);

beforeAll(async () => {
  target = await startRowlog();
});

afterAll(async () => {
  await target?.stop();
});

for (const client of chosenClients()) {
  const why = missing(client);
  describe(client.name, () => {
    for (const scenario of [...tableScenarios, ...sqlWriteScenarios]) {
      const perform = (suffix: string) =>
        atOnce(async () => {
          const stage = new Stage(client, target, scenario.name + suffix);
          try {
            await scenario.run(stage);
          } finally {
            await stage.end();
          }
        });
      const tries = () => tried(client, scenario.name, perform);
      (why === undefined ? test.concurrent : test.skip)(scenario.name, tries, 600_000);
    }
  });
}
