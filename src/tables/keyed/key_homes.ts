/**
 * Which partition each key of a table of several partitions belongs to: the one in which it first arrived, for as long as the table lives.
 * Otherwise the rows of a key would be in logs that have no order between them, and a table made anew from them could be another.
 *
 * Kept in memory by 64 bits of hash, a dozen bytes a key and half as much again free; DuckDB has the keys themselves (`_rowlog.key_homes`), written in the
 * transaction that first has a row or a delete of them.
 */
import { type KeyTexts, keyTextWords } from "./change_batch.ts";

/** Words a slot: two of hash, and the partition + 1 with `storedBit`. */
const slotWords = 3;
/** The key is in DuckDB's table too. */
const storedBit = 0x40000000;

export class KeyHomes {
  private slots = new Int32Array(1024 * slotWords);
  private used = 0;
  /** Everything that DuckDB and the log know is here. */
  ready = false;

  get size(): number {
    return this.used;
  }

  /** -1 for a key that has none. */
  home(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const at = this.find(hash, otherHash(bytes, start, end));
    return (this.slots[at + 2]! & ~storedBit) - 1;
  }

  /** Gives a key without a home this one. */
  settle(bytes: Uint8Array, start: number, end: number, hash: number, partition: number, stored = false): void {
    const other = otherHash(bytes, start, end);
    let at = this.find(hash, other);
    if (this.slots[at + 2] === 0) {
      if (this.used * 2 * slotWords >= this.slots.length) {
        this.grow();
        at = this.find(hash, other);
      }
      this.slots[at] = hash;
      this.slots[at + 1] = other;
      this.slots[at + 2] = partition + 1;
      this.used++;
    }
    if (stored) this.slots[at + 2]! |= storedBit;
  }

  /** Settles the keys of records in their partition, those that have no home. */
  settleAll({ text, words }: KeyTexts, records: Iterable<number>, partition: number): void {
    for (const record of records) {
      const word = record * keyTextWords;
      this.settle(text.bytes, words[word]!, words[word + 1]!, words[word + 2]!, partition);
    }
  }

  /** Marks a settled key as stored in DuckDB, or not; true when that was new. */
  mark(bytes: Uint8Array, start: number, end: number, hash: number, stored: boolean): boolean {
    const at = this.find(hash, otherHash(bytes, start, end)) + 2;
    const before = this.slots[at]!;
    this.slots[at] = stored ? before | storedBit : before & ~storedBit;
    return this.slots[at] !== before;
  }

  /** Takes all marks back. */
  unstored(): void {
    for (let at = 2; at < this.slots.length; at += slotWords) this.slots[at]! &= ~storedBit;
  }

  private find(hash: number, other: number): number {
    const { slots } = this;
    const mask = slots.length / slotWords - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const at = slot * slotWords;
      if (slots[at + 2] === 0 || (slots[at] === hash && slots[at + 1] === other)) return at;
    }
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Int32Array(old.length * 2);
    for (let at = 0; at < old.length; at += slotWords) {
      if (old[at + 2] === 0) continue;
      this.slots.set(old.subarray(at, at + slotWords), this.find(old[at]!, old[at + 1]!));
    }
  }
}

/** FNV-1a. */
function otherHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash | 0;
}
