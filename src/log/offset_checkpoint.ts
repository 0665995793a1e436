/**
 * One offset for each partition, in a file of Kafka's format (text: version 0, number of lines, then topic, partition and
 * offset of each). There are two of them:
 * - `log-start-offset-checkpoint`: where a log begins when that is past its first segment's begin. An offset is in the file
 *   and synced before anything below it is removed, so that files which a crash brings back are known to be dead.
 * - `cleaner-offset-checkpoint`: how far a log is compacted. Written after the compaction; one that is lost costs another.
 *
 * Invariant: a partition's offset only moves forward until the partition is forgotten.
 */
import { type Disk, replaceFileLater } from "../platform/disk.ts";
import type { Ballast } from "./ballast.ts";
import { readText } from "./partition_files.ts";

/** Kafka's names. */
export const offsetCheckpointNames = {
  starts: "log-start-offset-checkpoint",
  cleaned: "cleaner-offset-checkpoint",
} as const;

export class OffsetCheckpoint {
  private readonly disk: Disk;
  private readonly ballast: Ballast;
  private readonly path: string;
  /** By "<topic> <partition>". */
  private readonly offsets = new Map<string, number>();
  private changed = false;
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  private constructor(disk: Disk, path: string, ballast: Ballast) {
    this.disk = disk;
    this.ballast = ballast;
    this.path = path;
  }

  /** Reads the file in the store's folder; `name` is one of offsetCheckpointNames. */
  static open(disk: Disk, directory: string, name: string, ballast: Ballast): OffsetCheckpoint {
    const opened = new OffsetCheckpoint(disk, `${directory}/${name}`, ballast);
    const lines = (readText(disk, opened.path) ?? "").split("\n").slice(2);
    for (const line of lines) {
      const match = /^(\S+ \d+) (\d+)$/.exec(line);
      if (match) opened.offsets.set(match[1]!, Number(match[2]));
    }
    return opened;
  }

  get(topic: string, partition: number): number {
    return this.offsets.get(`${topic} ${partition}`) ?? 0;
  }

  /** Moves the offset of a partition forward; resolves when that is durable. */
  async advance(topic: string, partition: number, offset: number): Promise<void> {
    if (offset > this.get(topic, partition)) {
      this.offsets.set(`${topic} ${partition}`, offset);
      this.changed = true;
    }
    await this.settled();
  }

  /** Forgets a partition that is gone. A new one of its name must not be acknowledged anything before `settled`. */
  forget(topic: string, partition: number): void {
    if (this.offsets.delete(`${topic} ${partition}`)) this.changed = true;
  }

  /** Resolves when the file says what this object says. */
  settled(): Promise<void> {
    return this.next ?? (this.changed ? this.persist() : (this.running ?? Promise.resolve()));
  }

  /** Writes the file; callers that come while it is being written share the next writing. */
  persist(): Promise<void> {
    if (this.next) return this.next;
    const before = this.running;
    const start = () => {
      this.next = undefined;
      const running = this.write().finally(() => {
        if (this.running === running) this.running = undefined;
      });
      this.running = running;
      return running;
    };
    if (!before) return start();
    this.next = before.then(start, start);
    return this.next;
  }

  private async write(): Promise<void> {
    this.changed = false;
    let text = `0\n${this.offsets.size}\n`;
    for (const [name, offset] of this.offsets) text += `${name} ${offset}\n`;
    try {
      const bytes = new TextEncoder().encode(text);
      await this.ballast.spend(() => replaceFileLater(this.disk, this.path, bytes));
    } catch (error) {
      this.changed = true;
      throw error;
    }
  }
}
