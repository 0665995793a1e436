/**
 * Loads a partition from its folder: trusts what the checkpoint vouches for, checks the rest, and brings the folder into
 * the state that appends expect. Loading twice in a row, or after a crash in the middle, gives the same log.
 */

import { limits } from "../base/limits.ts";
import { type DiskFile, replaceFile } from "../platform/disk.ts";
import type { PartitionCheckpoint } from "./checkpoint.ts";
import { recoverSwaps, removeStage, swapSuffix } from "./compaction/swap.ts";
import type { LogContext } from "./context.ts";
import { discardedEnding } from "./discard.ts";
import type { LogState } from "./log_state.ts";
import { listSegments, partitionMetadata, readTopicId } from "./partition_files.ts";
import { decodeSnapshot } from "./producer_snapshot.ts";
import { coverGap, cutTail, scanSegment } from "./recovery.ts";
import { Segment, segmentName } from "./segment.ts";

export interface LoadHints {
  checkpoint: PartitionCheckpoint | undefined;
  /** From the log-start-offset-checkpoint; 0 when it says nothing. */
  startOffset: number;
}

/**
 * Throws a DiskError when the folder cannot be read or repaired. After one whose operation is "sync" the loading must not
 * be tried again in this process: a second sync would succeed without having written anything.
 */
export function loadPartition(context: LogContext, state: LogState, hints: LoadHints): void {
  const { disk, clock } = context;
  const vouched = hints.checkpoint;
  const startOffset = Math.max(hints.startOffset, vouched?.logStartOffset ?? 0);
  state.exists = disk.stat(state.directory)?.isDirectory ?? false;
  if (state.exists) recoverSwaps(context, state, disk.list(state.directory));
  const names = state.exists ? disk.list(state.directory) : [];
  for (const name of names) if (name.endsWith(".tmp")) disk.remove(`${state.directory}/${name}`);
  for (const name of names)
    if (name.endsWith(discardedEnding)) disk.removeTreeLater(`${state.directory}/${name}`).catch(() => undefined);
  const bases = dropDeadSegments(context, state, listSegments(names), startOffset);
  /** Segments that were checked, with the position up to which the checkpoint vouches for them. */
  const scanned = new Map<Segment, number>();
  bases.forEach((base, index) => {
    const stat = disk.stat(`${state.directory}/${segmentName(base)}.log`)!;
    const segment = new Segment(context.files, state.directory, base, { size: stat.size, createdMs: stat.modifiedMs });
    state.segments.push(segment);
    const nextBase = bases[index + 1];
    if (vouched && base < vouched.segmentBase) {
      checkIndexes(context, state, segment, nextBase ?? Number.POSITIVE_INFINITY);
      state.logEndOffset = nextBase ?? vouched.endOffset;
      return;
    }
    const hint = vouched?.segmentBase === base ? vouched : undefined;
    if (recoverSegment(context, state, segment, stat.size, hint, nextBase)) scanned.set(segment, hint?.position ?? 0);
  });
  makeDurable(context, state, scanned);
  const end = Math.max(state.logEndOffset, vouched?.endOffset ?? 0, startOffset);
  if (end > state.logEndOffset)
    context.logger.error("a log ends before an offset that it had reached; records are missing", {
      partition: state.name,
      offset: state.logEndOffset,
      expectedOffset: end,
    });
  if (state.segments.length === 0) {
    const next = new Segment(context.files, state.directory, end);
    next.createdMs = clock.nowMs();
    state.segments.push(next);
  } else if (end > state.logEndOffset) coverGap(context, state, state.active, state.logEndOffset, end);
  state.logEndOffset = end;
  state.highWatermark = end;
  state.logStartOffset = Math.max(startOffset, state.segments[0]!.baseOffset);
}

/**
 * What was found may be in memory only, left there by a process that was killed, perhaps just when its last sync failed:
 * the system takes bytes that a failed sync lost for written, and would call the next sync a success. So what the last
 * group commit may have held is written again before it is synced. Nobody may read it earlier.
 */
function makeDurable(context: LogContext, state: LogState, scanned: ReadonlyMap<Segment, number>): void {
  if (scanned.size === 0) return;
  for (const [segment, vouchedBytes] of scanned) {
    const file = context.files.use(segment.logPath);
    if (segment === state.active) writeAgain(file, segment, vouchedBytes);
    file.syncNow();
  }
  if (state.topicId && readTopicId(context.disk, state.directory) !== state.topicId)
    replaceFile(context.disk, `${state.directory}/partition.metadata`, partitionMetadata(state.topicId));
  context.disk.syncDirectory(state.directory);
}

function writeAgain(file: DiskFile, segment: Segment, vouchedBytes: number): void {
  const start = Math.max(vouchedBytes, segment.size - Math.max(limits.groupCommitBytesMax, segment.lastBatchBytes));
  const piece = new Uint8Array(Math.max(0, Math.min(1024 * 1024, segment.size - start)));
  for (let position = start; position < segment.size; position += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, segment.size - position));
    file.read(part, position);
    file.write(part, position);
  }
}

/** Removes segments that end at or before the log start; a crash may have brought them back. */
function dropDeadSegments(context: LogContext, state: LogState, bases: number[], startOffset: number): number[] {
  let dead = 0;
  while (dead + 1 < bases.length && bases[dead + 1]! <= startOffset) dead++;
  // Without a good snapshot they still are what is known of their producers: retention makes one before it removes them.
  if (dead > 0 && !hasSnapshot(context, state, bases[dead]!)) return bases;
  for (const base of bases.slice(0, dead)) void removeSegmentFiles(context, state.directory, base);
  return bases.slice(dead);
}

function hasSnapshot(context: LogContext, state: LogState, offset: number): boolean {
  const path = `${state.directory}/${segmentName(offset)}.snapshot`;
  return context.disk.stat(path) !== undefined && decodeSnapshot(context.disk.readFile(path), 0) !== undefined;
}

/** Resolves when their space is free; from the call on they do not count any more. */
export function removeSegmentFiles(context: LogContext, directory: string, baseOffset: number): Promise<unknown> {
  const snapshot = `${directory}/${segmentName(baseOffset)}.snapshot`;
  context.files.drop(snapshot);
  const stages = ["", swapSuffix].map((suffix) => removeStage(context, directory, baseOffset, suffix));
  if (context.disk.stat(snapshot)) context.disk.remove(snapshot);
  return Promise.all(stages);
}

/**
 * Checks a segment that the checkpoint does not vouch for, or only in its first part; sets the log end. Gives whether
 * anything was checked (an unchanged segment needs no look at all).
 */
function recoverSegment(
  context: LogContext,
  state: LogState,
  segment: Segment,
  fileBytes: number,
  vouched: PartitionCheckpoint | undefined,
  nextBase: number | undefined,
): boolean {
  const from = vouched && trustIndexes(segment, fileBytes, vouched);
  if (from && fileBytes === vouched!.position) {
    segment.maxTimestamp = vouched!.maxTimestamp;
    segment.maxTimestampOffset = vouched!.maxTimestampOffset;
    state.logEndOffset = vouched!.endOffset;
    const covered = coverHole(context, state, segment, nextBase);
    if (covered) sealLater(context, state, segment);
    return covered;
  }
  if (vouched && !from)
    context.logger.error("a segment or its index is shorter than the checkpoint says; checking all of it", {
      partition: state.name,
      file: segment.logPath,
      bytes: fileBytes,
      expectedBytes: vouched.position,
    });
  if (!from) {
    segment.offsetIndex.reset();
    segment.timeIndex.reset();
  } else segment.loadMaxTimestamp();
  const position = from?.position ?? 0;
  segment.size = position;
  segment.written = fileBytes;
  const scan = scanSegment(
    segment,
    fileBytes,
    position,
    from?.offset ?? segment.baseOffset,
    nextBase ?? Number.POSITIVE_INFINITY,
    state.config.indexIntervalBytes,
  );
  state.logEndOffset = scan.endOffset;
  segment.written = scan.position;
  if (scan.fault) cutTail(context, state, segment, fileBytes, scan, nextBase);
  else coverHole(context, state, segment, nextBase);
  if (nextBase !== undefined) sealLater(context, state, segment);
  return true;
}

/** Covers the offsets between the end of a segment and the begin of the next one, of which nothing is left. */
function coverHole(context: LogContext, state: LogState, segment: Segment, nextBase: number | undefined): boolean {
  const end = state.logEndOffset;
  if (nextBase === undefined || end >= nextBase) return false;
  context.logger.error("a segment ends before the next one begins; records are missing", {
    partition: state.name,
    file: segment.logPath,
    offset: end,
    nextOffset: nextBase,
  });
  coverGap(context, state, segment, end, nextBase);
  return true;
}

/**
 * Takes the part of the indexes that was synced with the checkpoint. Gives where to check from: the batch that the last
 * entry points to, since what the indexes say of the times before it is complete.
 */
function trustIndexes(
  segment: Segment,
  fileBytes: number,
  vouched: PartitionCheckpoint,
): { position: number; offset: number } | undefined {
  const { offsetIndex, timeIndex } = segment;
  if (fileBytes < vouched.position) return undefined;
  if (offsetIndex.count < vouched.offsetEntries || timeIndex.count < vouched.timeEntries) return undefined;
  const relativeEnd = vouched.endOffset - segment.baseOffset;
  offsetIndex.truncateTo(Math.min(vouched.offsetEntries, offsetIndex.countBelow(relativeEnd)));
  timeIndex.truncateTo(Math.min(vouched.timeEntries, timeIndex.countBelow(relativeEnd)));
  const position = offsetIndex.lastPosition() ?? 0;
  if (position > vouched.position) return undefined;
  return { position, offset: segment.baseOffset };
}

/** Rebuilds the indexes of a synced segment when they are missing or do not fit it. */
function checkIndexes(context: LogContext, state: LogState, segment: Segment, offsetLimit: number): void {
  const fits = (segment.offsetIndex.lastPosition() ?? 0) < Math.max(1, segment.size);
  const exist = [segment.offsetIndex.path, segment.timeIndex.path].every((path) => context.disk.stat(path));
  if (fits && exist) {
    segment.loadMaxTimestamp();
    return;
  }
  context.logger.warn("rebuilding the indexes of a segment", { partition: state.name, file: segment.logPath });
  segment.offsetIndex.reset();
  segment.timeIndex.reset();
  const bytes = segment.size;
  segment.size = 0;
  const scan = scanSegment(segment, bytes, 0, segment.baseOffset, offsetLimit, state.config.indexIntervalBytes);
  if (scan.fault)
    context.logger.error("a segment that was synced is damaged; its records from here on cannot be read", {
      partition: state.name,
      file: segment.logPath,
      position: scan.position,
      offset: scan.endOffset,
      reason: scan.fault,
    });
  segment.size = bytes;
  sealLater(context, state, segment);
}

/** Writes a rebuilt index; without space it stays in memory, where it is complete, and reaches its file with a checkpoint. */
function sealLater(context: LogContext, state: LogState, segment: Segment): void {
  state.unsynced.add(segment);
  try {
    segment.sealIndexes();
  } catch (error) {
    context.logger.warn("could not write a rebuilt index", { file: segment.logPath, reason: (error as Error).message });
  }
}
