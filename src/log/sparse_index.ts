/**
 * Kafka's two sparse indexes of a segment, in Kafka's format: `.index` maps an offset to a file position (8-byte entries:
 * offset relative to the segment's base, position), `.timeindex` maps a time to an offset (12 bytes: milliseconds,
 * relative offset). Not preallocated: the file is as long as its entries.
 *
 * Invariant: entries strictly ascend. The index of the active segment is in memory and reaches its file by `flush`; an
 * index that is lost or torn is rebuilt from the segment, so nothing here needs a sync before an acknowledgement.
 */
import { readInt32, readInt64, writeInt32, writeInt64 } from "../protocol/records/batch.ts";
import type { FileCache } from "./file_cache.ts";

class SparseIndex {
  readonly path: string;
  protected readonly files: FileCache;
  protected readonly entryBytes: number;
  /** Entries, those not flushed included. */
  count: number;
  /** All entries in the file's format while the segment is active; else nothing. */
  protected memory: Uint8Array | undefined;
  private flushed: number;
  private fileMayBeLonger = false;
  private readonly scratch: Uint8Array;

  protected constructor(files: FileCache, path: string, entryBytes: number, count: number) {
    this.files = files;
    this.path = path;
    this.entryBytes = entryBytes;
    this.count = count;
    this.flushed = count;
    this.scratch = new Uint8Array(entryBytes);
  }

  /** Takes the entries into memory, so that more can be added. */
  load(): void {
    if (this.memory) return;
    const memory = new Uint8Array(Math.max(8, this.count) * this.entryBytes);
    if (this.count > 0) this.files.use(this.path).read(memory.subarray(0, this.count * this.entryBytes), 0);
    this.memory = memory;
  }

  /** Makes room for one more entry and gives its position in `memory`. */
  protected grow(): number {
    this.load();
    const position = this.count * this.entryBytes;
    if (position + this.entryBytes > this.memory!.length) {
      const larger = new Uint8Array(this.memory!.length * 2);
      larger.set(this.memory!);
      this.memory = larger;
    }
    this.count++;
    return position;
  }

  /** Drops entries from number `count` on. */
  truncateTo(count: number): void {
    if (count >= this.count) return;
    this.count = count;
    if (this.flushed > count) {
      this.flushed = count;
      this.fileMayBeLonger = true;
    }
  }

  /** Starts anew, whatever the file holds. */
  reset(): void {
    this.memory = undefined;
    this.count = 0;
    this.flushed = 0;
    this.fileMayBeLonger = true;
  }

  /** Writes the entries that the file lacks; makes the file when there are any. */
  flush(): void {
    if (this.flushed === this.count && !this.fileMayBeLonger) return;
    const file = this.files.use(this.path, true);
    if (this.fileMayBeLonger) {
      file.truncate(this.flushed * this.entryBytes);
      this.fileMayBeLonger = false;
    }
    if (this.flushed === this.count) return;
    const start = this.flushed * this.entryBytes;
    file.write(this.memory!.subarray(start, this.count * this.entryBytes), start);
    this.flushed = this.count;
  }

  /** Flushes, makes the file in any case, and gives up the copy in memory. */
  seal(): void {
    this.files.use(this.path, true);
    this.flush();
    this.memory = undefined;
  }

  /** The bytes of one entry and where it starts in them. */
  protected entry(index: number): { bytes: Uint8Array; start: number } {
    if (this.memory) return { bytes: this.memory, start: index * this.entryBytes };
    this.files.use(this.path).read(this.scratch, index * this.entryBytes);
    return { bytes: this.scratch, start: 0 };
  }

  /** Number of the last entry whose key is at most `key`; -1 when there is none. */
  protected floor(key: number): number {
    let low = 0;
    let high = this.count - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      if (this.keyAt(middle) <= key) low = middle + 1;
      else high = middle - 1;
    }
    return high;
  }

  protected keyAt(_index: number): number {
    throw new Error("a sparse index has no keys of its own");
  }
}

export const offsetEntryBytes = 8;
export const timeEntryBytes = 12;

/** Offset (relative, of the last record of a batch) to the position where that batch starts. */
export class OffsetIndex extends SparseIndex {
  constructor(files: FileCache, path: string, count: number) {
    super(files, path, offsetEntryBytes, count);
  }

  append(relativeOffset: number, position: number): void {
    const start = this.grow();
    writeInt32(this.memory!, start, relativeOffset);
    writeInt32(this.memory!, start + 4, position);
  }

  /** A position at or before the batch that holds the offset; 0 without an entry. */
  positionFor(relativeOffset: number): number {
    const index = this.floor(relativeOffset);
    if (index < 0) return 0;
    const { bytes, start } = this.entry(index);
    return readInt32(bytes, start + 4);
  }

  /** The last entry's position that is at most `position`; 0 without one. */
  floorPosition(position: number): number {
    let low = 0;
    let high = this.count - 1;
    let found = 0;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const { bytes, start } = this.entry(middle);
      const at = readInt32(bytes, start + 4);
      if (at <= position) {
        found = at;
        low = middle + 1;
      } else high = middle - 1;
    }
    return found;
  }

  /** Position of the last entry. */
  lastPosition(): number | undefined {
    if (this.count === 0) return undefined;
    const { bytes, start } = this.entry(this.count - 1);
    return readInt32(bytes, start + 4);
  }

  /** Entries with an offset before `relativeOffset`. */
  countBelow(relativeOffset: number): number {
    return this.floor(relativeOffset - 1) + 1;
  }

  protected override keyAt(index: number): number {
    const { bytes, start } = this.entry(index);
    return readInt32(bytes, start);
  }
}

/** The largest time so far, to the (relative) last offset of the batch that has it. */
export class TimeIndex extends SparseIndex {
  constructor(files: FileCache, path: string, count: number) {
    super(files, path, timeEntryBytes, count);
  }

  /** Adds an entry unless the last one is as late. */
  appendIfLater(timestamp: number, relativeOffset: number): void {
    if (timestamp < 0 || (this.count > 0 && timestamp <= this.keyAt(this.count - 1))) return;
    const start = this.grow();
    writeInt64(this.memory!, start, timestamp);
    writeInt32(this.memory!, start + 8, relativeOffset);
  }

  last(): { timestamp: number; relativeOffset: number } | undefined {
    return this.count === 0 ? undefined : this.at(this.count - 1);
  }

  /** The entry with the latest time before `timestamp`: every record up to its offset is earlier than `timestamp`. */
  before(timestamp: number): { timestamp: number; relativeOffset: number } | undefined {
    const index = this.floor(timestamp - 1);
    return index < 0 ? undefined : this.at(index);
  }

  /** Entries with an offset before `relativeOffset`. */
  countBelow(relativeOffset: number): number {
    let count = this.count;
    while (count > 0 && this.at(count - 1).relativeOffset >= relativeOffset) count--;
    return count;
  }

  private at(index: number): { timestamp: number; relativeOffset: number } {
    const { bytes, start } = this.entry(index);
    return { timestamp: readInt64(bytes, start), relativeOffset: readInt32(bytes, start + 8) };
  }

  protected override keyAt(index: number): number {
    const { bytes, start } = this.entry(index);
    return readInt64(bytes, start);
  }
}
