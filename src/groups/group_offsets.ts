/**
 * The offsets that one group committed. A commit counts for readers once it is durable, but for deletions and expiry from
 * the moment it is written: otherwise a tombstone could miss an offset that is on its way to the disk.
 * Invariant: an entry without a durable and without a written offset, and with no write under way, does not exist.
 */
import type { Uuid } from "../base/uuid.ts";

export interface CommittedOffset {
  offset: bigint;
  /** Leader epoch of the last consumed record; -1 when the client did not say. */
  leaderEpoch: number;
  metadata: string;
  commitTimestampMs: number;
  /** Fixed end of life asked for by OffsetCommit 2 to 4, in wall milliseconds; -1 for the broker's retention. */
  expireTimestampMs: number;
  topicId: Uuid;
}

interface Entry {
  durable: CommittedOffset | undefined;
  written: CommittedOffset | undefined;
  writes: number;
  lastWrite: number;
  lastDurable: number;
}

export class GroupOffsets {
  private readonly topics = new Map<string, Map<number, Entry>>();
  private writesMade = 0;

  /** True when nothing is committed or being committed. */
  get isEmpty(): boolean {
    return this.topics.size === 0;
  }

  /** What readers see. */
  get(topic: string, partition: number): CommittedOffset | undefined {
    return this.topics.get(topic)?.get(partition)?.durable;
  }

  /** What is written, durable or not yet. */
  written(topic: string, partition: number): CommittedOffset | undefined {
    return this.topics.get(topic)?.get(partition)?.written;
  }

  /** Notes a write (undefined deletes); the result must be called once with whether it became durable. */
  write(topic: string, partition: number, offset: CommittedOffset | undefined): (durable: boolean) => void {
    const entry = this.entry(topic, partition);
    const write = ++this.writesMade;
    entry.written = offset;
    entry.lastWrite = write;
    entry.writes++;
    return (durable) => {
      entry.writes--;
      if (durable && write > entry.lastDurable) {
        entry.durable = offset;
        entry.lastDurable = write;
      }
      if (!durable && write === entry.lastWrite) entry.written = entry.durable;
      this.tidy(topic, partition, entry);
    };
  }

  /** Takes over what a log says, at start. */
  load(topic: string, partition: number, offset: CommittedOffset | undefined): void {
    this.write(topic, partition, offset)(true);
  }

  /** Readers' view: topics with their durable offsets. */
  durableTopics(): { topic: string; partitions: { partition: number; committed: CommittedOffset }[] }[] {
    return this.list((entry) => entry.durable);
  }

  /** Writers' view: everything that a deletion must cover. */
  writtenTopics(): { topic: string; partitions: { partition: number; committed: CommittedOffset }[] }[] {
    return this.list((entry) => entry.written);
  }

  private list(pick: (entry: Entry) => CommittedOffset | undefined) {
    const list: { topic: string; partitions: { partition: number; committed: CommittedOffset }[] }[] = [];
    for (const [topic, entries] of this.topics) {
      const partitions: { partition: number; committed: CommittedOffset }[] = [];
      for (const [partition, entry] of entries) {
        const committed = pick(entry);
        if (committed) partitions.push({ partition, committed });
      }
      if (partitions.length > 0) list.push({ topic, partitions });
    }
    return list;
  }

  private entry(topic: string, partition: number): Entry {
    const entries = this.topics.get(topic) ?? new Map<number, Entry>();
    this.topics.set(topic, entries);
    let entry = entries.get(partition);
    if (!entry) {
      entry = { durable: undefined, written: undefined, writes: 0, lastWrite: 0, lastDurable: 0 };
      entries.set(partition, entry);
    }
    return entry;
  }

  private tidy(topic: string, partition: number, entry: Entry): void {
    if (entry.writes > 0 || entry.durable || entry.written) return;
    const entries = this.topics.get(topic);
    if (entries?.get(partition) !== entry) return;
    entries.delete(partition);
    if (entries.size === 0) this.topics.delete(topic);
  }
}
