/**
 * The real file system, by `node:fs`, which Bun, Deno and Node share. Reads and writes are synchronous (the page cache
 * answers faster than a thread could be woken); syncs run on the runtime's thread pool.
 *
 * Invariant: a short read or write of the system never shows; every call does all of its bytes or throws a DiskError.
 */
import * as fs from "node:fs";
import { type Disk, DiskError, type DiskFile, type DiskStat, type OpenOptions } from "./disk.ts";

/** Pieces of one writev: the system's IOV_MAX is 1024 on Linux and macOS. */
const vectorsMax = 1024;
/**
 * Bytes of one write. What a larger one gets as page cache is large folios, and on a virtual machine those are often memory that the
 * host has to find first (docs/decisions/0009-pieces-of-writes.md).
 */
const writeBytesMax = 256 * 1024;

export function nodeDisk(): Disk {
  return {
    open: (path, options = {}) =>
      attempt("open", path, () => new NodeFile(path, fs.openSync(path, openFlags(options)))),
    stat,
    list: (path) => attempt("list", path, () => fs.readdirSync(path)),
    makeDirectory: (path) => void attempt("make the folder", path, () => fs.mkdirSync(path, { recursive: true })),
    rename: (from, to) => attempt(`rename to ${to} from`, from, () => fs.renameSync(from, to)),
    remove: (path) => attempt("remove", path, () => fs.unlinkSync(path)),
    removeTree: (path) => attempt("remove", path, () => fs.rmSync(path, { recursive: true, force: true })),
    removeTreeLater,
    syncDirectory: (path) => attempt("sync the folder", path, () => syncFolder(path)),
    syncDirectoryLater,
    freeBytes: (path) =>
      attempt("ask for the free space of", path, () => {
        const system = fs.statfsSync(path);
        return {
          free: Number(system.bavail) * Number(system.bsize),
          total: Number(system.blocks) * Number(system.bsize),
        };
      }),
    readFile: (path) =>
      attempt("read", path, () => {
        const bytes = fs.readFileSync(path);
        return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
      }),
  };
}

class NodeFile implements DiskFile {
  readonly path: string;
  private readonly descriptor: number;
  private syncing = 0;
  private closing = false;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.descriptor = descriptor;
  }

  size(): number {
    return attempt("ask for the size of", this.path, () => fs.fstatSync(this.open()).size);
  }

  read(into: Uint8Array, position: number): number {
    try {
      const first = fs.readSync(this.open(), into, 0, into.length, position);
      if (first === into.length || first === 0) return first;
      let done = first;
      while (done < into.length) {
        const more = fs.readSync(this.descriptor, into, done, into.length - done, position + done);
        if (more === 0) break;
        done += more;
      }
      return done;
    } catch (error) {
      throw diskError(error, "read", this.path);
    }
  }

  write(bytes: Uint8Array, position: number): void {
    try {
      let done = 0;
      while (done < bytes.length) {
        const take = Math.min(bytes.length - done, writeBytesMax);
        const more = fs.writeSync(this.open(), bytes, done, take, position + done);
        if (more === 0) throw new DiskError("ENOSPC", "write", this.path);
        done += more;
      }
    } catch (error) {
      throw diskError(error, "write", this.path);
    }
  }

  writev(parts: readonly Uint8Array[], position: number): void {
    let first = 0;
    while (first < parts.length) {
      let end = first;
      let bytes = 0;
      while (end < parts.length && end - first < vectorsMax && bytes + parts[end]!.length <= writeBytesMax)
        bytes += parts[end++]!.length;
      if (end - first <= 1) {
        end = first + 1;
        bytes = parts[first]!.length;
        this.write(parts[first]!, position);
      } else this.writeTogether(parts.slice(first, end), bytes, position);
      position += bytes;
      first = end;
    }
  }

  /** Writes pieces of `total` bytes with one call, and what that leaves out piece by piece. */
  private writeTogether(parts: readonly Uint8Array[], total: number, position: number): void {
    let done: number;
    try {
      done = fs.writevSync(this.open(), parts, position);
    } catch (error) {
      throw diskError(error, "write", this.path);
    }
    let at = 0;
    for (const part of done < total ? parts : []) {
      const written = Math.max(0, Math.min(part.length, done - at));
      if (written < part.length) this.write(part.subarray(written), position + at + written);
      at += part.length;
    }
  }

  truncate(size: number): void {
    attempt("truncate", this.path, () => fs.ftruncateSync(this.open(), size));
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.syncing++;
      fs.fdatasync(this.open(), (error) => {
        this.syncing--;
        if (this.closing && this.syncing === 0) fs.closeSync(this.descriptor);
        if (error) reject(diskError(error, "sync", this.path));
        else resolve();
      });
    });
  }

  syncNow(): void {
    attempt("sync", this.path, () => fs.fdatasyncSync(this.open()));
  }

  close(): void {
    if (this.closing) return;
    this.closing = true;
    if (this.syncing === 0) fs.closeSync(this.descriptor);
  }

  private open(): number {
    if (this.closing) throw new DiskError("EBADF", "use", this.path, "it is closed");
    return this.descriptor;
  }
}

function openFlags(options: OpenOptions): number {
  const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC } = fs.constants;
  let flags = options.write ? O_RDWR : O_RDONLY;
  if (options.create) flags |= O_CREAT;
  if (options.exclusive) flags |= O_EXCL;
  if (options.truncate) flags |= O_TRUNC;
  return flags;
}

function stat(path: string): DiskStat | undefined {
  return attempt("examine", path, () => {
    const found = fs.statSync(path, { throwIfNoEntry: false });
    return found && { size: found.size, isDirectory: found.isDirectory(), modifiedMs: found.mtimeMs };
  });
}

function syncFolder(path: string): void {
  const descriptor = fs.openSync(path, fs.constants.O_RDONLY);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function removeTreeLater(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.rm(path, { recursive: true, force: true }, (error) => {
      if (error) reject(diskError(error, "remove", path));
      else resolve();
    });
  });
}

function syncDirectoryLater(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const descriptor = attempt("open", path, () => fs.openSync(path, fs.constants.O_RDONLY));
    fs.fsync(descriptor, (error) => {
      fs.closeSync(descriptor);
      if (error) reject(diskError(error, "sync the folder", path));
      else resolve();
    });
  });
}

function attempt<T>(operation: string, path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw diskError(error, operation, path);
  }
}

function diskError(error: unknown, operation: string, path: string): DiskError {
  if (error instanceof DiskError) return error;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string") return new DiskError(code, operation, path);
  return new DiskError("EIO", operation, path, error instanceof Error ? error.message : String(error));
}
