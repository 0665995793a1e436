/**
 * Snappy, raw and framed, by the kernel, or by its twin when the module is not loaded.
 */
import { CodecError } from "./codec_error.ts";
import { type Allocate, faultOf, kernelFor } from "./kernels.ts";
import { snappyDecodeTwin, snappyEncodeTwin, xerialBytesMax } from "./twins/snappy.ts";

/** See `snappyDecodeTwin`. */
export function snappyDecode(bytes: Uint8Array, maxBytes: number, allocate?: Allocate): Uint8Array {
  let kernel = kernelFor(bytes.length);
  if (kernel === undefined) return snappyDecodeTwin(bytes, maxBytes);
  const length = bytes.length;
  if (length === 0) throw new CodecError("corrupt", "snappy: there is no data");
  kernel.put(bytes, 0);
  const capacity = Math.min(maxBytes, kernel.call.snappyBound(kernel.arena, length));
  const larger = kernelFor(length + capacity)!;
  if (larger !== kernel) {
    kernel = larger;
    kernel.put(bytes, capacity);
  } else kernel.reserve(length + capacity);
  const target = kernel.arena + length;
  const size = kernel.call.snappyDecode(kernel.arena, length, target, capacity);
  if (size < 0) throw faultOf("snappy", size, maxBytes);
  return kernel.take(target, size, allocate);
}

/** See `snappyEncodeTwin`. */
export function snappyEncode(bytes: Uint8Array): Uint8Array {
  const capacity = xerialBytesMax(bytes.length);
  const kernel = kernelFor(bytes.length + capacity);
  if (kernel === undefined) return snappyEncodeTwin(bytes);
  kernel.put(bytes, capacity);
  const target = kernel.arena + bytes.length;
  const size = kernel.call.snappyEncode(kernel.arena, bytes.length, target);
  return kernel.bytes.slice(target, target + size);
}
