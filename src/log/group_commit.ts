/**
 * Group commit: partitions that got batches during one pass of the event loop are flushed together at its end, so that
 * all batches which arrived meanwhile share one write and one sync per file.
 */

export interface Flushable {
  flush(): void;
}

export type Schedule = (run: () => void) => void;

export class GroupCommit {
  private readonly later: Schedule;
  private due: Flushable[] = [];
  private rootSync: Promise<void> | undefined;
  private rootSyncNext: Promise<void> | undefined;
  private readonly syncRootNow: () => Promise<void>;

  /** `later` runs a function at the end of this pass of the event loop. `syncRootNow` syncs the store's folder. */
  constructor(later: Schedule, syncRootNow: () => Promise<void>) {
    this.later = later;
    this.syncRootNow = syncRootNow;
  }

  schedule(partition: Flushable): void {
    this.due.push(partition);
    if (this.due.length === 1) this.later(() => this.run());
  }

  private run(): void {
    const due = this.due;
    this.due = [];
    for (const partition of due) partition.flush();
  }

  /** Makes the names in the store's folder durable; callers that come while a sync runs share the next one. */
  syncRoot(): Promise<void> {
    if (this.rootSyncNext) return this.rootSyncNext;
    const before = this.rootSync;
    const start = () => {
      this.rootSyncNext = undefined;
      const running = this.syncRootNow().finally(() => {
        if (this.rootSync === running) this.rootSync = undefined;
      });
      this.rootSync = running;
      return running;
    };
    if (!before) return start();
    this.rootSyncNext = before.then(start, start);
    return this.rootSyncNext;
  }
}
