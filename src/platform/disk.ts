/**
 * The seam to storage. Everything that must survive a crash is written through this interface, so that the same code runs
 * on a real file system and on the simulated one of the tests (`sim/`), and one contract suite checks both.
 *
 * What a caller may count on, and no more: bytes are durable after `sync`; a new, renamed or removed name is durable after
 * `syncDirectory` of its folder; anything else may be lost, in any part and order, by a power cut.
 */

/** The errno name of the system: ENOSPC, EIO, ENOENT, EEXIST, EACCES, ... */
export type DiskErrorCode = string;

/** An operation of the file system failed. The message says which one, on which path, and why. */
export class DiskError extends Error {
  override name = "DiskError";
  readonly code: DiskErrorCode;
  readonly operation: string;
  readonly path: string;

  constructor(code: DiskErrorCode, operation: string, path: string, why?: string) {
    super(`cannot ${operation} ${path}: ${why ?? explanations[code] ?? code}`);
    this.code = code;
    this.operation = operation;
    this.path = path;
  }
}

const explanations: Record<string, string> = {
  ENOSPC: "no space left on the device (ENOSPC); free some space",
  EDQUOT: "the disk quota is used up (EDQUOT); free some space",
  EIO: "the device reported an input/output error (EIO); check the disk",
  EACCES: "permission denied (EACCES); check owner and mode",
  EPERM: "operation not permitted (EPERM); check owner and mode",
  EROFS: "the file system is read-only (EROFS)",
  ENOENT: "it does not exist (ENOENT)",
  EEXIST: "it exists already (EEXIST)",
  EMFILE: "too many open files (EMFILE); raise the limit (ulimit -n)",
  ENOTEMPTY: "the folder is not empty (ENOTEMPTY)",
};

export interface DiskFile {
  readonly path: string;
  /** Bytes from the start to the end of the file. */
  size(): number;
  /** Fills `into` from `position`; gives the bytes read, fewer than asked for only at the end of the file. */
  read(into: Uint8Array, position: number): number;
  /** Writes all of `bytes`, or throws a DiskError; after an error any part of them may be in the file. */
  write(bytes: Uint8Array, position: number): void;
  /** As `write`, for several pieces one after another, in as few calls as the system allows. */
  writev(parts: readonly Uint8Array[], position: number): void;
  truncate(size: number): void;
  /**
   * Makes what was written before the call durable, off this thread. After a rejection the unsynced bytes must be taken
   * as lost: the system may have dropped them, and a second sync would succeed without having written them.
   */
  sync(): Promise<void>;
  /** As `sync`, but blocks. */
  syncNow(): void;
  /** Closes the file once its running syncs have ended. Further calls on it throw. */
  close(): void;
}

export interface OpenOptions {
  /** Open for reading and writing; without it for reading alone. */
  write?: boolean;
  /** Make the file when there is none. */
  create?: boolean;
  /** With `create`: refuse a file that exists (EEXIST). */
  exclusive?: boolean;
  /** Empty the file. */
  truncate?: boolean;
}

export interface DiskStat {
  size: number;
  isDirectory: boolean;
  /** Wall time of the last change of the content, in milliseconds since 1970. */
  modifiedMs: number;
}

export interface Disk {
  open(path: string, options?: OpenOptions): DiskFile;
  /** Nothing for a path that does not exist. */
  stat(path: string): DiskStat | undefined;
  /** Names in a folder, without order. */
  list(path: string): string[];
  /** Makes the folder and those above it that are missing. */
  makeDirectory(path: string): void;
  /** Replaces `to` if it is a file. */
  rename(from: string, to: string): void;
  remove(path: string): void;
  /** Removes a file or a folder with all that it holds; one that does not exist is no error. */
  removeTree(path: string): void;
  /**
   * As `removeTree`, off this thread, because giving back the space of large files takes long. Nobody may make anything of this name
   * before it has resolved.
   */
  removeTreeLater(path: string): Promise<void>;
  /** Makes the names in a folder durable; blocks. */
  syncDirectory(path: string): void;
  /** As `syncDirectory`, off this thread. */
  syncDirectoryLater(path: string): Promise<void>;
  /** Bytes that this process may still write to the file system of `path`, and its size. */
  freeBytes(path: string): { free: number; total: number };
  readFile(path: string): Uint8Array;
}

/**
 * Replaces the content of a file so that a crash leaves the old or the new one: writes `<path>.tmp`, syncs, renames, and
 * syncs the folder. Blocks.
 */
export function replaceFile(disk: Disk, path: string, bytes: Uint8Array): void {
  const temporary = `${path}.tmp`;
  const file = disk.open(temporary, { write: true, create: true, truncate: true });
  try {
    file.write(bytes, 0);
    file.syncNow();
  } finally {
    file.close();
  }
  disk.rename(temporary, path);
  disk.syncDirectory(parentOf(path));
}

/** As `replaceFile`, with the syncs off this thread. Calls for one path must not overlap. */
export async function replaceFileLater(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.tmp`;
  const file = disk.open(temporary, { write: true, create: true, truncate: true });
  try {
    file.write(bytes, 0);
    await file.sync();
  } finally {
    file.close();
  }
  disk.rename(temporary, path);
  await disk.syncDirectoryLater(parentOf(path));
}

/** Makes a folder and those above it that are missing, durably. Blocks. */
export function makeDirectoryDurably(disk: Disk, path: string): void {
  if (disk.stat(path)) return;
  const parent = parentOf(path);
  if (parent !== path) makeDirectoryDurably(disk, parent);
  disk.makeDirectory(path);
  disk.syncDirectory(parent);
}

/** The folder that holds `path` ("." for a bare name). */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : slash === 0 ? "/" : path.slice(0, slash);
}
