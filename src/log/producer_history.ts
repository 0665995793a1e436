/**
 * Fills a partition's producer state from its folder: the newest snapshot, the batches after it, and for the producers
 * that it names their last batches before it, of which a snapshot holds only one each.
 */

import { limits } from "../base/limits.ts";
import type { BatchHeader } from "../protocol/records/batch.ts";
import type { LogContext } from "./context.ts";
import type { LogState } from "./log_state.ts";
import { decodeSnapshot, encodeSnapshot } from "./producer_snapshot.ts";
import { type ProducerId, ProducerState, producerIdOf, type SequencedBatch, sequenceAfter } from "./producer_state.ts";
import { segmentName } from "./segment.ts";

/** Loads the producer state unless it is; without idempotent producers nobody needs to pay for it. */
export function ensureProducers(context: LogContext, state: LogState): void {
  if (state.producersLoaded) return;
  try {
    if (state.exists) fill(context, state, state.producers, state.logEndOffset);
    state.producersLoaded = true;
  } catch (error) {
    state.producers.clear();
    throw error;
  }
}

/** A producer snapshot for an offset where a batch starts, made from what the folder has. */
export function snapshotAt(context: LogContext, state: LogState, offset: number): Uint8Array {
  const producers = new ProducerState(limits.producersPerPartitionMax);
  fill(context, state, producers, offset);
  return encodeSnapshot(producers.values(), producers.size);
}

/** Fills `producers` with what the log says of them before the offset `upTo`. */
function fill(context: LogContext, state: LogState, producers: ProducerState, upTo: number): void {
  const nowMs = context.clock.nowMs();
  const from = restoreSnapshot(context, state, producers, upTo);
  walkFrom(state, from, upTo, (header) => {
    const producerId = producerIdOf(header);
    if (producerId !== -1) producers.record(producerId, sequencedBatch(header), nowMs, upTo);
  });
  if (producers.size > 0) addHistory(state, producers, from);
}

/** Restores the newest good snapshot and gives its offset; the log's start when there is none. */
function restoreSnapshot(context: LogContext, state: LogState, into: ProducerState, upTo: number): number {
  const nowMs = context.clock.nowMs();
  const start = state.segments[0]!.baseOffset;
  for (const offset of listSnapshots(context, state).reverse()) {
    if (offset > upTo || offset < start) continue;
    const path = `${state.directory}/${segmentName(offset)}.snapshot`;
    const producers = decodeSnapshot(context.disk.readFile(path), nowMs);
    if (!producers) {
      context.logger.warn("a producer snapshot is damaged; reading the batches instead", { path });
      continue;
    }
    for (const producer of producers) into.restore(producer);
    return offset;
  }
  return start;
}

/** Offsets of the snapshots in a partition's folder, ascending. */
export function listSnapshots(context: LogContext, state: LogState): number[] {
  if (!state.exists) return [];
  return context.disk
    .list(state.directory)
    .filter((name) => /^\d{20}\.snapshot$/.test(name))
    .map((name) => Number(name.slice(0, 20)))
    .sort((a, b) => a - b);
}

/** Looks through the end of the log before a snapshot for the batches that its producers sent before their last one. */
function addHistory(state: LogState, producers: ProducerState, snapshotOffset: number): void {
  let index = state.segmentIndexFor(Math.max(0, snapshotOffset - 1));
  let bytes = 0;
  const earlier = new Map<ProducerId, SequencedBatch[]>();
  const ranges: { index: number; from: number }[] = [];
  while (index >= 0 && bytes < limits.producerHistoryBytesMax) {
    const segment = state.segments[index]!;
    const wanted = limits.producerHistoryBytesMax - bytes;
    const from = segment.written > wanted ? segment.offsetIndex.floorPosition(segment.written - wanted) : 0;
    ranges.push({ index, from });
    bytes += segment.written - from;
    index--;
  }
  for (const range of ranges.reverse()) {
    state.segments[range.index]!.walk(range.from, (header) => {
      if (header.baseOffset >= snapshotOffset) return true;
      const producerId = producerIdOf(header);
      if (producerId === -1) return false;
      const batches = earlier.get(producerId);
      if (batches) batches.push(sequencedBatch(header));
      else earlier.set(producerId, [sequencedBatch(header)]);
      return false;
    });
  }
  for (const [producerId, batches] of earlier) producers.prepend(producerId, batches);
}

function walkFrom(state: LogState, from: number, to: number, visit: (header: BatchHeader) => void): void {
  if (from >= to) return;
  for (let index = state.segmentIndexFor(from); index < state.segments.length; index++) {
    const segment = state.segments[index]!;
    if (segment.written === 0) continue;
    const start = segment.locate(Math.max(from, segment.baseOffset));
    if (!start) continue;
    segment.walk(start.position, (header) => {
      if (header.baseOffset >= to) return true;
      visit(header);
      return false;
    });
  }
}

function sequencedBatch(header: BatchHeader): SequencedBatch {
  const { baseSequence, lastOffsetDelta, baseOffset } = header;
  return {
    epoch: header.producerEpoch,
    baseSequence,
    lastSequence: sequenceAfter(baseSequence, lastOffsetDelta),
    baseOffset,
    lastOffset: baseOffset + lastOffsetDelta,
    timestamp: header.maxTimestamp,
    done: undefined,
  };
}
