/**
 * Keeps a reserve of free space: below it appends are refused while everything that frees space goes on, so that the node
 * can always write what a recovery, a checkpoint or a deletion needs.
 */
import type { Clock } from "../base/clock.ts";
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import type { Disk } from "../platform/disk.ts";

/** The system is asked again after so many milliseconds, or when half of what was free above the reserve may be used. */
const askAfterMs = 250;

export class SpaceGuard {
  private readonly disk: Disk;
  private readonly directory: string;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private askedAtMs = Number.NEGATIVE_INFINITY;
  private bytesSinceAsked = 0;
  private askAfterBytes = 0;
  private isShort = false;
  private free = 0;

  constructor(disk: Disk, directory: string, clock: Clock, logger: Logger) {
    this.disk = disk;
    this.directory = directory;
    this.clock = clock;
    this.logger = logger;
  }

  /** Throws KAFKA_STORAGE_ERROR when `bytes` more would reach into the reserve. */
  check(bytes: number): void {
    this.bytesSinceAsked += bytes;
    if (
      this.isShort ||
      this.bytesSinceAsked > this.askAfterBytes ||
      this.clock.monotonicMs() - this.askedAtMs > askAfterMs
    )
      this.ask(bytes);
    if (this.isShort)
      throw new KafkaError(
        "KAFKA_STORAGE_ERROR",
        `the disk of ${this.directory} is nearly full (${this.free} bytes free); produces are refused until space is freed`,
      );
  }

  /** A write failed for want of space: do not trust the last answer. */
  doubt(): void {
    this.askedAtMs = Number.NEGATIVE_INFINITY;
  }

  private ask(bytes: number): void {
    this.askedAtMs = this.clock.monotonicMs();
    this.bytesSinceAsked = bytes;
    const { free, total } = this.disk.freeBytes(this.directory);
    const reserve = Math.min(limits.diskReserveBytes, Math.floor(total / 20));
    const wasShort = this.isShort;
    this.free = free;
    this.isShort = free - bytes < reserve;
    this.askAfterBytes = (free - reserve) / 2;
    if (this.isShort && !wasShort)
      this.logger.error("the disk is nearly full; produces are refused until space is freed", {
        directory: this.directory,
        freeBytes: free,
        reserveBytes: reserve,
      });
    if (wasShort && !this.isShort)
      this.logger.info("the disk has space again; produces are accepted", {
        directory: this.directory,
        freeBytes: free,
      });
  }
}
