/**
 * One segment of a partition: `<base offset>.log` with its two indexes. This class knows sizes, times and index entries;
 * writing and syncing belong to the group commit (`commit.ts`), which also rolls a failed write back with `mark`/`reset`.
 *
 * Invariant: `size` counts whole batches that were accepted, in memory or in the file; `written` those in the file.
 */
import { BatchHeader, batchHeaderBytes } from "../protocol/records/batch.ts";
import type { FileCache } from "./file_cache.ts";
import type { LogConfig } from "./log_config.ts";
import { OffsetIndex, offsetEntryBytes, TimeIndex, timeEntryBytes } from "./sparse_index.ts";

/** What an accepted batch may change, to take it back. */
export interface SegmentMark {
  size: number;
  maxTimestamp: number;
  maxTimestampOffset: number;
  firstTimestamp: number | undefined;
  bytesSinceIndexed: number;
  offsetEntries: number;
  timeEntries: number;
}

export class Segment {
  readonly baseOffset: number;
  /** Path without its ending. */
  readonly stem: string;
  /** What stands behind the endings of its files: nothing, or a stage of compaction. */
  readonly suffix: string;
  readonly logPath: string;
  readonly files: FileCache;
  readonly offsetIndex: OffsetIndex;
  readonly timeIndex: TimeIndex;
  size: number;
  written: number;
  /** The `.log` file is there. */
  exists: boolean;
  /** Wall time when the segment was started, for segments whose records have no time. */
  createdMs: number;
  /** Largest record time (-1 without records; what is left of emptied batches does not count), and the last offset of its batch. */
  maxTimestamp = -1;
  maxTimestampOffset: number;
  /** Largest record time of the first batch; unknown for a segment that was opened and not yet asked. */
  firstTimestamp: number | undefined;
  /** Bytes of the batch that was accepted last; 0 when none was since the segment was opened. */
  lastBatchBytes = 0;
  private bytesSinceIndexed = 0;
  private jitter: number | undefined;

  constructor(
    files: FileCache,
    directory: string,
    baseOffset: number,
    found?: { size: number; createdMs: number },
    suffix = "",
  ) {
    this.files = files;
    this.baseOffset = baseOffset;
    this.stem = `${directory}/${segmentName(baseOffset)}`;
    this.suffix = suffix;
    this.logPath = `${this.stem}.log${suffix}`;
    this.size = found?.size ?? 0;
    this.written = this.size;
    this.exists = found !== undefined;
    this.createdMs = found?.createdMs ?? 0;
    this.maxTimestampOffset = baseOffset;
    const entries = (ending: string, bytes: number) =>
      found ? Math.floor((files.disk.stat(`${this.stem}.${ending}${suffix}`)?.size ?? 0) / bytes) : 0;
    this.offsetIndex = new OffsetIndex(files, `${this.stem}.index${suffix}`, entries("index", offsetEntryBytes));
    this.timeIndex = new TimeIndex(files, `${this.stem}.timeindex${suffix}`, entries("timeindex", timeEntryBytes));
  }

  /** Takes the largest time from the time index, which holds it for every segment that was ended or closed cleanly. */
  loadMaxTimestamp(): void {
    const last = this.timeIndex.last();
    if (!last) return;
    this.maxTimestamp = last.timestamp;
    this.maxTimestampOffset = this.baseOffset + last.relativeOffset;
  }

  /** Whether a batch must start a new segment (Kafka's LogSegment.shouldRoll). */
  mustRollFor(bytes: number, lastOffset: number, timestamp: number, nowMs: number, config: LogConfig): boolean {
    if (lastOffset - this.baseOffset > 2_147_483_647) return true;
    if (this.size === 0) return false;
    if (this.size + bytes > config.segmentBytes) return true;
    const indexBytesMax = config.segmentIndexBytes;
    if ((this.offsetIndex.count + 1) * offsetEntryBytes > indexBytesMax) return true;
    if ((this.timeIndex.count + 1) * timeEntryBytes > indexBytesMax) return true;
    const first = this.firstTime();
    const ageMs = first >= 0 && timestamp >= 0 ? timestamp - first : nowMs - this.createdMs;
    return ageMs > longestAgeMs(config) - this.jitterMs(config);
  }

  /** The random part of this segment's age limit (Kafka's randomSegmentJitter), drawn once. */
  private jitterMs({ segmentJitterMs, segmentMs }: LogConfig): number {
    if (segmentJitterMs === 0) return 0;
    this.jitter ??= Math.random();
    return Math.floor(this.jitter * Math.min(segmentJitterMs, segmentMs));
  }

  /** Largest record time of the first batch; -1 when it has none. */
  firstTime(): number {
    if (this.firstTimestamp === undefined) {
      const bytes = new Uint8Array(batchHeaderBytes);
      const got = this.written > 0 ? this.files.use(this.logPath).read(bytes, 0) : 0;
      this.firstTimestamp = got === bytes.length ? new BatchHeader(bytes).latestRecordTime : -1;
    }
    return this.firstTimestamp;
  }

  /** Counts a batch in that starts at the end of the segment (Kafka's LogSegment.append). */
  accept(bytes: number, lastOffset: number, timestamp: number, indexIntervalBytes: number): void {
    if (this.size === 0) this.firstTimestamp = timestamp;
    if (timestamp > this.maxTimestamp) {
      this.maxTimestamp = timestamp;
      this.maxTimestampOffset = lastOffset;
    }
    if (this.bytesSinceIndexed > indexIntervalBytes) {
      this.offsetIndex.append(lastOffset - this.baseOffset, this.size);
      this.timeIndex.appendIfLater(this.maxTimestamp, this.maxTimestampOffset - this.baseOffset);
      this.bytesSinceIndexed = 0;
    }
    this.bytesSinceIndexed += bytes;
    this.lastBatchBytes = bytes;
    this.size += bytes;
  }

  mark(): SegmentMark {
    return {
      size: this.size,
      maxTimestamp: this.maxTimestamp,
      maxTimestampOffset: this.maxTimestampOffset,
      firstTimestamp: this.firstTimestamp,
      bytesSinceIndexed: this.bytesSinceIndexed,
      offsetEntries: this.offsetIndex.count,
      timeEntries: this.timeIndex.count,
    };
  }

  /** Goes back to a mark; the file itself is cut by the caller. */
  reset(mark: SegmentMark): void {
    this.size = mark.size;
    this.written = Math.min(this.written, mark.size);
    this.maxTimestamp = mark.maxTimestamp;
    this.maxTimestampOffset = mark.maxTimestampOffset;
    this.firstTimestamp = mark.firstTimestamp;
    this.bytesSinceIndexed = mark.bytesSinceIndexed;
    this.offsetIndex.truncateTo(mark.offsetEntries);
    this.timeIndex.truncateTo(mark.timeEntries);
  }

  /** Ends the indexes as Kafka does when a segment stops being the active one: the largest time is the last entry. */
  sealIndexes(): void {
    this.timeIndex.appendIfLater(this.maxTimestamp, this.maxTimestampOffset - this.baseOffset);
    this.offsetIndex.seal();
    this.timeIndex.seal();
  }

  /** Writes what the index files lack. */
  flushIndexes(): void {
    this.offsetIndex.flush();
    this.timeIndex.flush();
  }

  /** Closes what is open of this segment. */
  drop(): void {
    for (const ending of segmentEndings) this.files.drop(`${this.stem}.${ending}${this.suffix}`);
  }

  /**
   * Walks batch headers from `start` (where a batch starts) until `visit` says true, giving each with its position.
   * Stops at the end of the written part or at bytes that are no header; gives the position where it stopped.
   */
  walk(start: number, visit: (header: BatchHeader, position: number) => boolean): number {
    const file = this.files.use(this.logPath);
    const window = new Uint8Array(Math.min(walkWindowBytes, Math.max(0, this.written - start)));
    let windowStart = start;
    let windowBytes = 0;
    let position = start;
    while (position + batchHeaderBytes <= this.written) {
      if (position + batchHeaderBytes > windowStart + windowBytes) {
        windowStart = position;
        windowBytes = file.read(window.subarray(0, Math.min(window.length, this.written - position)), position);
        if (windowBytes < batchHeaderBytes) break;
      }
      const header = new BatchHeader(window, position - windowStart);
      const bytes = header.sizeBytes;
      if (bytes < batchHeaderBytes || position + bytes > this.written) break;
      if (visit(header, position)) return position;
      position += bytes;
    }
    return position;
  }

  /** Position and size of the first batch whose last offset is at or past `offset`; undefined when the segment has none. */
  locate(offset: number): { position: number; bytes: number } | undefined {
    let found: { position: number; bytes: number } | undefined;
    const start = this.offsetIndex.positionFor(Math.min(offset - this.baseOffset, 2_147_483_647));
    this.walk(start, (header, position) => {
      if (header.lastOffset < offset) return false;
      found = { position, bytes: header.sizeBytes };
      return true;
    });
    return found;
  }
}

const walkWindowBytes = 16_384;

/** Compaction does not touch the active segment, so one that is compacted in time must end in time (Kafka's maxSegmentMs). */
function longestAgeMs({ compacted, segmentMs, maxCompactionLagMs }: LogConfig): number {
  return compacted ? Math.min(segmentMs, maxCompactionLagMs) : segmentMs;
}

/** Endings of the files of a segment; the log last. */
export const segmentEndings = ["index", "timeindex", "log"] as const;

/** Kafka's file name of a segment: the base offset in 20 digits. */
export function segmentName(baseOffset: number): string {
  return String(baseOffset).padStart(20, "0");
}
