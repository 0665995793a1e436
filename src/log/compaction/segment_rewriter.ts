/**
 * Writes the batches of a compacted segment: each batch as it was, with records left out, or, where something still needs
 * its offsets or sequences, as a header alone (the rules of Kafka's Cleaner and MemoryRecords.filterTo).
 */
import type { Codec } from "../../hotpath/codecs.ts";
import { BatchHeader } from "../../protocol/records/batch.ts";
import type { RecordBatchView } from "../../protocol/records/decode.ts";
import { encodeBatch } from "../../protocol/records/encode.ts";
import { emptied, rewriteRecords } from "../../protocol/records/rewrite.ts";
import type { LogContext } from "../context.ts";
import type { LogState } from "../log_state.ts";
import { Segment } from "../segment.ts";
import type { OffsetMap } from "./offset_map.ts";
import { cleanedSuffix, removeStage } from "./swap.ts";

export interface RewriteRules {
  nowMs: number;
  /** delete.retention.ms. */
  deleteRetentionMs: number;
  /** Last offsets of batches that must stay, if only as a header, because a producer's sequence ends there. */
  lastBatches: ReadonlySet<number>;
}

const writeBytes = 1024 * 1024;
/** A segment's positions are 31 bits wide. */
const segmentBytesMax = 2_147_483_647;

export class SegmentRewriter {
  recordsRead = 0;
  recordsKept = 0;
  keylessRecords = 0;
  /** Whether the segment differs from what it was made from. */
  hasChanged = false;
  private readonly map: OffsetMap;
  private readonly rules: RewriteRules;
  private context!: LogContext;
  private state!: LogState;
  private cleaned!: Segment;
  /** Offset behind the last batch that was written. */
  private nextOffset = 0;
  private parts: Uint8Array[] = [];
  private partBytes = 0;
  private bytesWritten = 0;
  // The batch at hand.
  private view!: RecordBatchView;
  private dropped = new Uint8Array(0);
  private kept = 0;
  private hasTombstone = false;

  constructor(map: OffsetMap, rules: RewriteRules) {
    this.map = map;
    this.rules = rules;
  }

  /** Starts a segment in the place of `group`. */
  begin(context: LogContext, state: LogState, group: readonly Segment[]): Segment {
    const first = group[0]!;
    this.context = context;
    this.state = state;
    void removeStage(context, state.directory, first.baseOffset, cleanedSuffix);
    this.cleaned = new Segment(context.files, state.directory, first.baseOffset, undefined, cleanedSuffix);
    this.cleaned.createdMs = group[group.length - 1]!.createdMs;
    this.nextOffset = first.baseOffset;
    this.hasChanged = false;
    this.parts = [];
    this.partBytes = 0;
    context.files.use(this.cleaned.logPath, true);
    return this.cleaned;
  }

  open(view: RecordBatchView): void {
    this.view = view;
    if (this.dropped.length < view.count) this.dropped = new Uint8Array(view.count * 2);
    this.dropped.fill(0, 0, view.count);
    this.kept = 0;
    this.hasTombstone = false;
    this.recordsRead += view.count;
  }

  /** Decides which records of the open batch stay, from `first` to before `end`. */
  decide(first: number, end: number): void {
    for (let record = first; record < end; record++)
      if (!this.stays(record)) this.dropped[record] = 1;
      else {
        this.kept++;
        if (this.view.valueLength(record) < 0) this.hasTombstone = true;
      }
  }

  private stays(record: number): boolean {
    const { view, map } = this;
    const offset = view.offset(record);
    if (offset > map.latestOffset) return true;
    const length = view.keyLength(record);
    if (length < 0) {
      this.keylessRecords++;
      return false;
    }
    const start = view.keyStart(record);
    if (offset < map.get(view.plain, start, start + length)) return false;
    if (view.valueLength(record) >= 0) return true;
    const { header } = view;
    return !header.hasDeleteHorizon || this.rules.nowMs < header.baseTimestamp;
  }

  /** Writes what stays of the open batch. `mustCover`: its last offset must not go. */
  close(mustCover: boolean): void {
    const { view, rules } = this;
    const { header, count } = view;
    this.recordsKept += this.kept;
    if (this.kept === 0) {
      const mustStay = mustCover || (header.hasProducerId && rules.lastBatches.has(header.lastOffset));
      if (!mustStay) this.hasChanged = true;
      else if (count === 0) this.keep(header);
      else this.writeChanged(emptied(header));
      return;
    }
    const newHorizon = this.hasTombstone && !header.hasDeleteHorizon;
    if (this.kept === count && !newHorizon) {
      this.keep(header);
      return;
    }
    const dropped = this.dropped.subarray(0, count);
    const deleteHorizonMs = newHorizon ? rules.nowMs + rules.deleteRetentionMs : undefined;
    const changes = deleteHorizonMs === undefined ? { dropped } : { dropped, deleteHorizonMs };
    this.writeChanged(rewriteRecords(view, changes, header.codecId as Codec));
  }

  /** Writes a batch as it is. */
  keep(header: BatchHeader): void {
    // The reader's window moves on.
    this.put(header.bytes.slice(), header);
  }

  /** Covers the offsets up to `end` where no batch does. */
  cover(end: number): void {
    while (this.nextOffset < end) {
      // Only the last offset counts: readers pass over gaps.
      const baseOffset = Math.max(this.nextOffset, end - segmentBytesMax);
      this.writeChanged(
        encodeBatch([], { baseOffset, partitionLeaderEpoch: 0, lastOffsetDelta: end - 1 - baseOffset }),
      );
    }
  }

  private writeChanged(batch: Uint8Array): void {
    this.hasChanged = true;
    this.put(batch, new BatchHeader(batch));
  }

  private put(batch: Uint8Array, header: BatchHeader): void {
    const { cleaned } = this;
    if (cleaned.size + batch.length > segmentBytesMax)
      throw new Error(`the compacted segment ${cleaned.logPath} would be larger than a segment can be`);
    this.parts.push(batch);
    this.partBytes += batch.length;
    cleaned.accept(batch.length, header.lastOffset, header.latestRecordTime, this.state.config.indexIntervalBytes);
    this.nextOffset = header.lastOffset + 1;
    if (this.partBytes >= writeBytes) this.flush();
  }

  private flush(): void {
    if (this.partBytes === 0) return;
    const { cleaned } = this;
    this.context.files.use(cleaned.logPath).writev(this.parts, cleaned.written);
    cleaned.written += this.partBytes;
    this.bytesWritten += this.partBytes;
    this.parts = [];
    this.partBytes = 0;
  }

  takeBytesWritten(): number {
    const bytes = this.bytesWritten;
    this.bytesWritten = 0;
    return bytes;
  }

  /** Writes what is left, and makes the segment's files durable. */
  async finish(): Promise<void> {
    this.flush();
    const { cleaned, context } = this;
    cleaned.sealIndexes();
    const paths = [cleaned.logPath, cleaned.offsetIndex.path, cleaned.timeIndex.path];
    const results = await Promise.allSettled(paths.map((path) => context.files.use(path).sync()));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /** Removes the files; a disk that fails leaves them to the next start. */
  discard(): void {
    if (this.state.deleted) return;
    try {
      void removeStage(this.context, this.state.directory, this.cleaned.baseOffset, cleanedSuffix);
    } catch (error) {
      const fields = { file: this.cleaned.logPath, reason: (error as Error).message };
      this.context.logger.warn("could not remove what was left of a compaction", fields);
    }
  }
}
