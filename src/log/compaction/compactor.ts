/**
 * Finds the partitions whose compaction is due and compacts them one after another, the dirtiest first.
 *
 * Invariant: only segments that the checkpoint on disk vouches for are replaced, so what it says of the newest segments
 * stays true whatever a crash leaves.
 */
import { KafkaError } from "../../base/kafka_error.ts";
import { limits } from "../../base/limits.ts";
import { DiskError } from "../../platform/disk.ts";
import type { LogContext } from "../context.ts";
import type { PartitionLog } from "../partition_log.ts";
import type { Cleanable } from "./cleanable.ts";
import { Pacer, Stopped } from "./pacer.ts";
import type { RoundResult } from "./round.ts";

export interface CompactorOptions {
  /** log.cleaner.enable (default true). */
  enabled?: boolean;
  /** log.cleaner.backoff.ms. */
  backoffMs?: number;
  /** log.cleaner.io.max.bytes.per.second: bytes read and written. Infinity takes all pauses away (simulations). */
  bytesPerSecond?: number;
  /** log.cleaner.dedupe.buffer.size. */
  mapBytes?: number;
}

/** What the store gives its compactor. */
export interface CompactorHost {
  context: LogContext;
  partitions(): Iterable<PartitionLog>;
  /** Writes the checkpoint. */
  checkpoint(): Promise<void>;
  /** Base offset of the newest segment of a partition that the checkpoint on disk knows. */
  vouchedBase(log: PartitionLog): number | undefined;
  isClosing(): boolean;
}

/** Numbers for the metrics, under Kafka's meanings (LogCleaner, LogCleanerManager). */
export interface CompactorStats {
  /** Compactions of partitions that ended well. */
  rounds: number;
  bytesRead: number;
  bytesWritten: number;
  /** Bytes of segments less bytes of what replaced them. */
  bytesSaved: number;
  recordsRead: number;
  recordsRemoved: number;
  keylessRecords: number;
  /** Of the last compaction: its time, what it kept of what it read, how full its map was (both from 0 to 1). */
  lastSeconds: number;
  lastRecopyRatio: number;
  lastMapUtilization: number;
  /** The largest dirty ratio and delay that the last search for work saw. */
  maxDirtyRatio: number;
  maxDelaySeconds: number;
  /** Monotonic milliseconds of the last search. */
  searchedAtMs: number | undefined;
}

interface Candidate {
  log: PartitionLog;
  part: Cleanable;
}

export class Compactor {
  readonly stats: CompactorStats = {
    rounds: 0,
    bytesRead: 0,
    bytesWritten: 0,
    bytesSaved: 0,
    recordsRead: 0,
    recordsRemoved: 0,
    keylessRecords: 0,
    lastSeconds: 0,
    lastRecopyRatio: 0,
    lastMapUtilization: 0,
    maxDirtyRatio: 0,
    maxDelaySeconds: 0,
    searchedAtMs: undefined,
  };
  /** Partitions that could not be read, until the next start. */
  readonly uncleanable = new Map<PartitionLog, string>();
  private readonly host: CompactorHost;
  readonly options: Required<CompactorOptions>;
  private running: Promise<number> | undefined;

  constructor(host: CompactorHost, options: CompactorOptions = {}) {
    this.host = host;
    this.options = {
      enabled: options.enabled ?? true,
      backoffMs: options.backoffMs ?? limits.cleanerBackoffMs,
      bytesPerSecond: options.bytesPerSecond ?? limits.cleanerBytesPerSecondMax,
      mapBytes: options.mapBytes ?? limits.cleanerMapBytesMax,
    };
  }

  /** Compacts all that is due; gives the number of compactions. A call during another one joins it. */
  run(): Promise<number> {
    if (!this.options.enabled) return Promise.resolve(0);
    this.running ??= this.work()
      .catch((error: Error) => {
        this.host.context.logger.error("the search for logs to compact failed", { stack: error.stack });
        return 0;
      })
      .finally(() => {
        this.running = undefined;
      });
    return this.running;
  }

  /** Resolves when no compaction is under way; the host must be closing, so that none goes on for long. */
  async settled(): Promise<void> {
    await this.running;
  }

  /** Bytes of the partitions that could not be read. */
  uncleanableBytes(): number {
    let bytes = 0;
    for (const log of this.uncleanable.keys()) bytes += log.sizeBytes();
    return bytes;
  }

  private async work(): Promise<number> {
    const { host } = this;
    let rounds = 0;
    /** Partitions that are left alone until the next run. */
    const passed = new Set<PartitionLog>();
    while (!host.isClosing()) {
      const found = await this.search(passed);
      if (!found) break;
      const { log } = found;
      const part = await this.vouched(found);
      if (!part?.isDue) {
        passed.add(log);
        continue;
      }
      const result = await this.compact(log, part);
      if (result) rounds++;
      if (!result?.isPartial) passed.add(log);
    }
    return rounds;
  }

  /** The dirtiest partition whose compaction is due. */
  private async search(passed: ReadonlySet<PartitionLog>): Promise<Candidate | undefined> {
    const { host, stats } = this;
    const nowMs = host.context.clock.nowMs();
    let found: Candidate | undefined;
    let seen = 0;
    stats.maxDirtyRatio = 0;
    stats.maxDelaySeconds = 0;
    stats.searchedAtMs = host.context.clock.monotonicMs();
    for (const log of [...host.partitions()]) {
      if (!log.config.compacted || this.uncleanable.has(log)) continue;
      if (++seen % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (host.isClosing()) return undefined;
      const part = this.look(log, Number.POSITIVE_INFINITY, nowMs);
      if (!part) continue;
      stats.maxDirtyRatio = Math.max(stats.maxDirtyRatio, part.dirtyRatio);
      stats.maxDelaySeconds = Math.max(stats.maxDelaySeconds, part.overdueMs / 1000);
      if (!part.isDue || passed.has(log)) continue;
      if (!found || part.dirtyRatio > found.part.dirtyRatio) found = { log, part };
    }
    return found;
  }

  private look(log: PartitionLog, limit: number, nowMs: number): Cleanable | undefined {
    try {
      return log.cleanable(limit, nowMs);
    } catch {
      // A partition that cannot be loaded says so to those who use it.
      return undefined;
    }
  }

  /** The part that may be replaced, after a checkpoint if need be. */
  private async vouched({ log, part }: Candidate): Promise<Cleanable | undefined> {
    const { host } = this;
    if ((host.vouchedBase(log) ?? -1) < part.end) await host.checkpoint();
    const base = host.vouchedBase(log);
    return base === undefined ? undefined : this.look(log, base, host.context.clock.nowMs());
  }

  private async compact(log: PartitionLog, part: Cleanable): Promise<RoundResult | undefined> {
    const { context } = this.host;
    const { bytesPerSecond, mapBytes } = this.options;
    const pacer = new Pacer(context.clock, bytesPerSecond, () => this.host.isClosing());
    const fields = { partition: `${log.topic}-${log.partition}`, from: part.firstDirty, to: part.end };
    const startMs = context.clock.monotonicMs();
    try {
      const result = await log.compact(part, pacer, mapBytes);
      this.note(result, (context.clock.monotonicMs() - startMs) / 1000);
      context.logger.info("compacted a log", {
        ...fields,
        to: result.cleanedTo,
        seconds: this.stats.lastSeconds,
        recordsRead: result.recordsRead,
        recordsRemoved: result.recordsRead - result.recordsKept,
        bytesBefore: result.bytesReplaced,
        bytesAfter: result.bytesWritten,
      });
      return result;
    } catch (error) {
      if (error instanceof Stopped || this.host.isClosing()) return undefined;
      const reason = (error as Error).message;
      if (error instanceof DiskError || error instanceof KafkaError)
        context.logger.error("a compaction failed; it will be tried again", { ...fields, reason });
      else {
        this.uncleanable.set(log, reason);
        context.logger.error("a log cannot be compacted; it is left alone until the next start", { ...fields, reason });
      }
      return undefined;
    }
  }

  private note(result: RoundResult, seconds: number): void {
    const { stats } = this;
    stats.rounds++;
    stats.bytesRead += result.bytesRead;
    stats.bytesWritten += result.bytesWritten;
    stats.bytesSaved += result.bytesReplaced - result.bytesWritten;
    stats.recordsRead += result.recordsRead;
    stats.recordsRemoved += result.recordsRead - result.recordsKept;
    stats.keylessRecords += result.keylessRecords;
    stats.lastSeconds = seconds;
    stats.lastRecopyRatio = result.bytesReplaced === 0 ? 0 : result.bytesWritten / result.bytesReplaced;
    stats.lastMapUtilization = result.mapUtilization;
  }
}
