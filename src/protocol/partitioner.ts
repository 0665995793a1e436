/**
 * Kafka's default choice of a partition: MurmurHash2 (seed 0x9747b28c) of the key, sign bit cleared, modulo partitions,
 * as org.apache.kafka.common.utils.Utils.murmur2 does, so that every client puts a key into the same partition.
 */
export function murmur2(bytes: Uint8Array): number {
  const multiplier = 0x5bd1e995;
  let hash = 0x9747b28c ^ bytes.length;
  const whole = bytes.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    let word =
      (bytes[i] as number) |
      ((bytes[i + 1] as number) << 8) |
      ((bytes[i + 2] as number) << 16) |
      ((bytes[i + 3] as number) << 24);
    word = Math.imul(word, multiplier);
    word ^= word >>> 24;
    hash = Math.imul(hash, multiplier) ^ Math.imul(word, multiplier);
  }
  const left = bytes.length - whole;
  if (left === 3) hash ^= (bytes[whole + 2] as number) << 16;
  if (left >= 2) hash ^= (bytes[whole + 1] as number) << 8;
  if (left >= 1) hash = Math.imul(hash ^ (bytes[whole] as number), multiplier);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, multiplier);
  return hash ^ (hash >>> 15);
}

/** The partition of a key; an empty key is a key like another (case C34). */
export function partitionOfKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
