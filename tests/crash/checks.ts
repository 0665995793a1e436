/**
 * What must hold after a crash at a moment, whatever survived: of what was promised by then nothing is missing, of what was not asked for
 * by then nothing is there, and table and log agree. Each check throws with what is wrong.
 */
import type { SqlEngine } from "../../src/sql/engine.ts";
import { type FoundBatch, type FoundPartition, type FoundTopic, findTopics, must } from "./findings.ts";
import {
  type Model,
  numberIn,
  producedValue,
  type SentBatch,
  type SentRecord,
  type Shape,
  type TopicState,
  wasAcked,
  wasSent,
} from "./model.ts";
import type { SimulatedNode } from "./node.ts";
import { settle } from "./surroundings.ts";

/** The records that a partition has had, by offset: those in its log, and below its start those that were promised. */
type Contents = Map<number, SentRecord>;

export class Checks {
  private readonly model: Model;
  private readonly at: number;
  readonly found = new Map<string, { topic: FoundTopic; state: TopicState; contents: Contents[] }>();

  /** `at`: the number of the change in which the power went. */
  constructor(model: Model, at: number) {
    this.model = model;
    this.at = at;
  }

  /** Catalog and logs. */
  lookAt(node: SimulatedNode): void {
    const topics = findTopics(node);
    for (const name of new Set([...this.model.topics.keys(), ...topics.keys()])) {
      const state = this.checkTopic(name, topics.get(name));
      const topic = topics.get(name);
      if (state === undefined || topic === undefined) continue;
      const contents = topic.partitions.map((found, partition) => this.checkPartition(name, state, partition, found));
      this.found.set(name, { topic, state, contents });
    }
  }

  private checkTopic(name: string, topic: FoundTopic | undefined): TopicState | undefined {
    const possible = this.model.topicStates(name, this.at);
    if (topic === undefined) {
      must(possible.includes(undefined), () => `topic ${name} is gone`);
      return undefined;
    }
    const { entry } = topic;
    const configsOf = (configs: ReadonlyMap<string, string>) => JSON.stringify([...configs].sort());
    const state = possible.find(
      (one) =>
        one !== undefined &&
        (one.id === entry.id || one.id === "") &&
        one.partitions === entry.partitions &&
        configsOf(one.configs) === configsOf(entry.configs),
    );
    must(
      state !== undefined,
      () =>
        `topic ${name} (${entry.id}) has ${entry.partitions} partitions and configs ${configsOf(entry.configs)}; possible are ${JSON.stringify(possible)}`,
    );
    return state;
  }

  private checkPartition(name: string, state: TopicState, partition: number, found: FoundPartition): Contents {
    const place = `${name}-${partition}`;
    const { model, at } = this;
    const { least, most } = model.startBounds(state.id, partition, at);
    must(
      found.start >= least && found.start <= most,
      () => `${place} starts at ${found.start}, not ${least} to ${most}`,
    );
    const byOffset = new Map(found.batches.map((batch) => [batch.baseOffset, batch]));
    const contents: Contents = new Map();
    for (const batch of model.batches) {
      if (batch.topic !== state.id || batch.partition !== partition || !wasAcked(batch, at)) continue;
      this.checkPromised(place, batch, found, byOffset.get(batch.baseOffset));
      batch.records.forEach((record, index) => void contents.set(batch.baseOffset + index, record));
    }
    const seen = new Set<number>();
    for (const batch of found.batches) this.checkFound(place, state, partition, batch, seen, contents);
    return contents;
  }

  private checkPromised(place: string, batch: SentBatch, found: FoundPartition, kept: FoundBatch | undefined): void {
    const { baseOffset, records, stored } = batch;
    const lastOffset = baseOffset + records.length - 1;
    must(lastOffset < found.end, () => `acknowledged offset ${lastOffset} of ${place} is past the end ${found.end}`);
    if (lastOffset < found.start) return;
    must(kept !== undefined, () => `acknowledged offset ${baseOffset} of ${place} is gone`);
    if (stored)
      must(Buffer.compare(kept!.bytes, stored) === 0, () => `offset ${baseOffset} of ${place} has other bytes`);
  }

  /** A batch in the log is one that was sent, whole, and once. */
  private checkFound(
    place: string,
    state: TopicState,
    partition: number,
    found: FoundBatch,
    seen: Set<number>,
    contents: Contents,
  ): void {
    const { baseOffset, records } = found;
    if (records.length === 0) return;
    const numbers = records.map(({ value }) => numberIn(state.shape, value!));
    const sent = this.model.byNumber.get(numbers[0]!)?.batch;
    must(
      sent !== undefined && wasSent(sent, this.at) && !sent.mustBeRefused,
      () =>
        `offset ${baseOffset} of ${place} has record ${numbers[0]}, which was ${sent ? "not to be there" : "never sent"}`,
    );
    must(
      sent!.topic === state.id && sent!.partition === partition,
      () => `record ${numbers[0]} in ${place} was sent to another partition`,
    );
    must(
      numbers.join() === sent!.records.map(({ n }) => n).join(),
      () => `offset ${baseOffset} of ${place} has records ${numbers} of a batch ${sent!.records.map(({ n }) => n)}`,
    );
    must(!seen.has(numbers[0]!), () => `record ${numbers[0]} is in ${place} twice, the second time at ${baseOffset}`);
    seen.add(numbers[0]!);
    records.forEach(({ offset, value, key }, index) => {
      const record = sent!.records[index]!;
      const wanted = producedValue(state.shape, record);
      must(
        sameValue(state.shape, value!, wanted) && key === record.key,
        () => `offset ${offset} of ${place} has ${key}: ${value}, sent was ${record.key}: ${wanted}`,
      );
      contents.set(offset, record);
    });
  }

  /** As DuckDB was found: each table is the fold of its log up to the cursor. */
  async lookAtTables(engine: SqlEngine): Promise<void> {
    const cursors = new Map<string, number[]>();
    for (const { topicId, partition, nextOffset } of await engine.cursors()) {
      const list = cursors.get(topicId) ?? [];
      cursors.set(topicId, list);
      list[partition] = nextOffset;
    }
    for (const [name, { topic, state, contents }] of this.found) {
      if (state.shape === "plain") continue;
      const known = cursors.get(topic.entry.id);
      // Without a cursor the table is made anew.
      if (known === undefined) continue;
      topic.partitions.forEach(({ end }, partition) => {
        must(
          (known[partition] ?? 0) <= end,
          () => `table ${name} is at ${known[partition]}, past its log's end ${end}`,
        );
      });
      const rows = (await engine.query(tableQuery(name, state.shape))).values();
      this.compareTable(`table ${name} at ${known}`, state.shape, rows, contents, (partition) => known[partition] ?? 0);
    }
  }

  /** After it has caught up: each table is the fold of its log. */
  async lookAtRows(node: SimulatedNode): Promise<void> {
    for (const [name, { state, contents }] of this.found) {
      if (state.shape === "plain") continue;
      const rows = await settle(node.sql(tableQuery(name, state.shape)), `a read of ${name}`);
      this.compareTable(`table ${name}`, state.shape, rows, contents, () => Number.POSITIVE_INFINITY);
    }
  }

  private compareTable(
    what: string,
    shape: Shape,
    rows: readonly unknown[][],
    contents: readonly Contents[],
    end: (partition: number) => number,
  ): void {
    const wanted: string[] = [];
    contents.forEach((records, partition) => {
      for (const [offset, record] of records)
        if (offset < end(partition)) wanted.push(rowText(shape, record, partition, offset));
    });
    const got = rows.map((row) => row.map(String).join(" "));
    wanted.sort();
    got.sort();
    must(got.join("\n") === wanted.join("\n"), () => {
      const [extra] = got.filter((row) => !wanted.includes(row));
      const [missing] = wanted.filter((row) => !got.includes(row));
      return `${what} has ${got.length} rows, its log ${wanted.length}; first missing: ${missing}; first extra: ${extra}`;
    });
  }

  /** Committed offsets: the last promised one, or one that was on its way after it. */
  async lookAtGroups(node: SimulatedNode): Promise<void> {
    const last = new Map<string, { promised: number; possible: Set<number> }>();
    for (const commit of this.model.commits) {
      const key = `${commit.group} ${commit.topic} ${commit.partition}`;
      const entry = last.get(key) ?? { promised: -1, possible: new Set([-1]) };
      last.set(key, entry);
      if (wasAcked(commit, this.at)) {
        entry.promised = commit.offset;
        entry.possible = new Set([commit.offset]);
      } else if (wasSent(commit, this.at)) entry.possible.add(commit.offset);
    }
    for (const [key, { promised, possible }] of last) {
      const [groupId, name, partition] = key.split(" ") as [string, string, string];
      const topics = [{ name, topicId: "", partitionIndexes: [Number(partition)] }];
      const answer = await settle(node.groups.offsetFetch({ groupId, topics }, true), `the offsets of ${groupId}`);
      const found = Number(answer.topics[0]!.partitions[0]!.committedOffset);
      must(
        possible.has(found),
        () => `group ${key} is at ${found}; promised was ${promised}, possible ${[...possible]}`,
      );
    }
  }

  /** No producer id is given out twice. */
  async lookAtProducerIds(node: SimulatedNode): Promise<void> {
    const id = Number(await settle(node.producerIds.allocate(), "a producer id"));
    for (const given of this.model.producerIds)
      must(!wasAcked(given, this.at) || given.id !== id, () => `producer id ${id} is given out twice`);
  }

  /**
   * What an idempotent producer does next: it sends again what it has no answer for, and may send again what it has. What is in the log
   * already stays where it is, the rest comes behind it.
   */
  async repeatBatches(node: SimulatedNode): Promise<void> {
    for (const [name, { topic, state }] of this.found) {
      const ends = topic.partitions.map(({ end }) => end);
      for (const batches of this.openBatches(state.id, topic)) {
        for (const batch of batches) {
          const { start, batches: stored } = topic.partitions[batch.partition]!;
          const found = stored.find(({ records }) => holds(records, state.shape, batch.records[0]!.n));
          const offset = found?.baseOffset ?? (wasAcked(batch, this.at) ? batch.baseOffset : undefined);
          // Of batches that were taken away only the last of each producer is remembered.
          if (offset !== undefined && offset < start) continue;
          const call = node.produce(topic.entry, batch.partition, batch.produced.slice());
          const outcome = await settle(call, "a batch sent again");
          must(
            outcome.errorCode === 0 && outcome.baseOffset === (offset ?? ends[batch.partition]),
            () =>
              `record ${batch.records[0]!.n} of ${name}-${batch.partition}, sent again, is at ${outcome.baseOffset} (error ${outcome.errorCode}), not ${offset ?? ends[batch.partition]}`,
          );
          if (offset === undefined) ends[batch.partition]! += batch.records.length;
        }
      }
      topic.partitions.forEach((_, partition) => {
        const log = node.topics.log(topic.entry, partition);
        must(log.logEndOffset === ends[partition], () => `${name}-${partition} ends at ${log.logEndOffset}`);
      });
    }
  }

  /** For each producer on each partition: its last promised batch, and those behind that. */
  private openBatches(topicId: string, topic: FoundTopic): SentBatch[][] {
    const open = new Map<string, SentBatch[]>();
    for (const batch of this.model.batches) {
      if (batch.topic !== topicId || batch.producer === undefined || !wasSent(batch, this.at)) continue;
      if (batch.partition >= topic.partitions.length) continue;
      const key = `${batch.producer.id} ${batch.partition}`;
      const list = open.get(key) ?? [];
      open.set(key, list);
      if (wasAcked(batch, this.at)) list.length = 0;
      list.push(batch);
    }
    return [...open.values()];
  }
}

function holds(records: readonly { value: string | null }[], shape: Shape, n: number): boolean {
  return records.some(({ value }) => value !== null && numberIn(shape, value) === n);
}

/** A table stores its row with all columns; what was produced is in it. */
function sameValue(shape: Shape, stored: string, sent: string): boolean {
  if (shape !== "typed" && shape !== "checked") return stored === sent;
  const row = JSON.parse(stored) as { n: number; text: string; amount?: unknown };
  const wanted = JSON.parse(sent) as { n: number; text: string };
  return row.n === wanted.n && row.text === wanted.text && (shape === "checked" || row.amount !== undefined);
}

function tableQuery(name: string, shape: Shape): string {
  if (shape === "raw") return `SELECT coalesce(_key, '-'), _value, _partition, _offset FROM ${name}`;
  return `SELECT n, text FROM ${name}`;
}

function rowText(shape: Shape, record: SentRecord, partition: number, offset: number): string {
  if (shape === "raw") return `${record.key ?? "-"} ${producedValue(shape, record)} ${partition} ${offset}`;
  return `${record.n} ${record.text}`;
}
