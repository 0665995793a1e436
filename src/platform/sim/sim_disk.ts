/**
 * A disk in memory that behaves as badly as a real one may: a power cut loses any part of what was not synced, tears
 * sectors, and brings removed names back; syncs and writes fail; space ends in the middle of a write. All of it is drawn
 * from a seed.
 *
 * Invariant: what the Disk contract promises (`../disk.ts`) holds through every power cut; nothing else does.
 */
import { type Disk, DiskError, type DiskFile, type DiskStat, type OpenOptions, parentOf } from "../disk.ts";
import type { SeededRandom } from "./random.ts";
import { SimDirectoryNode, SimFileNode, type SimNode } from "./sim_nodes.ts";

export interface SimOptions {
  random: SeededRandom;
  /** Size of the disk in bytes. */
  capacity?: number;
  /** When the syncs that run off the thread end; a microtask unless given. */
  schedule?: (end: () => void) => void;
  nowMs?: () => number;
}

export class SimDisk implements Disk {
  /** Size of the disk in bytes; may be changed at any time. */
  capacity: number;
  /** Changes so far (writes, truncates, syncs, creations, renames, removals). */
  changes = 0;
  /** Reads so far, and the bytes that they gave. */
  reads = 0;
  bytesRead = 0;
  private readonly random: SeededRandom;
  private readonly schedule: (end: () => void) => void;
  private readonly nowMs: () => number;
  private root = new SimDirectoryNode();
  /**
   * Called before each change. `fork` gives a disk of its own that is as this one would be if the power went during that change (a write is
   * there in part); what happens to the one is not seen on the other.
   */
  beforeChange: ((operation: string, path: string, fork: (random: SeededRandom) => SimDisk) => void) | undefined;
  private used = 0;
  private generation = 0;
  private cutAt = Number.POSITIVE_INFINITY;
  private isOff = false;
  private syncsToFail: { count: number; matches: (path: string) => boolean } | undefined;
  private writesToFail: { count: number; matches: (path: string) => boolean } | undefined;

  constructor(options: SimOptions) {
    this.random = options.random;
    this.capacity = options.capacity ?? 1 << 30;
    this.schedule = options.schedule ?? queueMicrotask;
    this.nowMs = options.nowMs ?? Date.now;
  }

  // What a test does to the disk.

  /** Cuts the power at the change with this number, counted from now on; that change happens in part or not at all. */
  cutPowerAfter(changes: number): void {
    this.cutAt = this.changes + changes;
  }

  get isPowerOff(): boolean {
    return this.isOff;
  }

  /** Cuts the power (if it is on) and starts again with what survived. Open files are invalid from here on. */
  restart(): void {
    this.root.cutPower(this.random);
    this.isOff = false;
    this.cutAt = Number.POSITIVE_INFINITY;
    this.generation++;
    this.syncsToFail = undefined;
    this.writesToFail = undefined;
    this.used = spaceOf(this.root);
  }

  /** Another disk with the same content and the same things unsynced. Open files stay with this one. */
  fork(random: SeededRandom): SimDisk {
    return this.forkWith(random, new Map());
  }

  private forkWith(random: SeededRandom, forks: Map<SimNode, SimNode>): SimDisk {
    const { capacity, schedule, nowMs } = this;
    const other = new SimDisk({ random, capacity, schedule, nowMs });
    other.root = this.root.fork(forks);
    other.used = this.used;
    other.changes = this.changes;
    return other;
  }

  /** The next `count` syncs of files whose path matches fail, and lose what they should have written. */
  failSyncs(count: number, matches: (path: string) => boolean = () => true): void {
    this.syncsToFail = { count, matches };
  }

  /** The next `count` writes or truncates of files whose path matches fail, after a part of the bytes. */
  failWrites(count: number, matches: (path: string) => boolean = () => true): void {
    this.writesToFail = { count, matches };
  }

  /** Drops clean pages of every file from memory, so that reads see what the platter has. */
  evictPages(): void {
    const visit = (node: SimNode): void => {
      if (node.kind === "file") node.evict();
      else for (const child of node.entries.values()) visit(child);
    };
    visit(this.root);
  }

  // The Disk contract.

  open(path: string, options: OpenOptions = {}): DiskFile {
    this.check("open", path);
    const { parent, name } = this.place(path, "open");
    let node = parent.entries.get(name);
    if (!node) {
      if (!options.create) throw new DiskError("ENOENT", "open", path);
      this.change("open", path);
      node = new SimFileNode();
      node.modifiedMs = this.nowMs();
      parent.entries.set(name, node);
    } else if (options.create && options.exclusive) throw new DiskError("EEXIST", "open", path);
    if (node.kind === "directory") throw new DiskError("EISDIR", "open", path);
    const file = new SimFile(this, path, node, options.write ?? false);
    if (options.truncate && node.size > 0) file.truncate(0);
    return file;
  }

  stat(path: string): DiskStat | undefined {
    this.check("examine", path);
    const node = this.find(path);
    if (!node) return undefined;
    return {
      size: node.kind === "file" ? node.size : 0,
      isDirectory: node.kind === "directory",
      modifiedMs: node.modifiedMs,
    };
  }

  list(path: string): string[] {
    this.check("list", path);
    return [...this.directory(path, "list").entries.keys()];
  }

  makeDirectory(path: string): void {
    this.check("make the folder", path);
    let node = this.root;
    for (const name of partsOf(path)) {
      let next = node.entries.get(name);
      if (!next) {
        this.change("make the folder", path);
        next = new SimDirectoryNode();
        node.entries.set(name, next);
      }
      if (next.kind === "file") throw new DiskError("EEXIST", "make the folder", path);
      node = next;
    }
  }

  rename(from: string, to: string): void {
    this.check("rename", from);
    const source = this.place(from, "rename");
    const target = this.place(to, "rename");
    const node = source.parent.entries.get(source.name);
    if (!node) throw new DiskError("ENOENT", "rename", from);
    const replaced = target.parent.entries.get(target.name);
    if (replaced?.kind === "directory" && replaced.entries.size > 0) throw new DiskError("ENOTEMPTY", "rename", to);
    this.change("rename", from);
    if (replaced && replaced !== node) this.used -= spaceOf(replaced);
    source.parent.entries.delete(source.name);
    target.parent.entries.set(target.name, node);
    source.parent.tie(source.name, target.name);
  }

  remove(path: string): void {
    this.check("remove", path);
    const { parent, name } = this.place(path, "remove");
    const node = parent.entries.get(name);
    if (!node) throw new DiskError("ENOENT", "remove", path);
    if (node.kind === "directory") throw new DiskError("EISDIR", "remove", path);
    this.change("remove", path);
    this.used -= spaceOf(node);
    parent.entries.delete(name);
  }

  removeTree(path: string): void {
    this.check("remove", path);
    const node = this.find(path);
    if (!node) return;
    if (node.kind === "file") {
      this.remove(path);
      return;
    }
    for (const name of [...node.entries.keys()]) this.removeTree(`${path}/${name}`);
    const { parent, name } = this.place(path, "remove");
    this.change("remove", path);
    parent.entries.delete(name);
  }

  removeTreeLater(path: string): Promise<void> {
    return this.later(() => this.removeTree(path));
  }

  syncDirectory(path: string): void {
    this.check("sync the folder", path);
    const node = this.directory(path, "sync the folder");
    this.change("sync the folder", path);
    node.keep();
  }

  syncDirectoryLater(path: string): Promise<void> {
    return this.later(() => this.syncDirectory(path));
  }

  freeBytes(path: string): { free: number; total: number } {
    this.check("ask for the free space of", path);
    return { free: Math.max(0, this.capacity - this.used), total: this.capacity };
  }

  readFile(path: string): Uint8Array {
    const file = this.open(path);
    const bytes = new Uint8Array(file.size());
    file.read(bytes, 0);
    return bytes;
  }

  // What open files need.

  get currentGeneration(): number {
    return this.generation;
  }

  check(operation: string, path: string): void {
    if (this.isOff) throw new DiskError("EIO", operation, path, "the power is off");
  }

  /** Counts a change; throws when the power goes with it. */
  change(operation: string, path: string): void {
    this.check(operation, path);
    this.beforeChange?.(operation, path, (random) => this.fork(random));
    this.count(operation, path);
  }

  private count(operation: string, path: string): void {
    this.changes++;
    if (this.changes < this.cutAt) return;
    this.isOff = true;
    this.check(operation, path);
  }

  readInto(node: SimFileNode, into: Uint8Array, position: number): number {
    const got = node.read(into, position);
    this.reads++;
    this.bytesRead += got;
    return got;
  }

  writeFile(node: SimFileNode, path: string, bytes: Uint8Array, position: number): void {
    this.check("write", path);
    this.beforeChange?.("write", path, (random) => {
      const forks = new Map<SimNode, SimNode>();
      const other = this.forkWith(random, forks);
      const twin = forks.get(node);
      if (twin?.kind === "file") twin.write(bytes.subarray(0, random.below(bytes.length + 1)), position);
      other.used = spaceOf(other.root);
      return other;
    });
    const fails = this.takeFailure("write", path);
    const wouldCut = this.changes + 1 >= this.cutAt;
    const before = node.allocated;
    let room = this.capacity - this.used - (Math.ceil((position + bytes.length) / 512) * 512 - before);
    if (position + bytes.length <= node.size) room = 0;
    const fitting =
      room >= 0 ? bytes.length : Math.max(0, Math.min(bytes.length, before + this.capacity - this.used - position));
    const length = fails || wouldCut ? this.random.below(fitting + 1) : fitting;
    node.write(bytes.subarray(0, length), position);
    node.modifiedMs = this.nowMs();
    this.used += node.allocated - before;
    this.count("write", path);
    if (fails) throw new DiskError("EIO", "write", path);
    if (length < bytes.length) throw new DiskError("ENOSPC", "write", path);
  }

  truncateFile(node: SimFileNode, path: string, size: number): void {
    this.check("truncate", path);
    if (this.takeFailure("write", path)) throw new DiskError("EIO", "truncate", path);
    this.change("truncate", path);
    const before = node.allocated;
    node.truncate(size);
    this.used += node.allocated - before;
  }

  syncFile(node: SimFileNode, path: string): void {
    this.change("sync", path);
    this.endSync(node, path, node.capture());
  }

  syncFileLater(node: SimFileNode, path: string): Promise<void> {
    const captured = node.capture();
    return this.later(() => {
      this.change("sync", path);
      this.endSync(node, path, captured);
    });
  }

  private endSync(node: SimFileNode, path: string, captured: ReturnType<SimFileNode["capture"]>): void {
    if (this.takeFailure("sync", path)) {
      node.forgetDirty();
      throw new DiskError("EIO", "sync", path);
    }
    node.keep(captured);
  }

  private takeFailure(kind: "sync" | "write", path: string): boolean {
    const due = kind === "sync" ? this.syncsToFail : this.writesToFail;
    if (!due || due.count <= 0 || !due.matches(path)) return false;
    due.count--;
    return true;
  }

  private later(action: () => void): Promise<void> {
    const generation = this.generation;
    return new Promise((resolve, reject) => {
      this.schedule(() => {
        try {
          if (generation !== this.generation) throw new DiskError("EIO", "sync", "", "the power was cut");
          action();
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  private find(path: string): SimNode | undefined {
    let node: SimNode = this.root;
    for (const name of partsOf(path)) {
      const next: SimNode | undefined = node.kind === "directory" ? node.entries.get(name) : undefined;
      if (!next) return undefined;
      node = next;
    }
    return node;
  }

  private directory(path: string, operation: string): SimDirectoryNode {
    const node = this.find(path);
    if (!node) throw new DiskError("ENOENT", operation, path);
    if (node.kind === "file") throw new DiskError("ENOTDIR", operation, path);
    return node;
  }

  private place(path: string, operation: string): { parent: SimDirectoryNode; name: string } {
    const name = partsOf(path).at(-1);
    if (name === undefined) throw new DiskError("EISDIR", operation, path);
    const parent = this.find(parentOf(path));
    if (parent?.kind !== "directory") throw new DiskError("ENOENT", operation, path);
    return { parent, name };
  }
}

class SimFile implements DiskFile {
  readonly path: string;
  private readonly disk: SimDisk;
  private readonly node: SimFileNode;
  private readonly writable: boolean;
  private readonly generation: number;
  private closed = false;

  constructor(disk: SimDisk, path: string, node: SimFileNode, writable: boolean) {
    this.disk = disk;
    this.path = path;
    this.node = node;
    this.writable = writable;
    this.generation = disk.currentGeneration;
  }

  size(): number {
    this.check("ask for the size of");
    return this.node.size;
  }

  read(into: Uint8Array, position: number): number {
    this.check("read");
    return this.disk.readInto(this.node, into, position);
  }

  write(bytes: Uint8Array, position: number): void {
    this.checkWritable("write");
    this.disk.writeFile(this.node, this.path, bytes, position);
  }

  writev(parts: readonly Uint8Array[], position: number): void {
    this.checkWritable("write");
    let total = 0;
    for (const part of parts) total += part.length;
    const whole = new Uint8Array(total);
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    this.disk.writeFile(this.node, this.path, whole, position);
  }

  truncate(size: number): void {
    this.checkWritable("truncate");
    this.disk.truncateFile(this.node, this.path, size);
  }

  async sync(): Promise<void> {
    this.check("sync");
    await this.disk.syncFileLater(this.node, this.path);
  }

  syncNow(): void {
    this.check("sync");
    this.disk.syncFile(this.node, this.path);
  }

  close(): void {
    this.closed = true;
  }

  private check(operation: string): void {
    if (this.closed) throw new DiskError("EBADF", operation, this.path, "it is closed");
    if (this.generation !== this.disk.currentGeneration)
      throw new DiskError("EIO", operation, this.path, "the power was cut");
    this.disk.check(operation, this.path);
  }

  private checkWritable(operation: string): void {
    this.check(operation);
    if (!this.writable) throw new DiskError("EBADF", operation, this.path, "it is open for reading only");
  }
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function spaceOf(node: SimNode): number {
  if (node.kind === "file") return node.allocated;
  let bytes = 0;
  for (const child of node.entries.values()) bytes += spaceOf(child);
  return bytes;
}
