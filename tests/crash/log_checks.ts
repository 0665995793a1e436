/** What must hold of one partition's log after a crash. */
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { type FoundPartition, must } from "./findings.ts";
import { isCompacted, type Model, type SentBatch, type TopicState, wasAcked, wasSent } from "./model.ts";
import { type StoredBatch, type StoredRecord, storedBatch } from "./stored_batch.ts";

/** The records that a partition has had, by offset: those in its log, and those that were promised and have left it since. */
export type Contents = Map<number, StoredRecord>;

interface Sent {
  batch: SentBatch;
  stored: StoredBatch | undefined;
}

export class PartitionCheck {
  readonly contents: Contents = new Map();
  /** Where each batch is that was asked for by then. What was not promised may be elsewhere than in the run, or nowhere. */
  readonly places = new Map<SentBatch, number>();
  private readonly model: Model;
  private readonly at: number;
  private readonly place: string;
  private readonly state: TopicState;
  private readonly partition: number;
  private readonly found: FoundPartition;
  private readonly foundRecords = new Map<number, StoredRecord>();
  /** What was promised, by base offset. */
  private readonly promised = new Map<number, Sent>();
  /** What was only asked for, by its checksum, which does not depend on the offset. */
  private readonly open = new Map<number, Sent>();

  constructor(model: Model, at: number, place: string, state: TopicState, partition: number, found: FoundPartition) {
    this.model = model;
    this.at = at;
    this.place = place;
    this.state = state;
    this.partition = partition;
    this.found = found;
    for (const { records } of found.batches) for (const record of records) this.foundRecords.set(record.offset, record);
    for (const batch of model.batches) {
      if (batch.topic !== state.id || batch.partition !== partition || batch.baseOffset < 0) continue;
      if (!wasSent(batch, at)) continue;
      const sent = { batch, stored: batch.stored && storedBatch(batch.stored) };
      if (wasAcked(batch, at) || sent.stored === undefined) this.promised.set(batch.baseOffset, sent);
      else this.open.set(new BatchHeader(sent.stored.bytes).crc, sent);
    }
  }

  run(): this {
    const { model, state, partition, found, place, at } = this;
    const { least, most } = model.startBounds(state.id, partition, at);
    must(
      found.start >= least && found.start <= most,
      () => `${place} starts at ${found.start}, not ${least} to ${most}`,
    );
    const byOffset = new Map(found.batches.map((batch) => [batch.baseOffset, batch]));
    for (const { batch, stored } of this.promised.values())
      if (wasAcked(batch, at)) this.checkPromised(batch, stored, byOffset.get(batch.baseOffset));
    for (const batch of found.batches) this.checkFound(batch);
    return this;
  }

  private checkPromised(batch: SentBatch, stored: StoredBatch | undefined, kept: StoredBatch | undefined): void {
    const { place, found } = this;
    const { baseOffset, lastOffset } = batch;
    this.places.set(batch, baseOffset);
    must(lastOffset < found.end, () => `acknowledged offset ${lastOffset} of ${place} is past the end ${found.end}`);
    for (const record of stored?.records ?? []) this.contents.set(record.offset, record);
    if (lastOffset < found.start || stored === undefined) return;
    if (isCompacted(this.state.shape)) {
      for (const record of stored.records) this.checkKept(record);
      return;
    }
    must(kept !== undefined, () => `acknowledged offset ${baseOffset} of ${place} is gone`);
    must(Buffer.compare(kept.bytes, stored.bytes) === 0, () => `offset ${baseOffset} of ${place} has other bytes`);
  }

  /** A record that compaction has not replaced by a later one of its key. */
  private checkKept({ offset, key, value }: StoredRecord): void {
    const { place, found, foundRecords } = this;
    if (offset < found.start) return;
    const kept = foundRecords.get(offset);
    if (kept === undefined)
      must(this.isReplaced(offset, key), () => `acknowledged offset ${offset} of ${place}, key ${key}, is gone`);
    else
      must(
        kept.key === key && kept.value === value,
        () => `offset ${offset} of ${place} is ${kept.key}: ${kept.value}, was ${key}: ${value}`,
      );
  }

  private isReplaced(offset: number, key: string | null): boolean {
    const replaces = (record: StoredRecord) =>
      record.key === key && record.offset > offset && record.offset < this.found.end;
    for (const record of this.foundRecords.values()) if (replaces(record)) return true;
    for (const { stored } of this.promised.values()) if (stored?.records.some(replaces)) return true;
    return false;
  }

  /** A batch in the log is one that was asked for, whole, where it was put first. */
  private checkFound(found: StoredBatch): void {
    const { place, state } = this;
    if (found.records.length === 0) return;
    const sent = this.promised.get(found.baseOffset) ?? this.open.get(new BatchHeader(found.bytes).crc);
    must(sent !== undefined, () => `offset ${found.baseOffset} of ${place} has a batch that was not asked for`);
    must(!sent.batch.mustBeRefused, () => `offset ${found.baseOffset} of ${place} has a batch that was to be refused`);
    const before = this.places.get(sent.batch) ?? found.baseOffset;
    must(
      before === found.baseOffset,
      () => `the batch at offset ${before} of ${place} is there again at ${found.baseOffset}`,
    );
    this.places.set(sent.batch, found.baseOffset);
    for (const record of found.records) this.contents.set(record.offset, record);
    if (sent.stored === undefined || !wasAcked(sent.batch, this.at)) return;
    if (!isCompacted(state.shape)) {
      must(
        Buffer.compare(sent.stored.bytes, found.bytes) === 0,
        () => `offset ${found.baseOffset} of ${place} has other bytes than were acknowledged`,
      );
      return;
    }
    const stored = new Map(sent.stored.records.map((record) => [record.offset, record]));
    for (const { offset, key, value } of found.records) {
      const wanted = stored.get(offset);
      must(
        wanted?.key === key && wanted.value === value,
        () => `offset ${offset} of ${place} is ${key}: ${value}, was ${wanted?.key}: ${wanted?.value}`,
      );
    }
  }
}
