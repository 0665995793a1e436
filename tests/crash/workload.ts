/** Random work on a node, noted in the model: every kind of change that must survive a crash. */
import type { ManualClock } from "../../src/base/clock.ts";
import type { SeededRandom } from "../../src/platform/sim/random.ts";
import {
  newOffsetCommitRequest,
  newOffsetCommitRequestPartition,
  newOffsetCommitRequestTopic,
} from "../../src/protocol/generated/offset_commit_request.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import {
  type Commit,
  isCompacted,
  isTable,
  type Model,
  producedRecord,
  type SentBatch,
  type SentRecord,
  type Shape,
  type Span,
  type SqlCommit,
  stateOf,
  type TopicState,
} from "./model.ts";
import type { SimulatedNode } from "./node.ts";
import { writeStatement } from "./sql_statements.ts";
import { readBatches } from "./stored_batch.ts";
import { rest, settle } from "./surroundings.ts";

/** Tables by shape; their topic configs come behind. */
const columns: Partial<Record<Shape, string>> = {
  typed: "n BIGINT NOT NULL, text VARCHAR, amount DECIMAL(10,2) DEFAULT 1.50",
  checked: "n BIGINT NOT NULL CHECK (n > 0), text VARCHAR",
  raw: "_key VARCHAR, _value VARCHAR, _partition INTEGER, _offset BIGINT",
  keyed: "id INTEGER PRIMARY KEY, n BIGINT, text VARCHAR",
};

/** Topics by name. The first of a shape is never deleted: groups commit to it. */
const names: [name: string, shape: Shape][] = [
  ["p0", "plain"],
  ["p1", "plain"],
  ["t0", "typed"],
  ["t1", "typed"],
  ["r0", "raw"],
  ["c0", "checked"],
  ["k0", "keyed"],
  ["k1", "keyed"],
  ["z0", "compacted"],
];

const producersMax = 3;

export class Workload {
  private readonly node: SimulatedNode;
  private readonly model: Model;
  private readonly random: SeededRandom;
  private readonly clock: ManualClock;
  private readonly open = new Set<Promise<void>>();
  /** How often each kind of work was done. */
  readonly done = new Map<string, number>();
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

  private count(what: string): void {
    this.done.set(what, (this.done.get(what) ?? 0) + 1);
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
    if (choice < 42) this.produce();
    else if (choice < 51) await this.changeTopic();
    else if (choice < 57) this.commitOffset();
    else if (choice < 61) await this.deleteRecords();
    else if (choice < 64) await this.retain();
    else if (choice < 67) await settle(this.node.logs.checkpoint(), "a checkpoint of the logs");
    else if (choice < 71) await settle(this.node.logs.compact(), "compaction");
    else if (choice < 73) await this.allocate();
    else if (choice < 76) await settle(this.node.tables.sync(), "a sync of the tables");
    else if (choice < 79) await this.checkpointTables();
    else if (choice < 82) await this.read();
    else if (choice < 84) this.produceInvalid();
    else if (choice < 94) await this.writeSql();
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

  private configs(shape: Shape): Map<string, string> {
    const { random } = this;
    const configs = new Map([["segment.bytes", String(random.pick([400, 1_500, 100_000]))]]);
    if (isCompacted(shape)) {
      configs.set("min.cleanable.dirty.ratio", "0");
      if (shape === "compacted") configs.set("cleanup.policy", "compact");
      return configs;
    }
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
      await this.configure(name, this.configs(shape));
    } else if (isTable(shape) && shape !== "raw" && random.chance(0.3)) await this.alter(name, state);
    else if (random.chance(0.3) && state.partitions < 3 && shape !== "keyed") {
      const partitions = state.partitions + 1;
      await this.change(name, async () => ({
        next: { ...state, partitions },
        done: node.catalog.addPartitions(name, partitions),
      }));
    } else if (!name.endsWith("0") && random.chance(0.6)) {
      const drops = isTable(shape) && random.chance(0.5);
      await this.change(name, async () => ({
        next: undefined,
        done: drops ? node.sql(`DROP TABLE ${name}`) : node.topics.remove(node.catalog.topic(name)!),
      }));
    }
  }

  private async create(name: string, shape: Shape): Promise<void> {
    const { node, random } = this;
    // A key belongs to one partition, and SQL may choose another than a producer.
    const partitions = shape === "keyed" ? 1 : 1 + random.below(2);
    const configs = this.configs(shape);
    await this.change(name, async () => {
      if (!isTable(shape)) return { done: node.catalog.createTopic({ name, partitions, configs }), shape };
      return { done: node.sql(`CREATE TABLE ${name} (${columns[shape]}) WITH (partitions = ${partitions})`), shape };
    });
    // Segments as small as these are not to be had by SQL.
    if (isTable(shape)) await this.configure(name, configs);
  }

  /** A column more, or one of those less. */
  private async alter(name: string, state: TopicState): Promise<void> {
    const added = state.columns.split(",").filter((column) => column.startsWith("extra"));
    const column = `extra${this.model.nextNumber++}`;
    const isDrop = added.length > 0 && this.random.chance(0.5);
    const columns = isDrop
      ? state.columns.split(",").filter((one) => one !== added[0])
      : [...state.columns.split(","), column];
    this.count("ALTER TABLE");
    const what = isDrop ? `DROP COLUMN ${added[0]}` : `ADD COLUMN ${column} INTEGER DEFAULT 7`;
    await this.change(name, async () => ({
      next: { ...state, columns: columns.join() },
      done: this.node.sql(`ALTER TABLE ${name} ${what}`),
    }));
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
    this.count("topic change");
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
      id: random.below(5),
      isDelete: random.chance(0.2),
    }));
  }

  private produce(): void {
    const picked = this.pickTopic();
    if (picked === undefined) return;
    const { random } = this;
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
      records.map((record) => producedRecord(state.shape, record)),
      {
        timestamp: this.clock.nowMs(),
        codec: random.pick([0, 0, 3]),
        ...(producer ? { producerId: BigInt(id), producerEpoch: 0, baseSequence: producer.sequence } : {}),
      },
    );
    const batch = this.note({
      ...this.span(),
      topic: state.id,
      partition,
      records,
      producer,
      commit: undefined,
      produced,
      baseOffset: -1,
      lastOffset: -1,
      stored: undefined,
      mustBeRefused: false,
    });
    this.count("produce");
    this.beside(this.send(name, batch));
  }

  private note(batch: SentBatch): SentBatch {
    this.model.batches.push(batch);
    return batch;
  }

  private async send(name: string, batch: SentBatch): Promise<void> {
    const { node } = this;
    const topic = node.catalog.topic(name)!;
    const outcome = await node.produce(topic, batch.partition, batch.produced.slice());
    if (outcome.errorCode !== 0) {
      if (this.node.disk.isPowerOff) return;
      throw new Error(`a produce to ${name} failed: ${outcome.errorMessage}`);
    }
    batch.baseOffset = outcome.baseOffset;
    batch.lastOffset = outcome.baseOffset + batch.records.length - 1;
    batch.stored = storedAt(node, name, batch.partition, outcome.baseOffset);
    batch.ackedAt = this.now();
  }

  /** One record of the batch is no row: the table must refuse all of it. */
  private produceInvalid(): void {
    const typed = this.liveTopics().filter(({ state }) => state.shape === "typed" || state.shape === "checked");
    if (typed.length === 0) return;
    const { name, state } = this.random.pick(typed);
    const records = this.newRecords(2);
    const [good, bad] = records.map((record) => producedRecord(state.shape, record).value) as [string, string];
    const produced = encodeBatch([{ value: good }, { value: bad.replace(/"n":\d+/, '"n":"none"') }], {
      timestamp: this.clock.nowMs(),
    });
    const batch = this.note({
      ...this.span(),
      topic: state.id,
      partition: 0,
      records,
      producer: undefined,
      commit: undefined,
      produced,
      baseOffset: -1,
      lastOffset: -1,
      stored: undefined,
      mustBeRefused: true,
    });
    this.count("invalid produce");
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
    this.count("DeleteRecords");
    await settle(log.deleteRecords(before), `DeleteRecords of ${name}`);
    move.ackedAt = this.now();
    // It starts a retention of the partition.
    await rest();
    allowed.before = Math.max(before, log.logStartOffset);
  }

  private async retain(): Promise<void> {
    // What is under way would run into its timeouts.
    await this.idle();
    this.clock.advance(this.random.below(40) * 60_000);
    const sentAt = this.now();
    const logs = this.liveTopics().flatMap(({ name, state }) =>
      Array.from({ length: state.partitions }, (_, partition) => ({
        log: this.node.topics.log(this.node.catalog.topic(name)!, partition),
        topic: state.id,
        partition,
      })),
    );
    this.count("retention");
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
    const last = this.model.offsets.filter((one) => one.group === group && one.partition === partition).at(-1);
    const commit: Commit = {
      ...this.span(),
      group,
      topic: "p0",
      partition,
      offset: (last?.offset ?? 0) + 1 + random.below(5),
    };
    this.count("offset commit");
    this.model.offsets.push(commit);
    this.beside(this.commit(commit, state.id).finally(() => this.committing.delete(key)));
  }

  private async commit(commit: Commit, topicId: string): Promise<void> {
    const { group, partition, offset } = commit;
    const offsets = newOffsetCommitRequestPartition({ partitionIndex: partition, committedOffset: BigInt(offset) });
    const topics = [newOffsetCommitRequestTopic({ name: commit.topic, topicId, partitions: [offsets] })];
    const request = newOffsetCommitRequest({ groupId: group, topics });
    const answer = await this.node.groups.offsetCommit(request, 8);
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
    if (!this.liveTopics().some(({ state }) => isTable(state.shape))) return;
    const engine = await settle(this.node.tables.engine(), "the engine");
    await settle(engine.checkpoint(), "a checkpoint of DuckDB");
  }

  /** A read sees every record acknowledged before it. */
  private async read(): Promise<void> {
    const tables = this.liveTopics().filter(({ state }) => isTable(state.shape) && state.shape !== "keyed");
    if (tables.length === 0) return;
    const { name, state } = this.random.pick(tables);
    const least = this.model.batches
      .filter((batch) => batch.topic === state.id && batch.ackedAt < Number.POSITIVE_INFINITY)
      .reduce((sum, batch) => sum + batch.lastOffset - batch.baseOffset + 1, 0);
    const [[count]] = (await settle(this.node.sql(`SELECT count(*) FROM ${name}`), `a read of ${name}`)) as [[number]];
    if (count < least) throw new Error(`a read of ${name} sees ${count} rows, ${least} were acknowledged`);
  }

  /** A transaction over tables and topics, with nothing beside it, so that what is new in the logs behind it is its own. */
  private async writeSql(): Promise<void> {
    const targets = this.liveTopics().filter(({ state }) => ["typed", "keyed", "plain"].includes(state.shape));
    if (!targets.some(({ state }) => isTable(state.shape))) return;
    await this.idle();
    const { random, node, model } = this;
    const statements = Array.from({ length: 1 + random.below(3) }, () =>
      writeStatement(random, random.pick(targets), this.newRecords(2)),
    );
    const isOne = statements.length === 1 && random.chance(0.5);
    const text = isOne ? statements[0]! : ["BEGIN", ...statements, "COMMIT"].join("; ");
    const ends = new Map(targets.map(({ name, state }) => [name, this.ends(name, state)]));
    const commit = { ...this.span(), text: text.replaceAll(/x{5,}/g, "x…") };
    model.commits.push(commit);
    this.count("SQL commit");
    await settle(node.sql(text), text);
    commit.ackedAt = this.now();
    for (const { name, state } of targets) this.noteCommitted(commit, name, state, ends.get(name)!);
  }

  private ends(name: string, state: TopicState): number[] {
    const topic = this.node.catalog.topic(name)!;
    return Array.from(
      { length: state.partitions },
      (_, partition) => this.node.topics.log(topic, partition).logEndOffset,
    );
  }

  private noteCommitted(commit: SqlCommit, name: string, state: TopicState, ends: readonly number[]): void {
    ends.forEach((end, partition) => {
      for (const { baseOffset, lastOffset, bytes } of readBatches(
        this.node,
        this.node.catalog.topic(name)!,
        partition,
        end,
      ))
        this.note({
          sentAt: commit.sentAt,
          ackedAt: commit.ackedAt,
          topic: state.id,
          partition,
          records: [],
          producer: undefined,
          commit,
          produced: bytes,
          baseOffset,
          lastOffset,
          stored: bytes,
          mustBeRefused: false,
        });
    });
  }
}

/** The batch at an offset, as a reader gets it; undefined when it was taken away already, or compacted. */
function storedAt(node: SimulatedNode, name: string, partition: number, offset: number): Uint8Array | undefined {
  const topic = node.catalog.topic(name);
  if (topic === undefined || offset < node.topics.log(topic, partition).logStartOffset) return undefined;
  return readBatches(node, topic, partition, offset).find(({ baseOffset }) => baseOffset === offset)?.bytes;
}
