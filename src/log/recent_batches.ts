/**
 * The newest batches of each partition, in memory: those that are not durable yet, and behind them as many durable ones
 * as a budget shared by all partitions allows. Tail consumers are answered from here, without a copy and without the disk.
 *
 * Invariant: the batches of one partition here are its newest ones without a gap; batches at or past the offset that
 * `keepFrom` gives are never given up.
 */

const smallBatchBytes = 16_384;
/** Partitions without a durable batch that one append passes over in search of one to give up. */
const passedMax = 64;

/** The budget: batches of all partitions in the order of their append. */
export class RecentBudget {
  readonly bytesMax: number;
  bytes = 0;
  private queue: RecentBatches[] = [];
  private head = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  added(owner: RecentBatches, bytes: number): void {
    this.bytes += bytes;
    this.queue.push(owner);
    // One entry of the queue stands for "the oldest batch of this partition", whatever that is by now.
    let passed = 0;
    while (this.bytes > this.bytesMax && this.head < this.queue.length && passed < passedMax) {
      const oldest = this.queue[this.head++]!;
      if (oldest.dropOldest() || oldest.count === 0) continue;
      // Its oldest batch is not durable yet: its turn comes again behind the others.
      this.queue.push(oldest);
      passed++;
    }
    if (this.head > 1024 && this.head * 2 > this.queue.length) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    }
  }
}

export class RecentBatches {
  private readonly budget: RecentBudget;
  private readonly keepFrom: () => number;
  private batches: (Uint8Array | undefined)[] = [];
  private offsets: number[] = [];
  /** What to do once nobody can hold a batch any more; forgotten when it was handed out. */
  private releases: ((() => void) | undefined)[] = [];
  private head = 0;

  constructor(budget: RecentBudget, keepFrom: () => number) {
    this.budget = budget;
    this.keepFrom = keepFrom;
  }

  get count(): number {
    return this.batches.length - this.head;
  }

  /** Base offset of the oldest batch here; Infinity when there is none. */
  get firstOffset(): number {
    return this.head < this.offsets.length ? this.offsets[this.head]! : Number.POSITIVE_INFINITY;
  }

  /** `release` is called when the batch is given up without ever having been read: its memory may be used again. */
  add(batch: Uint8Array, baseOffset: number, release?: () => void): void {
    // A small view would keep alive the whole large buffer that it looks into, which the budget does not see.
    const isSmallView = batch.length < smallBatchBytes && batch.buffer.byteLength > 4 * batch.length;
    this.batches.push(isSmallView ? batch.slice() : batch);
    this.offsets.push(baseOffset);
    this.releases.push(isSmallView ? undefined : release);
    this.budget.added(this, batch.length);
  }

  /** Gives up the oldest batch; false when there is none or it must be kept. */
  dropOldest(): boolean {
    if (this.count === 0 || this.offsets[this.head]! >= this.keepFrom()) return false;
    this.budget.bytes -= this.batches[this.head]!.length;
    this.batches[this.head] = undefined;
    const release = this.releases[this.head];
    this.releases[this.head] = undefined;
    this.head++;
    release?.();
    if (this.head > 256 && this.head * 2 > this.batches.length) {
      this.batches = this.batches.slice(this.head);
      this.offsets = this.offsets.slice(this.head);
      this.releases = this.releases.slice(this.head);
      this.head = 0;
    }
    return true;
  }

  /** Forgets batches with a base offset at or past `offset`. */
  truncateTo(offset: number): void {
    while (this.count > 0 && this.offsets[this.offsets.length - 1]! >= offset) {
      this.budget.bytes -= this.batches.pop()!.length;
      this.offsets.pop();
      this.releases.pop();
    }
  }

  /** Forgets batches that start before `offset`, because their segment is gone. */
  dropBefore(offset: number): void {
    while (this.count > 0 && this.offsets[this.head]! < offset && this.dropOldest());
  }

  clear(): void {
    this.truncateTo(Number.NEGATIVE_INFINITY);
  }

  /**
   * Whole batches from the one that holds `offset` (which is at or past `firstOffset`) up to those that start before
   * `limit`, together at most `maxBytes` unless `minOneBatch` and the first alone is larger.
   */
  read(offset: number, limit: number, maxBytes: number, minOneBatch: boolean): Uint8Array[] {
    let low = this.head;
    let high = this.offsets.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.offsets[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    const found: Uint8Array[] = [];
    let bytes = 0;
    for (let index = low; index < this.batches.length && this.offsets[index]! < limit; index++) {
      const batch = this.batches[index]!;
      if (bytes + batch.length > maxBytes && !(minOneBatch && found.length === 0)) break;
      this.releases[index] = undefined;
      found.push(batch);
      bytes += batch.length;
    }
    return found;
  }
}
