/** What must hold of one partition's log after a crash. */
import { type FoundPartition, must } from "./findings.ts";
import { isCompacted, type Model, type SentBatch, type TopicState, wasAcked, wasSent } from "./model.ts";
import { type StoredBatch, type StoredRecord, storedBatch } from "./stored_batch.ts";

/** The records that a partition has had, by offset: those in its log, and those that were promised and have left it since. */
export type Contents = Map<number, StoredRecord>;

export class PartitionCheck {
  private readonly model: Model;
  private readonly at: number;
  private readonly place: string;
  private readonly state: TopicState;
  private readonly found: FoundPartition;
  private readonly foundRecords = new Map<number, StoredRecord>();
  /** What was asked for by then, by base offset. */
  private readonly sent = new Map<number, { batch: SentBatch; stored: StoredBatch | undefined }>();
  private readonly contents: Contents = new Map();

  constructor(model: Model, at: number, place: string, state: TopicState, partition: number, found: FoundPartition) {
    this.model = model;
    this.at = at;
    this.place = place;
    this.state = state;
    this.found = found;
    for (const { records } of found.batches) for (const record of records) this.foundRecords.set(record.offset, record);
    for (const batch of model.batches) {
      if (batch.topic !== state.id || batch.partition !== partition || batch.baseOffset < 0) continue;
      if (!wasSent(batch, at)) continue;
      this.sent.set(batch.baseOffset, { batch, stored: batch.stored && storedBatch(batch.stored) });
    }
  }

  run(partition: number): Contents {
    const { model, state, found, place, at } = this;
    const { least, most } = model.startBounds(state.id, partition, at);
    must(
      found.start >= least && found.start <= most,
      () => `${place} starts at ${found.start}, not ${least} to ${most}`,
    );
    const byOffset = new Map(found.batches.map((batch) => [batch.baseOffset, batch]));
    for (const { batch, stored } of this.sent.values())
      if (wasAcked(batch, at)) this.checkPromised(batch, stored, byOffset.get(batch.baseOffset));
    for (const batch of found.batches) this.checkFound(batch);
    return this.contents;
  }

  private checkPromised(batch: SentBatch, stored: StoredBatch | undefined, kept: StoredBatch | undefined): void {
    const { place, found } = this;
    const { baseOffset, lastOffset } = batch;
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
    for (const { stored } of this.sent.values())
      for (const record of stored?.records ?? [])
        if (record.key === key && record.offset > offset && record.offset < this.found.end) return true;
    return false;
  }

  /** A batch in the log is one that was asked for, whole, where it was put first. */
  private checkFound(found: StoredBatch): void {
    const { place, state } = this;
    if (found.records.length === 0) return;
    const sent = this.sent.get(found.baseOffset);
    must(sent !== undefined, () => `offset ${found.baseOffset} of ${place} has a batch that was not asked for`);
    must(!sent.batch.mustBeRefused, () => `offset ${found.baseOffset} of ${place} has a batch that was to be refused`);
    for (const record of found.records) this.contents.set(record.offset, record);
    if (sent.stored === undefined) return;
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
