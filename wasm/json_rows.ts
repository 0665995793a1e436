// JSON rows to columns: one pass over the values of a batch, each one object, straight into the buffers that Arrow wants.
//
// The kernel does what is usual: a row whose fields stand there once each, spelled as row JSON spells them. Where fields are missing
// that may be null, or unknown ones stand there, or a timestamp has or lacks its Z, it writes the row as the table stores it
// (json_write.ts); else the produced bytes are kept. It stops at the first row that is anything else, valid or not, and leaves that row
// to its twin (src/tables/row_decoder.ts), which knows every rule.
// Invariant: a row that it takes, the twin would take with the same values, and keep or write alike.
//
// A field is described by FIELD_BYTES bytes, which src/hotpath/json_rows.ts writes:
//   0 kind u8, 1 width in bytes u8, 2 not null u8, 3 unit or scale u8, 4 precision or zone u8, 5 may be missing u8
//   8 first 8 bytes of the name, 16 their mask (u64 each), 24 the name's address, 28 its length
//   32 address of the values or of the text, 36 of the validity (a byte a row), 40 of the ends of texts, 44 what to add to each end
//   48 bytes of text used, 52 rows that are null, 56 the row in which the field was last seen, 60 and in which its value was last converted
//   64 where its value begins and 68 ends in that row (0 for a missing one), 72 the address of its label, 76 the label's length

import { eventValue, isUsualTime, readUnscaled } from "./event_values";
import { BOOLEAN, DATE, DECIMAL, FIELD_BYTES, FLOAT, JSON, SIGNED, TIME, TIMESTAMP, UNSIGNED, VARCHAR } from "./json_fields";
import { digitCount, digitValue, readDigits } from "./json_numbers";
import {
  copied,
  copyString,
  FALSE_TAIL,
  isDigit,
  isSpace,
  isWord4,
  NULL,
  skipSpace,
  skipString,
  skipValue,
  TRUE,
} from "./json_scan";
import { days, fraction, readDate, readTime, seconds, fractionDigits as timeDigits } from "./json_times";
import { writeRow, writeSpliced } from "./json_write";
import { JSON_STACK, POWERS } from "./layout";
import { writeKeyOf } from "./row_keys";

const PREDICTIONS: u32 = 256;
/** Words of the record index: a record's value starts at word 3, its length is word 4. */
const RECORD_BYTES: usize = 28;

/** The row must be written anew. */
let changed: bool = false;
/** Rows with fields by which change events are told are declined. */
let guarded: bool = false;
/** The rows are of change events: their numbers and texts may mean what event_values.ts reads. */
let ofEvents: bool = false;
/** The row has a value that is to be written in place of what stands there. */
let converted: bool = false;

/**
 * Reads up to `count` rows whose values the record index at `records` gives, relative to `plain`. `predictions` has a byte for each
 * place in an object: the field that stood there last (255: none). Rows that must be written anew go to `rewritten`, one behind the
 * other; `rewrittenEnds` gets the end of each row's there (that of the row before for one that is kept). `keyFields` has the addresses of
 * `keyCount` fields: with any, row_keys.ts writes each row's key. `guard` (0 or 1): what looks like a change event may be no row. `copyKept` (0 or 1):
 * the rows are of change events; those that are kept go to `rewritten`, since they are not whole values. Returns the number of rows taken.
 */
export function jsonRows(
  plain: usize,
  records: usize,
  count: i32,
  fields: usize,
  fieldCount: i32,
  predictions: usize,
  rewritten: usize,
  rewrittenEnds: usize,
  keyFields: usize,
  keyCount: i32,
  keys: usize,
  keyRows: usize,
  guard: i32,
  copyKept: i32,
): i32 {
  const fieldsEnd = fields + <usize>fieldCount * FIELD_BYTES;
  let to = rewritten;
  let keyTo = keys;
  guarded = guard != 0;
  ofEvents = copyKept != 0;
  for (let row = 0; row < count; row++) {
    const start = plain + <usize>load<i32>(records, 12);
    const length = load<i32>(records, 16);
    changed = converted = false;
    let taken = length >= 2 && readRow(start, start + <usize>length, row, fields, fieldCount, predictions);
    if (taken && changed) {
      const next = writeRow(to, fields, fieldsEnd, row);
      if (next == 0) taken = false;
      else to = next;
    } else if (taken && converted) {
      const next = writeSpliced(to, start, start + <usize>length, fields, fieldsEnd, row);
      if (next == 0) taken = false;
      else to = next;
    } else if (taken && copyKept != 0) {
      memory.copy(to, start, length);
      to += length;
    }
    if (taken && keyCount > 0) {
      keyTo = writeKeyOf(keyTo, keys, keyFields, keyCount, plain, records, keyRows + <usize>row * 12, row);
      taken = keyTo != 0;
    }
    if (!taken) {
      for (let field = fields; field < fieldsEnd; field += FIELD_BYTES) forget(field, row);
      return row;
    }
    store<u32>(rewrittenEnds + (<usize>row << 2), <u32>(to - rewritten));
    records += RECORD_BYTES;
  }
  return count;
}

/** Takes back what a row that was not finished has left of texts. */
function forget(field: usize, row: i32): void {
  if (load<u32>(field, 40) == 0) return;
  const before = row == 0 ? 0 : load<u32>(load<u32>(field, 40) + ((row - 1) << 2)) - load<u32>(field, 44);
  store<u32>(field, before, 48);
}

function readRow(p: usize, end: usize, row: i32, fields: usize, fieldCount: i32, predictions: usize): bool {
  p = skipSpace(p, end);
  if (load<u8>(p) != 0x7b) return false;
  p = skipSpace(p + 1, end);
  let seen = 0;
  if (load<u8>(p) == 0x7d) p++;
  else {
    for (let place: i32 = 0; ; place++) {
      if (load<u8>(p) != 0x22) return false;
      const field = findField(p + 1, place, fields, fieldCount, predictions);
      if (field == 0) {
        p = guarded && isTelling(p + 1) ? 0 : skipField(p, end);
        if (p == 0) return false;
        changed = true;
      } else {
        if (load<i32>(field, 56) == row) return false;
        store<i32>(field, row, 56);
        seen++;
        p = skipSpace(p + load<u32>(field, 28) + 2, end);
        if (load<u8>(p) != 0x3a) return false;
        p = skipSpace(p + 1, end);
        store<u32>(field, <u32>p, 64);
        p = isWord4(p, NULL) ? readNull(p, field, row) : readValue(p, end, field, row);
        if (p == 0) return false;
        store<u32>(field, <u32>p, 68);
      }
      p = skipSpace(p, end);
      const next = load<u8>(p++);
      if (next == 0x7d) break;
      if (next != 0x2c || p >= end) return false;
      p = skipSpace(p, end);
    }
  }
  while (p < end && isSpace(load<u8>(p))) p++;
  return p == end && (seen == fieldCount || completeRow(fields, fieldCount, row));
}

/**
 * Whether the unknown name at `p` may be that of a field by which change events are told: op, payload, __deleted, __op, ts_ms, ddl,
 * data_collections (src/tables/changes/). One that only begins alike is told later.
 */
function isTelling(p: usize): bool {
  const start = load<u32>(p);
  const three = start & 0xffffff;
  return (
    three == 0x22706f || // op"
    start == 0x6c796170 || // payl
    start == 0x65645f5f || // __de
    start == 0x706f5f5f || // __op
    start == 0x6d5f7374 || // ts_m
    three == 0x6c6464 || // ddl
    start == 0x61746164 // data
  );
}

/** Passes over a field that the table does not have. A name with an escape in it may still be one of the table's. */
function skipField(p: usize, end: usize): usize {
  const name = p;
  p = skipString(p, end);
  if (p == 0) return 0;
  for (let i = name; i < p; i++) if (load<u8>(i) == 0x5c) return 0;
  p = skipSpace(p, end);
  if (load<u8>(p) != 0x3a) return 0;
  return skipValue(skipSpace(p + 1, end), end, JSON_STACK, 1);
}

/** Makes the fields that the row lacks null; false where one may not be. */
function completeRow(fields: usize, fieldCount: i32, row: i32): bool {
  const fieldsEnd = fields + <usize>fieldCount * FIELD_BYTES;
  for (let field = fields; field < fieldsEnd; field += FIELD_BYTES) {
    if (load<i32>(field, 56) == row) continue;
    if (load<u8>(field, 5) == 0) return false;
    store<i32>(field, row, 56);
    store<u32>(field, 0, 64);
    readNull(0, field, row);
  }
  changed = true;
  return true;
}

/** The field whose name stands at `p` with its closing quote, or 0. */
@inline
function findField(p: usize, place: i32, fields: usize, fieldCount: i32, predictions: usize): usize {
  const slot = <u32>place < PREDICTIONS ? predictions + <usize>place : 0;
  if (slot != 0) {
    const guess = <i32>load<u8>(slot);
    if (guess < fieldCount) {
      const field = fields + <usize>guess * FIELD_BYTES;
      if (isName(p, field)) return field;
    }
  }
  return searchField(p, slot, fields, fieldCount);
}

@inline
function isName(p: usize, field: usize): bool {
  const length = <usize>load<u32>(field, 28);
  if (load<u8>(p + length) != 0x22) return false;
  if ((load<u64>(p) & load<u64>(field, 16)) != load<u64>(field, 8)) return false;
  const name = <usize>load<u32>(field, 24);
  for (let i: usize = 8; i < length; i++) if (load<u8>(p + i) != load<u8>(name + i)) return false;
  return true;
}

function searchField(p: usize, slot: usize, fields: usize, fieldCount: i32): usize {
  for (let index = 0; index < fieldCount; index++) {
    const field = fields + <usize>index * FIELD_BYTES;
    if (!isName(p, field)) continue;
    if (slot != 0 && index < 255) store<u8>(slot, <u8>index);
    return field;
  }
  return 0;
}

function readNull(p: usize, field: usize, row: i32): usize {
  if (load<u8>(field, 2) != 0) return 0;
  store<u32>(field, load<u32>(field, 52) + 1, 52);
  store<u8>(load<u32>(field, 36) + row, 0);
  const width = <usize>load<u8>(field, 1);
  if (width == 0) finishText(field, row, load<u32>(field, 48));
  else memory.fill(<usize>load<u32>(field, 32) + <usize>row * width, 0, width);
  return p + 4;
}

@inline
function finishText(field: usize, row: i32, used: u32): void {
  store<u32>(field, used, 48);
  store<u32>(load<u32>(field, 40) + (row << 2), used + load<u32>(field, 44));
}

/** The value at `p`, appended to its field; returns the position behind it, or 0. */
function readValue(p: usize, end: usize, field: usize, row: i32): usize {
  const kind = <u32>load<u8>(field);
  const target = <usize>load<u32>(field, 32);
  switch (kind) {
    case BOOLEAN: {
      const yes = isWord4(p, TRUE);
      if (!yes && !(load<u8>(p) == 0x66 && isWord4(p + 1, FALSE_TAIL))) return 0;
      store<u8>(target + row, yes ? 1 : 0);
      return p + (yes ? 4 : 5);
    }
    case SIGNED:
    case UNSIGNED:
      return readInteger(p, field, target, row, kind == SIGNED);
    case FLOAT:
      return readFloat(p, field, target, row);
    case DECIMAL:
      return readDecimal(p, field, target, row);
    case VARCHAR: {
      if (load<u8>(p) != 0x22) return 0;
      p = copyString(p, end, target + load<u32>(field, 48));
      if (p != 0) finishText(field, row, <u32>(copied - target));
      return p;
    }
    case JSON: {
      const from = p;
      p = skipValue(p, end, JSON_STACK, 1);
      if (p == 0) return 0;
      const used = load<u32>(field, 48);
      memory.copy(target + used, from, p - from);
      finishText(field, row, used + <u32>(p - from));
      return p;
    }
    default:
      return readTimes(p, field, target, row, kind);
  }
}

/** The number last read: its digits as one integer (up to 19 of them), how many, how many behind the point, the exponent. */
let mantissa: u64 = 0;
let digits: i32 = 0;
let fractionDigits: i32 = 0;
let exponent: i32 = 0;
let negative: bool = false;

/** Numbers of more than 19 digits and exponents of more than 3 are declined. */
@inline
function readNumber(p: usize): usize {
  negative = load<u8>(p) == 0x2d;
  if (negative) p++;
  const first = <u32>load<u8>(p);
  p = readDigits(p, 0);
  digits = digitCount;
  if (digits - 1 > 18 || digits == 0 || (first == 0x30 && digits > 1)) return 0;
  fractionDigits = 0;
  exponent = 0;
  mantissa = digitValue;
  const next = <u32>load<u8>(p);
  return next == 0x2e || (next | 0x20) == 0x65 ? readFraction(p) : p;
}

function readFraction(p: usize): usize {
  if (load<u8>(p) == 0x2e) {
    p = readDigits(p + 1, mantissa);
    fractionDigits = digitCount;
    digits += fractionDigits;
    mantissa = digitValue;
    if (fractionDigits == 0 || digits > 19) return 0;
  }
  if ((load<u8>(p) | 0x20) != 0x65) return p;
  const sign = load<u8>(p, 1);
  p = readDigits(p + (sign == 0x2b || sign == 0x2d ? 2 : 1), 0);
  exponent = sign == 0x2d ? -<i32>digitValue : <i32>digitValue;
  return digitCount == 0 || digitCount > 3 ? 0 : p;
}

function readInteger(p: usize, field: usize, target: usize, row: i32, signed: bool): usize {
  const from = p;
  p = readNumber(p);
  // An exponent leaves a letter in the text even when it is 0.
  if (p == 0 || fractionDigits != 0 || <usize>(digits + (negative ? 1 : 0)) != p - from) return 0;
  if (negative && (mantissa == 0 || !signed)) return 0;
  const width = <usize>load<u8>(field, 1);
  const bits = <u64>(width << 3);
  const limit: u64 = signed ? (<u64>1 << (bits - 1)) - (negative ? 0 : 1) : u64.MAX_VALUE >> (64 - bits);
  if (mantissa > limit) return 0;
  const value = negative ? 0 - <i64>mantissa : <i64>mantissa;
  const at = target + <usize>row * width;
  if (width == 8) store<i64>(at, value);
  else if (width == 4) store<i32>(at, <i32>value);
  else if (width == 2) store<i16>(at, <i16>value);
  else store<i8>(at, <i8>value);
  return p;
}

function readFloat(p: usize, field: usize, target: usize, row: i32): usize {
  const from = p;
  if (load<u8>(p) != 0x2d && !isDigit(load<u8>(p))) return 0;
  p = readNumber(p);
  const single = load<u8>(field, 1) == 4;
  // So few digits come back the same from the nearest number, whichever that is.
  if (p == 0 || digits > (single ? 6 : 15)) return 0;
  // Both operands are exact, so one rounding gives the nearest double (Clinger 1990).
  const power = exponent - fractionDigits;
  if (power > 22 || power < -22) return 0;
  let value = <f64>mantissa;
  if (negative) value = -value;
  if (power > 0) value *= load<f64>(POWERS + 160 + (<usize>power << 3));
  else if (power < 0) value /= load<f64>(POWERS + 160 + (<usize>-power << 3));
  if (single) store<f32>(target + (<usize>row << 2), <f32>value);
  else store<f64>(target + (<usize>row << 3), value);
  return p == from ? 0 : p;
}

function readDecimal(p: usize, field: usize, target: usize, row: i32): usize {
  if (ofEvents && load<u8>(p) == 0x22) return readEventDecimal(p, field, target, row);
  const from = p;
  p = readNumber(p);
  if (p == 0) return 0;
  const point = fractionDigits > 0 ? 1 : 0;
  if (<usize>(digits + point + (negative ? 1 : 0)) != p - from) return 0;
  const shift = <i32>load<u8>(field, 3) - fractionDigits;
  if (shift < 0 || digits + shift > 18 || (negative && mantissa == 0)) return 0;
  const value = <i64>(mantissa * load<u64>(POWERS + (<usize>shift << 3)));
  const precision = <usize>load<u8>(field, 4);
  if (precision < 19 && value >= load<i64>(POWERS + (precision << 3))) return 0;
  const at = target + (<usize>row << 4);
  store<i64>(at, negative ? -value : value);
  store<i64>(at, negative ? -1 : 0, 8);
  return p;
}

/** Base64 of the unscaled number, of the column's scale. */
function readEventDecimal(p: usize, field: usize, target: usize, row: i32): usize {
  p = readUnscaled(p);
  if (p == 0) return 0;
  const precision = <usize>load<u8>(field, 4);
  const bound = precision < 19 ? load<i64>(POWERS + (precision << 3)) : i64.MAX_VALUE;
  if (eventValue >= bound || eventValue <= -bound) return 0;
  const at = target + (<usize>row << 4);
  store<i64>(at, eventValue);
  store<i64>(at, eventValue >> 63, 8);
  return convertedTo(p, field, row);
}

/** A number of days, or of the column's parts of a second. */
function readEventTime(p: usize, field: usize, target: usize, row: i32, kind: u32): usize {
  const from = p;
  p = readNumber(p);
  if (p == 0 || fractionDigits != 0 || <usize>(digits + (negative ? 1 : 0)) != p - from) return 0;
  if (mantissa > <u64>i64.MAX_VALUE || (negative && mantissa == 0)) return 0;
  const value = negative ? -<i64>mantissa : <i64>mantissa;
  const unitDigits = kind == TIMESTAMP ? <i32>load<u8>(field, 3) * 3 : 6;
  if (unitDigits == 0 || !isUsualTime(kind, value, <i64>power(unitDigits))) return 0;
  if (kind == DATE) store<i32>(target + (<usize>row << 2), <i32>value);
  else store<i64>(target + (<usize>row << 3), value);
  return convertedTo(p, field, row);
}

@inline
function convertedTo(p: usize, field: usize, row: i32): usize {
  store<i32>(field, row, 60);
  converted = true;
  return p;
}

function readTimes(p: usize, field: usize, target: usize, row: i32, kind: u32): usize {
  if (load<u8>(p) != 0x22) return ofEvents ? readEventTime(p, field, target, row, kind) : 0;
  p++;
  if (kind == TIME) {
    p = readTime(p, 6);
    if (p == 0 || load<u8>(p) != 0x22) return 0;
    store<i64>(target + (<usize>row << 3), <i64>seconds * 1_000_000 + <i64>(fraction * power(6 - timeDigits)));
    return p + 1;
  }
  if (!readDate(p)) return 0;
  p += 10;
  if (kind == DATE) {
    if (load<u8>(p) != 0x22) return 0;
    store<i32>(target + (<usize>row << 2), days);
    return p + 1;
  }
  if (kind != TIMESTAMP || load<u8>(p) != 0x54) return 0;
  const unitDigits = <i32>load<u8>(field, 3) * 3;
  p = readTime(p + 1, unitDigits);
  if (p == 0) return 0;
  const zoned = load<u8>(p) == 0x5a;
  if (zoned) p++;
  if (zoned != (load<u8>(field, 4) != 0)) changed = true;
  if (load<u8>(p) != 0x22) return 0;
  // Nanoseconds reach from 1677 to 2262 only.
  if (unitDigits == 9 && (days < -100_000 || days > 100_000)) return 0;
  const whole = (<i64>days * 86400 + seconds) * <i64>power(unitDigits);
  store<i64>(target + (<usize>row << 3), whole + <i64>(fraction * power(unitDigits - timeDigits)));
  return p + 1;
}

/** 10 to a power from 0 to 18. */
@inline
function power(exponent: i32): u64 {
  return load<u64>(POWERS + (<usize>exponent << 3));
}
