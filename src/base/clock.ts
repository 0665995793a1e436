/**
 * Time as an argument: code that decides takes a Clock, so that tests and the simulator can move it.
 * Wall time is milliseconds since 1970 (may step back); monotonic time never does.
 */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since 1970-01-01 UTC. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start; never decreases. */
  monotonicMs(): number;
  /** Calls `fire` once after `delayMs`. The timer alone does not keep the process running. */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/** Node, Bun and Deno cannot wait longer than a signed 32-bit count of milliseconds in one timer. */
const timerMsMax = 2_147_483_647;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, fire) {
    const handle = setTimeout(fire, Math.min(Math.max(0, delayMs), timerMsMax)) as unknown as { unref?(): void };
    handle.unref?.();
    return { cancel: () => clearTimeout(handle as unknown as number) };
  },
};

/** A clock that stands still until a test advances it; due timers fire in order of their time, then of their making. */
export class ManualClock implements Clock {
  private wallMs: number;
  private elapsedMs = 0;
  private made = 0;
  private timers: { atMs: number; order: number; fire: () => void }[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.wallMs = startMs;
  }

  nowMs(): number {
    return this.wallMs;
  }

  monotonicMs(): number {
    return this.elapsedMs;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const timer = { atMs: this.elapsedMs + Math.max(0, delayMs), order: this.made++, fire };
    this.timers.push(timer);
    return {
      cancel: () => {
        this.timers = this.timers.filter((other) => other !== timer);
      },
    };
  }

  /** Steps the wall clock alone, as an administrator or NTP would. */
  stepWall(byMs: number): void {
    this.wallMs += byMs;
  }

  /** Moves both clocks forward and fires what falls due on the way. */
  advance(byMs: number): void {
    const end = this.elapsedMs + byMs;
    for (;;) {
      let next: (typeof this.timers)[number] | undefined;
      for (const timer of this.timers) {
        if (timer.atMs > end) continue;
        if (!next || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order)) next = timer;
      }
      if (!next) break;
      const due = next;
      this.timers = this.timers.filter((other) => other !== due);
      this.wallMs += Math.max(0, due.atMs - this.elapsedMs);
      this.elapsedMs = Math.max(this.elapsedMs, due.atMs);
      due.fire();
    }
    this.wallMs += end - this.elapsedMs;
    this.elapsedMs = end;
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.timers.length;
  }
}
