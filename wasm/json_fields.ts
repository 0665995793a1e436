// The kinds of fields and the size of their descriptions; json_rows.ts says what stands where in one.

export const FIELD_BYTES: usize = 80;
export const BOOLEAN: u32 = 0;
export const SIGNED: u32 = 1;
export const UNSIGNED: u32 = 2;
export const FLOAT: u32 = 3;
export const DECIMAL: u32 = 4;
export const VARCHAR: u32 = 5;
export const JSON: u32 = 6;
export const DATE: u32 = 7;
export const TIME: u32 = 8;
export const TIMESTAMP: u32 = 9;
