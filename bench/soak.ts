/**
 * Mixed traffic at a set rate for a long time: single produces, a consumer at the tail, SQL reads and a table that is written and kept small,
 * a group that commits and whose members come and go. Each minute one line tells latencies, resident memory, open files and backlog, so
 * that what grows or gets slower is seen.
 *
 *   bun bench/soak.ts [--minutes N] [--rate N] [--durability sync|os]
 *
 * Ends with status 1 at the first error, or when an acknowledged record did not reach the consumer or the table.
 */
import { parseArgs } from "node:util";
import { newFindCoordinatorRequest } from "../src/protocol/generated/find_coordinator_request.ts";
import { newHeartbeatRequest } from "../src/protocol/generated/heartbeat_request.ts";
import { newJoinGroupRequest } from "../src/protocol/generated/join_group_request.ts";
import { newLeaveGroupRequest } from "../src/protocol/generated/leave_group_request.ts";
import { newOffsetCommitRequest } from "../src/protocol/generated/offset_commit_request.ts";
import { newSyncGroupRequest } from "../src/protocol/generated/sync_group_request.ts";
import { encodeBatch } from "../src/protocol/records/encode.ts";
import { sql } from "../tests/clients/target.ts";
import { startNodeProcess } from "../tests/harness/process.ts";
import { Wire } from "../tests/harness/wire.ts";
import { cpuSeconds, openFiles, residentMib } from "./load/machine.ts";
import { fetchedFrom, fetchFrame, percentile, producedAt, produceFrame, RawConnection } from "./load/raw.ts";
import { createTopic } from "./load/systems.ts";

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    rate: { type: "string", default: "200" },
    durability: { type: "string", default: "sync" },
  },
});
const minutes = Number(options.minutes);
const rate = Number(options.rate);
if (!(minutes > 0 && rate > 0)) {
  console.error("--minutes and --rate take a number above 0");
  process.exit(2);
}

const node = await startNodeProcess(["--durability", options.durability]);
const http = `http://127.0.0.1:${node.httpPort}`;
const endMs = performance.now() + minutes * 60_000;
const isOver = () => performance.now() >= endMs;
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

/** Milliseconds of what was done since the last line, by kind. */
const spent = { produce: [] as number[], tail: [] as number[], sql: [] as number[], group: [] as number[] };
let produced = 0;
let consumed = 0;
let rowsProduced = 0;

async function timed<Value>(kind: keyof typeof spent, work: () => Promise<Value>): Promise<Value> {
  const began = performance.now();
  const value = await work();
  spent[kind].push(performance.now() - began);
  return value;
}

/** Calls `step` `perSecond` times a second, late ones at once, until the time is over. */
async function paced(perSecond: number, step: (at: number) => Promise<void>): Promise<void> {
  const began = performance.now();
  for (let at = 0; !isOver(); at++) {
    const waitMs = began + (at * 1000) / perSecond - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    await step(at);
  }
}

const record = (value: string) => encodeBatch([{ key: "k", value, timestamp: Date.now() }]);

async function produceEvents(): Promise<void> {
  const connection = await RawConnection.open(node.kafkaPort);
  await paced(rate, async (at) => {
    await timed("produce", async () => {
      connection.send(produceFrame("soak", at % 4, record(`event ${at} ${"x".repeat(at % 700)}`)));
      producedAt(await connection.answer());
    });
    produced++;
  });
  connection.close();
}

async function produceRows(): Promise<void> {
  const connection = await RawConnection.open(node.kafkaPort);
  await paced(rate / 4, async (at) => {
    await timed("produce", async () => {
      connection.send(produceFrame("soak_rows", 0, record(`{"id": ${at}, "name": "row ${at}"}`)));
      producedAt(await connection.answer());
    });
    rowsProduced++;
  });
  connection.close();
}

/** Follows one partition; ends once everything that was acknowledged has come, or 10 s after the last record. */
async function followTail(partition: number, expected: () => number): Promise<void> {
  const connection = await RawConnection.open(node.kafkaPort);
  let offset = 0;
  for (let idle = 0; idle < 20; ) {
    const began = performance.now();
    connection.send(fetchFrame("soak", partition, offset, 500));
    const { nextOffset } = fetchedFrom(await connection.answer(), offset);
    if (nextOffset > offset) spent.tail.push(performance.now() - began);
    idle = nextOffset > offset || !isOver() ? 0 : idle + 1;
    consumed += nextOffset - offset;
    offset = nextOffset;
    if (isOver() && consumed >= expected()) break;
  }
  connection.close();
}

async function query(): Promise<void> {
  await paced(2, async (at) => {
    const before = rowsProduced;
    const [[count] = []] = await timed("sql", () => sql(http, "SELECT count(*) FROM soak_rows"));
    // A read sees every write that was acknowledged before it.
    if (Number(count) < before) throw new Error(`the table has ${count} rows after ${before} were acknowledged`);
    if (at % 4 === 0)
      await timed("sql", () => sql(http, `SELECT name FROM soak_rows WHERE id >= ${before - 50} ORDER BY id LIMIT 50`));
  });
}

/** One member after another joins, commits some offsets, beats its heart, and leaves. */
async function useGroup(): Promise<void> {
  const wire = await Wire.open(node.kafkaPort);
  const groupId = "soak-group";
  await wire.call(10, 4, newFindCoordinatorRequest({ keyType: 0, coordinatorKeys: [groupId] }));
  await paced(1, async (at) => {
    await timed("group", async () => {
      const protocols = [{ name: "range", metadata: new Uint8Array([0, 1, 0, 0, 0, 0, 0, 0, 0, 0]) }];
      const join = {
        groupId,
        sessionTimeoutMs: 10_000,
        rebalanceTimeoutMs: 10_000,
        protocolType: "consumer",
        protocols,
      };
      const first = await wire.call(11, 9, newJoinGroupRequest({ ...join, memberId: "" }));
      const joined = await wire.call(11, 9, newJoinGroupRequest({ ...join, memberId: first.memberId }));
      const member = { groupId, memberId: joined.memberId, generationId: joined.generationId };
      const assignments = [{ memberId: joined.memberId, assignment: new Uint8Array([0]) }];
      const synced = await wire.call(
        14,
        5,
        newSyncGroupRequest({ ...member, protocolType: "consumer", protocolName: "range", assignments }),
      );
      const partitions = [0, 1, 2, 3].map((partitionIndex) => ({
        partitionIndex,
        committedOffset: BigInt(at),
        committedLeaderEpoch: -1,
        committedMetadata: "",
      }));
      const commit = { ...member, generationIdOrMemberEpoch: joined.generationId };
      const committed = await wire.call(
        8,
        8,
        newOffsetCommitRequest({ ...commit, topics: [{ name: "soak", topicId: noTopicId, partitions }] }),
      );
      const beat = await wire.call(12, 4, newHeartbeatRequest(member));
      const left = await wire.call(
        13,
        5,
        newLeaveGroupRequest({
          groupId,
          members: [{ memberId: joined.memberId, groupInstanceId: null, reason: null }],
        }),
      );
      const codes = [joined, synced, beat, left].map(({ errorCode }) => errorCode);
      for (const { partitions: answers } of committed.topics) codes.push(...answers.map(({ errorCode }) => errorCode));
      if (codes.some((code) => code !== 0)) throw new Error(`the group answered errors ${codes.join(", ")}`);
    });
  });
  wire.close();
}

const noTopicId = "00000000-0000-0000-0000-000000000000";

/** p50, p99 and largest milliseconds of a kind, and forgets them. */
function latencies(kind: keyof typeof spent): string {
  const values = spent[kind];
  spent[kind] = [];
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => percentile(values, share).toFixed(1));
  return `${kind} ${values.length}: ${p50}/${p99}/${most}`;
}

function say(minute: number): void {
  const { pid } = node.child;
  const memory = `resident ${residentMib(pid!).toFixed(0)} MiB, ${openFiles(pid!)} files, processor ${cpuSeconds(pid!).toFixed(1)} s`;
  const kinds = (["produce", "tail", "sql", "group"] as const).map(latencies).join("  ");
  console.log(`minute ${minute}  ${memory}, behind ${produced - consumed}  ms p50/p99/max  ${kinds}`);
}

await createTopic(node.kafkaPort, "soak", 4);
await sql(http, "CREATE TABLE soak_rows (id BIGINT, name VARCHAR)");
let minute = 0;
const ticking = setInterval(() => say(++minute), 60_000);
try {
  const tails = [0, 1, 2, 3].map((partition) => followTail(partition, () => produced));
  await Promise.all([produceEvents(), produceRows(), query(), useGroup(), ...tails]);
  const [[count] = []] = await sql(http, "SELECT count(*) FROM soak_rows");
  if (consumed !== produced || Number(count) !== rowsProduced) {
    console.error(
      `acknowledged ${produced} events and ${rowsProduced} rows; consumed ${consumed}, in the table ${count}`,
    );
    process.exitCode = 1;
  }
  say(minutes);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  clearInterval(ticking);
  await node.remove();
}
