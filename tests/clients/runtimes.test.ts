/**
 * The node in its other two forms: the executable, started from an empty folder with nothing else to reach, and the same source under Deno. Each
 * takes rows from a Kafka client, answers SQL, hands the rows to a consumer, and stops in order.
 */
import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clients, startDriver } from "./clients.ts";
import { plainRecord, range } from "./scenario.ts";
import { freePort, RowlogNode, sql } from "./target.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const executable = join(project, "dist/rowlog");
const client = clients.find(({ name }) => name === "kafkajs");

async function roundTrip(node: RowlogNode): Promise<void> {
  await sql(node.http, "CREATE TABLE events (user VARCHAR, amount BIGINT)");
  if (client === undefined) throw new Error("there is no client kafkajs");
  const driver = startDriver(client);
  try {
    const records = range(0, 5).map((amount) => plainRecord(null, `{"user": "u", "amount": ${amount}}`, 0));
    const settings = { bootstrap: node.bootstrap, topic: "events", acks: "all", codec: "zstd", idempotent: true };
    await driver.must("produce", { ...settings, records });
    expect(await sql(node.http, "SELECT count(*), sum(amount)::BIGINT FROM events")).toEqual([[5, 10]]);
    const { records: read = [] } = await driver.must("consume", { ...settings, counts: { 0: 5 } });
    // Values that need no change keep their bytes.
    expect(read.map(({ value }) => value)).toEqual(records.map(({ value }) => value));
  } finally {
    await driver.kill();
  }
  expect(await node.end("SIGTERM")).toBe(0);
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rowlog-runtimes-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("the node", () => {
  // The build comes before the tests in continuous integration; elsewhere `npm run build` makes it.
  test.skipIf(!existsSync(executable) && process.env.CI !== "true")(
    "as an executable in an empty folder",
    () =>
      inFolder(async (folder) => {
        const empty = join(folder, "empty");
        mkdirSync(empty);
        copyFileSync(executable, join(empty, "rowlog"));
        const ports = { kafkaPort: await freePort(), httpPort: await freePort() };
        const place = { command: [join(empty, "rowlog")], cwd: empty, environment: { PATH: "", HOME: empty } };
        await roundTrip(await RowlogNode.start({ directory: join(empty, "lake"), ...ports, ...place }));
      }),
    180_000,
  );

  test(
    "from source under Deno",
    () =>
      inFolder(async (folder) => {
        const ports = { kafkaPort: await freePort(), httpPort: await freePort() };
        const command = [join(project, "node_modules/.bin/deno"), "run", "-A", join(project, "src/cli/main.ts")];
        await roundTrip(await RowlogNode.start({ directory: join(folder, "lake"), ...ports, command, cwd: project }));
      }),
    180_000,
  );
});
