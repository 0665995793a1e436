/** UTF-8 by hand: checked without a copy, written in place. */

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Text of valid UTF-8; bytes that are not become U+FFFD. */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number): string {
  return decoder.decode(bytes.subarray(start, end));
}

/** Length of the UTF-8 sequence at `at` (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF), or 0 if it is none. */
export function utf8Length(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (at + length > end) return 0;
  const second = bytes[at + 1]!;
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let i = 2; i < length; i++) if ((bytes[at + i]! & 0xc0) !== 0x80) return 0;
  return length;
}

/** Position of the first byte that is not UTF-8, or -1. */
export function invalidUtf8At(bytes: Uint8Array, start: number, end: number): number {
  let i = start;
  while (i < end) {
    if (bytes[i]! < 0x80) {
      i++;
      continue;
    }
    const length = utf8Length(bytes, i, end);
    if (length === 0) return i;
    i += length;
  }
  return -1;
}

/** Writes a code point at `to`; the position behind it. */
export function putUtf8(target: Uint8Array, to: number, code: number): number {
  let at = to;
  if (code < 0x80) target[at++] = code;
  else if (code < 0x800) {
    target[at++] = 0xc0 | (code >> 6);
    target[at++] = 0x80 | (code & 0x3f);
  } else if (code < 0x10000) {
    target[at++] = 0xe0 | (code >> 12);
    target[at++] = 0x80 | ((code >> 6) & 0x3f);
    target[at++] = 0x80 | (code & 0x3f);
  } else {
    target[at++] = 0xf0 | (code >> 18);
    target[at++] = 0x80 | ((code >> 12) & 0x3f);
    target[at++] = 0x80 | ((code >> 6) & 0x3f);
    target[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}
