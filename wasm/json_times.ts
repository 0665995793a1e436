// ISO 8601 dates and times in the one spelling that row JSON has; every other is declined (0) and left to the twin.

import { isDigit } from "./json_scan";

/** What the last function that did not decline read. */
export let days: i32 = 0;
export let nanos: i64 = 0;

@inline
function two(p: usize): u32 {
  const tens = <u32>load<u8>(p) - 0x30;
  const ones = <u32>load<u8>(p, 1) - 0x30;
  return tens > 9 || ones > 9 ? 100 : tens * 10 + ones;
}

/** `YYYY-MM-DD`: sets `days` since 1970. Needs 10 bytes at `p`. */
export function readDate(p: usize): bool {
  const high = two(p);
  const low = two(p + 2);
  const month = two(p + 5);
  const day = two(p + 8);
  if (high == 100 || low == 100 || load<u8>(p, 4) != 0x2d || load<u8>(p, 7) != 0x2d) return false;
  if (month < 1 || month > 12 || day < 1 || day > 31) return false;
  const year = high * 100 + low;
  if (day > 28 && day > monthDays(year, month)) return false;
  // Days from the civil calendar (Howard Hinnant), with years from March and 400-year eras; no year is negative here but -1.
  const y = <i32>year - (month <= 2 ? 1 : 0);
  const era = y < 0 ? -1 : y / 400;
  const yearOfEra = y - era * 400;
  const shifted = <i32>month + (month > 2 ? -3 : 9);
  const dayOfYear = (153 * shifted + 2) / 5 + <i32>day - 1;
  days = era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468;
  return true;
}

function monthDays(year: u32, month: u32): u32 {
  if (month != 2) return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
  return (year & 3) == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
}

/**
 * `HH:MM:SS` and a fraction of at most `fractionMax` digits: sets `nanos` since midnight; returns the position behind it, or 0.
 */
export function readTime(p: usize, end: usize, fractionMax: i32): usize {
  if (p + 8 > end || load<u8>(p, 2) != 0x3a || load<u8>(p, 5) != 0x3a) return 0;
  const hour = two(p);
  const minute = two(p + 3);
  const second = two(p + 6);
  if (hour > 23 || minute > 59 || second > 59) return 0;
  nanos = <i64>(hour * 3600 + minute * 60 + second) * 1_000_000_000;
  p += 8;
  if (p >= end || load<u8>(p) != 0x2e) return p;
  p++;
  let unit: i64 = 100_000_000;
  let digits = 0;
  while (p < end && isDigit(load<u8>(p))) {
    nanos += <i64>(<u32>load<u8>(p) - 0x30) * unit;
    unit /= 10;
    p++;
    if (++digits > fractionMax) return 0;
  }
  return digits == 0 ? 0 : p;
}
