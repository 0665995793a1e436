import { describe, expect, test } from "bun:test";
import { tableFromIPC } from "apache-arrow";
import { type Clock, ManualClock, systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import type { TopicEntry } from "../../src/catalog/catalog.ts";
import type { PartitionLog } from "../../src/log/partition_log.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import type { ApplyRequest, Cursor } from "../../src/sql/messages.ts";
import { Applier } from "../../src/tables/applier.ts";
import { Table } from "../../src/tables/table.ts";

/** Numbers from 0 to below 1, the same for a seed. */
function randomNumbers(seed: number): () => number {
  const source = new SeededRandom(seed);
  return () => source.fraction();
}

/** The part of a log that the applier uses. */
class FakeLog {
  batches: Uint8Array[] = [];
  logEndOffset = 0;
  highWatermark = 0;
  logStartOffset = 0;
  private listeners = new Set<() => void>();

  append(count: number): { batch: Uint8Array; baseOffset: number } {
    const records = Array.from({ length: count }, (_, i) => ({
      value: `{"n":${this.logEndOffset + i}}`,
      timestamp: 1,
    }));
    const batch = encodeBatch(records);
    const baseOffset = this.logEndOffset;
    new BatchHeader(batch).baseOffset = baseOffset;
    this.batches.push(batch);
    this.logEndOffset += count;
    return { batch, baseOffset };
  }
  advance(): void {
    this.highWatermark = this.logEndOffset;
    for (const listener of this.listeners) listener();
  }
  onAdvance(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  read(offset: number): Uint8Array[] {
    const found = this.batches.filter((batch) => {
      const { lastOffset } = new BatchHeader(batch);
      return lastOffset >= offset && lastOffset < this.highWatermark;
    });
    return found.slice(0, 3);
  }
}

/** A database that applies all or nothing, and fails when it is told to: before the commit, or after it. */
class FakeTarget {
  rows: number[] = [];
  position = new Map<string, Cursor>();
  fail: "" | "before" | "after" = "";
  async apply({ inserts, cursors }: ApplyRequest): Promise<void> {
    await Promise.resolve();
    const { fail } = this;
    this.fail = "";
    if (fail === "before") throw new Error("failed before the commit");
    for (const insert of inserts)
      for (const row of tableFromIPC(insert.arrow).toArray())
        this.rows.push(Number(row._partition) * 1e9 + Number(row.n));
    for (const cursor of cursors) this.position.set(`${cursor.partition}`, cursor);
    if (fail === "after") throw new Error("failed after the commit");
  }
  async cursors(): Promise<Cursor[]> {
    return [...this.position.values()];
  }
}

const topic: TopicEntry = { name: "t", id: "id", partitions: 2, configs: new Map(), internal: false, createdMs: 0 };
const columns = [
  { name: "n", type: "BIGINT", notNull: false },
  { name: "_partition", type: "INTEGER", notNull: false },
];
const newTable = () =>
  new Table(topic, { schema: "main", name: "t", sql: "", columns, checks: [], unique: [], raw: false }, new Map());

function start(target: FakeTarget, logs: FakeLog[], table = newTable(), clock: Clock = systemClock): Applier {
  const applier = new Applier({ target, clock, logger: silentLogger });
  const next = (partition: number) => target.position.get(`${partition}`)?.nextOffset ?? 0;
  applier.add(table, logs as unknown as PartitionLog[], next);
  applier.start();
  return applier;
}

function enqueue(applier: Applier, table: Table, partition: number, batch: Uint8Array, baseOffset: number): void {
  const view = decodeBatch(batch);
  const decoded = table.decoder.decode(view, partition, table.missing);
  applier.enqueue("t", partition, table.appendedChunk(decoded, baseOffset, -1));
}

describe("applier", () => {
  for (let seed = 1; seed <= 20; seed++)
    test(`each row once, in order, whatever fails: seed ${seed}`, async () => {
      const random = randomNumbers(seed);
      const target = new FakeTarget();
      const logs = [new FakeLog(), new FakeLog()];
      const table = newTable();
      let applier = start(target, logs, table);
      for (let step = 0; step < 60; step++) {
        const chance = random();
        const partition = random() < 0.5 ? 0 : 1;
        const log = logs[partition]!;
        if (chance < 0.6) {
          const { batch, baseOffset } = log.append(1 + Math.floor(random() * 4));
          // Sometimes the queue has no room, and the rows come from the log.
          if (random() < 0.7) enqueue(applier, table, partition, batch, baseOffset);
          if (random() < 0.7) log.advance();
        } else if (chance < 0.7) log.advance();
        else if (chance < 0.75) target.fail = "before";
        else if (chance < 0.8) target.fail = "after";
        else if (chance < 0.85) applier.restarted();
        else if (chance < 0.9) {
          await applier.close();
          applier = start(target, logs, table);
        } else await applier.barrier().catch(() => undefined);
      }
      for (const log of logs) log.advance();
      target.fail = "";
      for (
        let i = 0;
        i < 50 &&
        (await applier.barrier().then(
          () => false,
          () => true,
        ));
        i++
      )
        await Bun.sleep(10);
      for (const partition of [0, 1]) {
        const rows = target.rows.filter((row) => Math.floor(row / 1e9) === partition).map((row) => row % 1e9);
        expect(rows).toEqual(Array.from({ length: logs[partition]!.logEndOffset }, (_, i) => i));
      }
      await applier.close();
    });

  test("nothing past the high watermark is applied, and rows whose append failed never are", async () => {
    const target = new FakeTarget();
    const log = new FakeLog();
    const table = newTable();
    const applier = start(target, [log], table);
    const lost = log.append(2);
    enqueue(applier, table, 0, lost.batch, lost.baseOffset);
    await applier.barrier();
    expect(target.rows).toEqual([]);
    // The write failed: the log gives the offsets to the next batch.
    log.batches = [];
    log.logEndOffset = 0;
    const kept = log.append(1);
    enqueue(applier, table, 0, kept.batch, kept.baseOffset);
    log.advance();
    await applier.barrier();
    expect(target.rows).toEqual([0]);
    await applier.close();
  });

  test("retention waits for what is applied and on disk", async () => {
    const target = new FakeTarget();
    const log = new FakeLog();
    const applier = start(target, [log]);
    log.append(3);
    log.advance();
    await applier.barrier();
    expect(applier.retainFrom("t", 0)).toBe(0);
    applier.mark()!.durable();
    expect(applier.retainFrom("t", 0)).toBe(3);
    expect(applier.mark()).toBe(undefined);
    expect(applier.retainFrom("plain", 0)).toBe(Number.POSITIVE_INFINITY);
    await applier.close();
  });

  test("a table whose rows cannot be applied does not hold up the others", async () => {
    const target = new FakeTarget();
    const apply = target.apply.bind(target);
    target.apply = async (request) => {
      if (request.cursors.some((cursor) => cursor.partition === 0)) throw new Error("partition 0 is poison");
      await apply(request);
    };
    const logs = [new FakeLog(), new FakeLog()];
    const applier = start(target, logs);
    for (const log of logs) log.append(2);
    for (const log of logs) log.advance();
    const failure = await applier.barrier().then(
      () => undefined,
      (error: Error) => error.message,
    );
    // Whoever does not need that table is not kept waiting.
    await applier.barrier(() => false);
    expect(failure).toContain('table "t" is behind the log and cannot catch up: partition 0 is poison');
    for (let i = 0; target.rows.length < 2 && i < 500; i++) await Bun.sleep(5);
    expect(target.rows).toEqual([1e9, 1e9 + 1]);
    await applier.close();
  });

  test("a barrier fails rather than hangs while the database refuses", async () => {
    const target = new FakeTarget();
    const log = new FakeLog();
    const applier = start(target, [log]);
    target.fail = "before";
    log.append(1);
    log.advance();
    const error = await applier.barrier().then(
      () => undefined,
      (failure: Error) => failure,
    );
    expect(error?.message).toContain("cannot catch up: failed before the commit");
    while (
      (await applier.barrier().then(
        () => 0,
        () => 1,
      )) === 1
    )
      await Bun.sleep(5);
    expect(target.rows).toEqual([0]);
    await applier.close();
  });
});

test("records under offsets that a power cut took from the log are applied, though the cursor was past them", async () => {
  const target = new FakeTarget();
  target.position.set("0", { topicId: "id", partition: 0, nextOffset: 5 });
  const log = new FakeLog();
  log.append(2);
  log.advance();
  const applier = start(target, [log]);
  await applier.barrier();
  expect(target.rows).toEqual([]);
  log.append(2);
  log.advance();
  await applier.barrier();
  expect(target.rows).toEqual([2, 3]);
  expect(target.position.get("0")?.nextOffset).toBe(4);
  await applier.close();
});

test("behind a long transaction rows wait for more, not when they are awaited or the log is behind", async () => {
  const clock = new ManualClock();
  const target = new FakeTarget();
  const apply = target.apply.bind(target);
  let transactionMs = 100;
  target.apply = async (request) => {
    clock.advance(transactionMs);
    await apply(request);
  };
  const log = new FakeLog();
  const table = newTable();
  const applier = start(target, [log], table, clock);
  const produce = async (isQueued: boolean) => {
    const { batch, baseOffset } = log.append(1);
    if (isQueued) enqueue(applier, table, 0, batch, baseOffset);
    log.advance();
    for (let pass = 0; pass < 20; pass++) await Promise.resolve();
  };
  await produce(true);
  expect(target.rows).toEqual([0]);
  await produce(true);
  expect(target.rows).toEqual([0]);
  await applier.barrier();
  expect(target.rows).toEqual([0, 1]);
  await produce(false);
  expect(target.rows).toEqual([0, 1, 2]);
  await produce(true);
  expect(target.rows).toEqual([0, 1, 2]);
  transactionMs = 1;
  clock.advance(200);
  for (let pass = 0; pass < 20; pass++) await Promise.resolve();
  expect(target.rows).toEqual([0, 1, 2, 3]);
  await produce(true);
  expect(target.rows).toEqual([0, 1, 2, 3, 4]);
  await applier.close();
});
