/**
 * CRC32C, the checksum of Kafka's record batches.
 */
import { kernelFor } from "./kernels.ts";
import { crc32cTwin } from "./twins/crc32c.ts";

/** Below this many bytes the copy into WebAssembly memory costs more than it saves. */
const twinBytesMax = 96;

/** The CRC32C of `bytes[start, end)` as an unsigned 32-bit integer. Throws RangeError for a range outside the bytes. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  if (!(start >= 0 && start <= end && end <= bytes.length)) {
    throw new RangeError(`crc32c: [${start}, ${end}) of ${bytes.length} bytes`);
  }
  const length = end - start;
  const kernel = length < twinBytesMax ? undefined : kernelFor(length);
  if (kernel === undefined) return crc32cTwin(bytes, start, end);
  kernel.put(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), 0);
  return kernel.call.crc32c(kernel.arena, length) >>> 0;
}
