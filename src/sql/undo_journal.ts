/**
 * What a checkpoint overwrites, as it was before. DuckDB writes its headers and the blocks of its metadata in place while the last
 * checkpoint still needs them, and checks each by one checksum: half written by a power cut or a kill, they make the database
 * unreadable. So the old bytes are kept here, synced, until the new header is durable; at start, what is here is put back.
 *
 * File `<database>.undo`: records of "RLU1", position (u32 low, u32 high), length (u32), round (u32), check (u32), bytes; all little endian. The
 * check is FNV-1a (32 bits) over what stands between and the bytes. The records of one checkpoint have one round; the first record that is
 * not whole, or of another round, ends them: what follows was never overwritten.
 *
 * Invariant: records end to count all at once, by one sector with the head of the first. Cutting the file off could leave some of them, and
 * putting back a part of what a finished checkpoint has overwritten would mix two checkpoints.
 */
import type { Disk, DiskFile } from "../platform/disk.ts";
import { parentOf } from "../platform/disk.ts";

const magic = 0x31554c52;
const headBytes = 24;

export interface Region {
  position: number;
  bytes: Uint8Array;
}

export class UndoJournal {
  private readonly disk: Disk;
  private readonly path: string;
  private file: DiskFile | undefined;
  private length = 0;
  private round = Math.floor(Math.random() * 2 ** 31);

  constructor(disk: Disk, databasePath: string) {
    this.disk = disk;
    this.path = `${databasePath}.undo`;
  }

  /** Durable when it returns. */
  append(regions: readonly Region[]): void {
    if (!this.file) {
      const isNew = this.disk.stat(this.path) === undefined;
      this.file = this.disk.open(this.path, { write: true, create: true });
      if (isNew) this.disk.syncDirectory(parentOf(this.path));
    }
    for (const region of regions) {
      const head = headOf(region, this.round);
      this.file.writev([head, region.bytes], this.length);
      this.length += head.length + region.bytes.length;
    }
    this.file.syncNow();
  }

  /** The new header is durable: nothing is to be put back any more. */
  clear(): void {
    if (this.length === 0) return;
    forget(this.file!);
    this.length = 0;
    this.round++;
  }

  /** At start: puts back what an unfinished checkpoint has overwritten. */
  restore(databasePath: string): void {
    if (!this.disk.stat(this.path)) return;
    const regions = readRegions(this.disk.readFile(this.path));
    if (regions.length > 0) {
      const database = this.disk.open(databasePath, { write: true });
      try {
        for (const { position, bytes } of regions) database.write(bytes, position);
        database.syncNow();
      } finally {
        database.close();
      }
    }
    this.remove();
  }

  /** For a database that is not there, or was only being made. */
  remove(): void {
    this.close();
    if (!this.disk.stat(this.path)) return;
    // Emptied first: a removed name may come back after a power cut.
    const file = this.disk.open(this.path, { write: true });
    try {
      forget(file);
    } finally {
      file.close();
    }
    this.disk.remove(this.path);
  }

  close(): void {
    this.file?.close();
    this.file = undefined;
    this.length = 0;
  }
}

/** Durable when it returns. */
function forget(file: DiskFile): void {
  file.write(new Uint8Array(headBytes), 0);
  file.syncNow();
}

function headOf({ position, bytes }: Region, round: number): Uint8Array {
  const head = new Uint8Array(headBytes);
  const view = new DataView(head.buffer);
  view.setUint32(0, magic, true);
  view.setUint32(4, position >>> 0, true);
  view.setUint32(8, Math.floor(position / 2 ** 32), true);
  view.setUint32(12, bytes.length, true);
  view.setUint32(16, round, true);
  view.setUint32(20, check(check(firstHash, head.subarray(4, 20)), bytes), true);
  return head;
}

function readRegions(journal: Uint8Array): Region[] {
  const view = new DataView(journal.buffer, journal.byteOffset, journal.length);
  const regions: Region[] = [];
  for (let at = 0; at + headBytes <= journal.length; ) {
    const length = view.getUint32(at + 12, true);
    const end = at + headBytes + length;
    if (view.getUint32(at, true) !== magic || end > journal.length) break;
    const bytes = journal.subarray(at + headBytes, end);
    const sum = check(check(firstHash, journal.subarray(at + 4, at + 20)), bytes);
    if (sum !== view.getUint32(at + 20, true) || view.getUint32(at + 16, true) !== view.getUint32(16, true)) break;
    regions.push({ position: view.getUint32(at + 4, true) + view.getUint32(at + 8, true) * 2 ** 32, bytes });
    at = end;
  }
  return regions;
}

const firstHash = 0x811c9dc5;

function check(hash: number, bytes: Uint8Array): number {
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
}
