// Values of change events without a schema that are spelled otherwise than in plain rows: decimals in base64, dates and times as numbers. They
// are read and written here; src/tables/changes/compile.ts has the rules.

import { DATE, DECIMAL, TIME } from "./json_fields";
import { BASE64, POWERS } from "./layout";

const FIRST_DAY: i64 = -719528; // 0000-01-01
const LAST_DAY: i64 = 2932896; // 9999-12-31
const DAY_MICROS: i64 = 86_400_000_000;

/** What the last call that did not decline read. */
export let eventValue: i64 = 0;

export function initBase64(): void {
  memory.fill(BASE64, 255, 256);
  for (let i = 0; i < 26; i++) {
    store<u8>(BASE64 + 0x41 + i, i);
    store<u8>(BASE64 + 0x61 + i, i + 26);
  }
  for (let i = 0; i < 10; i++) store<u8>(BASE64 + 0x30 + i, i + 52);
  store<u8>(BASE64 + 0x2b, 62);
  store<u8>(BASE64 + 0x2f, 63);
}

/** The big-endian two's complement number of up to 8 bytes whose base64 stands in the quotes at `p`; the position behind it, or 0. */
export function readUnscaled(p: usize): usize {
  p++;
  let value: u64 = 0;
  let count: u32 = 0;
  for (; ; p++) {
    const sign = <u32>load<u8>(BASE64 + load<u8>(p));
    if (sign == 255) break;
    if (count == 11) return 0;
    // Eight bytes end four bits into the eleventh sign.
    value = count == 10 ? (value << 4) | (sign >> 2) : (value << 6) | sign;
    count++;
  }
  const rest = count & 3;
  if (count == 0 || rest == 1) return 0;
  if (rest != 0) {
    for (let i = rest; i < 4; i++) if (load<u8>(p++) != 0x3d) return 0;
  }
  if (load<u8>(p) != 0x22) return 0;
  const bytes = (count * 6) >> 3;
  if (count < 11) value >>= <u64>(count * 6 - bytes * 8);
  const above = <i64>(64 - bytes * 8);
  eventValue = (<i64>(value << above)) >> above;
  return p + 1;
}

/** Whether a DATE's days, a TIME's microseconds, or a timestamp's count of `power`-ths of a second is one that is written without a sign. */
export function isUsualTime(kind: u32, value: i64, power: i64): bool {
  if (kind == DATE) return value >= FIRST_DAY && value <= LAST_DAY;
  if (kind == TIME) return value >= 0 && value < DAY_MICROS;
  const days = floorDivide(value, power * 86400);
  return days >= FIRST_DAY && days <= LAST_DAY;
}

@inline
function floorDivide(value: i64, by: i64): i64 {
  const quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

/** Writes the value of `field` in `row` as row JSON spells it. */
export function writeEventValue(to: usize, field: usize, row: i32): usize {
  const kind = <u32>load<u8>(field);
  const values = <usize>load<u32>(field, 32);
  const detail = <u32>load<u8>(field, 3);
  if (kind == DECIMAL) return writeUnscaled(to, load<i64>(values + (<usize>row << 4)), detail);
  store<u8>(to++, 0x22);
  if (kind == DATE) to = writeDate(to, load<i32>(values + (<usize>row << 2)));
  else {
    const value = load<i64>(values + (<usize>row << 3));
    const digits = kind == TIME ? 6 : detail * 3;
    const power = load<i64>(POWERS + (<usize>digits << 3));
    const days = kind == TIME ? 0 : floorDivide(value, power * 86400);
    if (kind != TIME) {
      to = writeDate(to, <i32>days);
      store<u8>(to++, 0x54);
    }
    to = writeClock(to, value - days * power * 86400, power, digits);
    if (kind != TIME && load<u8>(field, 4) != 0) store<u8>(to++, 0x5a);
  }
  store<u8>(to++, 0x22);
  return to;
}

function writeUnscaled(to: usize, value: i64, scale: u32): usize {
  if (value < 0) store<u8>(to++, 0x2d);
  let rest = <u64>(value < 0 ? -value : value);
  let digits: u32 = 1;
  for (let left = rest / 10; left > 0; left /= 10) digits++;
  if (digits <= scale) digits = scale + 1;
  const end = to + digits + (scale > 0 ? 1 : 0);
  let at = end;
  for (let i: u32 = 0; i < digits; i++) {
    if (i == scale && scale > 0) store<u8>(--at, 0x2e);
    store<u8>(--at, 0x30 + <u8>(rest % 10));
    rest /= 10;
  }
  return end;
}

/** Howard Hinnant's civil_from_days, for the years 0 to 9999. */
function writeDate(to: usize, days: i32): usize {
  // From 0000-03-01, one era on, so that nothing is negative.
  const shifted = <u32>(days + 719468 + 146097);
  const era = shifted / 146097;
  const dayOfEra = shifted - era * 146097;
  const yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365;
  const dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const m = (5 * dayOfYear + 2) / 153;
  const month = m < 10 ? m + 3 : m - 9;
  const year = yearOfEra + era * 400 - 400 + (month <= 2 ? 1 : 0);
  to = writeTwo(to, year / 100);
  to = writeTwo(to, year % 100);
  store<u8>(to++, 0x2d);
  to = writeTwo(to, month);
  store<u8>(to++, 0x2d);
  return writeTwo(to, dayOfYear - (153 * m + 2) / 5 + 1);
}

function writeClock(to: usize, value: i64, power: i64, digits: u32): usize {
  const seconds = <u32>(value / power);
  let fraction = <u64>(value % power);
  to = writeTwo(to, seconds / 3600);
  store<u8>(to++, 0x3a);
  to = writeTwo(to, (seconds / 60) % 60);
  store<u8>(to++, 0x3a);
  to = writeTwo(to, seconds % 60);
  if (fraction == 0) return to;
  store<u8>(to++, 0x2e);
  while (fraction % 10 == 0) {
    fraction /= 10;
    digits--;
  }
  for (let i = <i32>digits - 1; i >= 0; i--) {
    store<u8>(to + i, 0x30 + <u8>(fraction % 10));
    fraction /= 10;
  }
  return to + digits;
}

@inline
function writeTwo(to: usize, value: u32): usize {
  store<u8>(to, 0x30 + <u8>(value / 10));
  store<u8>(to, 0x30 + <u8>(value % 10), 1);
  return to + 2;
}
