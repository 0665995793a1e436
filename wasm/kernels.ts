// The hot path's WebAssembly module. Callers put input into memory from `arena()` on, past which everything is theirs.

import { initPatterns } from "./copy";
import { crc32c, initCrc32c } from "./crc32c";
import { initBase64 } from "./event_values";
import { initPowers } from "./json_numbers";
import { initMonths } from "./json_times";
import { ARENA, SUMMARY } from "./layout";
import { walk } from "./walk";

export { changeRows } from "./change_rows";
export { crc32c } from "./crc32c";
export { jsonRows } from "./json_rows";
export { replaceValues } from "./replace";
export { lz4Bound, lz4Decode } from "./lz4_decode";
export { lz4Encode } from "./lz4_encode";
export { snappyBound, snappyDecode, snappyEncode } from "./snappy";
export { walk } from "./walk";
export { xxhash32 } from "./xxhash32";

export function arena(): usize {
  return ARENA;
}

export function summary(): usize {
  return SUMMARY;
}

/** The CRC32C of [crcFrom, end), and the walk of the records in [recordsFrom, end), for one copy of a batch. */
export function checkBatch(
  crcFrom: usize,
  recordsFrom: usize,
  end: usize,
  count: i32,
  baseHigh: i32,
  baseLow: i32,
  dense: bool,
): u32 {
  walk(recordsFrom, end - recordsFrom, count, baseHigh, baseLow, dense, 0, 0);
  return crc32c(crcFrom, end - crcFrom);
}

initCrc32c();
initPatterns();
initPowers();
initMonths();
initBase64();
