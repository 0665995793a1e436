/** The model of a lake after a recovery: what was found there is promised from then on, everything else is forgotten. */
import type { Checks } from "./checks.ts";
import { Model, type Span, wasAcked } from "./model.ts";
import type { SimulatedNode } from "./node.ts";
import { settle } from "./surroundings.ts";

const always: Span = { sentAt: -1, ackedAt: -1 };

/** `checks` has looked at `node`, and `at` is the moment of the crash. */
export async function modelAfter(before: Model, checks: Checks, node: SimulatedNode, at: number): Promise<Model> {
  const after = new Model();
  after.nextNumber = before.nextNumber;
  for (const [name, { topic, state }] of checks.found) {
    after.addTopicChange(name, { ...always, state: { ...state, id: topic.entry.id } });
    topic.partitions.forEach(({ start }, partition) => {
      after.starts.push({ ...always, topic: topic.entry.id, partition, before: start, isPromise: true });
    });
    const stored = new Map(
      topic.partitions.flatMap(({ batches }, partition) =>
        batches.map((batch) => [`${partition} ${batch.baseOffset}`, batch] as const),
      ),
    );
    const offsets = offsetsOf(checks, name);
    for (const batch of before.batches) {
      if (batch.topic !== topic.entry.id) continue;
      const baseOffset = offsets.get(batch.records[0]!.n);
      if (baseOffset === undefined) {
        if (batch.mustBeRefused) after.addBatch({ ...batch });
        continue;
      }
      const found = stored.get(`${batch.partition} ${baseOffset}`);
      after.addBatch({ ...batch, ...always, baseOffset, stored: found?.bytes ?? batch.stored });
    }
  }
  await takeOverCommits(before, after, node);
  for (const given of before.producerIds) if (wasAcked(given, at)) after.producerIds.push({ ...given, ...always });
  return after;
}

/** Where each record of a topic is, or was before it was taken away, by its number. */
function offsetsOf(checks: Checks, name: string): Map<number, number> {
  const offsets = new Map<number, number>();
  for (const records of checks.found.get(name)!.contents) for (const [offset, { n }] of records) offsets.set(n, offset);
  return offsets;
}

async function takeOverCommits(before: Model, after: Model, node: SimulatedNode): Promise<void> {
  const places = new Set(before.commits.map(({ group, topic, partition }) => `${group} ${topic} ${partition}`));
  for (const place of places) {
    const [group, topic, partition] = place.split(" ") as [string, string, string];
    const topics = [{ name: topic, topicId: "", partitionIndexes: [Number(partition)] }];
    const answer = await settle(node.groups.offsetFetch({ groupId: group, topics }, true), `the offsets of ${group}`);
    const offset = Number(answer.topics[0]!.partitions[0]!.committedOffset);
    if (offset >= 0) after.commits.push({ ...always, group, topic, partition: Number(partition), offset });
  }
}
