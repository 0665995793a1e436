/**
 * Random work on a log over a simulated disk, the power cut at a random change, and the same again on what survived.
 * After every start: each acknowledged batch is there with its bytes at its offset, no offset serves two batches, and a
 * producer that repeats an acknowledged batch is recognised. Every fifth seed runs with durability "os", where that holds for
 * a killed process only, but a power cut must leave a good log all the same. ROWLOG_SEEDS=first-last runs other seeds.
 */
import { test } from "bun:test";
import { ManualClock } from "../../src/base/clock.ts";
import { KafkaError } from "../../src/base/kafka_error.ts";
import { defaultLogConfig } from "../../src/log/log_config.ts";
import { type Durability, LogStore, type PartitionLog } from "../../src/log/log_store.ts";
import { type Disk, DiskError } from "../../src/platform/disk.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { baseTime, batchOf, listeningLogger } from "./helpers.ts";

interface Sent {
  partition: number;
  baseOffset: number;
  lastOffset: number;
  bytes: Uint8Array;
  state: "sent" | "acknowledged" | "refused";
  producer?: { id: number; epoch: number; sequence: number; count: number };
}

function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

/** The disk as one process has it: after `kill` every call of that process fails, while the disk itself goes on. */
function processDisk(disk: SimDisk): { disk: Disk; kill(): void } {
  let isDead = false;
  const guarded = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        const value = Reflect.get(of, name, of);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (isDead) throw new DiskError("EIO", "use", String(name), "the process was killed");
          const result = value.apply(of, given);
          if (name === "open") return guarded(result);
          return result instanceof Promise ? result.then(ifAlive, ifAlive) : result;
        };
      },
    });
  const ifAlive = (error: unknown) => {
    if (isDead) throw new DiskError("EIO", "use", "", "the process was killed");
    if (error !== undefined) throw error;
  };
  return {
    disk: guarded(disk),
    kill() {
      isDead = true;
    },
  };
}

class World {
  readonly random: SeededRandom;
  readonly clock = new ManualClock(baseTime);
  readonly logger = listeningLogger();
  readonly disk: SimDisk;
  readonly sent: Sent[] = [];
  /** Next sequence of each producer on each partition. */
  readonly sequences = new Map<string, number>();
  readonly starts = [0, 0];
  readonly config;
  readonly durability: Durability;
  store: LogStore;
  private killProcess: () => void = () => undefined;
  private made = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.durability = seed % 5 === 0 ? "os" : "sync";
    this.disk = new SimDisk({ random: this.random, capacity: 1 << 22, nowMs: () => this.clock.nowMs() });
    this.config = {
      ...defaultLogConfig,
      segmentBytes: this.random.pick([300, 1_000, 5_000, 100_000]),
      indexIntervalBytes: this.random.pick([0, 200, 4_096]),
      retentionMs: 50 * 60_000,
    };
    this.store = this.open();
  }

  /** A new process on the disk; the one before, if it lives, is killed. */
  open(): LogStore {
    const { clock, logger, durability } = this;
    this.killProcess();
    const { disk, kill } = processDisk(this.disk);
    this.killProcess = kill;
    return LogStore.open(disk, "/lake/log", { durability, clock, logger, schedule: queueMicrotask });
  }

  log(partition: number): PartitionLog {
    return this.store.create("t", partition, { topicId: "AAAAAAAAAAAAAAAAAAAAAQ", config: this.config });
  }

  append(): void {
    const { random } = this;
    const partition = random.below(2);
    const count = 1 + random.below(3);
    const text = `b${this.made++}-${"x".repeat(random.pick([0, 30, 600]))}`;
    const id = random.below(4);
    let producer: Sent["producer"];
    let batch: Uint8Array;
    const timestamp = this.clock.nowMs();
    if (id > 0) {
      const sequence = this.sequences.get(`${partition} ${id}`) ?? 0;
      producer = { id, epoch: 0, sequence, count };
      batch = batchOf(count, text, { timestamp, producerId: BigInt(id), producerEpoch: 0, baseSequence: sequence });
    } else batch = batchOf(count, text, { timestamp });
    const result = this.log(partition).append(batch);
    if (producer) this.sequences.set(`${partition} ${id}`, producer.sequence + count);
    const { baseOffset, lastOffset } = result;
    const sent: Sent = { partition, baseOffset, lastOffset, bytes: batch, state: "sent", producer };
    must(!result.duplicate, `a new batch is taken for a repeat of offset ${baseOffset}`);
    this.sent.push(sent);
    result.done.then(
      () => {
        sent.state = "acknowledged";
      },
      () => {
        sent.state = "refused";
      },
    );
  }

  async step(): Promise<void> {
    const { random } = this;
    const partition = random.below(2);
    switch (random.below(20)) {
      case 0:
        await this.store.checkpoint();
        break;
      case 1:
        this.clock.stepWall(random.below(30) * 60_000);
        await this.store.clean();
        this.starts[partition] = Math.max(this.starts[partition]!, this.log(partition).logStartOffset);
        break;
      case 2: {
        const log = this.log(partition);
        const before = log.logStartOffset + random.below(log.highWatermark - log.logStartOffset + 1);
        this.starts[partition] = Math.max(this.starts[partition]!, await log.deleteRecords(before));
        break;
      }
      case 3:
        if (random.chance(0.4)) {
          await this.store.close().catch((error) => {
            if (this.disk.isPowerOff) throw error;
          });
          this.store = this.open();
        } else {
          this.store = this.open();
          this.check();
          this.learnSequences();
        }
        break;
      case 4:
        if (random.chance(0.3)) this.disk.failSyncs(1, (path) => path.endsWith(".log"));
        if (random.chance(0.3)) this.disk.failWrites(1 + random.below(2));
        break;
      case 5:
      case 6:
      case 7:
        await Promise.all([this.log(0).idle(), this.log(1).idle()]);
        break;
      default:
        this.append();
    }
  }

  /** Works until the power is cut. */
  async work(): Promise<void> {
    this.disk.cutPowerAfter(1 + this.random.below(90));
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

  /** A partition whose disk failed is used again once its pause is over, or by another process. */
  async getOver(error: unknown): Promise<void> {
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
      for (const partition of [0, 1])
        for (const producer of this.log(partition).producers())
          this.sequences.set(`${partition} ${producer.producerId}`, producer.lastSequence + 1);
    } catch (error) {
      if (!this.disk.isPowerOff && !(error instanceof KafkaError)) throw error;
    }
  }

  /** All batches of a partition, by reading it from its start as a consumer does. */
  batches(partition: number): { header: BatchHeader; bytes: Uint8Array }[] {
    const log = this.log(partition);
    const found: { header: BatchHeader; bytes: Uint8Array }[] = [];
    let next = log.logStartOffset;
    while (next < log.highWatermark) {
      const maxBytes = this.random.pick([1, 500, 100_000]);
      const parts = log.read(next, { maxBytes, minOneBatch: true, isolation: "highWatermark" });
      must(parts.length > 0, `nothing is read at offset ${next}`);
      for (const part of parts)
        for (let at = 0; at < part.length; ) {
          const header = new BatchHeader(part, at);
          must(header.isCrcValid, `wrong checksum at offset ${next}`);
          must(header.lastOffset >= next, `offset ${header.lastOffset} is read at ${next}`);
          found.push({ header, bytes: part.subarray(at, at + header.sizeBytes) });
          next = header.lastOffset + 1;
          at += header.sizeBytes;
        }
    }
    return found;
  }

  /** After a power cut under "os" nothing is promised but a good log. */
  restart(): void {
    this.disk.restart();
    if (this.durability === "sync") return;
    for (const sent of this.sent) sent.state = "refused";
  }

  check(): void {
    for (const partition of [0, 1]) {
      const log = this.log(partition);
      must(log.logStartOffset >= this.starts[partition]!, "the log start went back");
      const byOffset = new Map(this.batches(partition).map((batch) => [batch.header.baseOffset, batch]));
      const last = new Map<number, Sent>();
      for (const sent of this.sent) {
        if (sent.partition !== partition || sent.state !== "acknowledged") continue;
        if (sent.producer) last.set(sent.producer.id, sent);
        must(log.logEndOffset > sent.lastOffset, `acknowledged offset ${sent.lastOffset} is past the log's end`);
        if (sent.lastOffset < log.logStartOffset) continue;
        const kept = byOffset.get(sent.baseOffset);
        must(kept !== undefined, `acknowledged offset ${sent.baseOffset} is gone`);
        must(Buffer.compare(kept!.bytes, sent.bytes) === 0, `offset ${sent.baseOffset} has other bytes`);
      }
      for (const [id, sent] of last) {
        const known = log.producers().find((producer) => Number(producer.producerId) === id);
        if (!known) continue;
        // Of batches that retention removed only the last of each producer is remembered.
        const isNewest = known.lastSequence === sent.producer!.sequence + sent.producer!.count - 1;
        if (sent.lastOffset < log.logStartOffset && !isNewest) continue;
        const repeat = log.append(sent.bytes.slice());
        must(repeat.duplicate && repeat.baseOffset === sent.baseOffset, `a repeat of offset ${sent.baseOffset} is new`);
      }
    }
    // What was on its way may have survived or not; whatever is there now stays.
    const byChecksum = new Map<string, Sent>();
    for (const sent of this.sent) {
      if (sent.state === "sent") sent.state = "refused";
      byChecksum.set(`${sent.partition} ${sent.baseOffset} ${new BatchHeader(sent.bytes).crc}`, sent);
    }
    for (const partition of [0, 1])
      for (const { header, bytes } of this.batches(partition)) {
        const sent = byChecksum.get(`${partition} ${header.baseOffset} ${header.crc}`);
        if (sent && Buffer.compare(sent.bytes, bytes) === 0) sent.state = "acknowledged";
        else must(header.recordCount === 0, `offset ${header.baseOffset} has a batch that nobody sent`);
      }
  }
}

async function run(seed: number): Promise<void> {
  const world = new World(seed);
  for (let round = 0; round < 2; round++) {
    await world.work();
    world.restart();
    // A start may meet a power cut of its own.
    for (let attempt = 0; attempt < 2; attempt++) {
      if (world.random.chance(0.5)) world.disk.cutPowerAfter(1 + world.random.below(12));
      try {
        world.store = world.open();
        world.check();
      } catch (error) {
        if (!world.disk.isPowerOff) throw error;
      }
      if (world.disk.isPowerOff) world.restart();
    }
    world.disk.cutPowerAfter(Number.POSITIVE_INFINITY);
    world.store = world.open();
    world.check();
    world.learnSequences();
  }
}

const [firstSeed, lastSeed] = (process.env.ROWLOG_SEEDS ?? "1-500").split("-").map(Number);

test(`power cuts, seeds ${firstSeed} to ${lastSeed}`, async () => {
  for (let seed = firstSeed!; seed <= lastSeed!; seed++) {
    try {
      await run(seed);
    } catch (error) {
      console.error(`seed ${seed} failed; run it alone with ROWLOG_SEEDS=${seed}-${seed}`);
      throw error;
    }
  }
}, 120_000);
