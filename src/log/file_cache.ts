/**
 * Open files of all partitions, bounded: the least recently used one is closed when there are too many, and opened again
 * on its next use. Closing waits for running syncs (DiskFile's promise), so a file may be dropped here at any time.
 */
import type { Disk, DiskFile } from "../platform/disk.ts";

export class FileCache {
  readonly disk: Disk;
  private readonly filesMax: number;
  private readonly files = new Map<string, DiskFile>();
  private newest: DiskFile | undefined;

  constructor(disk: Disk, filesMax: number) {
    this.disk = disk;
    this.filesMax = filesMax;
  }

  /** The open file, for reading and writing; with `create` it is made when missing. Do not keep it beyond the call. */
  use(path: string, create = false): DiskFile {
    if (this.newest?.path === path) return this.newest;
    let file = this.files.get(path);
    if (file) this.files.delete(path);
    else {
      file = this.disk.open(path, { write: true, create });
      if (this.files.size >= this.filesMax) {
        const oldest = this.files.values().next().value!;
        this.drop(oldest.path);
      }
    }
    this.files.set(path, file);
    this.newest = file;
    return file;
  }

  /** Closes a file, because it is to be removed or renamed; one that is not open is no error. */
  drop(path: string): void {
    const file = this.files.get(path);
    if (!file) return;
    this.files.delete(path);
    if (this.newest === file) this.newest = undefined;
    file.close();
  }

  closeAll(): void {
    for (const path of [...this.files.keys()]) this.drop(path);
  }

  get openCount(): number {
    return this.files.size;
  }
}
