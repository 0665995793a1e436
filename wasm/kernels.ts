// The hot path's WebAssembly module. Callers put input into memory from `arena()` on, past which everything is theirs.

import { initPatterns } from "./copy";
import { initCrc32c } from "./crc32c";
import { ARENA, SUMMARY } from "./layout";

export { crc32c } from "./crc32c";
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

initCrc32c();
initPatterns();
