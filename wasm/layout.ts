// Where things stand in the module's memory. Everything below ARENA is fixed; callers own the memory from ARENA on.
// Keep in step with src/hotpath/kernels.ts, which reads SUMMARY and ARENA through the exports of kernels.ts.

/** CRC32C: 8 tables of 256 words, then the 4 tables that move a CRC over CRC_STRIPE zero bytes. */
export const CRC_TABLES: usize = 1024;
export const CRC_SHIFT: usize = CRC_TABLES + 8192;
export const CRC_STRIPE: usize = 64;
/** Folding: history and block, then the rest of the long fold while the short one works on it. */
export const FOLD: usize = 16384;
export const FOLD_BLOCK: usize = 16384;
export const FOLD_REST: usize = 40960;
/** For each LZ distance below 16: the 16-byte shuffle that repeats it. */
export const PATTERNS: usize = 49152;
/** Results of the record walk. */
export const SUMMARY: usize = 49664;
/** Powers of ten: 19 as integers, 23 as doubles. */
export const POWERS: usize = 50176;
/** Days before and of each month. */
export const MONTHS: usize = 50560;
/** What a JSON value that is passed over has open, a byte a level. */
export const JSON_STACK: usize = 51200;
/** What each sign stands for in base64; 255 for none. */
export const BASE64: usize = 52224;
/** Hash tables of the LZ4 and Snappy encoders. */
export const LZ4_TABLE: usize = 65536;
export const LZ4_HASH_BITS: i32 = 14;
export const SNAPPY_TABLE: usize = 131072;
export const SNAPPY_HASH_BITS: i32 = 13;
export const ARENA: usize = 196608;
