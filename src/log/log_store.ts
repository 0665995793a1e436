/**
 * All partitions of a node, in one folder with Kafka's layout: `<topic>-<partition>/<base offset>.log` and so on.
 *
 * Invariant: a partition's folder is touched only through its PartitionLog, of which there is one.
 */
import type { Clock } from "../base/clock.ts";
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import type { Disk } from "../platform/disk.ts";
import type { Durability, LogContext } from "./context.ts";
import { FileCache } from "./file_cache.ts";
import { GroupCommit, type Schedule } from "./group_commit.ts";
import { defaultLogConfig, type LogConfig } from "./log_config.ts";
import { deletedEnding, parseFolderName, readTopicId } from "./partition_files.ts";
import { PartitionLog } from "./partition_log.ts";
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
  private deletions = 0;
  private closed = false;

  private constructor(context: LogContext) {
    this.context = context;
  }

  /** Opens (or makes) the store in a folder. Reads no segment; partitions are loaded when they are first used. */
  static open(disk: Disk, directory: string, options: LogStoreOptions): LogStore {
    const { clock, logger, durability } = options;
    if (!disk.stat(directory)) {
      disk.makeDirectory(directory);
      disk.syncDirectory(directory);
    }
    const context: LogContext = {
      disk,
      directory,
      durability,
      clock,
      logger,
      files: new FileCache(disk, limits.logFilesOpenMax),
      budget: new RecentBudget(limits.recentBatchesBytesMax),
      space: new SpaceGuard(disk, directory, clock, logger),
      commit: new GroupCommit(options.schedule ?? ((run) => void setImmediate(run)), () =>
        disk.syncDirectoryLater(directory),
      ),
    };
    const store = new LogStore(context);
    for (const name of disk.list(directory)) {
      if (name.endsWith(deletedEnding)) {
        disk.removeTree(`${directory}/${name}`);
        continue;
      }
      const folder = parseFolderName(name);
      if (!folder) continue;
      const partitions = store.found.get(folder.topic) ?? new Set();
      store.found.set(folder.topic, partitions.add(folder.partition));
    }
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
    if (this.closed) throw new KafkaError("KAFKA_STORAGE_ERROR", "the node is closing");
    const partitions = this.found.get(topic);
    if (partitions?.delete(partition)) {
      if (partitions.size === 0) this.found.delete(topic);
      const path = `${this.context.directory}/${topic}-${partition}`;
      const foundId = options.topicId && readTopicId(this.context.disk, path);
      if (foundId && foundId !== options.topicId) {
        this.context.logger.warn("removing the folder of an older topic of this name", { path, topicId: foundId });
        this.removeFolder(path);
      }
    }
    const log = new PartitionLog(this.context, topic, partition, options.config ?? defaultLogConfig, options.topicId);
    let logs = this.logs.get(topic);
    if (!logs) {
      logs = new Map();
      this.logs.set(topic, logs);
    }
    logs.set(partition, log);
    return log;
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
    for (const partition of partitions) this.removeFolder(`${this.context.directory}/${topic}-${partition}`);
  }

  /** Renames first, so that a crash in the middle leaves nothing that looks like a partition. */
  private removeFolder(path: string): void {
    const { disk, directory, clock } = this.context;
    if (!disk.stat(path)) return;
    const doomed = `${directory}/${clock.nowMs()}-${this.deletions++}${deletedEnding}`;
    disk.rename(path, doomed);
    disk.removeTree(doomed);
  }

  /** Refuses further appends to new partitions and waits for what is on its way. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.partitions()].map((log) => log.idle()));
    this.context.files.closeAll();
  }
}
