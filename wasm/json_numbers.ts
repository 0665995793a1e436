// Digits to integers, eight at a time.

import { POWERS } from "./layout";

/** What the last readDigits read. */
export let digitValue: u64 = 0;
export let digitCount: i32 = 0;

/**
 * Reads digits from `p` on, behind `value`; returns the position behind them. It stops early past 24 digits, too many for
 * any caller, and reads up to 8 bytes more than the digits. `digitValue` is right for up to 19 digits with those of `value`.
 */
@inline
export function readDigits(p: usize, value: u64): usize {
  const first = p;
  let count: usize;
  do {
    const digits = load<u64>(p) ^ 0x3030303030303030;
    // A byte above 9 leaves its top bit set. A carry goes only to later bytes, which do not matter then.
    const others = (digits | (digits + 0x7676767676767676)) & 0x8080808080808080;
    count = others == 0 ? 8 : <usize>(ctz(others) >> 3);
    // The digits at the top, zeros in front of them: pairs, then fours, then all eight.
    let eight = count == 0 ? 0 : digits << (<u64>(8 - count) << 3);
    eight = ((eight * 2561) >> 8) & 0x00ff00ff00ff00ff;
    eight = ((eight * 6553601) >> 16) & 0x0000ffff0000ffff;
    eight = (eight * 42949672960001) >> 32;
    value = value * load<u64>(POWERS + (count << 3)) + eight;
    p += count;
  } while (count == 8 && p - first < 24);
  digitValue = value;
  digitCount = <i32>(p - first);
  return p;
}

export function initPowers(): void {
  let integer: u64 = 1;
  for (let i: usize = 0; i < 19; i++) {
    store<u64>(POWERS + (i << 3), integer);
    integer *= 10;
  }
  // Powers of ten that a double holds exactly: 10^22 is the last.
  let power: f64 = 1;
  for (let i: usize = 0; i < 23; i++) {
    store<f64>(POWERS + 160 + (i << 3), power);
    power *= 10;
  }
}
