// ISO 8601 dates and times in the one spelling that row JSON has; every other is declined and left to the twin.
// Like all of json_scan.ts these may read a few bytes past the end.

import { readDigits, digitCount, digitValue } from "./json_numbers";
import { MONTHS } from "./layout";

/** What the last call that did not decline read. */
export let days: i32 = 0;
export let seconds: i32 = 0;
export let fraction: u64 = 0;
export let fractionDigits: i32 = 0;

const EPOCH_DAYS: i32 = 719528; // From 0000-01-01 to 1970-01-01.

/** Per month from 1 on: days of the year before it, and its own, in a common year. */
export function initMonths(): void {
  let before: u16 = 0;
  for (let month: u32 = 1; month <= 12; month++) {
    const length: u16 = month == 2 ? 28 : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
    store<u16>(MONTHS + (month << 2), before);
    store<u16>(MONTHS + (month << 2), length, 2);
    before += length;
  }
}

@inline
function two(p: usize): u32 {
  const tens = <u32>load<u8>(p) - 0x30;
  const ones = <u32>load<u8>(p, 1) - 0x30;
  return tens > 9 || ones > 9 ? 100 : tens * 10 + ones;
}

/** `YYYY-MM-DD`, 10 bytes: sets `days` since 1970. */
export function readDate(p: usize): bool {
  const century = two(p);
  const low = two(p + 2);
  const month = two(p + 5);
  const day = two(p + 8);
  if (century > 99 || low > 99 || load<u8>(p, 4) != 0x2d || load<u8>(p, 7) != 0x2d || month - 1 > 11) return false;
  const year = century * 100 + low;
  const leap: u32 = (year & 3) == 0 && (low != 0 || (century & 3) == 0) ? 1 : 0;
  const length = <u32>load<u16>(MONTHS + (month << 2), 2) + (month == 2 ? leap : 0);
  if (day - 1 >= length) return false;
  // Leap days of the years before this one; shifts of negative numbers round down, as year 0 needs.
  const centuries = <i32>century - (low == 0 ? 1 : 0);
  const leaps = ((<i32>year - 1) >> 2) - centuries + (centuries >> 2) + 1;
  const ofYear = <u32>load<u16>(MONTHS + (month << 2)) + (month > 2 ? leap : 0) + day - 1;
  days = <i32>(year * 365 + ofYear) + leaps - EPOCH_DAYS;
  return true;
}

/** `HH:MM:SS` and a fraction: sets `seconds` of the day, `fraction` and its digits; the position behind it, or 0. */
export function readTime(p: usize, fractionMax: i32): usize {
  const hour = two(p);
  const minute = two(p + 3);
  const second = two(p + 6);
  if (hour > 23 || minute > 59 || second > 59 || load<u8>(p, 2) != 0x3a || load<u8>(p, 5) != 0x3a) return 0;
  seconds = <i32>(hour * 3600 + minute * 60 + second);
  fraction = 0;
  fractionDigits = 0;
  p += 8;
  if (load<u8>(p) != 0x2e) return p;
  p = readDigits(p + 1, 0);
  fraction = digitValue;
  fractionDigits = digitCount;
  return digitCount - 1 >= fractionMax || digitCount == 0 ? 0 : p;
}
