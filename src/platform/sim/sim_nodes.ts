/**
 * The things on a simulated disk, each in two states: what a running process sees, and what has reached the platter. A
 * power cut makes one state out of the two.
 */
import type { SeededRandom } from "./random.ts";

export const sectorBytes = 512;

export class SimFileNode {
  readonly kind = "file";
  modifiedMs = 0;
  private seen: Uint8Array = new Uint8Array(0);
  private seenSize = 0;
  private kept: Uint8Array = new Uint8Array(0);
  private keptSize = 0;
  /** Sectors that differ from what is kept and that a sync would write. */
  private dirty = new Set<number>();
  /** The size differs from the kept one and a sync would write it. */
  private sizeDirty = false;
  /** Another disk, a fork, has the same array: it is copied before it is changed. */
  private seenIsShared = false;
  private keptIsShared = false;

  get size(): number {
    return this.seenSize;
  }

  read(into: Uint8Array, position: number): number {
    const bytes = Math.max(0, Math.min(into.length, this.seenSize - position));
    into.set(this.seen.subarray(position, position + bytes));
    return bytes;
  }

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    const end = position + bytes.length;
    this.growSeen(end);
    this.seen.set(bytes, position);
    if (end > this.seenSize) {
      // What lies between the old end and the write reads as zeros, and is new as well.
      this.touch(this.seenSize, end);
      this.seenSize = end;
      this.sizeDirty = true;
    }
    this.touch(position, end);
  }

  truncate(size: number): void {
    if (size === this.seenSize) return;
    this.growSeen(size);
    if (size < this.seenSize) this.seen.fill(0, size, this.seenSize);
    this.touch(Math.min(size, this.seenSize), Math.max(size, this.seenSize));
    this.seenSize = size;
    this.sizeDirty = true;
  }

  private touch(start: number, end: number): void {
    for (let sector = Math.floor(start / sectorBytes); sector * sectorBytes < end; sector++) this.dirty.add(sector);
  }

  /** Room for `size` bytes in an array of our own. */
  private growSeen(size: number): void {
    this.seen = grown(this.seen, size, this.seenIsShared);
    this.seenIsShared = false;
  }

  private growKept(size: number): void {
    this.kept = grown(this.kept, size, this.keptIsShared);
    this.keptIsShared = false;
  }

  /** The same file on a fork of the disk: cheap, since bytes are copied only when one of the two changes. */
  fork(): SimFileNode {
    const other = new SimFileNode();
    other.modifiedMs = this.modifiedMs;
    [other.seen, other.seenSize] = [this.seen, this.seenSize];
    [other.kept, other.keptSize] = [this.kept, this.keptSize];
    other.dirty = new Set(this.dirty);
    other.sizeDirty = this.sizeDirty;
    this.seenIsShared = other.seenIsShared = this.keptIsShared = other.keptIsShared = true;
    return other;
  }

  /** Bytes of whole sectors, as the disk's space counts them. */
  get allocated(): number {
    return Math.ceil(this.seenSize / sectorBytes) * sectorBytes;
  }

  /** What a sync that starts now will make durable. */
  capture(): { sectors: Set<number>; withSize: boolean } {
    return { sectors: new Set(this.dirty), withSize: this.sizeDirty };
  }

  /** The end of a sync: its sectors and the size are on the platter. */
  keep(captured: { sectors: Set<number>; withSize: boolean }): void {
    for (const sector of captured.sectors) {
      this.keepSector(sector, sectorBytes);
      this.dirty.delete(sector);
      // Bytes that are written back take the size with them, also when an earlier failed sync has lost it.
      this.keptSize = Math.max(this.keptSize, Math.min(this.seenSize, (sector + 1) * sectorBytes));
    }
    if (captured.withSize) {
      this.keptSize = this.seenSize;
      this.growKept(this.keptSize);
      this.sizeDirty = false;
    }
  }

  /** A failed sync, as Linux does it: nothing is written, but the pages count as clean from now on. */
  forgetDirty(): void {
    this.dirty.clear();
    this.sizeDirty = false;
  }

  private keepSector(sector: number, bytes: number): void {
    const start = sector * sectorBytes;
    this.growKept(start + sectorBytes);
    this.growSeen(start + sectorBytes);
    this.kept.set(this.seen.subarray(start, start + bytes), start);
  }

  /** Power is cut: of the unsynced sectors any may be written, one of them in part; the size may be old, new or between. */
  cutPower(random: SeededRandom): void {
    const mood = random.below(4);
    for (const sector of this.dirty) {
      const isWritten = mood === 0 ? false : mood === 1 ? true : random.chance(0.5);
      if (!isWritten) continue;
      this.keepSector(sector, random.chance(0.1) ? random.below(sectorBytes) : sectorBytes);
    }
    if (this.sizeDirty) {
      const choice = random.below(3);
      const [low, high] = [Math.min(this.keptSize, this.seenSize), Math.max(this.keptSize, this.seenSize)];
      if (choice === 1) this.keptSize = this.seenSize;
      if (choice === 2) this.keptSize = low + random.below(high - low + 1);
    }
    this.growKept(this.keptSize);
    this.kept.fill(0, this.keptSize);
    this.seen = this.kept;
    this.seenIsShared = this.keptIsShared = true;
    this.seenSize = this.keptSize;
    this.dirty.clear();
    this.sizeDirty = false;
  }

  /** The system drops clean pages from memory and reads them again: what a failed sync lost is gone to the eye as well. */
  evict(): void {
    for (let sector = 0; sector * sectorBytes < this.seenSize; sector++) {
      if (this.dirty.has(sector)) continue;
      const start = sector * sectorBytes;
      this.growKept(start + sectorBytes);
      this.growSeen(start + sectorBytes);
      this.seen.set(this.kept.subarray(start, start + sectorBytes), start);
    }
  }
}

export class SimDirectoryNode {
  readonly kind = "directory";
  modifiedMs = 0;
  readonly entries = new Map<string, SimNode>();
  private kept = new Map<string, SimNode>();
  /** Names that a rename tied together since the last sync: a power cut leaves both as before it or both as after. */
  private tied: [string, string][] = [];

  tie(from: string, to: string): void {
    this.tied.push([from, to]);
  }

  keep(): void {
    this.kept = new Map(this.entries);
    this.tied = [];
  }

  /** `forks`: the nodes that have been forked so far; one node may be in two folders, as seen and as kept. */
  fork(forks: Map<SimNode, SimNode>): SimDirectoryNode {
    const other = new SimDirectoryNode();
    other.modifiedMs = this.modifiedMs;
    forks.set(this, other);
    const forked = (node: SimNode): SimNode => {
      const known = forks.get(node);
      if (known) return known;
      const made = node.kind === "file" ? node.fork() : node.fork(forks);
      forks.set(node, made);
      return made;
    };
    for (const [name, node] of this.entries) other.entries.set(name, forked(node));
    for (const [name, node] of this.kept) other.kept.set(name, forked(node));
    other.tied = this.tied.slice();
    return other;
  }

  cutPower(random: SeededRandom): void {
    const unitOf = new Map<string, Set<string>>();
    for (const [from, to] of this.tied) {
      const unit = new Set([...(unitOf.get(from) ?? [from]), ...(unitOf.get(to) ?? [to])]);
      for (const name of unit) unitOf.set(name, unit);
    }
    const result = new Map<string, SimNode>();
    const decided = new Map<Set<string>, boolean>();
    for (const name of new Set([...this.entries.keys(), ...this.kept.keys()])) {
      const unit = unitOf.get(name) ?? new Set([name]);
      const isNew = decided.get(unit) ?? random.chance(0.5);
      decided.set(unit, isNew);
      const node = (isNew ? this.entries : this.kept).get(name);
      if (node) result.set(name, node);
    }
    this.entries.clear();
    for (const [name, node] of result) this.entries.set(name, node);
    this.keep();
    for (const node of this.entries.values()) node.cutPower(random);
  }
}

export type SimNode = SimFileNode | SimDirectoryNode;

function grown(bytes: Uint8Array, size: number, isShared: boolean): Uint8Array {
  if (size <= bytes.length) return isShared ? bytes.slice() : bytes;
  const larger = new Uint8Array(Math.max(size, bytes.length * 2, sectorBytes));
  larger.set(bytes);
  return larger;
}
