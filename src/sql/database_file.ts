/**
 * Writes to the database file, so that every checkpoint is atomic. Overwriting what the last checkpoint may need waits in memory until
 * enough has come together, or the header comes; then the old bytes go to the undo journal, synced, and the new ones in place.
 */
import type { DiskFile } from "../platform/disk.ts";
import type { Region, UndoJournal } from "./undo_journal.ts";

/** Bytes of waiting writes. */
const waitingBytesMax = 16 * 1024 * 1024;

export class DatabaseFile {
  private readonly file: DiskFile;
  private readonly journal: UndoJournal;
  /** Bytes that the last checkpoint left: only these are worth keeping. */
  private durableSize: number;
  private waiting: Region[] = [];
  private waitingBytes = 0;
  /** Where regions start whose old bytes are in the journal, with their lengths. */
  private readonly kept = new Map<number, number>();

  constructor(file: DiskFile, journal: UndoJournal) {
    this.file = file;
    this.journal = journal;
    this.durableSize = file.size();
  }

  read(into: Uint8Array, position: number): number {
    if (this.waiting.some((region) => overlaps(region, position, into.length))) this.flush();
    return this.file.read(into, position);
  }

  write(bytes: Uint8Array, position: number): void {
    if (position >= this.durableSize || this.kept.get(position) === bytes.length) {
      this.file.write(bytes, position);
      return;
    }
    if (this.waiting.some((region) => overlaps(region, position, bytes.length))) this.flush();
    this.waiting.push({ position, bytes: bytes.slice() });
    this.waitingBytes += bytes.length;
    if (this.waitingBytes >= waitingBytesMax) this.flush();
  }

  /** Writes a header; with it the checkpoint is done. All that it points to is durable before, and it is when this returns. */
  writeHeader(bytes: Uint8Array, position: number): void {
    this.flush();
    this.file.syncNow();
    this.write(bytes, position);
    this.flush();
    this.file.syncNow();
    this.journal.clear();
    this.kept.clear();
    this.durableSize = this.file.size();
  }

  truncate(size: number): void {
    this.flush();
    this.file.truncate(size);
    this.durableSize = Math.min(this.durableSize, size);
  }

  private flush(): void {
    if (this.waiting.length === 0) return;
    const { waiting } = this;
    this.waiting = [];
    this.waitingBytes = 0;
    this.journal.append(
      waiting.map(({ position, bytes }) => ({ position, bytes: this.before(position, bytes.length) })),
    );
    for (const { position, bytes } of waiting) {
      this.kept.set(position, bytes.length);
      this.file.write(bytes, position);
    }
  }

  private before(position: number, length: number): Uint8Array {
    const bytes = new Uint8Array(Math.min(length, this.durableSize - position));
    return bytes.subarray(0, this.file.read(bytes, position));
  }
}

function overlaps(region: Region, position: number, length: number): boolean {
  return region.position < position + length && position < region.position + region.bytes.length;
}
