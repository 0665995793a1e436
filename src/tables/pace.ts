/**
 * When records may wait for more. A transaction on a keyed table looks through the key columns of the whole table, however few rows
 * it has; and rows of any table that fill no row group go through DuckDB's write-ahead log and are written once more at the checkpoint.
 */
import type { Clock } from "../base/clock.ts";
import { limits } from "../base/limits.ts";

export class Pace {
  private readonly clock: Clock;
  /** Monotonic milliseconds. */
  until = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** A transaction took `ms` milliseconds. */
  took(ms: number): void {
    if (ms < limits.applierPaceMsMin) return;
    this.until = this.clock.monotonicMs() + Math.min(ms * 2, limits.applierPaceMsMax);
  }

  /** Not while somebody waits for what is queued, or much is. */
  isOn(isAwaited: boolean, queuedBytes: number): boolean {
    return !isAwaited && queuedBytes < limits.applierPaceBytes && this.clock.monotonicMs() < this.until;
  }
}
