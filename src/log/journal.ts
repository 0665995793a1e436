/**
 * A journal: a small durable list of events for state that is not records (the catalog's). One folder holds
 * `<generation>.snapshot` (the state as one event) and `<generation>.events` (what happened since), both made of frames:
 * 4 bytes length, 4 bytes CRC32C of the payload, big-endian, then the payload.
 *
 * Invariant: an event whose append has resolved is replayed by every later open, in order, once. A torn tail (the only
 * thing that a crash can leave) is cut at the first bad frame. A new generation becomes valid by the rename of its
 * snapshot; older generations are removed after it.
 */
import type { Logger } from "../base/log.ts";
import { crc32c } from "../hotpath/crc32c.ts";
import type { Disk, DiskFile } from "../platform/disk.ts";

const headerBytes = 8;

/** A damaged snapshot or unreadable folder: the state cannot be trusted, so nothing may start on it. */
export class JournalError extends Error {
  override name = "JournalError";
}

export interface JournalContents {
  snapshot: Uint8Array | undefined;
  events: Uint8Array[];
}

export class Journal {
  private readonly disk: Disk;
  private readonly directory: string;
  private generation: number;
  private file: DiskFile;
  private end: number;
  private pending: { frame: Uint8Array; resolve: () => void; reject: (error: unknown) => void }[] = [];
  private flushing = false;
  private failure: Error | undefined;
  /** Events since the last snapshot: the caller decides when to snapshot. */
  eventCount: number;

  private constructor(disk: Disk, directory: string, generation: number, file: DiskFile, end: number, events: number) {
    this.disk = disk;
    this.directory = directory;
    this.generation = generation;
    this.file = file;
    this.end = end;
    this.eventCount = events;
  }

  /** Opens or makes the journal and gives what it holds; throws JournalError when the snapshot is damaged. */
  static open(disk: Disk, directory: string, logger: Logger): { journal: Journal; contents: JournalContents } {
    if (!disk.stat(directory)) {
      disk.makeDirectory(directory);
      disk.syncDirectory(directory);
    }
    const names = disk.list(directory);
    const generations = names.map((name) => /^(\d+)\.snapshot$/.exec(name)?.[1]).filter((text) => text !== undefined);
    const generation = Math.max(0, ...generations.map(Number));
    let snapshot: Uint8Array | undefined;
    if (generation > 0) {
      const path = `${directory}/${generation}.snapshot`;
      const { frames, goodBytes } = splitFrames(disk.readFile(path));
      if (frames.length !== 1 || goodBytes !== disk.stat(path)?.size)
        throw new JournalError(`${path} is damaged; restore the lake from a backup, or remove nothing and report it`);
      snapshot = frames[0];
    }
    const path = `${directory}/${generation}.events`;
    const isNew = !disk.stat(path);
    const file = disk.open(path, { write: true, create: true });
    const bytes = new Uint8Array(file.size());
    file.read(bytes, 0);
    const { frames, goodBytes } = splitFrames(bytes);
    if (goodBytes < bytes.length) {
      logger.warn("cut a torn tail of the catalog's journal", { path, bytes: bytes.length - goodBytes });
      file.truncate(goodBytes);
      file.syncNow();
    }
    if (isNew) disk.syncDirectory(directory);
    const journal = new Journal(disk, directory, generation, file, goodBytes, frames.length);
    for (const name of names) if (!name.startsWith(`${generation}.`)) disk.remove(`${directory}/${name}`);
    return { journal, contents: { snapshot, events: frames } };
  }

  /** Resolves when the event is durable; events of one event-loop pass share one write and one sync. */
  append(payload: Uint8Array): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => {
      this.pending.push({ frame: frameOf(payload), resolve, reject });
      this.eventCount++;
      if (!this.flushing) {
        this.flushing = true;
        queueMicrotask(() => void this.flush());
      }
    });
  }

  /** Replaces everything so far by one snapshot. Call only with no append pending and a state that has them all. */
  snapshot(payload: Uint8Array): void {
    if (this.failure) throw this.failure;
    if (this.flushing) throw new JournalError("a snapshot was asked for while events were being written");
    const next = this.generation + 1;
    const temporary = `${this.directory}/${next}.snapshot.tmp`;
    const events = this.disk.open(`${this.directory}/${next}.events`, { write: true, create: true, truncate: true });
    events.syncNow();
    const file = this.disk.open(temporary, { write: true, create: true, truncate: true });
    file.write(frameOf(payload), 0);
    file.syncNow();
    file.close();
    this.disk.rename(temporary, `${this.directory}/${next}.snapshot`);
    this.disk.syncDirectory(this.directory);
    this.file.close();
    for (const name of this.disk.list(this.directory))
      if (name.startsWith(`${this.generation}.`)) this.disk.remove(`${this.directory}/${name}`);
    this.generation = next;
    this.file = events;
    this.end = 0;
    this.eventCount = 0;
  }

  get idle(): boolean {
    return !this.flushing;
  }

  close(): void {
    this.failure ??= new JournalError("the journal is closed");
    this.file.close();
  }

  private async flush(): Promise<void> {
    while (this.pending.length > 0) {
      const group = this.pending;
      this.pending = [];
      try {
        if (this.failure) throw this.failure;
        const frames = group.map((entry) => entry.frame);
        this.file.writev(frames, this.end);
        await this.file.sync();
        for (const frame of frames) this.end += frame.length;
        for (const entry of group) entry.resolve();
      } catch (error) {
        this.recover(error, group.length);
        for (const entry of group) entry.reject(error);
      }
    }
    this.flushing = false;
  }

  /**
   * After a failed write the file is cut back to its last good end, and the next append may succeed (a full disk).
   * When even that fails, or a sync failed (what is on disk is then unknown), the journal stays closed until restart.
   */
  private recover(error: unknown, events: number): void {
    this.eventCount -= events;
    try {
      this.file.truncate(this.end);
      this.file.syncNow();
    } catch {
      this.failure = new JournalError(
        `the journal in ${this.directory} cannot be written: ${(error as Error).message}`,
      );
    }
  }
}

/** The content of a `<generation>.snapshot` file. */
export function frameOf(payload: Uint8Array): Uint8Array {
  const frame = new Uint8Array(headerBytes + payload.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, payload.length);
  view.setUint32(4, crc32c(payload, 0, payload.length));
  frame.set(payload, headerBytes);
  return frame;
}

function splitFrames(bytes: Uint8Array): { frames: Uint8Array[]; goodBytes: number } {
  const frames: Uint8Array[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  while (at + headerBytes <= bytes.length) {
    const length = view.getUint32(at);
    const start = at + headerBytes;
    if (length === 0 || start + length > bytes.length) break;
    if (crc32c(bytes, start, start + length) !== view.getUint32(at + 4)) break;
    frames.push(bytes.subarray(start, start + length));
    at = start + length;
  }
  return { frames, goodBytes: at };
}

export type { Disk } from "../platform/disk.ts";
