/**
 * What must hold after a crash at a moment, whatever survived: of what was promised by then nothing is missing, of what was not asked for
 * by then nothing is there, and table and log agree. Each check throws with what is wrong.
 */
import type { SqlEngine } from "../../src/sql/engine.ts";
import { type FoundTopic, findTopics, must } from "./findings.ts";
import { type Contents, PartitionCheck } from "./log_checks.ts";
import {
  columnsOf,
  isTable,
  type Model,
  type SentBatch,
  type SqlCommit,
  type TopicState,
  wasAcked,
  wasSent,
} from "./model.ts";
import type { SimulatedNode } from "./node.ts";
import { settle } from "./surroundings.ts";
import { compareTable, tableQuery } from "./table_checks.ts";

export class Checks {
  private readonly model: Model;
  private readonly at: number;
  found = new Map<string, { topic: FoundTopic; state: TopicState; contents: Contents[] }>();
  /** Where batches are that were asked for by then. */
  places = new Map<SentBatch, number>();

  /** `at`: the number of the change in which the power went. */
  constructor(model: Model, at: number) {
    this.model = model;
    this.at = at;
  }

  /** Catalog and logs. */
  lookAt(node: SimulatedNode): void {
    const { model, at } = this;
    const topics = findTopics(node);
    this.found = new Map();
    this.places = new Map();
    for (const name of new Set([...model.topics.keys(), ...topics.keys()])) {
      const topic = topics.get(name);
      const state = this.checkTopic(name, topic);
      if (state === undefined || topic === undefined) continue;
      const contents = topic.partitions.map((found, partition) => {
        const check = new PartitionCheck(model, at, `${name}-${partition}`, state, partition, found).run();
        for (const [batch, offset] of check.places) this.places.set(batch, offset);
        return check.contents;
      });
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
        one.id === entry.id &&
        one.partitions === entry.partitions &&
        one.columns === columnsOf(entry) &&
        configsOf(one.configs) === configsOf(entry.configs),
    );
    must(
      state !== undefined,
      () =>
        `topic ${name} (${entry.id}) has ${entry.partitions} partitions, columns ${columnsOf(entry)} and configs ${configsOf(entry.configs)}; possible are ${JSON.stringify(possible)}`,
    );
    return state;
  }

  /** A commit was under way: what of it is in the logs is known once the outbox is empty. */
  get hasOpenCommit(): boolean {
    return this.model.commits.some((commit) => wasSent(commit, this.at) && !wasAcked(commit, this.at));
  }

  /** As DuckDB was found: each table is the fold of its log up to the cursor. Where a SQL commit is ahead of its log, the later look counts. */
  async lookAtTables(engine: SqlEngine): Promise<void> {
    const cursors = new Map<string, number[]>();
    for (const { topicId, partition, nextOffset } of await engine.cursors()) {
      const list = cursors.get(topicId) ?? [];
      cursors.set(topicId, list);
      list[partition] = nextOffset;
    }
    for (const [name, { topic, state, contents }] of this.found) {
      if (!isTable(state.shape)) continue;
      const known = cursors.get(topic.entry.id);
      // Without a cursor the table is made anew.
      if (known === undefined) continue;
      topic.partitions.forEach(({ end }, partition) => {
        must(
          (known[partition] ?? 0) <= end,
          () => `table ${name} is at ${known[partition]}, past its log's end ${end}`,
        );
      });
      const isAhead = this.model.batches.some(
        (batch) =>
          batch.commit !== undefined &&
          batch.topic === state.id &&
          wasSent(batch, this.at) &&
          batch.baseOffset >= (known[batch.partition] ?? 0),
      );
      if (isAhead) continue;
      const rows = (await engine.query(tableQuery(name, state.shape))).values();
      compareTable(`table ${name} at ${known}`, state.shape, rows, contents, (partition) => known[partition] ?? 0);
    }
  }

  /** After it has caught up: each table is the fold of its log, and each SQL commit is in all of its logs or in none. */
  async lookAtRows(node: SimulatedNode): Promise<void> {
    await settle(node.tables.engine(), "the engine");
    await settle(node.tables.barrier(), "the applier");
    this.lookAt(node);
    this.checkCommits();
    for (const [name, { state, contents }] of this.found) {
      if (!isTable(state.shape)) continue;
      const rows = await settle(node.sql(tableQuery(name, state.shape)), `a read of ${name}`);
      compareTable(`table ${name}`, state.shape, rows, contents, () => Number.POSITIVE_INFINITY);
    }
  }

  private checkCommits(): void {
    const present = new Map<SqlCommit, boolean>();
    const topics = new Map([...this.found.values()].map(({ topic }) => [topic.entry.id, topic]));
    for (const batch of this.model.batches) {
      const { commit, topic: id, partition, baseOffset } = batch;
      if (commit === undefined || !wasSent(commit, this.at)) continue;
      const topic = topics.get(id);
      if (topic === undefined) continue;
      const place = `${topic.entry.name}-${partition}`;
      const isThere = this.places.has(batch);
      must(
        isThere || !wasAcked(commit, this.at),
        () => `a commit was acknowledged, and offset ${baseOffset} of ${place} is gone: ${commit.text}`,
      );
      must(
        (present.get(commit) ?? isThere) === isThere,
        () => `a commit is there in part, offset ${baseOffset} of ${place} ${isThere ? "too" : "not"}: ${commit.text}`,
      );
      present.set(commit, isThere);
    }
  }

  /** Committed offsets: the last promised one, or one that was on its way after it. */
  async lookAtGroups(node: SimulatedNode): Promise<void> {
    const last = new Map<string, { promised: number; possible: Set<number> }>();
    for (const commit of this.model.offsets) {
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
   * already stays where it is, the rest comes behind it. Gives where each batch is, by batch.
   */
  async repeatBatches(node: SimulatedNode): Promise<Map<SentBatch, number>> {
    const places = new Map<SentBatch, number>();
    for (const [name, { topic, state }] of this.found) {
      const ends = topic.partitions.map(({ end }) => end);
      for (const batch of this.openBatches(state.id, topic)) {
        const { partition, baseOffset, lastOffset } = batch;
        const place = this.places.get(batch);
        // Of batches that were taken away only the last of each producer is remembered.
        if (place !== undefined && place < topic.partitions[partition]!.start) continue;
        const outcome = await settle(
          node.produce(topic.entry, partition, batch.produced.slice()),
          "a batch sent again",
        );
        const wanted = place ?? ends[partition]!;
        must(
          outcome.errorCode === 0 && outcome.baseOffset === wanted,
          () =>
            `the batch of ${name}-${partition} at ${baseOffset}, sent again, is at ${outcome.baseOffset} (error ${outcome.errorCode} ${outcome.errorMessage ?? ""}), not ${wanted}`,
        );
        places.set(batch, wanted);
        if (place === undefined) ends[partition]! += lastOffset - baseOffset + 1;
      }
      topic.partitions.forEach((_, partition) => {
        const { logEndOffset } = node.topics.log(topic.entry, partition);
        must(
          logEndOffset === ends[partition],
          () => `${name}-${partition} ends at ${logEndOffset}, not ${ends[partition]}`,
        );
      });
    }
    return places;
  }

  /** Of each producer on each partition the last promised batch and those behind that, in the order in which they were sent. */
  private openBatches(topicId: string, topic: FoundTopic): SentBatch[] {
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
    return [...open.values()].flat();
  }
}
