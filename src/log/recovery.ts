/**
 * The check of a segment after a crash: every batch from a position on, by its checksum; what follows the first bad one
 * is cut off, with a copy.
 *
 * Under "sync" only the end of the newest segment can be torn by a power cut, and nothing in that end was acknowledged.
 * Anything else that is found bad had been synced: that is damage, reported as such.
 */
import { limits } from "../base/limits.ts";
import { BatchHeader, batchHeaderBytes } from "../protocol/records/batch.ts";
import { encodeBatch } from "../protocol/records/encode.ts";
import type { LogContext } from "./context.ts";
import type { LogState } from "./log_state.ts";
import type { Segment } from "./segment.ts";

export interface ScanResult {
  /** Offset after the last good batch. */
  endOffset: number;
  /** Position after it. */
  position: number;
  /** Nothing when the file ends there; else what is wrong with what follows. */
  fault: string | undefined;
}

const windowBytes = 1024 * 1024;

/** Reads a file in large pieces, giving views of any range that the walk moves forward to. */
class Window {
  private readonly segment: Segment;
  private readonly fileBytes: number;
  private bytes: Uint8Array;
  private start = 0;
  private end = 0;

  constructor(segment: Segment, fileBytes: number) {
    this.segment = segment;
    this.fileBytes = fileBytes;
    this.bytes = new Uint8Array(Math.min(windowBytes, fileBytes));
  }

  view(position: number, length: number): Uint8Array {
    if (position < this.start || position + length > this.end) {
      if (length > this.bytes.length) this.bytes = new Uint8Array(length);
      const wanted = Math.min(this.bytes.length, this.fileBytes - position);
      const got = this.segment.files.use(this.segment.logPath).read(this.bytes.subarray(0, wanted), position);
      this.start = position;
      this.end = position + got;
    }
    return this.bytes.subarray(position - this.start, Math.min(position + length, this.end) - this.start);
  }
}

/**
 * Checks a segment of `fileBytes` from `position`, where the batch with an offset of at least `offset` must start, and
 * counts the good batches in. Batches at or past `offsetLimit`, where the next segment starts, are not this segment's.
 */
export function scanSegment(
  segment: Segment,
  fileBytes: number,
  position: number,
  offset: number,
  offsetLimit: number,
  indexIntervalBytes: number,
): ScanResult {
  const window = new Window(segment, fileBytes);
  while (position < fileBytes) {
    const fault = batchFault(window, position, fileBytes, offset, offsetLimit);
    if (typeof fault === "string") return { endOffset: offset, position, fault };
    const header = fault;
    segment.accept(header.sizeBytes, header.lastOffset, header.latestRecordTime, indexIntervalBytes);
    offset = header.lastOffset + 1;
    position += header.sizeBytes;
  }
  return { endOffset: offset, position, fault: undefined };
}

/** The batch at a position when it is good, else what is wrong with it. */
function batchFault(
  window: Window,
  position: number,
  fileBytes: number,
  offset: number,
  offsetLimit: number,
): BatchHeader | string {
  const left = fileBytes - position;
  if (left < batchHeaderBytes) return `${left} bytes are too few for a batch`;
  const size = new BatchHeader(window.view(position, batchHeaderBytes)).sizeBytes;
  if (size < batchHeaderBytes || size > limits.requestFrameBytesMax) return `a batch of ${size} bytes is impossible`;
  if (size > left) return `a batch of ${size} bytes has only ${left}`;
  const header = new BatchHeader(window.view(position, size));
  if (header.magic !== 2) return `the batch has magic ${header.magic}`;
  if (!header.isCrcValid) return "the batch has a wrong checksum";
  if (header.baseOffset < offset || header.lastOffsetDelta < 0)
    return `the batch has offset ${header.baseOffset} where at least ${offset} is due`;
  if (header.lastOffset >= offsetLimit)
    return `the batch reaches into the next segment, which starts at ${offsetLimit}`;
  return header;
}

/**
 * Cuts what follows a scan's last good batch. Good batches in the cut part may have been read by somebody: their offsets
 * are not given out again but covered by a batch without records, as compaction leaves them behind, so that readers pass
 * over. The same goes for the offsets up to `nextBase`, where the next segment starts.
 */
export function cutTail(
  context: LogContext,
  state: LogState,
  segment: Segment,
  fileBytes: number,
  scan: ScanResult,
  nextBase: number | undefined,
): void {
  const survey = surveyTail(segment, fileBytes, scan);
  const copy = survey.isZero ? undefined : copyTail(context, segment, fileBytes, scan.position);
  const goneUpTo = nextBase ?? survey.endOffset;
  if (goneUpTo > scan.endOffset) coverGap(context, state, segment, scan.endOffset, goneUpTo);
  const file = context.files.use(segment.logPath);
  file.truncate(segment.size);
  file.syncNow();
  segment.written = segment.size;
  const fields = {
    partition: state.name,
    file: segment.logPath,
    position: scan.position,
    offset: scan.endOffset,
    bytes: fileBytes - scan.position,
    reason: scan.fault,
    copy,
  };
  if (nextBase === undefined && survey.goodBatches === 0) context.logger.warn("cut a torn end of a log", fields);
  else
    context.logger.error("cut a log at a bad batch that had others behind it; the copy has what followed", {
      ...fields,
      goodBatchesCut: survey.goodBatches,
      offsetsGoneUpTo: goneUpTo > scan.endOffset ? goneUpTo - 1 : undefined,
    });
}

/**
 * Puts a batch without records at the end of a segment that covers the offsets from `from` to before `to`, and syncs it,
 * before anything else of the file is cut: a crash between the two must not bring used offsets back.
 */
export function coverGap(context: LogContext, state: LogState, segment: Segment, from: number, to: number): void {
  while (from < to) {
    const lastOffsetDelta = Math.min(to - from - 1, 2_147_483_646);
    const cover = encodeBatch([], { baseOffset: from, partitionLeaderEpoch: 0, lastOffsetDelta });
    const file = context.files.use(segment.logPath);
    file.write(cover, segment.size);
    file.syncNow();
    from += lastOffsetDelta + 1;
    segment.accept(cover.length, from - 1, -1, state.config.indexIntervalBytes);
    segment.written = Math.max(segment.written, segment.size);
  }
  state.logEndOffset = to;
}

/** What the cut part holds (its first part, if it is long): whole good batches, or nothing but zeros. */
function surveyTail(
  segment: Segment,
  fileBytes: number,
  scan: ScanResult,
): { goodBatches: number; endOffset: number; isZero: boolean } {
  const window = new Window(segment, fileBytes);
  let goodBatches = 0;
  let endOffset = scan.endOffset;
  let isZero = true;
  let position = scan.position;
  const searchEnd = Math.min(fileBytes, scan.position + limits.recoverySearchBytesMax);
  while (position < searchEnd) {
    const bytes = window.view(position, batchHeaderBytes);
    if (isZero && bytes[0] !== 0) isZero = false;
    if (bytes[16] === 2) {
      const header = batchFault(window, position, fileBytes, endOffset, Number.POSITIVE_INFINITY);
      if (typeof header !== "string" && header.baseOffset - scan.endOffset < plausibleOffsets) {
        goodBatches++;
        endOffset = header.lastOffset + 1;
        position += header.sizeBytes;
        continue;
      }
    }
    position++;
  }
  return { goodBatches, endOffset, isZero };
}

/** A batch found by chance must not look like one billions of offsets ahead. */
const plausibleOffsets = 2_147_483_648;

/** Copies the tail beside the segment; gives the copy's path, or nothing when there is no space for it. */
function copyTail(context: LogContext, segment: Segment, fileBytes: number, position: number): string | undefined {
  const path = `${segment.logPath}.${position}.cut`;
  try {
    const copy = context.disk.open(path, { write: true, create: true, truncate: true });
    try {
      const piece = new Uint8Array(Math.min(windowBytes, fileBytes - position));
      for (let from = position; from < fileBytes; from += piece.length) {
        const got = context.files.use(segment.logPath).read(piece, from);
        copy.write(piece.subarray(0, got), from - position);
      }
      copy.syncNow();
    } finally {
      copy.close();
    }
    return path;
  } catch (error) {
    context.logger.warn("could not keep a copy of what is cut from a log", {
      partition: segment.logPath,
      reason: (error as Error).message,
    });
    return undefined;
  }
}
