/**
 * How much of DuckDB's write-ahead log counts: up to the end of the last committed transaction. After a crash the rest may be anything.
 * DuckDB refuses to open a database whose log has a wrong checksum, such as zeros where a page was never written; and the first entries
 * of a transaction that was cut off would be committed by the mark that the checkpoint of the next start puts behind them.
 *
 * Format, version 2 (DuckDB src/storage/write_ahead_log.cpp): a header of 8 bytes, then entries of size (u64), checksum (u64), bytes. A
 * log of another version is left to DuckDB.
 */
const header = [0x64, 0x00, 0x62, 0x65, 0x00, 0x02, 0xff, 0xff];

/** Bytes from the start that are sound and committed: the whole length when there is nothing to cut. */
export function committedLength(log: Uint8Array): number {
  if (log.length < header.length) return 0;
  if (!header.every((byte, index) => index === 5 || log[index] === byte)) return 0;
  if (log[5] !== header[5]) return log.length;
  const view = new DataView(log.buffer, log.byteOffset, log.length);
  let at = header.length;
  let committed = at;
  while (at + 16 <= log.length) {
    const size = Number(view.getBigUint64(at, true));
    if (size === 0 || at + 16 + size > log.length) break;
    const entry = log.subarray(at + 16, at + 16 + size);
    if (checksum(entry) !== view.getBigUint64(at + 8, true)) break;
    at += 16 + size;
    if (isCommit(entry)) committed = at;
  }
  return committed;
}

/** The entry that ends a transaction: field 100, type 100, end of the object. */
function isCommit(entry: Uint8Array): boolean {
  return entry.length === 5 && entry[0] === 0x64 && entry[1] === 0 && entry[2] === 0x64;
}

const wordFactor = 0xbf58476d1ce4e5b9n;

/** DuckDB's checksum (src/common/checksum.cpp): each word times a constant, all joined by XOR; the rest by MurmurHash64A. */
function checksum(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let sum = 5381n;
  let at = 0;
  for (; at + 8 <= bytes.length; at += 8) sum ^= BigInt.asUintN(64, view.getBigUint64(at, true) * wordFactor);
  return at < bytes.length ? sum ^ murmur(bytes.subarray(at)) : sum;
}

/** MurmurHash64A (Austin Appleby, public domain) of fewer than eight bytes, with DuckDB's seed. */
function murmur(bytes: Uint8Array): bigint {
  const factor = 0xc6a4a7935bd1e995n;
  const times = (value: bigint) => BigInt.asUintN(64, value * factor);
  let hash = 0xe17a1465n ^ times(BigInt(bytes.length));
  for (let i = bytes.length - 1; i >= 0; i--) hash ^= BigInt(bytes[i]!) << BigInt(8 * i);
  hash = times(hash);
  hash ^= hash >> 47n;
  hash = times(hash);
  return hash ^ (hash >> 47n);
}
