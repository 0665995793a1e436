/**
 * All partitions of a node, in one folder with Kafka's layout: `<topic>-<partition>/<base offset>.log` and so on.
 *
 * Invariant: a partition's folder is touched only through its PartitionLog, of which there is one.
 */
import type { Clock, Timer } from "../base/clock.ts";
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import { type Disk, makeDirectoryDurably } from "../platform/disk.ts";
import { Ballast } from "./ballast.ts";
import {
  type Checkpoints,
  type PartitionCheckpoint,
  takeCheckpoint,
  writeCleanStop,
  writeRunningCheckpoint,
} from "./checkpoint.ts";
import { Compactor, type CompactorOptions } from "./compaction/compactor.ts";
import type { Durability, LogContext } from "./context.ts";
import { FileCache } from "./file_cache.ts";
import { GroupCommit, type Schedule } from "./group_commit.ts";
import { defaultLogConfig, type LogConfig } from "./log_config.ts";
import { OffsetCheckpoint, offsetCheckpointNames } from "./offset_checkpoint.ts";
import { deletedEnding, parseFolderName, readTopicId } from "./partition_files.ts";
import { type ClaimedFolder, PartitionLog } from "./partition_log.ts";
import { RecentBudget } from "./recent_batches.ts";
import { SpaceGuard } from "./space_guard.ts";

export type { Durability } from "./context.ts";
export type { AppendResult, ReadOptions } from "./partition_log.ts";
export { PartitionLog } from "./partition_log.ts";

export interface LogStoreOptions {
  durability: Durability;
  clock: Clock;
  logger: Logger;
  /** Runs a function at the end of this pass of the event loop; setImmediate unless a test says otherwise. */
  schedule?: Schedule;
  compaction?: CompactorOptions;
}

export interface CreateOptions {
  /** The topic's id, kept in partition.metadata: a folder of another id is a leftover and is removed. */
  topicId?: string;
  config?: LogConfig;
}

export class LogStore {
  private readonly context: LogContext;
  private readonly logs = new Map<string, Map<number, PartitionLog>>();
  /** Folders found at start that nobody has asked for yet. */
  private readonly found = new Map<string, Set<number>>();
  /** What the last checkpoint said of partitions that nobody has asked for yet. */
  private readonly checkpoints: Checkpoints;
  private readonly ballast: Ballast;
  readonly compactor: Compactor;
  private written: Checkpoints | undefined;
  private deletions = 0;
  private closing: Promise<void> | undefined;
  private timers: Timer[] = [];
  private working: Promise<unknown> = Promise.resolve();

  private constructor(
    context: LogContext,
    checkpoints: Checkpoints,
    ballast: Ballast,
    compaction: CompactorOptions | undefined,
  ) {
    this.context = context;
    this.compactor = new Compactor(
      {
        context,
        partitions: () => this.partitions(),
        checkpoint: () => this.checkpoint(),
        vouchedBase: ({ topic, partition }) => this.written?.get(`${topic}-${partition}`)?.segmentBase,
        isClosing: () => this.closing !== undefined,
      },
      compaction,
    );
    this.ballast = ballast;
    this.checkpoints = checkpoints;
  }

  /**
   * Opens (or makes) the store in a folder, with one small read. Partitions are loaded, and after a crash checked, when
   * they are first used.
   */
  static open(disk: Disk, directory: string, options: LogStoreOptions): LogStore {
    const { clock, logger, durability } = options;
    makeDirectoryDurably(disk, directory);
    const checkpoints = takeCheckpoint(disk, directory, logger);
    // Folders that a killed process had just made are seen but may not be durable yet.
    disk.syncDirectory(directory);
    const later = options.schedule ?? ((run: () => void) => void setImmediate(run));
    const ballast = new Ballast(disk, directory);
    const context: LogContext = {
      disk,
      directory,
      durability,
      clock,
      logger,
      files: new FileCache(disk, limits.logFilesOpenMax),
      budget: new RecentBudget(limits.recentBatchesBytesMax),
      space: new SpaceGuard(disk, directory, clock, logger),
      commit: new GroupCommit(later, () => disk.syncDirectoryLater(directory)),
      starts: OffsetCheckpoint.open(disk, directory, offsetCheckpointNames.starts, ballast),
      cleaned: OffsetCheckpoint.open(disk, directory, offsetCheckpointNames.cleaned, ballast),
      checkpointSoon: () => void store.checkpoint(),
    };
    ballast.ensure();
    const store = new LogStore(context, checkpoints, ballast, options.compaction);
    for (const name of disk.list(directory)) {
      if (name.endsWith(deletedEnding)) store.removeLater(`${directory}/${name}`);
      const folder = parseFolderName(name);
      if (!folder) continue;
      const partitions = store.found.get(folder.topic) ?? new Set();
      store.found.set(folder.topic, partitions.add(folder.partition));
    }
    store.every(limits.logCheckpointMs, () => store.checkpoint());
    store.every(limits.logRetentionCheckMs, () => store.clean());
    store.every(store.compactor.options.backoffMs, () => store.compact());
    return store;
  }

  /**
   * The log of a partition, made if there is none; a folder from an earlier run is taken up. Cheap: the folder is made or
   * read with the first use.
   */
  create(topic: string, partition: number, options: CreateOptions = {}): PartitionLog {
    const known = this.get(topic, partition);
    if (known) {
      if (options.config) known.config = options.config;
      return known;
    }
    if (this.closing) throw new KafkaError("KAFKA_STORAGE_ERROR", "the node is closing");
    const log = new PartitionLog(this.context, topic, partition, {
      config: options.config ?? defaultLogConfig,
      topicId: options.topicId,
      folder: this.claim(topic, partition, options.topicId),
    });
    let logs = this.logs.get(topic);
    if (!logs) {
      logs = new Map();
      this.logs.set(topic, logs);
    }
    logs.set(partition, log);
    return log;
  }

  /** Takes up what an earlier run left of a partition. */
  private claim(topic: string, partition: number, topicId: string | undefined): ClaimedFolder {
    const { context } = this;
    const name = `${topic}-${partition}`;
    const checkpoint = this.checkpoints.get(name);
    this.checkpoints.delete(name);
    const partitions = this.found.get(topic);
    if (!partitions?.delete(partition)) {
      // Without a folder there is no log: what is still said about one is of a topic that was deleted.
      context.starts.forget(topic, partition);
      context.cleaned.forget(topic, partition);
      return { checkpoint: undefined, verify: () => undefined };
    }
    if (partitions.size === 0) this.found.delete(topic);
    if (!topicId || checkpoint?.topicId === topicId) return { checkpoint, verify: () => checkpoint };
    return { checkpoint: undefined, verify: () => this.verify(topic, partition, topicId, checkpoint) };
  }

  /** Looks whose folder it is, before it is loaded; removes it when it was of an older topic of this name. */
  private verify(
    topic: string,
    partition: number,
    topicId: string,
    checkpoint: PartitionCheckpoint | undefined,
  ): PartitionCheckpoint | undefined {
    const { disk, directory, starts, cleaned, logger } = this.context;
    const path = `${directory}/${topic}-${partition}`;
    const foundId = readTopicId(disk, path);
    if (foundId && foundId !== topicId) {
      logger.warn("removing the folder of an older topic of this name", { path, topicId: foundId });
      this.removeFolder(path);
    } else if (!checkpoint?.topicId) return checkpoint;
    // What the checkpoint says is of the older topic.
    starts.forget(topic, partition);
    cleaned.forget(topic, partition);
    return undefined;
  }

  /** The log of a partition that was created since the store was opened. */
  get(topic: string, partition: number): PartitionLog | undefined {
    return this.logs.get(topic)?.get(partition);
  }

  /** All logs that were created since the store was opened. */
  *partitions(): IterableIterator<PartitionLog> {
    for (const logs of this.logs.values()) yield* logs.values();
  }

  /** Topics with folders from an earlier run that were not created since: leftovers, once all topics are. */
  unclaimedTopics(): string[] {
    return [...this.found.keys()];
  }

  /** Removes all partitions of a topic, whose batches on their way are refused. */
  deleteTopic(topic: string): void {
    const partitions = new Set(this.found.get(topic));
    for (const [partition, log] of this.logs.get(topic) ?? []) {
      log.markDeleted();
      partitions.add(partition);
    }
    this.logs.delete(topic);
    this.found.delete(topic);
    for (const partition of partitions) {
      this.checkpoints.delete(`${topic}-${partition}`);
      this.context.starts.forget(topic, partition);
      this.context.cleaned.forget(topic, partition);
      this.removeFolder(`${this.context.directory}/${topic}-${partition}`);
    }
  }

  /** Renames first, so that a crash in the middle leaves nothing that looks like a partition. */
  private removeFolder(path: string): void {
    const { disk, directory, clock } = this.context;
    if (!disk.stat(path)) return;
    const nameOf = () => `${directory}/${clock.nowMs()}-${this.deletions++}${deletedEnding}`;
    let doomed = nameOf();
    // One that an earlier process did not get to the end of, at what the clock says was the same time.
    while (disk.stat(doomed)) doomed = nameOf();
    disk.rename(path, doomed);
    this.removeLater(doomed);
  }

  /** A folder that does not count any more; one that cannot be removed is tried again at the next start. */
  private removeLater(path: string): void {
    this.context.disk.removeTreeLater(path).catch((error: Error) => {
      this.context.logger.warn("could not remove the folder of a deleted partition", { path, reason: error.message });
    });
  }

  /** Removes what the topics' retention lets go; gives the number of segments. Runs by itself from time to time. */
  clean(): Promise<number> {
    return this.exclusively(async () => {
      this.ballast.ensure();
      let removed = 0;
      let passed = 0;
      for (const log of this.partitions()) {
        if (++passed % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
        try {
          removed += await log.clean();
        } catch (error) {
          const reason = (error as Error).message;
          this.context.logger.error("retention failed", { partition: `${log.topic}-${log.partition}`, reason });
        }
      }
      return removed;
    });
  }

  /** Compacts the logs whose topics ask for it, as far as that is due; gives the number of compactions. Runs by itself from time to time. */
  compact(): Promise<number> {
    return this.compactor.run();
  }

  /** Makes a start after a crash from here cheap. Runs by itself from time to time. */
  checkpoint(): Promise<void> {
    return this.exclusively(async () => {
      const { disk, directory, logger } = this.context;
      try {
        const gathered = await this.gather(false);
        if (isSame(gathered, this.written)) return;
        await writeRunningCheckpoint(disk, directory, gathered);
        this.written = gathered;
      } catch (error) {
        logger.error("could not write the checkpoint of the logs", { reason: (error as Error).message });
      }
    });
  }

  private async gather(isLast: boolean): Promise<Checkpoints> {
    const gathered: Checkpoints = new Map(this.checkpoints);
    await Promise.all(
      [...this.partitions()].map(async (log) => {
        const one = await log.checkpoint(isLast);
        if (one) gathered.set(`${log.topic}-${log.partition}`, one);
      }),
    );
    return gathered;
  }

  /** Waits for all batches on their way, and leaves the folder so that the next start has nothing to check. */
  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    for (const timer of this.timers) timer.cancel();
    await this.compactor.settled();
    await this.exclusively(async () => {
      const { disk, directory, files, starts, logger } = this.context;
      for (const log of this.partitions()) log.refuseAppends();
      await Promise.all([...this.partitions()].map((log) => log.idle()));
      try {
        await starts.settled();
        writeCleanStop(disk, directory, await this.gather(true));
      } catch (error) {
        logger.error("could not write the mark of a clean stop; the next start will check the logs", {
          reason: (error as Error).message,
        });
      }
      files.closeAll();
    });
  }

  /** One at a time: checkpoint, retention, close. */
  private exclusively<T>(action: () => Promise<T>): Promise<T> {
    const result = this.working.then(action, action);
    this.working = result.catch(() => undefined);
    return result;
  }

  private every(periodMs: number, action: () => Promise<unknown>): void {
    const index = this.timers.length;
    const again = () => {
      if (this.closing) return;
      this.timers[index] = this.context.clock.setTimer(periodMs, () => void action().finally(again));
    };
    again();
  }
}

/** Whether two checkpoints say the same: a partition's entry is a new object whenever it says something new. */
function isSame(one: Checkpoints, other: Checkpoints | undefined): boolean {
  if (one.size !== other?.size) return false;
  for (const [name, entry] of one) if (other.get(name) !== entry) return false;
  return true;
}
