/**
 * Folds the log into DuckDB: rows of produced batches and the cursor of their partition go in together, in one transaction.
 *
 * Invariant: a partition's rows are applied in offset order, each exactly once. The queue only saves decoding: what is missing in it (after a
 * restart, or because it was full) is read from the log with the same code. Nothing past the high watermark is applied.
 *
 * Transactions are as large as what waits: a lone batch is applied at once, and while one transaction runs others pile up for the next.
 * Behind one that took long, more are waited for (pace.ts).
 */
import type { Clock } from "../base/clock.ts";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import { SharedArena } from "../base/shared_arena.ts";
import { SqlError } from "../base/sql_error.ts";
import type { TopicEntry } from "../catalog/catalog.ts";
import type { PartitionLog } from "../log/partition_log.ts";
import type { BatchHeader } from "../protocol/records/batch.ts";
import type { ApplyRequest, Cursor } from "../sql/messages.ts";
import { applyTransaction } from "./apply_transaction.ts";
import { durableUpTo } from "./durable_up_to.ts";
import { noRows, readChunks } from "./log_chunks.ts";
import { Pace } from "./pace.ts";
import type { PartitionState, Waiter, Work } from "./partition_state.ts";
import { Room } from "./room.ts";
import type { RowChunk, Table } from "./table.ts";

/** What the applier needs of the SQL engine: all inserts and cursors of one call go in together, in one transaction. */
export interface ApplyTarget {
  apply(request: ApplyRequest): Promise<void>;
  cursors(): Promise<readonly Cursor[]>;
}

export interface ApplierOptions {
  /** Whether DuckDB has a batch's rows already: SQL wrote them (writes/outbox.ts). */
  passesOver?: (header: BatchHeader) => boolean;
  target: ApplyTarget;
  clock: Clock;
  logger: Logger;
}

export class Applier {
  private readonly target: ApplyTarget;
  private readonly passesOver: (header: BatchHeader) => boolean;
  private readonly clock: Clock;
  private readonly arena = new SharedArena();
  private readonly room: Room;
  /** Bytes of the chunks in all queues. */
  private queuedBytes = 0;
  private readonly logger: Logger;
  private readonly partitions = new Map<string, PartitionState[]>();
  /** Partitions that may have something to apply. */
  private readonly active = new Set<PartitionState>();
  private waiters: Waiter[] = [];
  private wake: (() => void) | undefined;
  private running: Promise<void> | undefined;
  private applying: Promise<void> = Promise.resolve();
  private closed = false;
  private fault: Error | undefined;
  private readonly pace: Pace;
  /** The cursors must be read again before anything is applied. */
  private stale = false;

  constructor(options: ApplierOptions) {
    this.target = options.target;
    this.passesOver = options.passesOver ?? (() => false);
    this.clock = options.clock;
    this.room = new Room(options.clock, limits.applierThrottleMsMax);
    this.logger = options.logger;
    this.pace = new Pace(options.clock);
  }

  /** `next`: for each partition, the offset to go on from. */
  add(table: Table, logs: readonly PartitionLog[], next: (partition: number) => number): void {
    const states = logs.map((log, partition) => this.watch(table, log, partition, next(partition)));
    this.partitions.set(table.topic.name, states);
    this.signal();
  }

  /** The table after an ALTER TABLE; nothing of it waits to be applied. */
  alter(table: Table): void {
    for (const state of this.partitions.get(table.topic.name) ?? []) {
      state.table = table;
      state.queue = [];
    }
  }

  /** New partitions of a table that is known already. */
  extend(table: Table, logs: readonly PartitionLog[]): void {
    const states = this.partitions.get(table.topic.name) ?? [];
    for (let partition = states.length; partition < logs.length; partition++)
      states.push(this.watch(table, logs[partition]!, partition, 0));
    this.signal();
  }

  private watch(table: Table, log: PartitionLog, partition: number, applied: number): PartitionState {
    const next = this.withinLog(log, applied);
    const state: PartitionState = {
      table,
      partition,
      log,
      next,
      durable: next,
      queue: [],
      retryAt: 0,
      pauseMs: 0,
      stopWatching: log.onAdvance(() => {
        this.active.add(state);
        this.signal();
      }),
    };
    if (next < log.highWatermark) this.active.add(state);
    return state;
  }

  /**
   * With `--durability os` a power cut can take records from the log whose rows DuckDB already has. Their offsets are
   * given to new records, which must not be taken for applied.
   */
  private withinLog(log: PartitionLog, applied: number): number {
    const end = log.logEndOffset;
    if (applied <= end) return applied;
    this.logger.error("the table has rows of records that its log has lost", {
      topic: log.topic,
      partition: log.partition,
      applied,
      logEnd: end,
    });
    return end;
  }

  /** Forgets a table; resolves when no transaction with its rows is under way. */
  async remove(topic: TopicEntry): Promise<void> {
    const states = this.partitions.get(topic.name) ?? [];
    // A topic of this name that was made since stays.
    if (states[0]?.table.topic.id === topic.id) this.partitions.delete(topic.name);
    else return;
    for (const state of states) {
      state.stopWatching();
      this.dropQueue(state);
      this.active.delete(state);
      for (const waiter of this.waiters) waiter.targets.delete(state);
    }
    this.settle();
    await this.applying.catch(() => undefined);
  }

  /**
   * Rows of a batch that was just appended. Called in offset order; the batch need not be durable yet. While much waits to be applied,
   * the producer's answer is to wait for what this returns: for room, or a bounded time.
   */
  enqueue(topic: string, partition: number, chunk: RowChunk): Promise<void> | undefined {
    const state = this.partitions.get(topic)?.[partition];
    if (state === undefined) return undefined;
    // An append that failed gave its offsets back: what it left here must not be taken for what now has them.
    while (state.queue.length > 0 && state.queue[state.queue.length - 1]!.nextOffset > chunk.baseOffset)
      this.unqueued(state.queue.pop()!);
    if (chunk.nextOffset <= state.next) return undefined;
    // A full queue drops the newest: they are read from the log once the applier gets there.
    if (this.queuedBytes + chunk.bytes <= limits.applierQueueBytesMax) {
      state.queue.push(chunk);
      this.queuedBytes += chunk.bytes;
    }
    return this.queuedBytes > limits.applierThrottleBytes ? this.room.wait() : undefined;
  }

  /** A batch that was just appended and whose rows DuckDB has: its offsets are passed over without a look at the log. */
  passOver(topic: string, partition: number, baseOffset: number, nextOffset: number): void {
    void this.enqueue(topic, partition, noRows(baseOffset, nextOffset));
  }

  /**
   * Resolves when everything that is durable now is in DuckDB. Fails when a table that `needs` names cannot catch up; does not wait for
   * others that cannot.
   */
  barrier(needs: (table: Table) => boolean = () => true): Promise<void> {
    const targets = new Map<PartitionState, number>();
    for (const states of this.partitions.values())
      for (const state of states) {
        const end = state.log.highWatermark;
        if (state.next < end && (state.pauseMs === 0 || needs(state.table))) targets.set(state, end);
      }
    if (targets.size === 0) return Promise.resolve();
    if (this.closed) return Promise.reject(closing());
    for (const state of targets.keys()) this.active.add(state);
    return new Promise((resolve, reject) => {
      this.waiters.push({ targets, needs, resolve, reject });
      this.signal();
    });
  }

  /** Resolves when everything that was appended to the table's logs before now, durable or not, is in DuckDB. */
  async drained(topic: string): Promise<void> {
    const states = this.partitions.get(topic) ?? [];
    const ends = states.map(({ log }) => log.logEndOffset);
    await Promise.all(states.map(({ log }, i) => durableUpTo(log, ends[i]!)));
    await this.barrier(({ topic: { name } }) => name === topic);
  }

  /** Durable records of a table that are not applied. */
  lag(topic: string): number {
    let records = 0;
    for (const { log, next } of this.partitions.get(topic) ?? []) records += Math.max(0, log.highWatermark - next);
    return records;
  }

  /** The log of this partition may be removed below this offset. Infinity when the topic is no table. */
  retainFrom(topic: string, partition: number): number {
    const states = this.partitions.get(topic);
    return states === undefined ? Number.POSITIVE_INFINITY : (states[partition]?.durable ?? 0);
  }

  /** What was applied since it was last made durable, if anything; call `durable` of it once DuckDB has that on disk. */
  mark(): { durable(): void } | undefined {
    const marked: [PartitionState, number][] = [];
    for (const states of this.partitions.values())
      for (const state of states) if (state.next > state.durable) marked.push([state, state.next]);
    if (marked.length === 0) return undefined;
    return {
      durable: () => {
        for (const [state, next] of marked) if (state.next >= next) state.durable = Math.max(state.durable, next);
      },
    };
  }

  /** The engine was started anew: what it had not committed is gone. */
  restarted(): void {
    this.stale = true;
    this.signal();
  }

  /** Applies until told to stop; call once. */
  start(): void {
    this.running ??= this.run();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.room.open();
    this.signal();
    await this.running;
    for (const states of this.partitions.values()) for (const state of states) state.stopWatching();
    for (const waiter of this.waiters) waiter.reject(closing());
    this.waiters = [];
  }

  private signal(): void {
    const wake = this.wake;
    this.wake = undefined;
    wake?.();
  }

  private async run(): Promise<void> {
    let pauseMs = 0;
    /** Transactions that take one partition alone: one of those that failed together may be to blame for all. */
    let alone = 0;
    while (!this.closed) {
      let work: Work[] = [];
      try {
        if (this.stale) await this.resume();
        work = this.collect(alone > 0);
        if (work.length === 0) {
          this.settle();
          await this.rest();
          continue;
        }
        alone = Math.max(0, alone - 1);
        this.applying = this.apply(work);
        await this.applying;
        for (const { state } of work) state.pauseMs = state.retryAt = 0;
        this.fault = undefined;
        pauseMs = 0;
        this.settle();
      } catch (error) {
        this.stale = true;
        if (work.length > 1) alone = work.length;
        else if (work.length === 1) this.putOff(work[0]!.state, error as Error);
        else {
          pauseMs = longer(pauseMs);
          this.report(error as Error, pauseMs);
          await this.pause(pauseMs);
        }
      }
    }
  }

  private isPaced(): boolean {
    if (!this.pace.isOn(this.waiters.length > 0, this.queuedBytes)) return false;
    // What must be read from the log is not counted in the queue, and there may be much of it.
    for (const { next, log, queue } of this.active)
      if (next < log.highWatermark && !(queue.length > 0 && queue[0]!.baseOffset <= next)) return false;
    return true;
  }

  /** Takes what can be applied now, up to the bound of a transaction. */
  private collect(alone: boolean): Work[] {
    const work: Work[] = [];
    const now = this.clock.monotonicMs();
    if (this.isPaced()) return work;
    let bytes = 0;
    for (const state of this.active) {
      if (state.retryAt > now) continue;
      const chunks: RowChunk[] = [];
      let next = state.next;
      try {
        while (bytes < limits.applyBytesMax) {
          const chunk = this.nextChunk(state, next);
          if (chunk === undefined) {
            // Whoever advances the high watermark makes the partition active again.
            this.active.delete(state);
            break;
          }
          if (chunk.rows > 0 || chunk.keyed !== undefined) chunks.push(chunk);
          next = chunk.nextOffset;
          bytes += Math.max(chunk.bytes, 64);
        }
      } catch (error) {
        // A log that cannot be read holds up its own table alone.
        this.putOff(state, error as Error);
        continue;
      }
      if (next > state.next) work.push({ state, chunks, next });
      if (bytes >= limits.applyBytesMax || (alone && work.length > 0)) break;
    }
    return work;
  }

  /** Leaves a partition alone for a while; the others go on. */
  private putOff(state: PartitionState, error: Error): void {
    state.pauseMs = longer(state.pauseMs);
    // It takes no room from the others meanwhile.
    this.dropQueue(state);
    state.retryAt = this.clock.monotonicMs() + state.pauseMs;
    // Behind the others.
    this.active.delete(state);
    this.active.add(state);
    this.report(error, state.pauseMs, state);
  }

  /** Until there is something to do. */
  private rest(): Promise<void> {
    if (this.closed) return Promise.resolve();
    let until = Number.POSITIVE_INFINITY;
    for (const state of this.active) until = Math.min(until, state.retryAt);
    if (this.active.size > 0 && this.isPaced()) until = Math.max(until, this.pace.until);
    const waitMs = until - this.clock.monotonicMs();
    if (waitMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = until === Number.POSITIVE_INFINITY ? undefined : this.clock.setTimer(waitMs, resolve);
      this.wake = () => {
        timer?.cancel();
        resolve();
      };
    });
  }

  /** The chunk that starts at `next`, from the queue or else from the log; undefined at the high watermark. */
  private nextChunk(state: PartitionState, next: number): RowChunk | undefined {
    const { queue, log } = state;
    while (queue.length > 0 && queue[0]!.nextOffset <= next) this.shift(state);
    const end = log.highWatermark;
    if (next >= end) return undefined;
    const head = queue[0];
    if (head !== undefined && head.baseOffset <= next) {
      if (head.nextOffset > end) return undefined;
      return this.shift(state);
    }
    return this.readChunk(state, next);
  }

  private shift(state: PartitionState): RowChunk {
    const chunk = state.queue.shift()!;
    this.unqueued(chunk);
    return chunk;
  }

  private unqueued({ bytes }: RowChunk): void {
    this.queuedBytes -= bytes;
    if (this.queuedBytes <= limits.applierThrottleBytes) this.room.open();
  }

  /** What was in it is read from the log again. */
  private dropQueue(state: PartitionState): void {
    while (state.queue.length > 0) this.shift(state);
  }

  /** Reads batches from the log; the first is returned, the others are put at the head of the queue. */
  private readChunk(state: PartitionState, next: number): RowChunk | undefined {
    const { log, table, partition, queue } = state;
    const until = queue[0]?.baseOffset ?? Number.POSITIVE_INFINITY;
    const found = readChunks({ table, partition, log }, next, until, this.passesOver, this.logger);
    const { chunks } = found;
    if (found.reachesUntil) queue[0]!.baseOffset = found.covered;
    if (chunks.length === 0 && queue[0]?.baseOffset === next) return this.shift(state);
    const [first, ...others] = chunks;
    if (others.length > 0) {
      queue.unshift(...others);
      for (const chunk of others) this.queuedBytes += chunk.bytes;
    }
    return first;
  }

  private async apply(work: readonly Work[]): Promise<void> {
    // One transaction at a time: the engine is done with what the last one sent.
    this.arena.reset();
    const { request, failed } = applyTransaction(work, (length) => this.arena.take(length));
    const started = this.clock.monotonicMs();
    try {
      await this.target.apply(request);
    } catch (error) {
      failed();
      throw error;
    }
    for (const { state, chunks, next } of work) {
      state.next = next;
      for (const { columns } of chunks) state.table.schema.sets.give(columns);
    }
    this.pace.took(this.clock.monotonicMs() - started);
  }

  /** Answers the waiters whose targets are reached. */
  private settle(): void {
    if (this.waiters.length === 0) return;
    this.waiters = this.waiters.filter((waiter) => {
      for (const [state, end] of waiter.targets) if (state.next >= end) waiter.targets.delete(state);
      if (waiter.targets.size > 0) return true;
      waiter.resolve();
      return false;
    });
  }

  /** After a failure DuckDB says where it is: the transaction may or may not have been committed. */
  private async resume(): Promise<void> {
    const cursors = await this.target.cursors();
    this.stale = false;
    const known = new Map(cursors.map((cursor) => [`${cursor.topicId} ${cursor.partition}`, cursor.nextOffset]));
    for (const states of this.partitions.values())
      for (const state of states) {
        const next = this.withinLog(state.log, known.get(`${state.table.topic.id} ${state.partition}`) ?? 0);
        if (next !== state.next) {
          // A database that fell behind (its worker died) is brought up from the log.
          state.next = next;
          state.durable = Math.min(state.durable, next);
          this.dropQueue(state);
        }
        if (next < state.log.highWatermark) this.active.add(state);
      }
  }

  /** `state`: the partition that is to blame, or none when nothing can be applied. */
  private report(error: Error, retryMs: number, state?: PartitionState): void {
    if (this.fault?.message !== error.message)
      this.logger.error("rows could not be applied; trying again", {
        reason: error.message,
        topic: state?.table.topic.name,
        partition: state?.partition,
        offset: state?.next,
        retryMs,
      });
    this.fault = error;
    // Reads fail rather than hang or show less than was acknowledged.
    const which = state === undefined ? "the tables are" : `table "${state.table.topic.name}" is`;
    const failed = new SqlError("58000", `${which} behind the log and cannot catch up: ${error.message}`);
    this.waiters = this.waiters.filter((waiter) => {
      if (state !== undefined && !waiter.targets.has(state)) return true;
      if (state !== undefined && !waiter.needs(state.table)) {
        waiter.targets.delete(state);
        return true;
      }
      waiter.reject(failed);
      return false;
    });
    this.settle();
  }

  /** Only closing ends a pause early. */
  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.clock.setTimer(ms, resolve);
      const wake = () => {
        this.wake = wake;
        if (!this.closed) return;
        timer.cancel();
        resolve();
      };
      this.wake = wake;
    });
  }
}

function longer(pauseMs: number): number {
  return Math.min(Math.max(pauseMs * 2, limits.applierRetryMsMin), limits.applierRetryMsMax);
}

function closing(): SqlError {
  return new SqlError("57P01", "the node is closing");
}
