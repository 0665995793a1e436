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
  /** The key of a row of a keyed table. */
  id: number;
  /** Deletes its key. */
  isDelete: boolean;
}

/** One SQL commit: what it makes is there whole or not at all. */
export interface SqlCommit extends Span {
  text: string;
}

export interface SentBatch extends Span {
  /** The topic's id. */
  topic: string;
  partition: number;
  records: SentRecord[];
  producer: { id: number; sequence: number } | undefined;
  /** The commit that made it, instead of a producer. */
  commit: SqlCommit | undefined;
  /** The produced bytes, to send them again. */
  produced: Uint8Array;
  /** Where it landed; -1 as long as nobody has said so. */
  baseOffset: number;
  lastOffset: number;
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
  /** Names of a table's columns. */
  columns: string;
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

export class Model {
  readonly topics = new Map<string, TopicChange[]>();
  readonly batches: SentBatch[] = [];
  readonly starts: StartMove[] = [];
  /** Offsets that groups have committed. */
  readonly offsets: Commit[] = [];
  readonly commits: SqlCommit[] = [];
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

export const columnsOf = (topic: TopicEntry) => topic.table?.columns.map(({ name }) => name).join() ?? "";

export const stateOf = (topic: TopicEntry, shape: Shape): TopicState => ({
  id: topic.id,
  shape,
  partitions: topic.partitions,
  configs: topic.configs,
  columns: columnsOf(topic),
});

/** Topics whose records replace each other by key. */
export const isCompacted = (shape: Shape) => shape === "keyed" || shape === "compacted";

export const isTable = (shape: Shape) => shape !== "plain" && shape !== "compacted";

/** What is produced for a record to a topic of a shape. */
export function producedRecord(shape: Shape, record: SentRecord): { key: string | null; value: string | null } {
  const { n, text, id, isDelete } = record;
  if (shape === "typed" || shape === "checked") return { key: record.key, value: JSON.stringify({ n, text }) };
  const value = isDelete ? null : shape === "keyed" ? JSON.stringify({ id, n, text }) : `${n}:${text}`;
  if (shape === "keyed") return { key: isDelete || record.key !== null ? JSON.stringify({ id }) : null, value };
  return { key: shape === "compacted" ? `k${id}` : record.key, value };
}
