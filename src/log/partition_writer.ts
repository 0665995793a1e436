/**
 * The write side of one partition: accepts batches in memory, writes and syncs them in groups, and takes a failed group
 * back.
 *
 * Invariants:
 * - Batches are accepted, written, synced and answered in offset order; one group is being written or synced at a time, and
 *   a group never spans two segments. So what a power cut can tear is the end of one file, and a segment with a successor
 *   is whole.
 * - A failed write: the group and all behind it are rejected and the file is cut to its last good size; when that fails
 *   too, the partition refuses appends until a cut succeeds.
 * - A failed sync: the system may have dropped the bytes and would report a second sync of them as a success, so they are
 *   taken as lost: rejected, cut off, and the log goes on in a new segment file once the cut and the new file are synced.
 *   The producers send their batches again.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import { BatchHeader } from "../protocol/records/batch.ts";
import type { LogContext } from "./context.ts";
import type { LogState } from "./log_state.ts";
import { leaderEpochCheckpoint, partitionMetadata } from "./partition_files.ts";
import { ensureProducers } from "./producer_history.ts";
import { encodeSnapshot } from "./producer_snapshot.ts";
import { producerIdOf } from "./producer_state.ts";
import { Segment, type SegmentMark, segmentName } from "./segment.ts";

export interface AppendResult {
  baseOffset: number;
  lastOffset: number;
  /** Wall time that the log stamped on the batch; -1 unless the topic's message.timestamp.type is LogAppendTime. */
  logAppendTimeMs: number;
  /** The batch repeats one that is in the log (or on its way) already: the offsets are those of the first. */
  duplicate: boolean;
  /** Resolves when the batch is durable; rejects with KAFKA_STORAGE_ERROR when it was not written and will not be. */
  done: Promise<void>;
}

/** A place in a file: the end of what is durable (under "os": written). */
export interface DurableEnd {
  segment: Segment;
  position: number;
}

interface Group {
  segment: Segment;
  mark: SegmentMark;
  startOffset: number;
  endOffset: number;
  bytes: number;
  parts: Uint8Array[];
  /** The segment that this group's segment follows, to be ended first, with the producers as they were then. */
  ended: { segment: Segment; snapshot: Uint8Array } | undefined;
  done: Promise<void>;
  resolve: () => void;
  reject: (error: KafkaError) => void;
}

const resolved = Promise.resolve();

export class PartitionWriter {
  private readonly context: LogContext;
  private readonly state: LogState;
  private readonly advanced: () => void;
  private queue: Group[] = [];
  private running: Group | undefined;
  private scheduled = false;
  private bytesSinceCheckpoint = 0;
  private closed = false;
  private fault: { reason: string; retryAtMs: number; needsSync: boolean; repairing: boolean } | undefined;
  private idleWaiters: (() => void)[] = [];
  /** Segments whose end (indexes, snapshot) is not written yet. */
  private ending: { segment: Segment; snapshot: Uint8Array }[] = [];
  /** The end of what is durable, as a place in a file. */
  durable: DurableEnd;

  constructor(context: LogContext, state: LogState, advanced: () => void) {
    this.context = context;
    this.state = state;
    this.advanced = advanced;
    this.durable = { segment: state.active, position: state.active.size };
  }

  /** Why appends are refused at the moment, if they are. */
  get faultReason(): string | undefined {
    return this.fault?.reason;
  }

  append(batch: Uint8Array, release?: () => void): AppendResult {
    const { state, context } = this;
    if (this.fault || this.closed) this.refuse();
    context.space.check(batch.length);
    const header = new BatchHeader(batch);
    const producerId = producerIdOf(header);
    const lastOffsetDelta = header.lastOffsetDelta;
    const stamped = state.config.timestampType === "LogAppendTime";
    if (producerId !== -1) {
      ensureProducers(context, state);
      const first = state.producers.check(producerId, header.producerEpoch, header.baseSequence, lastOffsetDelta);
      if (first) {
        const { baseOffset, lastOffset, timestamp, done = resolved } = first;
        return { baseOffset, lastOffset, logAppendTimeMs: stamped ? timestamp : -1, duplicate: true, done };
      }
    }
    const nowMs = context.clock.nowMs();
    const baseOffset = state.logEndOffset;
    const lastOffset = baseOffset + lastOffsetDelta;
    header.baseOffset = baseOffset;
    header.partitionLeaderEpoch = 0;
    if (stamped) header.setMaxTimestamp("LogAppendTime", nowMs);
    const timestamp = header.maxTimestamp;
    const recordTime = header.latestRecordTime;
    const group = this.groupFor(batch.length, lastOffset, recordTime, nowMs);
    group.parts.push(batch);
    group.bytes += batch.length;
    group.endOffset = lastOffset + 1;
    group.segment.accept(batch.length, lastOffset, recordTime, state.config.indexIntervalBytes);
    state.recent.add(batch, baseOffset, release);
    if (producerId !== -1) {
      const sequence = header.baseSequence;
      const record = {
        epoch: header.producerEpoch,
        baseSequence: sequence,
        lastSequence: (sequence + lastOffsetDelta) % 2_147_483_648,
        baseOffset,
        lastOffset,
        timestamp,
        done: group.done,
      };
      state.producers.record(producerId, record, nowMs, state.highWatermark);
    }
    state.logEndOffset = lastOffset + 1;
    // Without a sync only the system call is shared, which a large group does not need: its producer can have the answer
    // now, and the bytes are still in the processor's cache.
    if (context.durability === "os" && group.bytes >= limits.groupWriteAtOnceBytes && !this.running) this.flush();
    else this.schedule();
    return { baseOffset, lastOffset, logAppendTimeMs: stamped ? nowMs : -1, duplicate: false, done: group.done };
  }

  /** Refuses further appends. */
  close(): void {
    this.closed = true;
  }

  /** Starts a new segment at the end of the log, if the active one has anything; its file is made with the next group. */
  roll(): void {
    if (this.state.active.size === 0) return;
    this.startSegment(this.context.clock.nowMs());
    this.schedule();
  }

  /** The group that the next batch joins: the last one, or a new one after a roll or when that is being written. */
  private groupFor(bytes: number, lastOffset: number, timestamp: number, nowMs: number): Group {
    const { state } = this;
    const last = this.queue[this.queue.length - 1];
    if (state.active.mustRollFor(bytes, lastOffset, timestamp, nowMs, state.config)) return this.startSegment(nowMs);
    if (last?.segment === state.active && last.bytes + bytes <= limits.groupCommitBytesMax) return last;
    return this.newGroup(state.active, undefined);
  }

  private startSegment(nowMs: number): Group {
    const { state, context } = this;
    ensureProducers(context, state);
    const previous = state.active;
    const next = new Segment(context.files, state.directory, state.logEndOffset);
    next.createdMs = nowMs;
    const snapshot = encodeSnapshot(state.producers.values(), state.producers.size);
    state.segments.push(next);
    return this.newGroup(next, { segment: previous, snapshot });
  }

  private newGroup(segment: Segment, ended: Group["ended"]): Group {
    let resolve!: () => void;
    let reject!: (error: KafkaError) => void;
    const done = new Promise<void>((resolveDone, rejectDone) => {
      resolve = resolveDone;
      reject = rejectDone;
    });
    // A producer that wants no acknowledgement leaves the promise unwatched.
    done.catch(() => undefined);
    const startOffset = this.state.logEndOffset;
    const group: Group = {
      segment,
      mark: segment.mark(),
      startOffset,
      endOffset: startOffset,
      bytes: 0,
      parts: [],
      ended,
      done,
      resolve,
      reject,
    };
    this.queue.push(group);
    return group;
  }

  private schedule(): void {
    if (this.scheduled || this.running) return;
    this.scheduled = true;
    this.context.commit.schedule(this);
  }

  /** Writes (and under "sync" syncs) what has gathered, unless a group is on its way: that one's end flushes the next. */
  flush(): void {
    this.scheduled = false;
    while (!this.running) {
      const group = this.queue.shift();
      if (!group) break;
      this.running = group;
      try {
        this.write(group);
      } catch (error) {
        this.fail(group, error, false);
        break;
      }
      if (this.context.durability === "os") {
        this.state.unsynced.add(group.segment);
        this.complete(group);
        continue;
      }
      this.sync(group).then(
        () => {
          this.complete(group);
          this.flush();
        },
        (error) => this.fail(group, error, true),
      );
    }
    if (!this.running && this.queue.length === 0) for (const waiter of this.idleWaiters.splice(0)) waiter();
  }

  /** Resolves when nothing is queued or running. */
  idle(): Promise<void> {
    if (!this.running && this.queue.length === 0) return resolved;
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  private write(group: Group): void {
    const { state, context } = this;
    if (state.deleted) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `${state.name} was deleted`);
    if (!state.exists) this.makeFolder();
    if (group.ended) this.ending.push(group.ended);
    group.ended = undefined;
    while (this.ending.length > 0) {
      const { segment, snapshot } = this.ending[0]!;
      this.endSegment(segment, group.segment.baseOffset, snapshot);
      this.ending.shift();
    }
    const file = context.files.use(group.segment.logPath, true);
    if (!group.segment.exists) {
      // A file that an earlier attempt left behind is not part of the log.
      file.truncate(0);
      group.segment.exists = true;
      state.directoryDirty = true;
    }
    if (group.parts.length > 0) file.writev(group.parts, group.mark.size);
    group.segment.written = group.mark.size + group.bytes;
  }

  private endSegment(segment: Segment, nextOffset: number, snapshot: Uint8Array): void {
    segment.sealIndexes();
    this.state.unsynced.add(segment);
    this.putFile(`${segmentName(nextOffset)}.snapshot`, snapshot);
  }

  private putFile(name: string, bytes: Uint8Array): void {
    const file = this.context.disk.open(`${this.state.directory}/${name}`, {
      write: true,
      create: true,
      truncate: true,
    });
    try {
      file.write(bytes, 0);
    } finally {
      file.close();
    }
  }

  private makeFolder(): void {
    const { state, context } = this;
    context.disk.makeDirectory(state.directory);
    if (state.topicId) this.putFile("partition.metadata", partitionMetadata(state.topicId));
    this.putFile("leader-epoch-checkpoint", leaderEpochCheckpoint(state.logStartOffset));
    state.exists = true;
    state.rootDirty = true;
    state.directoryDirty = true;
  }

  private async sync(group: Group): Promise<void> {
    const { state, context } = this;
    const file = context.files.use(group.segment.logPath).sync();
    if (!state.directoryDirty && !state.rootDirty) return await file;
    const syncs = [file];
    if (state.rootDirty) {
      syncs.push(context.commit.syncRoot());
      if (state.topicId) syncs.push(this.syncFile(`${state.directory}/partition.metadata`));
      // A deleted topic of this name must not leave its log start to this one.
      syncs.push(context.starts.settled());
    }
    syncs.push(context.disk.syncDirectoryLater(state.directory));
    // All must have ended before anything is taken back.
    const results = await Promise.allSettled(syncs);
    for (const result of results) if (result.status === "rejected") throw result.reason;
    state.directoryDirty = false;
    state.rootDirty = false;
  }

  private async syncFile(path: string): Promise<void> {
    const file = this.context.disk.open(path, { write: true });
    try {
      await file.sync();
    } finally {
      file.close();
    }
  }

  private complete(group: Group): void {
    this.running = undefined;
    this.state.highWatermark = group.endOffset;
    this.durable = { segment: group.segment, position: group.mark.size + group.bytes };
    this.bytesSinceCheckpoint += group.bytes;
    if (this.bytesSinceCheckpoint > limits.logCheckpointBytes) {
      this.bytesSinceCheckpoint = 0;
      this.context.checkpointSoon();
    }
    group.resolve();
    this.advanced();
  }

  /** Takes back a group that could not be written or synced, and all that were accepted behind it. */
  private fail(group: Group, error: unknown, syncFailed: boolean): void {
    const { state, context } = this;
    const reason = error instanceof Error ? error.message : String(error);
    const rejected = [group, ...this.queue];
    this.queue = [];
    this.running = undefined;
    const kept = state.segments.lastIndexOf(group.segment);
    if (kept >= 0) state.segments.length = kept + 1;
    group.segment.reset(group.mark);
    state.recent.truncateTo(group.startOffset);
    state.producers.truncateTo(group.startOffset);
    state.logEndOffset = group.startOffset;
    context.space.doubt();
    if (!state.deleted) {
      context.logger.error(
        syncFailed ? "a sync failed; its batches are refused" : "a write failed; its batches are refused",
        {
          partition: state.name,
          offset: group.startOffset,
          batches: rejected.reduce((count, one) => count + one.parts.length, 0),
          reason,
        },
      );
      this.fault = { reason, retryAtMs: 0, needsSync: syncFailed, repairing: false };
      this.repair();
    }
    const refusal =
      error instanceof KafkaError ? error : new KafkaError("KAFKA_STORAGE_ERROR", `${state.name}: ${reason}`);
    for (const one of rejected) one.reject(refusal);
    for (const waiter of this.idleWaiters.splice(0)) waiter();
  }

  /** Answers an append while the partition has a fault, after trying to mend it; returns when it is mended. */
  private refuse(): void {
    if (this.closed) throw new KafkaError("KAFKA_STORAGE_ERROR", `${this.state.name}: the node is closing`);
    const fault = this.fault!;
    if (!fault.repairing && this.context.clock.monotonicMs() >= fault.retryAtMs) this.repair();
    if (this.fault) throw new KafkaError("KAFKA_STORAGE_ERROR", `${this.state.name} refuses appends: ${fault.reason}`);
  }

  /** Cuts the active segment to its last good size; after a failed sync also moves on to a new file. */
  private repair(): void {
    const fault = this.fault!;
    const { state, context } = this;
    const segment = state.active;
    try {
      if (segment.exists) context.files.use(segment.logPath).truncate(segment.size);
    } catch (error) {
      this.repairFailed(error);
      return;
    }
    if (!fault.needsSync) {
      this.fault = undefined;
      return;
    }
    fault.repairing = true;
    this.moveOn(segment).then(
      () => {
        this.fault = undefined;
        context.logger.warn("the partition accepts batches again, in a new segment", {
          partition: state.name,
          offset: state.logEndOffset,
        });
      },
      (error) => this.repairFailed(error),
    );
  }

  private async moveOn(segment: Segment): Promise<void> {
    const { context, state } = this;
    if (segment.exists) await context.files.use(segment.logPath).sync();
    if (segment.size === 0) return;
    const group = this.startSegment(context.clock.nowMs());
    this.queue.pop();
    try {
      this.write(group);
      await this.sync(group);
      this.durable = { segment: group.segment, position: 0 };
    } catch (error) {
      state.segments.pop();
      this.ending = this.ending.filter((ended) => ended.segment !== segment);
      throw error;
    }
  }

  private repairFailed(error: unknown): void {
    const fault = this.fault!;
    fault.repairing = false;
    fault.reason = error instanceof Error ? error.message : String(error);
    fault.retryAtMs = this.context.clock.monotonicMs() + limits.storageRetryMs;
    this.context.logger.error("the partition refuses appends until its disk works again", {
      partition: this.state.name,
      reason: fault.reason,
    });
  }
}
