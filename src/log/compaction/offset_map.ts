/**
 * The newest offset of each key in the part of a log that was read: what Kafka calls its dedupe buffer. A key is known by
 * its 128-bit hash, so an entry takes 24 bytes however long the key is.
 *
 * Invariant: the memory is what the constructor took; when it is full, `put` says so and the caller goes on in a later round.
 */
import { KeyHasher } from "./key_hash.ts";

const slotBytes = 24;
/** Share of the slots that may be taken (log.cleaner.io.buffer.load.factor's default in Kafka). */
const loadFactor = 0.9;

const hasher = new KeyHasher();

export class OffsetMap {
  /** Keys that fit. */
  readonly capacity: number;
  /** Keys that are in it. */
  size = 0;
  /** The last offset that was looked at, whether its record had a key or not. */
  latestOffset = -1;
  private readonly slots: number;
  private readonly hashes: Int32Array;
  /** Offset + 1, so that 0 is a free slot. */
  private readonly offsets: Float64Array;

  /** Room for `keys` keys, within `bytesMax` bytes. */
  constructor(keys: number, bytesMax: number) {
    const wanted = Math.ceil(keys / 0.7) + 16;
    this.slots = Math.max(16, Math.min(wanted, Math.floor(bytesMax / slotBytes)));
    this.capacity = Math.floor(this.slots * loadFactor);
    this.hashes = new Int32Array(this.slots * 4);
    this.offsets = new Float64Array(this.slots);
  }

  /** Notes that the key in `bytes[start, end)` has `offset`, which is the greatest so far; false when there is no room for it. */
  put(bytes: Uint8Array, start: number, end: number, offset: number): boolean {
    const slot = this.find(bytes, start, end);
    if (this.offsets[slot] === 0) {
      if (this.size >= this.capacity) return false;
      this.size++;
      this.hashes.set(hasher.words, slot * 4);
    }
    this.offsets[slot] = offset + 1;
    return true;
  }

  /** The greatest offset of a key; -1 when it was never put. */
  get(bytes: Uint8Array, start: number, end: number): number {
    return this.offsets[this.find(bytes, start, end)]! - 1;
  }

  /** Share of the room that is taken, from 0 to 1. */
  get utilization(): number {
    return this.size / this.capacity;
  }

  /** The slot of a key, or the free one where it belongs. */
  private find(bytes: Uint8Array, start: number, end: number): number {
    hasher.hash(bytes, start, end);
    const { hashes, offsets, slots } = this;
    const [w0, w1, w2, w3] = hasher.words as unknown as [number, number, number, number];
    let slot = Math.floor((w0 >>> 0) * (slots / 4294967296));
    while (offsets[slot] !== 0) {
      const at = slot * 4;
      if (hashes[at] === w0 && hashes[at + 1] === w1 && hashes[at + 2] === w2 && hashes[at + 3] === w3) break;
      if (++slot === slots) slot = 0;
    }
    return slot;
  }
}
