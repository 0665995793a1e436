/**
 * One process per lake. The lock is the system's own advisory lock on an open file (flock), so it ends with the process
 * however that ends, and a file left by `kill -9` locks nobody out.
 *
 * Where flock cannot be reached (plain Node), a file with the process id stands in; it is taken over when that process
 * is gone.
 */
import * as fs from "node:fs";

/** Another process has the folder, or the lock file cannot be made. */
export class LockError extends Error {
  override name = "LockError";
}

export interface DirectoryLock {
  release(): void;
}

const fileName = ".lock";

/** Locks a folder (which must exist) for this process; throws LockError when another one has it. */
export function lockDirectory(path: string): DirectoryLock {
  const file = `${path}/${fileName}`;
  const lock = tryDenoLock(file) ?? tryFlock(file) ?? tryProcessFile(file);
  if (lock === "taken") throw new LockError(takenMessage(path, file));
  return lock;
}

type Attempt = DirectoryLock | "taken";

function takenMessage(path: string, file: string): string {
  let holder = "";
  try {
    const text = fs.readFileSync(file, "utf8").trim();
    if (/^\d+$/.test(text)) holder = ` (process ${text})`;
  } catch {
    // The holder is told only as a help.
  }
  return `the folder ${path} is in use by another process${holder}; stop it, or choose another folder`;
}

interface DenoFile {
  tryLockSync?(exclusive: boolean): boolean;
  truncateSync(size: number): void;
  writeSync(bytes: Uint8Array): number;
  close(): void;
}

function tryDenoLock(file: string): Attempt | undefined {
  const deno = (globalThis as { Deno?: { openSync(path: string, options: object): DenoFile } }).Deno;
  if (!deno) return undefined;
  const handle = deno.openSync(file, { read: true, write: true, create: true });
  if (!handle.tryLockSync) {
    handle.close();
    return undefined;
  }
  if (!handle.tryLockSync(true)) {
    handle.close();
    return "taken";
  }
  handle.truncateSync(0);
  handle.writeSync(new TextEncoder().encode(`${process.pid}\n`));
  return { release: once(() => handle.close()) };
}

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Bun: flock by its foreign function interface, since `node:fs` has none. */
function tryFlock(file: string): Attempt | undefined {
  const flock = loadFlock();
  if (!flock) return undefined;
  const descriptor = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o644);
  if (flock(descriptor, LOCK_EX | LOCK_NB) !== 0) {
    fs.closeSync(descriptor);
    return "taken";
  }
  fs.ftruncateSync(descriptor, 0);
  fs.writeSync(descriptor, `${process.pid}\n`);
  return { release: once(() => fs.closeSync(descriptor)) };
}

let loadedFlock: ((descriptor: number, operation: number) => number) | undefined;

function loadFlock(): typeof loadedFlock {
  if (loadedFlock) return loadedFlock;
  const load = (process as { getBuiltinModule?(name: string): unknown }).getBuiltinModule;
  if (!load || !(globalThis as { Bun?: unknown }).Bun) return undefined;
  type Library = { symbols: { flock(descriptor: number, operation: number): number } };
  const ffi = load.call(process, "bun:ffi") as { dlopen(name: string, symbols: object): Library } | undefined;
  if (!ffi) return undefined;
  const names =
    process.platform === "darwin"
      ? ["libSystem.B.dylib"]
      : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];
  for (const name of names) {
    try {
      const library = ffi.dlopen(name, { flock: { args: ["i32", "i32"], returns: "i32" } });
      loadedFlock = library.symbols.flock;
      return loadedFlock;
    } catch {
      // The next name: musl calls its library otherwise than glibc.
    }
  }
  return undefined;
}

/** The stand-in: a file made exclusively, holding the process id. */
function tryProcessFile(file: string): Attempt {
  const own = `${file}.pid`;
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      fs.writeFileSync(own, `${process.pid}\n`, { flag: "wx" });
      return { release: once(() => fs.rmSync(own, { force: true })) };
    } catch (error) {
      if ((error as { code?: string }).code !== "EEXIST") throw error;
      if (isAlive(Number(fs.readFileSync(own, "utf8").trim()))) return "taken";
      fs.rmSync(own, { force: true });
    }
  }
  return "taken";
}

function isAlive(processId: number): boolean {
  if (!Number.isInteger(processId) || processId <= 0) return false;
  if (processId === process.pid) return true;
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
