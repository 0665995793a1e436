/**
 * Random work on a compacted log over a simulated disk, the power cut at a random change, and the same again on what
 * survived. After every start: what is read is what was sent at that offset; the last record of each key is there, unless it
 * deletes the key; a deleted key does not come back; a record that is gone was replaced; every offset below the end is
 * answered; the last batch of each producer is recognised. ROWLOG_SEEDS=first-last runs other seeds.
 */
import { test } from "bun:test";
import { ManualClock } from "../../src/base/clock.ts";
import { KafkaError } from "../../src/base/kafka_error.ts";
import { defaultLogConfig, type LogConfig } from "../../src/log/log_config.ts";
import { type Durability, LogStore, type PartitionLog } from "../../src/log/log_store.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { baseTime, listeningLogger } from "./helpers.ts";

interface Sent {
  offset: number;
  key: string;
  value: string | null;
  state: "sent" | "acknowledged" | "refused";
}

interface SentBatch {
  bytes: Uint8Array;
  baseOffset: number;
  producer: number;
  records: Sent[];
}

function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : new TextDecoder().decode(bytes));
const hour = 3_600_000;

class World {
  readonly random: SeededRandom;
  readonly clock = new ManualClock(baseTime);
  readonly logger = listeningLogger();
  readonly disk: SimDisk;
  readonly config: LogConfig;
  readonly durability: Durability;
  readonly mapBytes: number;
  records: Sent[] = [];
  batches: SentBatch[] = [];
  readonly sequences = new Map<number, number>();
  start = 0;
  compactions = 0;
  store: LogStore;
  private made = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const { random } = this;
    this.durability = seed % 7 === 0 ? "os" : "sync";
    this.disk = new SimDisk({ random, capacity: 1 << 28, nowMs: () => this.clock.nowMs() });
    this.mapBytes = random.pick([24 * 16, 24 * 30, 1 << 16]);
    this.config = {
      ...defaultLogConfig,
      compacted: true,
      deleteOld: random.chance(0.2),
      retentionMs: 40 * hour,
      segmentBytes: random.pick([300, 700, 2_000]),
      indexIntervalBytes: random.pick([0, 200, 4_096]),
      minCleanableDirtyRatio: random.pick([0, 0.3]),
      deleteRetentionMs: random.pick([0, hour]),
    };
    this.store = this.open();
  }

  open(): LogStore {
    const { clock, logger, durability, mapBytes } = this;
    return LogStore.open(this.disk, "/lake/log", {
      durability,
      clock,
      logger,
      schedule: queueMicrotask,
      compaction: { mapBytes, bytesPerSecond: Number.POSITIVE_INFINITY },
    });
  }

  get log(): PartitionLog {
    return this.store.create("t", 0, { topicId: "AAAAAAAAAAAAAAAAAAAAAQ", config: this.config });
  }

  append(): void {
    const { random } = this;
    const pairs = Array.from({ length: 1 + random.below(4) }, () => ({
      key: `k${random.below(9)}`,
      value: random.chance(0.25) ? null : `v${this.made++}-${"x".repeat(random.pick([0, 20, 150]))}`,
    }));
    const producer = random.below(4);
    const sequence = this.sequences.get(producer) ?? 0;
    const bytes = encodeBatch(pairs, {
      timestamp: this.clock.nowMs(),
      codec: random.pick([0, 0, 3]),
      ...(producer > 0 && { producerId: BigInt(producer), producerEpoch: 0, baseSequence: sequence }),
    });
    const { baseOffset, duplicate, done } = this.log.append(bytes);
    must(!duplicate, `a new batch is taken for a repeat of offset ${baseOffset}`);
    if (producer > 0) this.sequences.set(producer, sequence + pairs.length);
    const records: Sent[] = pairs.map((pair, i) => ({ ...pair, offset: baseOffset + i, state: "sent" }));
    this.records.push(...records);
    this.batches.push({ bytes: bytes.slice(), baseOffset, producer, records });
    const settle = (state: Sent["state"]) => () => {
      for (const record of records) record.state = state;
    };
    done.then(settle("acknowledged"), settle("refused"));
  }

  async step(): Promise<void> {
    const { random } = this;
    switch (random.below(16)) {
      case 0:
        await this.store.checkpoint();
        break;
      case 1:
        this.clock.stepWall(random.below(3) * hour);
        await this.store.clean();
        break;
      case 2:
        if (random.chance(0.3)) {
          const { log } = this;
          this.start = Math.max(
            this.start,
            await log.deleteRecords(log.logStartOffset + random.below(log.highWatermark - log.logStartOffset + 1)),
          );
        }
        break;
      case 3:
        if (random.chance(0.5)) {
          await this.store.close();
          this.store = this.open();
        }
        break;
      case 4:
        if (random.chance(0.2)) this.disk.failSyncs(1);
        if (random.chance(0.2)) this.disk.failWrites(1 + random.below(2));
        break;
      case 5:
      case 6:
        this.clock.stepWall(random.below(2) * hour);
        await this.compact();
        break;
      default:
        this.append();
        if (random.chance(0.5)) await this.log.idle();
    }
  }

  /** Compacts, with the power cut soon now and then, and others at work at the same time. */
  private async compact(): Promise<void> {
    const { random } = this;
    if (random.chance(0.3)) this.disk.cutPowerAfter(1 + random.below(60));
    const compaction = this.store.compact();
    if (random.chance(0.5)) this.append();
    if (random.chance(0.2)) await this.store.clean();
    if (random.chance(0.2)) await this.store.checkpoint();
    this.compactions += await compaction;
  }

  async work(): Promise<void> {
    this.disk.cutPowerAfter(1 + this.random.below(400));
    while (!this.disk.isPowerOff) {
      try {
        await this.step();
      } catch (error) {
        if (!(error instanceof KafkaError) && (error as Error).name !== "DiskError") throw error;
        await this.getOver(error);
      }
    }
    await new Promise((resolve) => setImmediate(resolve));
  }

  private async getOver(error: unknown): Promise<void> {
    this.clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
    try {
      if ((error as Error).message.includes("start the node again")) this.store = this.open();
      if ((error as KafkaError).errorName === "OUT_OF_ORDER_SEQUENCE_NUMBER") this.learnSequences();
    } catch (another) {
      if (!this.disk.isPowerOff) throw another;
    }
  }

  learnSequences(): void {
    this.sequences.clear();
    try {
      for (const { producerId, lastSequence } of this.log.producers())
        this.sequences.set(Number(producerId), lastSequence + 1);
    } catch (error) {
      if (!this.disk.isPowerOff && !(error instanceof KafkaError)) throw error;
    }
  }

  /** Every record, as a consumer from the beginning sees them. */
  private read(): Map<number, { key: string | null; value: string | null }> {
    const { log, random } = this;
    const found = new Map<number, { key: string | null; value: string | null }>();
    for (let at = log.logStartOffset; at < log.highWatermark; ) {
      const maxBytes = random.pick([1, 300, 100_000]);
      const parts = log.read(at, { maxBytes, minOneBatch: true, isolation: "highWatermark" });
      must(parts.length > 0, `nothing is read at offset ${at}`);
      for (const part of parts)
        for (const batch of decodeBatches(part)) {
          must(batch.header.lastOffset >= at, `offset ${batch.header.lastOffset} is read at ${at}`);
          must(found.size === 0 || batch.header.baseOffset >= at, `a batch before ${at} comes again`);
          const from = at;
          at = batch.header.lastOffset + 1;
          for (const { offset, key, value } of batch)
            if (offset >= from) found.set(offset, { key: textOf(key), value: textOf(value) });
        }
    }
    return found;
  }

  check(): void {
    const { log } = this;
    const found = this.read();
    must(log.logStartOffset >= this.start, "the log start went back");
    this.start = log.logStartOffset;
    const known = new Map<number, Sent>();
    for (const record of this.records) {
      if (record.state === "acknowledged")
        must(log.logEndOffset > record.offset, `acknowledged offset ${record.offset} is past the log's end`);
      const there = found.get(record.offset);
      const survived = there !== undefined && there.key === record.key && there.value === record.value;
      if (record.state === "acknowledged" || survived) known.set(record.offset, record);
    }
    for (const [offset, { key, value }] of found) {
      const sent = known.get(offset);
      must(sent !== undefined && sent.key === key && sent.value === value, `nobody sent what is at offset ${offset}`);
    }
    this.checkKeys(known, found);
    this.checkProducers(log);
    // What was on its way survived or not; whatever is there now stays.
    this.records = [...known.values()].filter((record) => record.offset >= this.start);
    for (const record of this.records) record.state = "acknowledged";
  }

  private checkKeys(known: ReadonlyMap<number, Sent>, found: ReadonlyMap<number, unknown>): void {
    const last = new Map<string, Sent>();
    for (const record of known.values())
      if (record.offset > (last.get(record.key)?.offset ?? -1)) last.set(record.key, record);
    for (const record of known.values()) {
      if (record.offset < this.start) continue;
      const newest = last.get(record.key)!;
      const isThere = found.has(record.offset);
      if (record === newest)
        must(isThere || record.value === null, `the last record of a key, ${record.offset}, is gone`);
      // Once a tombstone is gone, nothing that it deleted may be there.
      if (isThere && record !== newest && newest.value === null)
        must(found.has(newest.offset), `offset ${record.offset} came back after its tombstone ${newest.offset} went`);
    }
  }

  private checkProducers(log: PartitionLog): void {
    const last = new Map<number, SentBatch>();
    for (const batch of this.batches)
      if (batch.producer > 0 && batch.records.every(({ state }) => state === "acknowledged"))
        last.set(batch.producer, batch);
    for (const [id, batch] of last) {
      const known = log.producers().find(({ producerId }) => Number(producerId) === id);
      must(known !== undefined || batch.baseOffset < this.start, `producer ${id} is forgotten`);
      if (known === undefined) continue;
      const repeat = log.append(batch.bytes.slice());
      must(repeat.duplicate && repeat.baseOffset === batch.baseOffset, `a repeat of offset ${batch.baseOffset} is new`);
    }
  }

  checkFiles(): void {
    const folder = "/lake/log/t-0";
    if (!this.disk.stat(folder)) return;
    const left = this.disk.list(folder).filter((name) => /\.(cleaned|swap)$/.test(name));
    must(left.length === 0, `a start leaves ${left.join(", ")}`);
  }
}

async function run(seed: number): Promise<number> {
  const world = new World(seed);
  for (let round = 0; round < 3; round++) {
    await world.work();
    world.disk.restart();
    if (world.durability === "os") {
      // A power cut may take anything back that was not synced; compaction goes on with what is left.
      world.records = [];
      world.batches = [];
      world.start = 0;
    }
    // A start may meet a power cut of its own.
    for (let attempt = 0; attempt < 2; attempt++) {
      if (world.random.chance(0.5)) world.disk.cutPowerAfter(1 + world.random.below(12));
      try {
        world.store = world.open();
        if (world.durability === "sync") world.check();
        else world.log.open();
      } catch (error) {
        if (!world.disk.isPowerOff) throw error;
      }
      if (world.disk.isPowerOff) world.disk.restart();
    }
    world.disk.cutPowerAfter(Number.POSITIVE_INFINITY);
    world.store = world.open();
    if (world.durability === "sync") world.check();
    else world.log.open();
    world.checkFiles();
    world.learnSequences();
  }
  return world.compactions;
}

const [firstSeed, lastSeed] = (process.env.ROWLOG_SEEDS ?? "1-150").split("-").map(Number);

test(`power cuts during compaction, seeds ${firstSeed} to ${lastSeed}`, async () => {
  let compactions = 0;
  for (let seed = firstSeed!; seed <= lastSeed!; seed++) {
    try {
      compactions += await run(seed);
    } catch (error) {
      console.error(`seed ${seed} failed; run it alone with ROWLOG_SEEDS=${seed}-${seed}`);
      throw error;
    }
  }
  must(compactions >= lastSeed! - firstSeed!, `only ${compactions} compactions`);
}, 240_000);
