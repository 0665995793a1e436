// What a decoder returns instead of a length. src/hotpath/kernels.ts has the words.

export const CORRUPT: i32 = -1;
export const TOO_LARGE: i32 = -2;
export const UNSUPPORTED: i32 = -3;
export const BAD_CHECKSUM: i32 = -4;
