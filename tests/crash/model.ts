/**
 * What a node was asked for and what it answered, with the moment of each, counted in the disk's changes. So one model serves every crash
 * point of a run: at change number k something was asked for when `sentAt < k`, and promised when `ackedAt < k`.
 */
import type { TopicEntry } from "../../src/catalog/catalog.ts";

export interface Span {
  sentAt: number;
  /** Infinity until the answer came, and for ever after a failure, which promises nothing. */
  ackedAt: number;
}

export const wasSent = (span: Span, at: number) => span.sentAt < at;
export const wasAcked = (span: Span, at: number) => span.ackedAt < at;

/** Every record of a run is told from all others by its number, which its value holds. */
export interface SentRecord {
  n: number;
  /** The text in a value: its length varies. */
  text: string;
  /** Key of a record of a plain topic or raw table. */
  key: string | null;
}

export interface SentBatch extends Span {
  /** The topic's id. */
  topic: string;
  partition: number;
  records: SentRecord[];
  producer: { id: number; sequence: number } | undefined;
  /** The produced bytes, to send them again. */
  produced: Uint8Array;
  /** Where it landed; -1 as long as nobody has said so. */
  baseOffset: number;
  /** As the log gave it back right after the answer. */
  stored: Uint8Array | undefined;
  /** Not valid: nothing of it may ever be seen. */
  mustBeRefused: boolean;
}

/** An offset below which records may go (`sentAt`) and must be gone (`ackedAt`, where it was asked for by name). */
export interface StartMove extends Span {
  topic: string;
  partition: number;
  before: number;
  /** DeleteRecords promises a start; retention only allows one. */
  isPromise: boolean;
}

export type Shape = "plain" | "compacted" | "typed" | "checked" | "raw" | "keyed";

export interface TopicState {
  id: string;
  shape: Shape;
  partitions: number;
  configs: ReadonlyMap<string, string>;
}

/** A change to one topic; undefined: it is gone. */
export interface TopicChange extends Span {
  state: TopicState | undefined;
}

export interface Commit extends Span {
  group: string;
  topic: string;
  partition: number;
  offset: number;
}

/** Where a record was found that is promised from then on. */
export interface Place {
  offset: number;
  record: SentRecord;
}

export class Model {
  readonly topics = new Map<string, TopicChange[]>();
  readonly batches: SentBatch[] = [];
  readonly byNumber = new Map<number, { batch: SentBatch; index: number }>();
  readonly starts: StartMove[] = [];
  readonly commits: Commit[] = [];
  /** Producer ids that were handed out. */
  readonly producerIds: (Span & { id: number })[] = [];
  nextNumber = 1;

  /** What may be there at a moment: the state after all promised changes, and after the one that was under way. */
  topicStates(name: string, at: number): (TopicState | undefined)[] {
    let certain: TopicState | undefined;
    const open: (TopicState | undefined)[] = [];
    for (const change of this.topics.get(name) ?? []) {
      if (wasAcked(change, at)) {
        certain = change.state;
        open.length = 0;
      } else if (wasSent(change, at)) open.push(change.state);
    }
    return [certain, ...open];
  }

  /** The topic as the last promised change left it. */
  topic(name: string): TopicState | undefined {
    return this.topicStates(name, Number.POSITIVE_INFINITY)[0];
  }

  addBatch(batch: SentBatch): SentBatch {
    this.batches.push(batch);
    batch.records.forEach((record, index) => void this.byNumber.set(record.n, { batch, index }));
    return batch;
  }

  addTopicChange(name: string, change: TopicChange): TopicChange {
    const changes = this.topics.get(name) ?? [];
    this.topics.set(name, changes);
    changes.push(change);
    return change;
  }

  /** The lowest start that the log may have (what was promised) and the highest (what was allowed). */
  startBounds(topic: string, partition: number, at: number): { least: number; most: number } {
    let least = 0;
    let most = 0;
    for (const move of this.starts) {
      if (move.topic !== topic || move.partition !== partition) continue;
      if (wasSent(move, at)) most = Math.max(most, move.before);
      if (wasAcked(move, at) && move.isPromise) least = Math.max(least, move.before);
    }
    return { least, most };
  }
}

export const stateOf = (topic: TopicEntry, shape: Shape): TopicState => ({
  id: topic.id,
  shape,
  partitions: topic.partitions,
  configs: topic.configs,
});

/** The value that a record has when it is produced to a topic of a shape. */
export function producedValue(shape: Shape, { n, text }: SentRecord): string {
  return shape === "typed" || shape === "checked" ? JSON.stringify({ n, text }) : `${n}:${text}`;
}

/** The number of the record that a value in a log or a table is of. */
export function numberIn(shape: Shape, value: string): number {
  if (shape !== "typed" && shape !== "checked") return Number(value.slice(0, value.indexOf(":")));
  return (JSON.parse(value) as { n: number }).n;
}
