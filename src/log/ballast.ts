/**
 * A file of no meaning whose space is given up when the disk is so full that not even the small writes succeed which a
 * deletion needs. It is made again once there is space.
 */
import { limits } from "../base/limits.ts";
import { type Disk, DiskError } from "../platform/disk.ts";

const fileName = "rowlog-ballast";

export class Ballast {
  private readonly disk: Disk;
  private readonly directory: string;
  private readonly path: string;

  constructor(disk: Disk, directory: string) {
    this.disk = disk;
    this.directory = directory;
    this.path = `${directory}/${fileName}`;
  }

  /** Makes the file when it is missing and there is space; a disk that refuses it is no error. */
  ensure(): void {
    try {
      const { free, total } = this.disk.freeBytes(this.directory);
      const bytes = Math.min(limits.ballastBytes, Math.floor(total / 200));
      if ((this.disk.stat(this.path)?.size ?? 0) >= bytes || free < total / 20 + bytes) return;
      const file = this.disk.open(this.path, { write: true, create: true });
      try {
        // Not zeros: some file systems would not give them space of their own.
        file.write(new Uint8Array(bytes).fill(0x5a), 0);
      } finally {
        file.close();
      }
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
    }
  }

  /** Does a write that helps to free space; when there is none for it, does it again without the file. */
  async spend(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      const isFull = error instanceof DiskError && (error.code === "ENOSPC" || error.code === "EDQUOT");
      if (!isFull || !this.disk.stat(this.path)) throw error;
      this.disk.remove(this.path);
      await write();
    }
  }
}
