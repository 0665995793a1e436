/**
 * Every client reads logs with holes to their end, and on from there (case C28): records that are missing inside of batches, batches of
 * which only the header is left, offsets that no batch covers, all of these at the end, and a log that has nothing else.
 * The logs are written as compaction and skipped change events leave them; a partition for each layout.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { LogStore } from "../../src/log/log_store.ts";
import { nodeDisk } from "../../src/platform/node_disk.ts";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { rewriteRecords } from "../../src/protocol/records/rewrite.ts";
import { chosenClients, missing } from "./clients.ts";
import { limiter } from "./limiter.ts";
import { asText, plainRecord, range, Stage } from "./scenario.ts";
import { createTopic, freePort, RowlogNode, type Target } from "./target.ts";

const batchCount = 10;
const batchRecords = 10;

/** Which of the offsets 0 to 99 have a record; a batch of ten that has none leaves its header. */
const layouts: { name: string; isGone: (offset: number) => boolean; codec?: 3; lacks?: number }[] = [
  { name: "offsets 40 to 60", isGone: (offset) => offset >= 40 && offset <= 60 },
  { name: "the last ten", isGone: (offset) => offset >= 90 },
  { name: "the first ten", isGone: (offset) => offset < 10 },
  { name: "every second one, lz4", isGone: (offset) => offset % 2 === 1, codec: 3 },
  { name: "everything", isGone: () => true },
  { name: "all but the first, and the last of batches", isGone: (offset) => offset % 10 > 0 },
  { name: "the middle, without a header", isGone: (offset) => offset >= 50 && offset < 60, lacks: 5 },
];

const atOnce = limiter(4);
const folder = mkdtempSync(join(tmpdir(), "rowlog-holes-"));
const directory = join(folder, "lake");
let node: RowlogNode | undefined;
let target: Target;

async function start(): Promise<RowlogNode> {
  const [kafkaPort, httpPort] = [await freePort(), await freePort()];
  return await RowlogNode.start({ directory, kafkaPort, httpPort });
}

/** Writes the logs of a topic that has none yet, with the node stopped. */
async function writeLogs(topic: string): Promise<void> {
  const options = { durability: "os", clock: systemClock, logger: silentLogger } as const;
  const store = LogStore.open(nodeDisk(), `${directory}/log`, options);
  for (const [partition, { isGone, codec = 0, lacks }] of layouts.entries()) {
    const log = store.create(topic, partition);
    for (const batch of range(0, batchCount)) {
      const first = batch * batchRecords;
      const records = range(first, first + batchRecords).map((offset) => ({ key: `k${offset}`, value: `v${offset}` }));
      const whole = encodeBatch(records, { codec, timestamp: 1_700_000_000_000 + batch });
      const dropped = new Uint8Array(range(first, first + batchRecords).map((offset) => (isGone(offset) ? 1 : 0)));
      log.append(rewriteRecords(decodeBatch(whole), { dropped }, codec));
    }
    await log.idle();
    if (lacks !== undefined) await takeOut(topic, partition, lacks);
  }
  await store.close();
}

/** Takes a batch out of the middle of a segment file, so that nothing covers its offsets. */
async function takeOut(topic: string, partition: number, batch: number): Promise<void> {
  const file = nodeDisk().open(`${directory}/log/${topic}-${partition}/00000000000000000000.log`, { write: true });
  try {
    const bytes = new Uint8Array(file.size());
    file.read(bytes, 0);
    let at = 0;
    const size = () => new DataView(bytes.buffer).getInt32(at + 8) + 12;
    for (let passed = 0; passed < batch; passed++) at += size();
    file.write(bytes.slice(at + size()), at);
    file.truncate(bytes.length - size());
  } finally {
    file.close();
  }
}

const topicOf = (client: string) => `holes-${client}`;

beforeAll(async () => {
  node = await start();
  for (const { name } of chosenClients()) await createTopic(node.bootstrap, topicOf(name), layouts.length);
  await node.end("SIGTERM");
  for (const { name } of chosenClients()) await writeLogs(topicOf(name));
  // What the store's clean stop says of the files is older than what was cut out of them: the next start checks them all.
  for (const name of ["rowlog-clean-stop", "rowlog-checkpoint"]) rmSync(`${directory}/log/${name}`, { force: true });
  node = await start();
  target = { bootstrap: node.bootstrap, stop: async () => undefined };
}, 120_000);

afterAll(async () => {
  await node?.end("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

for (const client of chosenClients()) {
  const why = missing(client);
  const perform = () =>
    atOnce(async () => {
      const stage = new Stage(client, target, "holes");
      try {
        const topic = topicOf(client.name);
        const left = layouts.map(({ isGone }) =>
          range(0, batchCount * batchRecords).filter((offset) => !isGone(offset)),
        );
        const counts = Object.fromEntries(left.map((offsets, partition) => [partition, offsets.length + 1]));
        const consuming = stage.driver().must("consume", { bootstrap: stage.bootstrap, topic, counts });
        consuming.catch(() => undefined);
        // Time to reach the end of each partition, which for some is a hole, and to wait there.
        await new Promise((wake) => setTimeout(wake, 2_000));
        const records = layouts.map((_, partition) => plainRecord("last", `after ${partition}`, partition));
        const settings = { bootstrap: stage.bootstrap, topic, acks: "all", codec: "none", idempotent: false };
        await stage.driver().must("produce", { ...settings, records });
        const { records: consumed = [] } = await consuming;
        for (const [partition, { name }] of layouts.entries()) {
          const seen = consumed.filter((record) => record.partition === partition);
          const expected = left[partition]!.map((offset) => [offset, `v${offset}`]);
          const shown = seen.map(({ offset, value }) => [offset, asText(value)]);
          expect([name, ...shown]).toEqual([name, ...expected, [100, `after ${partition}`]]);
        }
      } finally {
        await stage.end();
      }
    });
  describe(client.name, () => {
    (why === undefined ? test.concurrent : test.skip)("reads on behind holes", perform, 600_000);
  });
}

test("HTTP reads lead to the end of each log", async () => {
  const topic = topicOf(chosenClients()[0]!.name);
  for (const partition of layouts.keys()) {
    let offset = 0;
    let isOver = false;
    for (let reads = 0; reads < 20 && !isOver; reads++) {
      const path = `/v1/topics/${topic}/records?partition=${partition}&offset=${offset}&limit=7`;
      const answer = (await (await fetch(node!.http + path)).json()) as { next_offset: number; high_watermark: number };
      expect(answer.next_offset).toBeGreaterThan(offset);
      offset = answer.next_offset;
      isOver = offset === answer.high_watermark;
    }
    expect([partition, isOver]).toEqual([partition, true]);
  }
}, 60_000);
