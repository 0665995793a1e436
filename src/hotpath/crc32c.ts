/**
 * CRC32C, the checksum of Kafka's record batches.
 */
import { crc32cTwin } from "./twins/crc32c.ts";

/** The CRC32C of `bytes[start, end)` as an unsigned 32-bit integer. Throws RangeError for a range outside the bytes. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  if (!(start >= 0 && start <= end && end <= bytes.length))
    throw new RangeError(`crc32c: [${start}, ${end}) of ${bytes.length} bytes`);
  return crc32cTwin(bytes, start, end);
}
