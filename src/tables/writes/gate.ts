/**
 * A table's gate: produced batches pass through it side by side; a SQL write closes it, and then has the table for itself until it
 * opens the gate again.
 *
 * Invariant: while the gate is closed nothing is inside, so the log's order and DuckDB's are the same. Who comes is let in by arrival:
 * batches behind a waiting `close` wait too, so that neither side can starve the other.
 */
import type { Clock, Timer } from "../../base/clock.ts";
import { KafkaError } from "../../base/kafka_error.ts";
import { limits } from "../../base/limits.ts";
import { SqlError } from "../../base/sql_error.ts";

/** What a batch holds from before it is decoded until after its append. */
export interface Entry {
  /** Once. */
  leave(): void;
}

interface Waiter {
  closes: boolean;
  admit(): void;
  timer: Timer | undefined;
}

export class Gate {
  /** What is guarded, for messages, such as `table "t"`. */
  private readonly name: string;
  private readonly clock: Clock;
  private inside = 0;
  private closed = false;
  private readonly waiters: Waiter[] = [];
  private readonly entry: Entry = { leave: () => this.leave() };

  constructor(name: string, clock: Clock) {
    this.name = name;
    this.clock = clock;
  }

  /**
   * Lets a produced batch in: at once while the gate is open. Rejects with REQUEST_TIMED_OUT, which clients try again, when it stays closed
   * for `limits.gateWaitMs` or too many wait.
   */
  enter(): Entry | Promise<Entry> {
    if (!this.closed && this.waiters.length === 0) {
      this.inside++;
      return this.entry;
    }
    const refusal = (why: string) =>
      new KafkaError("REQUEST_TIMED_OUT", `${this.name} is being written to by SQL, ${why}; try again`);
    if (this.waiters.length >= limits.gateWaitersMax)
      throw refusal(`and ${limits.gateWaitersMax} batches wait already`);
    return new Promise((resolve, reject) => {
      this.wait({
        closes: false,
        waitMs: limits.gateWaitMs,
        admit: () => {
          this.inside++;
          resolve(this.entry);
        },
        timeUp: () => reject(refusal(`for longer than ${limits.gateWaitMs} ms`)),
      });
    });
  }

  /** Resolves when nothing is inside, with the function that opens the gate again. Rejects with 55P03 after `waitMs` milliseconds. */
  close(waitMs: number = limits.gateWaitMs): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const admit = () => {
        this.closed = true;
        resolve(once(() => this.open()));
      };
      if (!this.closed && this.inside === 0 && this.waiters.length === 0) {
        admit();
        return;
      }
      const timeUp = () =>
        reject(
          new SqlError("55P03", `${this.name} could not be had within ${waitMs} ms: another write has it; try again`),
        );
      if (this.waiters.length >= limits.gateWaitersMax) timeUp();
      else this.wait({ closes: true, waitMs, admit, timeUp });
    });
  }

  get isClosed(): boolean {
    return this.closed;
  }

  private wait(options: { closes: boolean; waitMs: number; admit(): void; timeUp(): void }): void {
    const waiter: Waiter = { closes: options.closes, admit: options.admit, timer: undefined };
    waiter.timer = this.clock.setTimer(options.waitMs, () => {
      this.waiters.splice(this.waiters.indexOf(waiter), 1);
      options.timeUp();
      // Those behind it may have waited for it alone.
      this.admitNext();
    });
    this.waiters.push(waiter);
  }

  private leave(): void {
    this.inside--;
    if (this.inside === 0 && this.waiters.length > 0) this.admitNext();
  }

  private open(): void {
    this.closed = false;
    this.admitNext();
  }

  private admitNext(): void {
    while (!this.closed) {
      const next = this.waiters[0];
      if (next === undefined || (next.closes && this.inside > 0)) return;
      this.waiters.shift();
      next.timer?.cancel();
      next.admit();
    }
  }
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
