/**
 * Puts a compacted segment in the place of those that it was made from, in Kafka's three stages: `.cleaned` while it is
 * written, `.swap` once it is whole, then the plain names.
 *
 * Invariant: from the moment when `<base>.log.swap` is durable, the old segments whose offsets it covers do not count any
 * more; before that moment only they do. A power cut at any point leaves one of the two, and the next start finishes it.
 * The renamed name of the log comes last and, where something else must not outrun it, after a sync of the folder.
 */
import type { LogContext } from "../context.ts";
import { discard } from "../discard.ts";
import type { FileCache } from "../file_cache.ts";
import type { LogState } from "../log_state.ts";
import { listSegments } from "../partition_files.ts";
import { Segment, segmentEndings, segmentName } from "../segment.ts";
import { Stopped } from "./pacer.ts";

export const cleanedSuffix = ".cleaned";
export const swapSuffix = ".swap";

/**
 * Removes the files of a segment at one of these stages, the log first; those that are missing are no error. They do not count any more
 * from the call on; resolves when the space is free.
 */
export function removeStage(context: LogContext, directory: string, baseOffset: number, suffix: string): Promise<void> {
  const { files } = context;
  const stem = `${directory}/${segmentName(baseOffset)}`;
  const discarded = discard(context, `${stem}.log${suffix}`);
  for (const ending of ["index", "timeindex"]) {
    const path = `${stem}.${ending}${suffix}`;
    files.drop(path);
    if (files.disk.stat(path)) files.disk.remove(path);
  }
  return discarded;
}

function renameStage(files: FileCache, directory: string, baseOffset: number, from: string, to: string): void {
  for (const ending of segmentEndings) {
    const path = `${directory}/${segmentName(baseOffset)}.${ending}`;
    files.drop(path + from);
    files.drop(path + to);
    if (files.disk.stat(path + from)) files.disk.rename(path + from, path + to);
  }
}

/**
 * Replaces `old` by `cleaned`, whose files are synced. Throws Stopped when the old segments left the log meanwhile, and a
 * DiskError when the disk failed before the new segment counted: then everything is as before.
 */
export async function swapIn(
  context: LogContext,
  state: LogState,
  old: readonly Segment[],
  cleaned: Segment,
): Promise<void> {
  const { directory } = state;
  const base = cleaned.baseOffset;
  checkPresence(state, old);
  try {
    renameStage(context.files, directory, base, cleanedSuffix, swapSuffix);
    await context.disk.syncDirectoryLater(directory);
    checkPresence(state, old);
  } catch (error) {
    if (!state.deleted) void removeStage(context, directory, base, swapSuffix);
    throw error;
  }
  const end = state.segments[state.segments.indexOf(old[old.length - 1]!) + 1]!.baseOffset;
  const swapped = successor(cleaned, directory, swapSuffix);
  state.segments.splice(state.segments.indexOf(old[0]!), old.length, swapped);
  for (const segment of old) state.unsynced.delete(segment);
  state.recent.dropBefore(end);
  state.cleanings++;
  await finishLive(context, state, swapped, end);
}

/** Ends the swaps of a partition that the disk kept from ending; one that fails again stays as it is. */
export async function finishSwaps(context: LogContext, state: LogState): Promise<void> {
  for (const segment of [...state.segments]) {
    if (segment.suffix !== swapSuffix) continue;
    const end = state.segments[state.segments.indexOf(segment) + 1]?.baseOffset;
    if (end !== undefined) await finishLive(context, state, segment, end);
  }
}

function checkPresence(state: LogState, old: readonly Segment[]): void {
  const at = state.segments.indexOf(old[0]!);
  const isThere = at >= 0 && old.every((segment, i) => state.segments[at + i] === segment);
  if (state.deleted || !isThere) throw new Stopped("the segments left the log while they were compacted");
}

/** The segment under another suffix. */
function successor(segment: Segment, directory: string, suffix: string): Segment {
  const { size, createdMs } = segment;
  const next = new Segment(segment.files, directory, segment.baseOffset, { size, createdMs }, suffix);
  next.maxTimestamp = segment.maxTimestamp;
  next.maxTimestampOffset = segment.maxTimestampOffset;
  next.firstTimestamp = segment.firstTimestamp;
  return next;
}

/** Takes the old files away and gives the new ones their names. Readers use the new segment from before this on. */
async function finishLive(context: LogContext, state: LogState, swapped: Segment, end: number): Promise<void> {
  const { files, logger } = context;
  const { directory } = state;
  try {
    removeCovered(context, directory, swapped.baseOffset, end);
    await context.disk.syncDirectoryLater(directory);
    const at = state.segments.indexOf(swapped);
    if (state.deleted || at < 0) return;
    renameStage(files, directory, swapped.baseOffset, swapSuffix, "");
    state.segments[at] = successor(swapped, directory, "");
    await context.disk.syncDirectoryLater(directory);
  } catch (error) {
    if (state.deleted) return;
    // An index that has its own name already is not found under the other: the segment is read without it.
    for (const index of [swapped.offsetIndex, swapped.timeIndex]) if (!context.disk.stat(index.path)) index.reset();
    const reason = (error as Error).message;
    logger.error("a compacted segment could not take its place; it is read from where it is", {
      partition: state.name,
      file: swapped.logPath,
      reason,
    });
  }
}

/** Removes the old segments from `base` to before `end`. The snapshot at `base` holds on. */
function removeCovered(context: LogContext, directory: string, base: number, end: number): void {
  const { disk } = context;
  for (const covered of listSegments(disk.list(directory))) {
    if (covered < base || covered >= end) continue;
    void removeStage(context, directory, covered, "");
    const snapshot = `${directory}/${segmentName(covered)}.snapshot`;
    if (covered > base && disk.stat(snapshot)) disk.remove(snapshot);
  }
}

/** The offsets that a compacted segment covers which has not taken its place yet: old segments in there do not count any more. */
export function coveredBySwap(files: FileCache, directory: string, base: number): { base: number; end: number } {
  const path = `${directory}/${segmentName(base)}.log${swapSuffix}`;
  const { size, modifiedMs } = files.disk.stat(path)!;
  const swapped = new Segment(files, directory, base, { size, createdMs: modifiedMs }, swapSuffix);
  let end = base;
  swapped.walk(0, (header) => {
    end = header.lastOffset + 1;
    return false;
  });
  files.drop(path);
  return { base, end };
}

/** Before a partition is loaded: ends the swaps that a crash broke off, and removes what was not whole. Blocks. */
export function recoverSwaps(context: LogContext, state: LogState, names: readonly string[]): void {
  const { disk, files, logger } = context;
  const { directory } = state;
  const bases = (pattern: RegExp) =>
    [...new Set(names.filter((name) => pattern.test(name)).map((name) => Number(name.slice(0, 20))))].sort(
      (a, b) => a - b,
    );
  for (const base of bases(/^\d{20}\.(log|index|timeindex)\.cleaned$/))
    void removeStage(context, directory, base, cleanedSuffix);
  for (const base of bases(/^\d{20}\.(log|index|timeindex)\.swap$/)) {
    const path = `${directory}/${segmentName(base)}.log${swapSuffix}`;
    if (!disk.stat(path)) {
      // Either the log was never renamed, and the old segments count, or it has its own name already.
      void removeStage(context, directory, base, swapSuffix);
      continue;
    }
    const { end } = coveredBySwap(files, directory, base);
    removeCovered(context, directory, base, end);
    disk.syncDirectory(directory);
    renameStage(files, directory, base, swapSuffix, "");
    disk.syncDirectory(directory);
    logger.info("finished the swap of a compacted segment", { partition: state.name, file: path, offset: base });
  }
}
