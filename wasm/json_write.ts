// A row as the table stores it: compact JSON with every field, in the table's order. Values are taken from the text that was read, which
// the reader took only where it is spelled as row JSON spells it, but for what is put right here.

import { writeEventValue } from "./event_values";
import { DECIMAL, FIELD_BYTES, FLOAT, TIME, TIMESTAMP, VARCHAR } from "./json_fields";
import { NULL } from "./json_scan";

/**
 * Writes the row whose values `fields` point to; returns the position behind it, or 0 to decline. The caller gives room for the
 * row's text, all labels, and 48 bytes a field.
 */
export function writeRow(to: usize, fields: usize, fieldsEnd: usize, row: i32): usize {
  store<u8>(to++, 0x7b);
  for (let field = fields; field < fieldsEnd; field += FIELD_BYTES) {
    if (field != fields) store<u8>(to++, 0x2c);
    const label = <usize>load<u32>(field, 76);
    memory.copy(to, load<u32>(field, 72), label);
    to += label;
    if (load<u8>(<usize>load<u32>(field, 36) + row) == 0) {
      store<u32>(to, NULL);
      to += 4;
      continue;
    }
    to = writeValue(to, field, load<u32>(field, 64), load<u32>(field, 68), row);
    if (to == 0) return 0;
  }
  store<u8>(to++, 0x7d);
  return to;
}

/** Writes the row [start, end) as it stands, but for the values that were converted; 0 when its fields are not in the table's order. */
export function writeSpliced(to: usize, start: usize, end: usize, fields: usize, fieldsEnd: usize, row: i32): usize {
  let from = start;
  for (let field = fields; field < fieldsEnd; field += FIELD_BYTES) {
    if (load<i32>(field, 60) != row) continue;
    const value = <usize>load<u32>(field, 64);
    if (value < from) return 0;
    memory.copy(to, from, value - from);
    to = writeEventValue(to + (value - from), field, row);
    from = load<u32>(field, 68);
  }
  memory.copy(to, from, end - from);
  return to + (end - from);
}

export function writeValue(to: usize, field: usize, from: usize, end: usize, row: i32): usize {
  if (load<i32>(field, 60) == row) return writeEventValue(to, field, row);
  const kind = <u32>load<u8>(field);
  // The shortest spelling of a float is not its text's.
  if (kind == FLOAT) return 0;
  if (kind == VARCHAR) return writeText(to, from, end);
  if (kind == TIMESTAMP) return writeTime(to, from, end, load<u8>(field, 4) != 0);
  if (kind == TIME) return writeTime(to, from, end, false);
  memory.copy(to, from, end - from);
  to += end - from;
  return kind == DECIMAL ? padFraction(to, from, end, load<u8>(field, 3)) : to;
}

/** A string is spelled alike unless it has escapes; those are left to the twin. */
function writeText(to: usize, from: usize, end: usize): usize {
  for (let p = from; p < end; p++) if (load<u8>(p) == 0x5c) return 0;
  memory.copy(to, from, end - from);
  return to + (end - from);
}

/** Without zeros at the end of the fraction; with or without Z as the column has it. */
function writeTime(to: usize, from: usize, end: usize, zoned: bool): usize {
  let last = end - 1; // The closing quote.
  if (load<u8>(last, 0) == 0x22 && load<u8>(last - 1) == 0x5a) last--;
  let point = last;
  while (point > from && load<u8>(point) != 0x2e && load<u8>(point) != 0x3a) point--;
  if (load<u8>(point) == 0x2e) {
    while (load<u8>(last - 1) == 0x30) last--;
    if (last - 1 == point) last--;
  }
  memory.copy(to, from, last - from);
  to += last - from;
  if (zoned) store<u8>(to++, 0x5a);
  store<u8>(to++, 0x22);
  return to;
}

/** A DECIMAL has exactly `scale` digits behind its point. */
function padFraction(to: usize, from: usize, end: usize, scale: u32): usize {
  let p = from;
  while (p < end && load<u8>(p) != 0x2e) p++;
  let digits: u32 = 0;
  if (p < end) digits = <u32>(end - p - 1);
  else if (scale > 0) store<u8>(to++, 0x2e);
  for (; digits < scale; digits++) store<u8>(to++, 0x30);
  return to;
}
