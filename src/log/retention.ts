/**
 * What leaves a log: whole segments, oldest first, by age, by size, or because clients deleted the records in them.
 *
 * Invariants: nothing at or past the high watermark or the `retainFrom` limit (what tables have not applied yet) is
 * removed; the new log start is durable before a file goes; the end of the log is in a synced file at all times, so that
 * no offset can come again.
 */
import { KafkaError } from "../base/kafka_error.ts";
import type { LogContext } from "./context.ts";
import { removeSegmentFiles } from "./load.ts";
import type { LogState } from "./log_state.ts";
import type { PartitionWriter } from "./partition_writer.ts";
import { snapshotAt } from "./producer_history.ts";
import { decodeSnapshot } from "./producer_snapshot.ts";
import { segmentName } from "./segment.ts";

/**
 * Kafka's DeleteRecords: records before `before` (-1: the high watermark) are no longer readable; their segments go with
 * the next retention. Resolves with the log start when that is durable; rejects with OFFSET_OUT_OF_RANGE.
 */
export async function deleteRecords(context: LogContext, state: LogState, before: number): Promise<number> {
  const target = before === -1 ? state.highWatermark : before;
  if (!(target >= 0 && target <= state.highWatermark))
    throw new KafkaError(
      "OFFSET_OUT_OF_RANGE",
      `cannot delete the records of ${state.name} before ${before}: the log ends at ${state.highWatermark}`,
    );
  if (target > state.logStartOffset) {
    await context.starts.advance(state.topic, state.partition, target);
    state.logStartOffset = Math.max(state.logStartOffset, target);
  }
  return state.logStartOffset;
}

/** Removes what the partition's config lets go at this time; gives the number of segments removed. */
export async function applyRetention(
  context: LogContext,
  state: LogState,
  writer: PartitionWriter,
  retainFrom: number,
): Promise<number> {
  if (writer.faultReason) return 0;
  const limit = Math.min(state.highWatermark, retainFrom);
  let due = dueSegments(state, context.clock.nowMs(), limit);
  if (due === 0) return 0;
  if (due === state.segments.length) {
    writer.roll();
    await writer.idle();
    // The roll may have failed, and more may have been appended meanwhile.
    due = Math.min(due, state.segments.length - 1);
    if (due === 0 || state.deleted || state.segments[due]!.baseOffset > state.highWatermark) return 0;
  }
  const first = state.segments[due]!;
  if (!first.exists) return 0;
  await syncSnapshot(context, state, first.baseOffset);
  if (state.directoryDirty) await context.disk.syncDirectoryLater(state.directory);
  const start = Math.max(state.logStartOffset, first.baseOffset);
  await context.starts.advance(state.topic, state.partition, start);
  // Meanwhile the disk may have failed, and with it the segment that is to be the first one.
  if (state.deleted || writer.faultReason || state.segments[due] !== first) return 0;
  state.logStartOffset = Math.max(state.logStartOffset, start);
  const removed = state.segments.splice(0, due);
  state.recent.dropBefore(state.segments[0]!.baseOffset);
  for (const segment of removed) state.unsynced.delete(segment);
  const gone = removed.map((segment) => removeSegmentFiles(context, state.directory, segment.baseOffset));
  context.logger.info("removed old segments of a log", {
    partition: state.name,
    segments: removed.length,
    bytes: removed.reduce((sum, segment) => sum + segment.size, 0),
    logStartOffset: state.logStartOffset,
  });
  await Promise.all(gone);
  return removed.length;
}

/** The snapshot at the new begin is from now on all that is known of producers before it: it must not be torn. */
async function syncSnapshot(context: LogContext, state: LogState, offset: number): Promise<void> {
  const path = `${state.directory}/${segmentName(offset)}.snapshot`;
  const isGood = context.disk.stat(path) && decodeSnapshot(context.disk.readFile(path), 0);
  const made = isGood ? undefined : snapshotAt(context, state, offset);
  const file = context.disk.open(path, { write: true, create: true });
  try {
    if (made) {
      file.truncate(0);
      file.write(made, 0);
      state.directoryDirty = true;
    }
    await file.sync();
  } finally {
    file.close();
  }
}

/** How many of the first segments may go: all of them when the active one is due too. */
function dueSegments(state: LogState, nowMs: number, limit: number): number {
  const { config, segments } = state;
  let excess = config.deleteOld && config.retentionBytes >= 0 ? state.sizeBytes() - config.retentionBytes : -1;
  let due = 0;
  for (const segment of segments) {
    const end = segments[due + 1]?.baseOffset ?? state.logEndOffset;
    if (end > limit || segment.size === 0) break;
    const lastMs = segment.maxTimestamp >= 0 ? segment.maxTimestamp : segment.createdMs;
    const isOld = config.deleteOld && config.retentionMs >= 0 && nowMs - lastMs > config.retentionMs;
    const isExcess = excess >= segment.size;
    if (!isOld && !isExcess && end > state.logStartOffset) break;
    excess -= segment.size;
    due++;
  }
  return due;
}
