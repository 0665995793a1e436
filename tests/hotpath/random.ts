/**
 * Seeded inputs for the kernel tests: the same seed gives the same bytes. `ROWLOG_TEST_SEED` replaces the seed and
 * `ROWLOG_TEST_ROUNDS` multiplies the rounds (a long run: 50 makes a million inputs).
 */
import { SeededRandom } from "../../src/platform/sim/random.ts";

export const seed = Number(process.env.ROWLOG_TEST_SEED ?? 20260);
export const roundsFactor = Number(process.env.ROWLOG_TEST_ROUNDS ?? 1);

export class Random extends SeededRandom {
  /** Mostly small, at times up to `max`. */
  size(max: number): number {
    return this.below(Math.min(max, 1 << (2 + this.below(20))) + 1);
  }

  /** Bytes between noise and long repeats. */
  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    const letters = 1 + this.below(this.below(2) === 0 ? 4 : 256);
    let at = 0;
    while (at < length) {
      const run = 1 + this.below(60);
      const back = at > 0 && this.below(3) > 0 ? 1 + this.below(at) : 0;
      for (let i = 0; i < run && at < length; i++, at++) bytes[at] = back > 0 ? bytes[at - back]! : this.below(letters);
    }
    return bytes;
  }

  /** A copy with a few changes: bytes replaced, bits flipped, cut, lengthened. */
  mutate(bytes: Uint8Array): Uint8Array {
    let changed = bytes.slice();
    for (let left = 1 + this.below(3); left > 0 && changed.length > 0; left--) {
      const at = this.below(2) === 0 ? this.below(changed.length) : this.below(Math.min(changed.length, 24));
      switch (this.below(6)) {
        case 0:
          changed[at] = this.below(256);
          break;
        case 1:
          changed[at] = changed[at]! ^ (1 << this.below(8));
          break;
        case 2:
          changed[at] = [0, 0x7f, 0x80, 0xff][this.below(4)]!;
          break;
        case 3:
          changed = changed.slice(0, at);
          break;
        case 4: {
          const longer = new Uint8Array(changed.length + 1 + this.below(9));
          longer.set(changed);
          changed = longer;
          break;
        }
        default:
          changed.copyWithin(at, this.below(changed.length), changed.length);
      }
    }
    return changed;
  }
}
