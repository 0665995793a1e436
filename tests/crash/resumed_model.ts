/** The model of a lake after a recovery: what was found there is promised from then on, everything else is forgotten. */
import type { Checks } from "./checks.ts";
import { Model, type SentBatch, type Span, type SqlCommit, wasAcked } from "./model.ts";
import type { SimulatedNode } from "./node.ts";
import { readBatches } from "./stored_batch.ts";
import { settle } from "./surroundings.ts";

const always: Span = { sentAt: -1, ackedAt: -1 };

/** `checks` has looked at `node`; `places`: where batches are that were sent again; `at` is the moment of the crash. */
export async function modelAfter(
  before: Model,
  checks: Checks,
  places: ReadonlyMap<SentBatch, number>,
  node: SimulatedNode,
  at: number,
): Promise<Model> {
  const after = new Model();
  const commits = new Map<SqlCommit, SqlCommit>();
  const commitOf = (commit: SqlCommit) => {
    const known = commits.get(commit) ?? { ...commit, ...always };
    commits.set(commit, known);
    return known;
  };
  after.nextNumber = before.nextNumber;
  for (const [name, { topic, state }] of checks.found) {
    after.addTopicChange(name, { ...always, state });
    topic.partitions.forEach(({ start }, partition) => {
      after.starts.push({ ...always, topic: state.id, partition, before: start, isPromise: true });
      const stored = new Map(
        readBatches(node, topic.entry, partition, start).map((batch) => [batch.baseOffset, batch]),
      );
      for (const batch of before.batches) {
        if (batch.topic !== state.id || batch.partition !== partition || batch.sentAt >= at) continue;
        const baseOffset = places.get(batch) ?? checks.places.get(batch);
        if (baseOffset === undefined) continue;
        // What is compacted later is compared with what was stored first.
        const bytes = baseOffset !== batch.baseOffset || !batch.stored ? stored.get(baseOffset)?.bytes : batch.stored;
        const lastOffset = baseOffset + batch.lastOffset - batch.baseOffset;
        after.batches.push({
          ...batch,
          ...always,
          baseOffset,
          lastOffset,
          stored: bytes ?? batch.stored,
          commit: batch.commit && commitOf(batch.commit),
        });
      }
    });
  }
  await takeOverCommits(before, after, node);
  for (const given of before.producerIds) if (wasAcked(given, at)) after.producerIds.push({ ...given, ...always });
  return after;
}

async function takeOverCommits(before: Model, after: Model, node: SimulatedNode): Promise<void> {
  const places = new Set(before.offsets.map(({ group, topic, partition }) => `${group} ${topic} ${partition}`));
  for (const place of places) {
    const [group, topic, partition] = place.split(" ") as [string, string, string];
    const topics = [{ name: topic, topicId: "", partitionIndexes: [Number(partition)] }];
    const answer = await settle(node.groups.offsetFetch({ groupId: group, topics }, true), `the offsets of ${group}`);
    const offset = Number(answer.topics[0]!.partitions[0]!.committedOffset);
    if (offset >= 0) after.offsets.push({ ...always, group, topic, partition: Number(partition), offset });
  }
}
