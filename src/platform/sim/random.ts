/** Random numbers that a seed repeats exactly, for the simulator and for tests that draw their input. Not for secrets. */
export class SeededRandom {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
    // Seeds that are close to each other must not begin alike.
    for (let n = 0; n < 4; n++) this.uint32();
  }

  /** Mulberry32: every 32-bit state once. */
  uint32(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** At least 0, below 1. */
  fraction(): number {
    return this.uint32() / 4_294_967_296;
  }

  /** An integer from 0 to `below - 1`. */
  below(below: number): number {
    return Math.floor(this.fraction() * below);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}
