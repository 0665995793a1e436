/** What the store's checkpoint says of one partition, and making it true first. */
import type { PartitionCheckpoint } from "./checkpoint.ts";
import type { LogContext } from "./context.ts";
import type { LogState } from "./log_state.ts";
import type { DurableEnd } from "./partition_writer.ts";
import { listSnapshots } from "./producer_history.ts";
import { decodeSnapshot, encodeSnapshot } from "./producer_snapshot.ts";
import { type Segment, segmentName } from "./segment.ts";

/** A crash that leaves fewer unchecked bytes than this in a segment is cheaper to recover from than to prepare for. */
const worthwhileBytes = 1024 * 1024;

/**
 * Makes the indexes (under "os" the log too) durable up to `durable`, which the high watermark belongs to, and says so.
 * Gives `before` back when nothing of weight has changed, or when a sync fails: what it says still holds.
 * `isLast`: the partition is about to close, and the result must be exact.
 */
export async function checkpointPartition(
  context: LogContext,
  state: LogState,
  durable: DurableEnd,
  before: PartitionCheckpoint | undefined,
  isLast: boolean,
): Promise<PartitionCheckpoint | undefined> {
  const { segment: last, position } = durable;
  const known = before?.segmentBase === last.baseOffset ? before.position : 0;
  if (!isLast && state.unsynced.size === 0 && position - known < worthwhileBytes) return before;
  const made: PartitionCheckpoint = {
    topicId: state.topicId,
    logStartOffset: state.logStartOffset,
    endOffset: state.highWatermark,
    segmentBase: last.baseOffset,
    position,
    offsetEntries: 0,
    timeEntries: 0,
    maxTimestamp: last.maxTimestamp,
    maxTimestampOffset: last.maxTimestampOffset,
    sizeBytes: state.sizeBytes(),
    isExact: isLast,
  };
  const segments = new Set([...state.unsynced, last].filter((one) => one.exists && state.segments.includes(one)));
  state.unsynced.clear();
  const syncs: Promise<void>[] = [];
  let failure: unknown;
  try {
    for (const segment of segments) startSyncs(context, state, segment, syncs);
    made.offsetEntries = last.offsetIndex.count;
    made.timeEntries = last.timeIndex.count;
    if (syncs.length > 0) syncs.push(context.disk.syncDirectoryLater(state.directory));
  } catch (error) {
    failure = error;
  }
  for (const result of await Promise.allSettled(syncs)) if (result.status === "rejected") failure ??= result.reason;
  if (failure === undefined) return made;
  for (const segment of segments) state.unsynced.add(segment);
  if (context.durability === "os") state.syncLost = true;
  const reason = failure instanceof Error ? failure.message : String(failure);
  context.logger.error("a checkpoint of a log failed", { partition: state.name, reason });
  return before && { ...before, isExact: false };
}

function startSyncs(context: LogContext, state: LogState, segment: Segment, syncs: Promise<void>[]): void {
  const { offsetIndex, timeIndex } = segment;
  if (segment === state.active) segment.flushIndexes();
  else segment.sealIndexes();
  // Only a segment without a whole index interval has no entries: nothing is lost when its (empty) indexes are.
  if (offsetIndex.count > 0 || timeIndex.count > 0)
    for (const path of [offsetIndex.path, timeIndex.path]) syncs.push(context.files.use(path, true).sync());
  if (context.durability === "os") syncs.push(context.files.use(segment.logPath).sync());
}

/** Writes the producer snapshot of a clean stop and removes older ones that belong to no segment. */
export function snapshotProducers(context: LogContext, state: LogState): void {
  if (!state.exists || !state.producersLoaded || state.producers.size === 0) return;
  const keep = new Set(state.segments.map((segment) => segment.baseOffset));
  keep.add(state.logEndOffset);
  const path = `${state.directory}/${segmentName(state.logEndOffset)}.snapshot`;
  // One that is there says the same, and may be all that is left of batches that retention removed: it must not be torn.
  if (!context.disk.stat(path) || !decodeSnapshot(context.disk.readFile(path), 0)) {
    const file = context.disk.open(path, { write: true, create: true, truncate: true });
    try {
      file.write(encodeSnapshot(state.producers.values(), state.producers.size), 0);
    } finally {
      file.close();
    }
  }
  for (const offset of listSnapshots(context, state))
    if (!keep.has(offset)) context.disk.remove(`${state.directory}/${segmentName(offset)}.snapshot`);
}
