/** Random work on a node, noted in the model: every kind of change that must survive a crash. */
import type { ManualClock } from "../../src/base/clock.ts";
import { SqlError } from "../../src/base/sql_error.ts";
import type { SeededRandom } from "../../src/platform/sim/random.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import {
  type Commit,
  type Model,
  producedValue,
  type SentBatch,
  type SentRecord,
  type Shape,
  type Span,
  stateOf,
  type TopicState,
} from "./model.ts";
import type { SimulatedNode } from "./node.ts";
import { rest, settle } from "./surroundings.ts";

/** Tables by shape; their topic configs come behind. */
const columns: Partial<Record<Shape, string>> = {
  typed: "n BIGINT NOT NULL, text VARCHAR, amount DECIMAL(10,2) DEFAULT 1.50",
  checked: "n BIGINT NOT NULL CHECK (n > 0), text VARCHAR",
  raw: "_key VARCHAR, _value VARCHAR, _partition INTEGER, _offset BIGINT",
};

/** Topics by name. The first of a shape is never deleted: groups commit to it. */
const names: [name: string, shape: Shape][] = [
  ["p0", "plain"],
  ["p1", "plain"],
  ["t0", "typed"],
  ["t1", "typed"],
  ["r0", "raw"],
  ["c0", "checked"],
];

const producersMax = 3;

export class Workload {
  private readonly node: SimulatedNode;
  private readonly model: Model;
  private readonly random: SeededRandom;
  private readonly clock: ManualClock;
  private readonly open = new Set<Promise<void>>();
  /** Next sequence of each producer, by `<producer> <topic id> <partition>`. */
  private readonly sequences = new Map<string, number>();
  /** Group, topic id and partition, of commits whose answers have not come: one at a time, as a consumer does. */
  private readonly committing = new Set<string>();

  constructor(node: SimulatedNode, model: Model, random: SeededRandom) {
    this.node = node;
    this.model = model;
    this.random = random;
    this.clock = node.clock;
    this.learnSequences();
  }

  private now(): number {
    return this.node.disk.changes;
  }

  private span(): Span {
    return { sentAt: this.now(), ackedAt: Number.POSITIVE_INFINITY };
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) await this.step();
    await this.idle();
  }

  /** Lets a call run beside the steps that follow. */
  private beside(call: Promise<void>): void {
    this.open.add(call);
    void call.finally(() => this.open.delete(call)).catch(() => undefined);
  }

  private async idle(): Promise<void> {
    await settle(Promise.all(this.open), "what was asked for");
  }

  private async step(): Promise<void> {
    const { random } = this;
    const choice = random.below(100);
    if (choice < 45) this.produce();
    else if (choice < 53) await this.changeTopic();
    else if (choice < 61) this.commitOffset();
    else if (choice < 66) await this.deleteRecords();
    else if (choice < 69) await this.retain();
    else if (choice < 72) await settle(this.node.logs.checkpoint(), "a checkpoint of the logs");
    else if (choice < 76) await this.allocate();
    else if (choice < 80) await settle(this.node.tables.sync(), "a sync of the tables");
    else if (choice < 83) await this.checkpointTables();
    else if (choice < 88) await this.read();
    else if (choice < 90) this.produceInvalid();
    else await this.idle();
  }

  // Topics and tables.

  private liveTopics(): { name: string; state: TopicState }[] {
    return names.flatMap(([name]) => {
      const state = this.model.topic(name);
      return state ? [{ name, state }] : [];
    });
  }

  private pickTopic(): { name: string; state: TopicState } | undefined {
    const live = this.liveTopics();
    return live.length > 0 ? this.random.pick(live) : undefined;
  }

  private configs(): Map<string, string> {
    const { random } = this;
    const configs = new Map([["segment.bytes", String(random.pick([400, 1_500, 100_000]))]]);
    if (random.chance(0.5)) configs.set("index.interval.bytes", String(random.pick([0, 200])));
    if (random.chance(0.3)) configs.set("retention.ms", "3600000");
    return configs;
  }

  private async changeTopic(): Promise<void> {
    const { random, model, node } = this;
    const [name, shape] = random.pick(names);
    const state = model.topic(name);
    // What is under way to the topic is answered first: nobody could tell otherwise what its deletion took with it.
    await this.idle();
    if (state === undefined) await this.create(name, shape);
    else if (random.chance(0.35)) {
      await this.configure(name, this.configs());
    } else if (random.chance(0.3) && state.partitions < 3) {
      const partitions = state.partitions + 1;
      await this.change(name, async () => ({
        next: { ...state, partitions },
        done: node.catalog.addPartitions(name, partitions),
      }));
    } else if (!name.endsWith("0") && random.chance(0.6)) {
      const drops = shape !== "plain" && random.chance(0.5);
      await this.change(name, async () => ({
        next: undefined,
        done: drops ? node.sql(`DROP TABLE ${name}`) : node.topics.remove(node.catalog.topic(name)!),
      }));
    }
  }

  private async create(name: string, shape: Shape): Promise<void> {
    const { node, random } = this;
    const partitions = 1 + random.below(2);
    const configs = this.configs();
    await this.change(name, async () => {
      if (shape === "plain") return { done: node.catalog.createTopic({ name, partitions, configs }), shape };
      return { done: node.sql(`CREATE TABLE ${name} (${columns[shape]}) WITH (partitions = ${partitions})`), shape };
    });
    // Segments as small as these are not to be had by SQL.
    if (shape !== "plain") await this.configure(name, configs);
  }

  private async configure(name: string, configs: Map<string, string>): Promise<void> {
    await this.change(name, async () => ({
      next: { ...this.model.topic(name)!, configs },
      done: this.node.catalog.setConfigs(name, configs),
    }));
  }

  /** Notes a change to a topic while it is made. A new topic's id is known when it is there. */
  private async change(
    name: string,
    make: () => Promise<{ next?: TopicState | undefined; done: Promise<unknown>; shape?: Shape }>,
  ): Promise<void> {
    const span = this.span();
    const { next, done, shape } = await make();
    const change = this.model.addTopicChange(name, { ...span, state: next });
    await settle(done, `a change to topic ${name}`);
    if (shape) change.state = stateOf(this.node.catalog.topic(name)!, shape);
    change.ackedAt = this.now();
  }

  // Records.

  private newRecords(count: number): SentRecord[] {
    const { random, model } = this;
    return Array.from({ length: count }, () => ({
      n: model.nextNumber++,
      text: "x".repeat(random.pick([0, 5, 40, 600])),
      key: random.chance(0.5) ? `k${random.below(4)}` : null,
    }));
  }

  private produce(): void {
    const picked = this.pickTopic();
    if (picked === undefined) return;
    const { random, model } = this;
    const { name, state } = picked;
    const records = this.newRecords(1 + random.below(3));
    const partition = random.below(state.partitions);
    const id = random.below(producersMax + 1);
    let producer: SentBatch["producer"];
    if (id > 0) {
      const key = `${id} ${state.id} ${partition}`;
      producer = { id, sequence: this.sequences.get(key) ?? 0 };
      this.sequences.set(key, producer.sequence + records.length);
    }
    const produced = encodeBatch(
      records.map((record) => ({ key: record.key, value: producedValue(state.shape, record) })),
      {
        timestamp: this.clock.nowMs(),
        codec: random.pick([0, 0, 3]),
        ...(producer ? { producerId: BigInt(id), producerEpoch: 0, baseSequence: producer.sequence } : {}),
      },
    );
    const batch = model.addBatch({
      ...this.span(),
      topic: state.id,
      partition,
      records,
      producer,
      produced,
      baseOffset: -1,
      stored: undefined,
      mustBeRefused: false,
    });
    this.beside(this.send(name, batch));
  }

  private async send(name: string, batch: SentBatch): Promise<void> {
    const { node } = this;
    const topic = node.catalog.topic(name)!;
    const outcome = await node.produce(topic, batch.partition, batch.produced.slice());
    if (outcome.errorCode !== 0) {
      if (this.node.disk.isPowerOff) return;
      throw new Error(`a produce to ${name} failed: ${outcome.errorMessage}`);
    }
    const log = node.topics.log(topic, batch.partition);
    batch.baseOffset = outcome.baseOffset;
    batch.stored = storedAt(log, outcome.baseOffset);
    batch.ackedAt = this.now();
  }

  /** One record of the batch is no row: the table must refuse all of it. */
  private produceInvalid(): void {
    const typed = this.liveTopics().filter(({ state }) => state.shape === "typed" || state.shape === "checked");
    if (typed.length === 0) return;
    const { name, state } = this.random.pick(typed);
    const records = this.newRecords(2);
    const [good, bad] = records.map((record) => producedValue(state.shape, record)) as [string, string];
    const produced = encodeBatch([{ value: good }, { value: bad.replace(/"n":\d+/, '"n":"none"') }], {
      timestamp: this.clock.nowMs(),
    });
    const batch = this.model.addBatch({
      ...this.span(),
      topic: state.id,
      partition: 0,
      records,
      producer: undefined,
      produced,
      baseOffset: -1,
      stored: undefined,
      mustBeRefused: true,
    });
    const call = this.node.produce(this.node.catalog.topic(name)!, 0, batch.produced.slice());
    this.beside(
      call.then(({ errorCode }) => {
        if (errorCode === 0) throw new Error(`table ${name} took a batch with a record that is no row`);
      }),
    );
  }

  private learnSequences(): void {
    for (const { name, state } of this.liveTopics())
      for (let partition = 0; partition < state.partitions; partition++)
        for (const known of this.node.topics.log(this.node.catalog.topic(name)!, partition).producers())
          this.sequences.set(`${known.producerId} ${state.id} ${partition}`, known.lastSequence + 1);
  }

  // What takes records away.

  private async deleteRecords(): Promise<void> {
    const picked = this.pickTopic();
    if (picked === undefined) return;
    const { state, name } = picked;
    const partition = this.random.below(state.partitions);
    const log = this.node.topics.log(this.node.catalog.topic(name)!, partition);
    const before = log.logStartOffset + this.random.below(log.highWatermark - log.logStartOffset + 1);
    const move = { ...this.span(), topic: state.id, partition, before, isPromise: true };
    this.model.starts.push(move);
    const allowed = { ...move, isPromise: false };
    this.model.starts.push(allowed);
    await settle(log.deleteRecords(before), `DeleteRecords of ${name}`);
    move.ackedAt = this.now();
    // It starts a retention of the partition.
    await rest();
    allowed.before = Math.max(before, log.logStartOffset);
  }

  private async retain(): Promise<void> {
    this.clock.advance(this.random.below(40) * 60_000);
    const sentAt = this.now();
    const logs = this.liveTopics().flatMap(({ name, state }) =>
      Array.from({ length: state.partitions }, (_, partition) => ({
        log: this.node.topics.log(this.node.catalog.topic(name)!, partition),
        topic: state.id,
        partition,
      })),
    );
    await settle(this.node.logs.clean(), "retention");
    for (const { log, topic, partition } of logs)
      this.model.starts.push({
        sentAt,
        ackedAt: this.now(),
        topic,
        partition,
        before: log.logStartOffset,
        isPromise: true,
      });
  }

  // Groups, ids, DuckDB.

  private commitOffset(): void {
    const state = this.model.topic("p0");
    if (state === undefined) return;
    const { random } = this;
    const group = random.pick(["g", "h"]);
    const partition = random.below(state.partitions);
    const key = `${group} ${partition}`;
    if (this.committing.has(key)) return;
    this.committing.add(key);
    const last = this.model.commits.filter((one) => one.group === group && one.partition === partition).at(-1);
    const commit: Commit = {
      ...this.span(),
      group,
      topic: "p0",
      partition,
      offset: (last?.offset ?? 0) + 1 + random.below(5),
    };
    this.model.commits.push(commit);
    this.beside(this.commit(commit, state.id).finally(() => this.committing.delete(key)));
  }

  private async commit(commit: Commit, topicId: string): Promise<void> {
    const { group, partition, offset } = commit;
    const answer = await this.node.groups.offsetCommit(
      {
        groupId: group,
        generationIdOrMemberEpoch: -1,
        memberId: "",
        groupInstanceId: null,
        retentionTimeMs: -1n,
        topics: [
          {
            name: commit.topic,
            topicId,
            partitions: [
              {
                partitionIndex: partition,
                committedOffset: BigInt(offset),
                committedLeaderEpoch: -1,
                committedMetadata: "",
              },
            ],
          },
        ],
      },
      8,
    );
    const errorCode = answer.topics[0]?.partitions[0]?.errorCode;
    if (errorCode === 0) commit.ackedAt = this.now();
    else if (!this.node.disk.isPowerOff) throw new Error(`a commit of group ${group} failed with ${errorCode}`);
  }

  private async allocate(): Promise<void> {
    const span = this.span();
    const id = Number(await settle(this.node.producerIds.allocate(), "a producer id"));
    this.model.producerIds.push({ ...span, ackedAt: this.now(), id });
  }

  private async checkpointTables(): Promise<void> {
    if (!this.liveTopics().some(({ state }) => state.shape !== "plain")) return;
    const engine = await settle(this.node.tables.engine(), "the engine");
    await settle(engine.checkpoint(), "a checkpoint of DuckDB");
  }

  /** A read sees every record acknowledged before it. */
  private async read(): Promise<void> {
    const tables = this.liveTopics().filter(({ state }) => state.shape !== "plain");
    if (tables.length === 0) return;
    const { name, state } = this.random.pick(tables);
    const least = this.model.batches
      .filter((batch) => batch.topic === state.id && batch.ackedAt < Number.POSITIVE_INFINITY)
      .reduce((sum, batch) => sum + batch.records.length, 0);
    try {
      const [[count]] = (await settle(this.node.sql(`SELECT count(*) FROM ${name}`), `a read of ${name}`)) as [
        [number],
      ];
      if (count < least) throw new Error(`a read of ${name} sees ${count} rows, ${least} were acknowledged`);
    } catch (error) {
      if (error instanceof SqlError) throw new Error(`a read of ${name} failed: ${error.message}`);
      throw error;
    }
  }
}

/** The batch at an offset, as a reader gets it. */
export function storedAt(log: ReturnType<SimulatedNode["topics"]["log"]>, offset: number): Uint8Array | undefined {
  if (offset < log.logStartOffset) return undefined;
  const [part] = log.read(offset, { maxBytes: 1, minOneBatch: true, isolation: "highWatermark" });
  if (part === undefined) throw new Error(`nothing is read at offset ${offset} that was just acknowledged`);
  for (const batch of decodeBatches(part)) {
    if (batch.header.baseOffset === offset) return part.slice(0, batch.header.sizeBytes);
    break;
  }
  throw new Error(`another batch is read at offset ${offset}, which was just acknowledged`);
}
