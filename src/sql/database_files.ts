/**
 * The files of one database, served to DuckDB-WASM through the Disk interface. DuckDB may open these and no others: a statement that
 * reads or writes any other file fails here, whatever its spelling.
 *
 * Invariant: the two header pages of the database file are written with everything before them synced (the log's checkpoint mark
 * among it), and are synced themselves before DuckDB goes on; so a checkpoint is atomic. The write-ahead log is synced by its owner (`syncLog`).
 */
import { limits } from "../base/limits.ts";
import { SqlError } from "../base/sql_error.ts";
import type { Disk, DiskFile } from "../platform/disk.ts";
import { parentOf } from "../platform/disk.ts";
import { DatabaseFile } from "./database_file.ts";
import type { DuckDbCalls, DuckDbModule, RuntimeFunctions } from "./duckdb_library.ts";
import { UndoJournal } from "./undo_journal.ts";
import { committedLength } from "./write_ahead_log.ts";

/** DuckDB's FileFlags (src/include/duckdb/common/file_open_flags.hpp). */
const flagCreate = 8;
const flagCreateNew = 16;
const flagAppend = 32;
const flagNullIfNotExists = 128;

/** DuckDB's two database headers take turns at these places (src/storage/single_file_block_manager.cpp). */
const headersStart = 4096;
const headersEnd = 12_288;

const copyPieceBytes = 4 * 1024 * 1024;

/** Without these bytes a log has no entry that counts (write_ahead_log.ts). */
const logHeadBytes = 8;

interface OpenFile {
  path: string;
  file: DiskFile;
  /**
   * Where writes start: the end of a file that is opened to append. The module forgets that, and counts from 0: its checkpoint mark
   * would overwrite the log's first entries before the database has them.
   */
  base: number;
  /** For the database file itself. */
  database?: DatabaseFile;
}

export class DatabaseFiles {
  readonly path: string;
  readonly names: readonly string[];
  /** A file that is there while the database is being made. */
  private readonly making: string;
  private readonly disk: Disk;
  private readonly journal: UndoJournal;
  private readonly opened = new Map<number, OpenFile>();
  /** Set as soon as the module runs. */
  private calls: DuckDbCalls | undefined;
  private readonly fence: Int32Array | undefined;
  /** The first failure of the disk since `takeFailure`: DuckDB's own message would hide it. */
  private failure: Error | undefined;

  /** `fence`: set by another thread when this one has been given up; nothing is written from then on. */
  constructor(disk: Disk, path: string, fence?: Int32Array) {
    this.disk = disk;
    this.fence = fence;
    this.journal = new UndoJournal(disk, path);
    this.path = path;
    this.making = `${path}.new`;
    this.names = [path, `${path}.wal`, `${path}.wal.checkpoint`, `${path}.wal.recovery`];
  }

  attach(calls: DuckDbCalls): void {
    this.calls = calls;
    for (const name of this.names) calls.registerFile(name, true);
  }

  /**
   * Before DuckDB opens the database: repairs what a crash may have left, and gives what an operator should know. A file that is
   * shorter than its headers was being made, so nothing was ever committed to it; DuckDB would read past its end for ever.
   */
  recover(): string | undefined {
    this.checkFence();
    const isUnfinished = this.disk.stat(this.making) !== undefined;
    if (isUnfinished) this.removeUnfinished();
    const found = this.disk.stat(this.path);
    if (!found && !isUnfinished) {
      this.disk.open(this.making, { write: true, create: true }).close();
      this.disk.syncDirectory(parentOf(this.path));
    }
    if (found && found.size >= headersEnd) {
      this.journal.restore(this.path);
      return this.cutLog();
    }
    this.journal.remove();
    if (!found) return undefined;
    if (this.logBytes() > 0)
      throw new Error(
        `${this.path} has ${found.size} bytes, less than its headers, but its log has rows: it was cut off`,
      );
    this.disk.remove(this.path);
    this.disk.syncDirectory(parentOf(this.path));
    return undefined;
  }

  /** After the first checkpoint: what the database has now is there after a crash too. */
  made(): void {
    if (!this.disk.stat(this.making)) return;
    this.disk.remove(this.making);
    this.disk.syncDirectory(parentOf(this.path));
  }

  /** Its headers may be torn, which no journal can put right; and nothing was committed to it. */
  private removeUnfinished(): void {
    for (const name of this.names) if (this.disk.stat(name)) this.disk.remove(name);
    this.disk.syncDirectory(parentOf(this.path));
  }

  /** Cuts off the log what is not a whole, committed transaction: nothing of it was synced. What is cut is kept in `<log>.cut`. */
  private cutLog(): string | undefined {
    const path = `${this.path}.wal`;
    if (this.logBytes() === 0) return undefined;
    const bytes = this.disk.readFile(path);
    const position = committedLength(bytes);
    if (position === bytes.length) return undefined;
    const copy = this.disk.open(`${path}.cut`, { write: true, create: true, truncate: true });
    try {
      copy.write(bytes.subarray(position), 0);
      copy.syncNow();
    } finally {
      copy.close();
    }
    const file = this.disk.open(path, { write: true });
    try {
      file.truncate(position);
      file.syncNow();
    } finally {
      file.close();
    }
    return `${path} has no whole transaction from byte ${position} of ${bytes.length} on; that part was moved to ${path}.cut`;
  }

  /**
   * Before a transaction that may write so many bytes. Throws SqlError 53100 when there is too little space: a commit that fails half way costs
   * a new start (see `commitFault`). The reserve is less than the log's, so that what the log has taken can be applied.
   */
  checkSpace(bytes: number): void {
    const { free, total } = this.disk.freeBytes(parentOf(this.path));
    const reserve = Math.min(limits.diskReserveBytes, Math.floor(total / 20)) / 4;
    if (free - bytes >= reserve) return;
    throw new SqlError("53100", `the disk of ${this.path} is nearly full (${free} bytes free); free some space`);
  }

  /**
   * What to throw for a transaction that failed. When the disk failed under it DuckDB cannot go on: it takes the rows back, but not the
   * bytes of their texts, and the next text that it stores in their place has both (1.4.3). Only a new start gets rid of that.
   */
  commitFault(error: unknown): unknown {
    if (this.failure === undefined || error instanceof SqlError) return error;
    return new Error(`a transaction failed with the disk: ${this.failure.message}`);
  }

  takeFailure(): Error | undefined {
    const failure = this.failure;
    this.failure = undefined;
    return failure;
  }

  /** Counts the database headers written, so checkpoints. */
  headersWritten = 0;

  /** Bytes in the write-ahead log. */
  logBytes(): number {
    return this.find(`${this.path}.wal`)?.size() ?? this.disk.stat(`${this.path}.wal`)?.size ?? 0;
  }

  /** Makes everything committed so far durable. */
  syncLog(): void {
    this.find(`${this.path}.wal`)?.syncNow();
  }

  /** After CHECKPOINT: the database file holds everything, so the log starts anew. DuckDB cannot do this itself here. */
  emptyLog(): void {
    this.find(this.path)?.syncNow();
    const path = `${this.path}.wal`;
    for (const open of this.opened.values()) if (open.path === path) open.base = 0;
    const open = this.find(path);
    if (open) {
      empty(open);
      return;
    }
    if (!this.disk.stat(path)) return;
    const file = this.disk.open(path, { write: true });
    try {
      empty(file);
    } finally {
      file.close();
    }
  }

  /** The database and its log as they are committed, into a folder; the copies are synced. Not during a checkpoint. */
  copyTo(folder: string): void {
    for (const name of this.names.slice(0, 2)) {
      if (!this.disk.stat(name)) continue;
      copyFile(this.disk, name, `${folder}/${name.slice(name.lastIndexOf("/") + 1)}`);
    }
  }

  closeAll(): void {
    for (const { file } of this.opened.values()) file.close();
    this.journal.close();
    this.opened.clear();
  }

  private find(path: string): DiskFile | undefined {
    for (const open of this.opened.values()) if (open.path === path) return open.file;
    return undefined;
  }

  /** The functions that the module calls. Each takes the module first; texts come as address and length. */
  runtime(): RuntimeFunctions {
    const guarded =
      <A extends unknown[], R>(act: (...values: A) => R) =>
      (module: DuckDbModule, ...values: A): R => {
        try {
          return act(...values);
        } catch (error) {
          this.failure ??= error as Error;
          return failWith(module, error);
        }
      };
    const path = (address: number, size: number) => this.calls!.text(address, size);
    return {
      testPlatformFeature: (_module: DuckDbModule, feature: number) => feature === 1,
      getDefaultDataProtocol: () => 1,
      openFile: (module: DuckDbModule, fileId: number, flags: number) =>
        guarded((id: number, bits: number) => this.openFile(module, id, bits))(module, fileId, flags),
      closeFile: guarded((fileId: number) => this.closeFile(fileId)),
      syncFile: guarded((fileId: number) => this.opened.get(fileId)?.file.syncNow()),
      dropFile: () => {},
      truncateFile: guarded((fileId: number, size: number) => {
        this.checkFence();
        const { file, base, database } = this.file(fileId);
        if (database) database.truncate(size);
        else file.truncate(Math.max(size, base));
      }),
      readFile: (module: DuckDbModule, ...values: [number, number, number, number]) =>
        guarded((fileId: number, address: number, size: number, position: number) =>
          this.readFile(fileId, module.HEAPU8.subarray(address, address + size), position),
        )(module, ...values),
      writeFile: (module: DuckDbModule, ...values: [number, number, number, number]) =>
        guarded((fileId: number, address: number, size: number, position: number) =>
          this.writeFile(fileId, module.HEAPU8.subarray(address, address + size), position),
        )(module, ...values),
      getLastFileModificationTime: guarded(
        (fileId: number) => (this.disk.stat(this.file(fileId).path)?.modifiedMs ?? 0) / 1000,
      ),
      progressUpdate: () => {},
      checkDirectory: () => false,
      createDirectory: guarded(() => refuse("make a folder")),
      removeDirectory: guarded(() => refuse("remove a folder")),
      listDirectoryEntries: guarded(() => refuse("list a folder")),
      glob: () => {},
      checkFile: guarded((address: number, size: number) => {
        const name = path(address, size);
        return this.names.includes(name) && this.disk.stat(name) !== undefined;
      }),
      removeFile: guarded((address: number, size: number) => {
        const name = path(address, size);
        if (!this.names.includes(name)) refuse(`remove ${name}`);
        if (this.disk.stat(name)) this.disk.remove(name);
      }),
      moveFile: guarded((from: number, fromSize: number, to: number, toSize: number) =>
        this.moveFile(path(from, fromSize), path(to, toSize)),
      ),
    };
  }

  /** Address of two doubles, the file's size and the address of its bytes (none); 0 for a file that may be absent and is. */
  private openFile(module: DuckDbModule, fileId: number, flags: number): number {
    const path = this.calls!.fileName(fileId);
    if (!this.names.includes(path)) refuse(`open ${path}`);
    this.closeFile(fileId);
    this.checkFence();
    const exists = this.disk.stat(path) !== undefined;
    const create = (flags & (flagCreate | flagCreateNew)) !== 0;
    if (!exists && !create) {
      if (flags & flagNullIfNotExists) return 0;
      throw new Error(`cannot open ${path}: it does not exist`);
    }
    // Always for writing: a log that DuckDB opened to read it over is emptied through the same handle.
    const file = this.disk.open(path, {
      write: true,
      create,
      truncate: (flags & flagCreateNew) !== 0,
    });
    if (!exists) this.disk.syncDirectory(parentOf(path));
    const base = flags & flagAppend ? file.size() : 0;
    const database = path === this.path ? new DatabaseFile(file, this.journal) : undefined;
    this.opened.set(fileId, { path, file, base, database });
    const result = module._malloc(16);
    module.HEAPF64[result >> 3] = file.size();
    module.HEAPF64[(result >> 3) + 1] = 0;
    return result;
  }

  /** The end of the log is a normal thing to meet; that of the database is not, and DuckDB would ask again for ever. */
  private readFile(fileId: number, into: Uint8Array, position: number): number {
    const { file, path, database } = this.file(fileId);
    const read = (database ?? file).read(into, position);
    if (read === 0 && into.length > 0 && database)
      throw new Error(`${path} ends at ${file.size()} bytes, before ${position}: it was cut off`);
    return read;
  }

  private writeFile(fileId: number, bytes: Uint8Array, position: number): number {
    this.checkFence();
    const { file, base, database } = this.file(fileId);
    if (!database) file.write(bytes, base + position);
    else if (position >= headersEnd || position + bytes.length <= headersStart) database.write(bytes, position);
    else {
      // The log first: its checkpoint mark is what keeps its entries from being applied again over this header.
      this.syncLog();
      database.writeHeader(bytes, position);
      this.headersWritten++;
    }
    return bytes.length;
  }

  private closeFile(fileId: number): void {
    this.opened.get(fileId)?.file.close();
    this.opened.delete(fileId);
  }

  private moveFile(from: string, to: string): boolean {
    if (!this.names.includes(from) || !this.names.includes(to)) refuse(`rename ${from} to ${to}`);
    this.checkFence();
    this.disk.rename(from, to);
    for (const open of this.opened.values()) if (open.path === from) open.path = to;
    this.disk.syncDirectory(parentOf(to));
    return true;
  }

  private checkFence(): void {
    if (this.fence && Atomics.load(this.fence, 0) !== 0)
      throw new Error("this SQL engine was given up; another one has its files");
  }

  private file(fileId: number): OpenFile {
    const open = this.opened.get(fileId);
    if (!open) throw new Error(`file ${fileId} of the database is not open`);
    return open;
  }
}

/**
 * Empties a log whose entries are in the database file. Its head goes first, at once by one sector: a power cut while a file is cut off may
 * leave a part of it, and entries without the checkpoint mark behind them would be applied again.
 */
function empty(log: DiskFile): void {
  if (log.size() > 0) {
    log.write(new Uint8Array(logHeadBytes), 0);
    log.syncNow();
  }
  log.truncate(0);
  log.syncNow();
}

function copyFile(disk: Disk, from: string, to: string): void {
  const source = disk.open(from);
  try {
    const copy = disk.open(to, { write: true, create: true, truncate: true });
    try {
      const piece = new Uint8Array(copyPieceBytes);
      for (let at = 0; ; ) {
        const got = source.read(piece, at);
        if (got === 0) break;
        copy.write(piece.subarray(0, got), at);
        at += got;
      }
      copy.syncNow();
    } finally {
      copy.close();
    }
  } finally {
    source.close();
  }
}

function refuse(what: string): never {
  throw new Error(`SQL may not ${what}: it works on the tables of this node alone`);
}

/** Raises a C++ exception inside the module; does not return. */
function failWith(module: DuckDbModule, error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  module.ccall("duckdb_web_fail_with", null, ["string"], [message]);
  throw error;
}
