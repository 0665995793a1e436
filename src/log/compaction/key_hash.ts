/**
 * A 128-bit hash of a record key, keyed with random numbers of this process: two HalfSipHash-1-3 of 64 bits side by side
 * (Aumasson's and Bernstein's SipHash for 32-bit machines, with the rounds that hash tables use). Keys that clients choose
 * cannot be made to collide without the secret, and by chance they do not: with a billion keys the odds are below 10^-20.
 */
import { randomBytes } from "node:crypto";

export class KeyHasher {
  /** The last hash, in four 32-bit words. */
  readonly words = new Int32Array(4);
  private readonly secret: Int32Array;

  private readonly blockRounds: number;
  private readonly finalRounds: number;

  /** `secret`: 16 bytes; random when absent. The rounds are those of the algorithm's name. */
  constructor(secret: Uint8Array = randomBytes(16), blockRounds = 1, finalRounds = 3) {
    this.secret = new Int32Array(secret.slice().buffer, 0, 4);
    this.blockRounds = blockRounds;
    this.finalRounds = finalRounds;
  }

  /** Hashes `bytes[start, end)` into `words`. */
  hash(bytes: Uint8Array, start: number, end: number): void {
    const [k0, k1, k2, k3] = this.secret as unknown as [number, number, number, number];
    let a0 = k0;
    let a1 = k1 ^ 0xee;
    let a2 = 0x6c796765 ^ k0;
    let a3 = 0x74656462 ^ k1;
    let b0 = k2;
    let b1 = k3 ^ 0xee;
    let b2 = 0x6c796765 ^ k2;
    let b3 = 0x74656462 ^ k3;
    const length = end - start;
    const blocks = length >> 2;
    const { blockRounds, finalRounds } = this;
    // The blocks of four bytes, the rest with the length, then the two halves of the result.
    for (let step = 0, at = start; step < blocks + 3; step++) {
      let word = 0;
      let rounds = blockRounds;
      if (step < blocks) {
        word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
        at += 4;
      } else if (step === blocks) {
        word = length << 24;
        for (let i = 0; at + i < end; i++) word |= bytes[at + i]! << (8 * i);
      } else if (step === blocks + 1) {
        a2 ^= 0xee;
        b2 ^= 0xee;
        rounds = finalRounds;
      } else {
        rounds = finalRounds;
        this.words[0] = a1 ^ a3;
        this.words[1] = b1 ^ b3;
        a1 ^= 0xdd;
        b1 ^= 0xdd;
      }
      a3 ^= word;
      b3 ^= word;
      for (let round = 0; round < rounds; round++) {
        a0 = (a0 + a1) | 0;
        a1 = ((a1 << 5) | (a1 >>> 27)) ^ a0;
        a0 = (a0 << 16) | (a0 >>> 16);
        a2 = (a2 + a3) | 0;
        a3 = ((a3 << 8) | (a3 >>> 24)) ^ a2;
        a0 = (a0 + a3) | 0;
        a3 = ((a3 << 7) | (a3 >>> 25)) ^ a0;
        a2 = (a2 + a1) | 0;
        a1 = ((a1 << 13) | (a1 >>> 19)) ^ a2;
        a2 = (a2 << 16) | (a2 >>> 16);
        b0 = (b0 + b1) | 0;
        b1 = ((b1 << 5) | (b1 >>> 27)) ^ b0;
        b0 = (b0 << 16) | (b0 >>> 16);
        b2 = (b2 + b3) | 0;
        b3 = ((b3 << 8) | (b3 >>> 24)) ^ b2;
        b0 = (b0 + b3) | 0;
        b3 = ((b3 << 7) | (b3 >>> 25)) ^ b0;
        b2 = (b2 + b1) | 0;
        b1 = ((b1 << 13) | (b1 >>> 19)) ^ b2;
        b2 = (b2 << 16) | (b2 >>> 16);
      }
      a0 ^= word;
      b0 ^= word;
    }
    this.words[2] = a1 ^ a3;
    this.words[3] = b1 ^ b3;
  }
}
