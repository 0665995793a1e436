/** What all partitions of one store share. */
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Disk } from "../platform/disk.ts";
import type { FileCache } from "./file_cache.ts";
import type { GroupCommit } from "./group_commit.ts";
import type { OffsetCheckpoint } from "./offset_checkpoint.ts";
import type { RecentBudget } from "./recent_batches.ts";
import type { SpaceGuard } from "./space_guard.ts";

/** "sync": answered after fdatasync. "os": answered after the write; the system decides when it reaches the disk. */
export type Durability = "sync" | "os";

export interface LogContext {
  disk: Disk;
  /** The store's folder: partitions are folders in it. */
  directory: string;
  durability: Durability;
  clock: Clock;
  logger: Logger;
  files: FileCache;
  budget: RecentBudget;
  space: SpaceGuard;
  commit: GroupCommit;
  /** Where each log begins. */
  starts: OffsetCheckpoint;
  /** How far each log is compacted. */
  cleaned: OffsetCheckpoint;
  /** Much was appended: a checkpoint is due before its time. */
  checkpointSoon: () => void;
}
