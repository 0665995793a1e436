/**
 * LZ4 frames by the kernel, or by its twin when the module is not loaded.
 */
import { type Allocate, faultOf, kernelFor } from "./kernels.ts";
import { lz4DecodeTwin } from "./twins/lz4_decode.ts";
import { lz4EncodeTwin, lz4FrameBytesMax } from "./twins/lz4_encode.ts";

/** See `lz4DecodeTwin`. */
export function lz4Decode(
  bytes: Uint8Array,
  maxBytes: number,
  oldHeaderChecksum: boolean,
  allocate?: Allocate,
): Uint8Array {
  let kernel = kernelFor(bytes.length);
  if (kernel === undefined) return lz4DecodeTwin(bytes, maxBytes, oldHeaderChecksum);
  const length = bytes.length;
  kernel.put(bytes, 0);
  const capacity = Math.min(maxBytes, kernel.call.lz4Bound(kernel.arena, length));
  const larger = kernelFor(length + capacity)!;
  if (larger !== kernel) {
    kernel = larger;
    kernel.put(bytes, capacity);
  } else kernel.reserve(length + capacity);
  const target = kernel.arena + length;
  const size = kernel.call.lz4Decode(kernel.arena, length, target, capacity, oldHeaderChecksum ? 1 : 0);
  if (size < 0) throw faultOf("lz4", size, maxBytes);
  return kernel.take(target, size, allocate);
}

/** See `lz4EncodeTwin`. */
export function lz4Encode(bytes: Uint8Array): Uint8Array {
  const capacity = lz4FrameBytesMax(bytes.length);
  const kernel = kernelFor(bytes.length + capacity);
  if (kernel === undefined) return lz4EncodeTwin(bytes);
  kernel.put(bytes, capacity);
  const target = kernel.arena + bytes.length;
  const size = kernel.call.lz4Encode(kernel.arena, bytes.length, target);
  return kernel.bytes.slice(target, target + size);
}
