/**
 * A disk that reads another one and keeps every change in memory: what looks at a lake may open it like a node, recovery and all, without
 * touching a byte of it.
 *
 * Invariant: the disk below is only read. Syncs do nothing.
 */
import { type Disk, DiskError, type DiskFile, type DiskStat, type OpenOptions, parentOf } from "./disk.ts";

const pageBytes = 64 * 1024;

/** A file: the pages that were changed, over the first `below` bytes of the file underneath. */
class OverlayNode {
  size: number;
  private below: number;
  private readonly source: DiskFile | undefined;
  private readonly pages = new Map<number, Uint8Array>();

  constructor(source?: DiskFile) {
    this.source = source;
    this.below = source?.size() ?? 0;
    this.size = this.below;
  }

  read(into: Uint8Array, position: number): number {
    const bytes = Math.max(0, Math.min(into.length, this.size - position));
    for (let done = 0; done < bytes; ) {
      const at = position + done;
      const [page, start] = [Math.floor(at / pageBytes), at % pageBytes];
      const length = Math.min(bytes - done, pageBytes - start);
      const part = into.subarray(done, done + length);
      const changed = this.pages.get(page);
      if (changed) part.set(changed.subarray(start, start + length));
      else this.readBelow(part, at);
      done += length;
    }
    return bytes;
  }

  private readBelow(into: Uint8Array, position: number): void {
    const bytes = Math.max(0, Math.min(into.length, this.below - position));
    if (bytes > 0) this.source!.read(into.subarray(0, bytes), position);
    into.fill(0, bytes);
  }

  write(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length; ) {
      const at = position + done;
      const [page, start] = [Math.floor(at / pageBytes), at % pageBytes];
      const length = Math.min(bytes.length - done, pageBytes - start);
      this.page(page).set(bytes.subarray(done, done + length), start);
      done += length;
    }
    this.size = Math.max(this.size, position + bytes.length);
  }

  private page(number: number): Uint8Array {
    let page = this.pages.get(number);
    if (!page) {
      page = new Uint8Array(pageBytes);
      this.readBelow(page, number * pageBytes);
      this.pages.set(number, page);
    }
    return page;
  }

  truncate(size: number): void {
    this.below = Math.min(this.below, size);
    for (const [number, page] of this.pages)
      if (number * pageBytes >= size) this.pages.delete(number);
      else page.fill(0, Math.min(pageBytes, size - number * pageBytes));
    this.size = size;
  }
}

export class OverlayDisk implements Disk {
  private readonly base: Disk;
  /** What differs from the disk below, by path: a file, a folder, or nothing where there was something. */
  private readonly changed = new Map<string, OverlayNode | "folder" | "gone">();

  constructor(base: Disk) {
    this.base = base;
  }

  open(path: string, options: OpenOptions = {}): DiskFile {
    const known = this.changed.get(path);
    let node = known instanceof OverlayNode ? known : undefined;
    if (known === "folder") throw new DiskError("EISDIR", "open", path);
    if (!node && known !== "gone" && this.base.stat(path)) {
      node = new OverlayNode(this.base.open(path));
      this.changed.set(path, node);
    }
    if (node && options.create && options.exclusive) throw new DiskError("EEXIST", "open", path);
    if (!node) {
      if (!options.create || !this.stat(parentOf(path))) throw new DiskError("ENOENT", "open", path);
      node = new OverlayNode();
      this.changed.set(path, node);
    }
    if (options.truncate) node.truncate(0);
    return new OverlayFile(path, node, options.write ?? false);
  }

  stat(path: string): DiskStat | undefined {
    const known = this.changed.get(path);
    if (known === "gone") return undefined;
    if (known === undefined) return this.base.stat(path);
    const modifiedMs = this.base.stat(path)?.modifiedMs ?? Date.now();
    return { size: known === "folder" ? 0 : known.size, isDirectory: known === "folder", modifiedMs };
  }

  list(path: string): string[] {
    const stat = this.stat(path);
    if (!stat?.isDirectory) throw new DiskError(stat ? "ENOTDIR" : "ENOENT", "list", path);
    const names = new Set(this.base.stat(path)?.isDirectory ? this.base.list(path) : []);
    for (const [other, node] of this.changed) {
      if (parentOf(other) !== path) continue;
      const name = other.slice(path.length + 1);
      if (node === "gone") names.delete(name);
      else names.add(name);
    }
    return [...names];
  }

  makeDirectory(path: string): void {
    if (this.stat(path)) return;
    const parent = parentOf(path);
    if (parent !== path) this.makeDirectory(parent);
    this.changed.set(path, "folder");
  }

  rename(from: string, to: string): void {
    const stat = this.stat(from);
    if (!stat) throw new DiskError("ENOENT", "rename", from);
    if (stat.isDirectory) {
      this.makeDirectory(to);
      for (const name of this.list(from)) this.rename(`${from}/${name}`, `${to}/${name}`);
    } else {
      this.open(from, { write: true }).close();
      this.changed.set(to, this.changed.get(from)!);
    }
    this.changed.set(from, "gone");
  }

  remove(path: string): void {
    if (!this.stat(path)) throw new DiskError("ENOENT", "remove", path);
    this.changed.set(path, "gone");
  }

  removeTree(path: string): void {
    const stat = this.stat(path);
    if (!stat) return;
    if (stat.isDirectory) for (const name of this.list(path)) this.removeTree(`${path}/${name}`);
    this.changed.set(path, "gone");
  }

  async removeTreeLater(path: string): Promise<void> {
    this.removeTree(path);
  }

  syncDirectory(): void {}

  async syncDirectoryLater(): Promise<void> {}

  freeBytes(path: string): { free: number; total: number } {
    return this.base.freeBytes(this.base.stat(path) ? path : parentOf(path));
  }

  readFile(path: string): Uint8Array {
    const file = this.open(path);
    try {
      const bytes = new Uint8Array(file.size());
      file.read(bytes, 0);
      return bytes;
    } finally {
      file.close();
    }
  }
}

class OverlayFile implements DiskFile {
  readonly path: string;
  private readonly node: OverlayNode;
  private readonly writable: boolean;
  private closed = false;

  constructor(path: string, node: OverlayNode, writable: boolean) {
    this.path = path;
    this.node = node;
    this.writable = writable;
  }

  size(): number {
    return this.opened("ask for the size of").size;
  }
  read(into: Uint8Array, position: number): number {
    return this.opened("read").read(into, position);
  }
  write(bytes: Uint8Array, position: number): void {
    this.opened("write", true).write(bytes, position);
  }
  writev(parts: readonly Uint8Array[], position: number): void {
    for (const part of parts) {
      this.write(part, position);
      position += part.length;
    }
  }
  truncate(size: number): void {
    this.opened("truncate", true).truncate(size);
  }
  async sync(): Promise<void> {
    this.opened("sync");
  }
  syncNow(): void {
    this.opened("sync");
  }
  close(): void {
    this.closed = true;
  }

  private opened(operation: string, writes = false): OverlayNode {
    if (this.closed) throw new DiskError("EBADF", operation, this.path, "it is closed");
    if (writes && !this.writable) throw new DiskError("EBADF", operation, this.path, "it is open for reading only");
    return this.node;
  }
}
