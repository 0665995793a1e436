// JSON text, strictly (RFC 8259), for the row kernel: every function takes a position and the end, and returns the position
// behind what it read, or 0 to decline: on a syntax error, and on whatever the kernel leaves to its twin.
// Positions only grow, so a function may read a few bytes past the end (memory goes on there) as long as a position past it is
// not taken for good: the row as a whole must end exactly at its end.

const QUOTE: u32 = 0x22;
const BACKSLASH: u32 = 0x5c;
export const DEPTH_MAX: i32 = 500;

@inline
export function isSpace(byte: u32): bool {
  return byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09;
}

/** No token begins with a byte up to that of a space, so one comparison is enough where there is none. */
@inline
export function skipSpace(p: usize, end: usize): usize {
  return <u32>load<u8>(p) > 0x20 ? p : skipSpaces(p, end);
}

function skipSpaces(p: usize, end: usize): usize {
  while (p < end && isSpace(load<u8>(p))) p++;
  return p;
}

@inline
export function isDigit(byte: u32): bool {
  return byte - 0x30 < 10;
}

/** How many of the bytes from `p` on stand in a string as they are: ASCII but quote, backslash and control characters. Counts up to 16. */
@inline
function plainAhead(chunk: v128): i32 {
  const special = v128.or(
    v128.or(i8x16.eq(chunk, i8x16.splat(0x22)), i8x16.eq(chunk, i8x16.splat(0x5c))),
    // As signed bytes, those from 0x80 on are below 0x20 too.
    i8x16.lt_s(chunk, i8x16.splat(0x20)),
  );
  const mask = i8x16.bitmask(special);
  return mask == 0 ? 16 : ctz(mask);
}

/** Length of the UTF-8 sequence at `p` (no overlong forms, no surrogates, at most U+10FFFF), or 0. */
export function utf8Length(p: usize, end: usize): usize {
  const first = <u32>load<u8>(p);
  if (first < 0xc2 || first > 0xf4) return 0;
  const length: usize = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length > end - p) return 0;
  const second = <u32>load<u8>(p, 1);
  const low: u32 = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const high: u32 = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let i: usize = 2; i < length; i++) if ((load<u8>(p + i) & 0xc0) != 0x80) return 0;
  return length;
}

function hexDigit(byte: u32): i32 {
  if (isDigit(byte)) return <i32>(byte - 0x30);
  const letter = (byte | 0x20) - 0x61;
  return letter < 6 ? <i32>(letter + 10) : -1;
}

/** The code of the four hexadecimal digits at `p`, or -1. */
function hex4(p: usize): i32 {
  const a = hexDigit(load<u8>(p));
  const b = hexDigit(load<u8>(p, 1));
  const c = hexDigit(load<u8>(p, 2));
  const d = hexDigit(load<u8>(p, 3));
  return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d;
}

/** What the sign after a backslash stands for; 0 for none. */
function escaped(sign: u32): u32 {
  switch (sign) {
    case 0x22:
    case 0x5c:
    case 0x2f:
      return sign;
    case 0x62:
      return 8;
    case 0x66:
      return 12;
    case 0x6e:
      return 10;
    case 0x72:
      return 13;
    case 0x74:
      return 9;
    default:
      return 0;
  }
}

/** Where the text that `copyString` wrote ends. */
export let copied: usize = 0;

/**
 * Reads the string whose opening quote is at `p`, and writes its text, escapes resolved, to `to`, which has room for as many bytes as
 * are left of the input and 16 more. Escaped surrogates are declined.
 */
export function copyString(p: usize, end: usize, to: usize): usize {
  p++;
  while (true) {
    const chunk = v128.load(p);
    v128.store(to, chunk);
    const ahead = plainAhead(chunk);
    p += ahead;
    to += ahead;
    if (p >= end) return 0;
    if (ahead == 16) continue;
    const byte = <u32>load<u8>(p);
    if (byte == QUOTE) {
      copied = to;
      return p + 1;
    }
    if (byte == BACKSLASH) {
      if (p + 2 > end) return 0;
      const sign = <u32>load<u8>(p, 1);
      if (sign != 0x75) {
        const plain = escaped(sign);
        if (plain == 0) return 0;
        store<u8>(to++, <u8>plain);
        p += 2;
        continue;
      }
      if (p + 6 > end) return 0;
      const code = hex4(p + 2);
      if (code < 0 || (code & 0xf800) == 0xd800) return 0;
      to = putUtf8(to, code);
      p += 6;
      continue;
    }
    if (byte < 0x20) return 0;
    const length = utf8Length(p, end);
    if (length == 0) return 0;
    for (let i: usize = 0; i < length; i++) store<u8>(to + i, load<u8>(p + i));
    p += length;
    to += length;
  }
}

function putUtf8(to: usize, code: i32): usize {
  if (code < 0x80) {
    store<u8>(to, <u8>code);
    return to + 1;
  }
  if (code < 0x800) {
    store<u8>(to, <u8>(0xc0 | (code >> 6)));
    store<u8>(to, <u8>(0x80 | (code & 0x3f)), 1);
    return to + 2;
  }
  store<u8>(to, <u8>(0xe0 | (code >> 12)));
  store<u8>(to, <u8>(0x80 | ((code >> 6) & 0x3f)), 1);
  store<u8>(to, <u8>(0x80 | (code & 0x3f)), 2);
  return to + 3;
}

/** Passes over the string whose opening quote is at `p`, checking escapes and UTF-8. */
export function skipString(p: usize, end: usize): usize {
  p++;
  while (true) {
    const ahead = plainAhead(v128.load(p));
    p += ahead;
    if (p >= end) return 0;
    if (ahead == 16) continue;
    const byte = <u32>load<u8>(p);
    if (byte == QUOTE) return p + 1;
    if (byte == BACKSLASH) {
      if (p + 2 > end) return 0;
      const sign = <u32>load<u8>(p, 1);
      if (sign == 0x75) {
        if (p + 6 > end || hex4(p + 2) < 0) return 0;
        p += 6;
      } else {
        if (escaped(sign) == 0) return 0;
        p += 2;
      }
      continue;
    }
    if (byte < 0x20) return 0;
    const length = utf8Length(p, end);
    if (length == 0) return 0;
    p += length;
  }
}

/** Whether the four bytes at `p` are these; they may lie behind the end, which the caller finds out. */
@inline
export function isWord4(p: usize, word: u32): bool {
  return load<u32>(p) == word;
}

export const TRUE: u32 = 0x65757274;
export const NULL: u32 = 0x6c6c756e;
/** "alse". */
export const FALSE_TAIL: u32 = 0x65736c61;

/** Passes over a number. */
export function skipNumber(p: usize, end: usize): usize {
  if (p < end && load<u8>(p) == 0x2d) p++;
  if (p >= end || !isDigit(load<u8>(p))) return 0;
  if (load<u8>(p) == 0x30) p++;
  else while (p < end && isDigit(load<u8>(p))) p++;
  if (p < end && load<u8>(p) == 0x2e) {
    const first = ++p;
    while (p < end && isDigit(load<u8>(p))) p++;
    if (p == first) return 0;
  }
  if (p < end && (load<u8>(p) | 0x20) == 0x65) {
    p++;
    if (p < end && (load<u8>(p) == 0x2b || load<u8>(p) == 0x2d)) p++;
    const first = p;
    while (p < end && isDigit(load<u8>(p))) p++;
    if (p == first) return 0;
  }
  return p;
}

function skipScalar(p: usize, end: usize): usize {
  if (p >= end) return 0;
  const byte = <u32>load<u8>(p);
  if (byte == QUOTE) return skipString(p, end);
  if (byte == 0x2d || isDigit(byte)) return skipNumber(p, end);
  if (isWord4(p, TRUE) || isWord4(p, NULL)) return p + 4;
  return byte == 0x66 && isWord4(p + 1, FALSE_TAIL) ? p + 5 : 0;
}

/** A field's name and the colon behind it, with the space around it. */
function skipName(p: usize, end: usize): usize {
  if (p >= end || load<u8>(p) != QUOTE) return 0;
  p = skipString(p, end);
  if (p == 0) return 0;
  p = skipSpace(p, end);
  if (p >= end || load<u8>(p) != 0x3a) return 0;
  return skipSpace(p + 1, end);
}

/**
 * Passes over any value. `stack` has room for DEPTH_MAX + 1 bytes; `depth` containers are open around the value. Nothing recurses.
 */
export function skipValue(p: usize, end: usize, stack: usize, outer: i32): usize {
  let depth = outer;
  while (true) {
    const byte = p < end ? <u32>load<u8>(p) : 0;
    if (byte == 0x7b || byte == 0x5b) {
      if (++depth > DEPTH_MAX) return 0;
      // The closing sign is 2 more than the opening one.
      store<u8>(stack + depth, <u8>(byte + 2));
      p = skipSpace(p + 1, end);
      if (p < end && <u32>load<u8>(p) == byte + 2) {
        p++;
        depth--;
      } else {
        if (byte == 0x7b) {
          p = skipName(p, end);
          if (p == 0) return 0;
        }
        continue;
      }
    } else {
      p = skipScalar(p, end);
      if (p == 0) return 0;
    }
    // A value has ended: close what ends with it, until one expects another value.
    while (true) {
      if (depth == outer) return p;
      p = skipSpace(p, end);
      if (p >= end) return 0;
      const closing = <u32>load<u8>(stack + depth);
      const next = <u32>load<u8>(p++);
      if (next == 0x2c) {
        p = skipSpace(p, end);
        if (closing == 0x7d) {
          p = skipName(p, end);
          if (p == 0) return 0;
        }
        break;
      }
      if (next != closing) return 0;
      depth--;
    }
  }
}
