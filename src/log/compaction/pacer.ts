/**
 * Keeps a long work out of everybody's way: it runs on the thread that serves clients, so it works for a few milliseconds,
 * lets all others have their turn, and rests longer while those have much to do. Reads and writes have a rate of their own.
 */
import type { Clock } from "../../base/clock.ts";
import { limits } from "../../base/limits.ts";

/** The work was told to end: the node is closing, or what it works on is gone. */
export class Stopped extends Error {
  override name = "Stopped";
}

/** Bytes after which others have their turn even if the clock stands still. */
const sliceBytes = 1024 * 1024;
/** A turn of the others that takes longer than this, in milliseconds, shows that they are busy. */
const busyMs = 1;

export class Pacer {
  private readonly clock: Clock;
  private readonly bytesPerSecond: number;
  private readonly isStopped: () => boolean;
  private sliceStartMs: number;
  private bytes = 0;
  /** Bytes that may be read and written before the rate has its say. */
  private credit: number;
  private creditMs: number;

  /** With an infinite rate it only yields: on a simulated clock nobody would end a pause. */
  constructor(clock: Clock, bytesPerSecond: number, isStopped: () => boolean) {
    this.clock = clock;
    this.bytesPerSecond = bytesPerSecond;
    this.isStopped = isStopped;
    this.sliceStartMs = clock.monotonicMs();
    this.credit = bytesPerSecond;
    this.creditMs = this.sliceStartMs;
  }

  /** To be called often, with the bytes read and written since the last call. Something to wait for when the slice is over. */
  spent(bytes: number): Promise<void> | undefined {
    this.bytes += bytes;
    if (this.bytes < sliceBytes && this.clock.monotonicMs() - this.sliceStartMs < limits.cleanerSliceMs)
      return undefined;
    return this.rest();
  }

  /** Lets the others have their turn. Throws Stopped when there is no point in going on. */
  async rest(): Promise<void> {
    const { clock } = this;
    this.credit -= this.bytes;
    this.bytes = 0;
    const beforeMs = clock.monotonicMs();
    await new Promise<void>((resolve) => setImmediate(resolve));
    const othersMs = clock.monotonicMs() - beforeMs;
    if (this.bytesPerSecond < Number.POSITIVE_INFINITY) {
      const politeMs = othersMs > busyMs ? Math.min(othersMs, 2 * limits.cleanerSliceMs) : 0;
      const pauseMs = Math.max(politeMs, this.owedMs());
      if (pauseMs >= 1) await new Promise<void>((resolve) => void clock.setTimer(pauseMs, resolve));
    }
    if (this.isStopped()) throw new Stopped("stopped");
    this.sliceStartMs = clock.monotonicMs();
  }

  private owedMs(): number {
    const nowMs = this.clock.monotonicMs();
    const rate = this.bytesPerSecond / 1000;
    this.credit = Math.min(this.bytesPerSecond, this.credit + (nowMs - this.creditMs) * rate);
    this.creditMs = nowMs;
    // A pause of less than a few milliseconds would be rounded up to more than it should be.
    return Math.min(1000, Math.max(0, -this.credit / rate - 5));
  }
}
