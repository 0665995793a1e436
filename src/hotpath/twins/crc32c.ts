/**
 * CRC32C (Castagnoli, RFC 3720 appendix B.4), eight bytes a step with eight tables: the twin of the kernel of that name.
 */
const tables = buildTables();

function buildTables(): Uint32Array {
  const all = new Uint32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
    all[byte] = crc >>> 0;
  }
  for (let slice = 1; slice < 8; slice++) {
    for (let byte = 0; byte < 256; byte++) {
      const before = all[(slice - 1) * 256 + byte]!;
      all[slice * 256 + byte] = (before >>> 8) ^ all[before & 255]!;
    }
  }
  return all;
}

/** The checksum of `bytes[start, end)` as an unsigned 32-bit integer. */
export function crc32cTwin(bytes: Uint8Array, start: number, end: number): number {
  const t = tables;
  let crc = -1;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      t[1792 + (crc & 255)]! ^
      t[1536 + ((crc >>> 8) & 255)]! ^
      t[1280 + ((crc >>> 16) & 255)]! ^
      t[1024 + (crc >>> 24)]! ^
      t[768 + bytes[at + 4]!]! ^
      t[512 + bytes[at + 5]!]! ^
      t[256 + bytes[at + 6]!]! ^
      t[bytes[at + 7]!]!;
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ t[(crc ^ bytes[at]!) & 255]!;
  return ~crc >>> 0;
}
