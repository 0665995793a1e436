/** Producers that wait until there is room again for what they bring, or for a bounded time. */
import type { Clock } from "../base/clock.ts";

export class Room {
  private readonly clock: Clock;
  private readonly waitMsMax: number;
  private readonly waiting = new Set<() => void>();

  constructor(clock: Clock, waitMsMax: number) {
    this.clock = clock;
    this.waitMsMax = waitMsMax;
  }

  /** Resolves when there is room, or after the longest wait. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.clock.setTimer(this.waitMsMax, () => goOn());
      const goOn = () => {
        timer.cancel();
        this.waiting.delete(goOn);
        resolve();
      };
      this.waiting.add(goOn);
    });
  }

  /** There is room: all go on. */
  open(): void {
    for (const goOn of [...this.waiting]) goOn();
  }
}
