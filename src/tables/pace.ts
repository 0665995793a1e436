/**
 * When a trickle of records may wait for more. A transaction on a keyed table looks through the key columns of the whole table, however
 * few rows it has: one for every record would keep DuckDB busy for nothing.
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

  /** A transaction on a keyed table took `ms` milliseconds. */
  took(ms: number): void {
    if (ms < limits.applierPaceMsMin) return;
    this.until = this.clock.monotonicMs() + Math.min(ms * 2, limits.applierPaceMsMax);
  }

  /** Not while somebody waits for what is queued, or much is. */
  isOn(isAwaited: boolean, queuedBytes: number): boolean {
    return !isAwaited && queuedBytes < limits.applierThrottleBytes / 4 && this.clock.monotonicMs() < this.until;
  }
}
