// xxHash32 with seed 0, which LZ4 frames use for every checksum.

const P1: u32 = 0x9e3779b1;
const P2: u32 = 0x85ebca77;
const P3: u32 = 0xc2b2ae3d;
const P4: u32 = 0x27d4eb2f;
const P5: u32 = 0x165667b1;

@inline
function lane(value: u32, p: usize, at: usize): u32 {
  return rotl<u32>(value + load<u32>(p + at) * P2, 13) * P1;
}

export function xxhash32(from: usize, length: usize): u32 {
  let p = from;
  const end = from + length;
  let hash: u32 = P5;
  if (length >= 16) {
    let a: u32 = P1 + P2;
    let b: u32 = P2;
    let c: u32 = 0;
    let d: u32 = 0 - P1;
    for (; p + 16 <= end; p += 16) {
      a = lane(a, p, 0);
      b = lane(b, p, 4);
      c = lane(c, p, 8);
      d = lane(d, p, 12);
    }
    hash = rotl<u32>(a, 1) + rotl<u32>(b, 7) + rotl<u32>(c, 12) + rotl<u32>(d, 18);
  }
  hash += <u32>length;
  for (; p + 4 <= end; p += 4) hash = rotl<u32>(hash + load<u32>(p) * P3, 17) * P4;
  for (; p < end; p++) hash = rotl<u32>(hash + <u32>load<u8>(p) * P5, 11) * P1;
  hash = (hash ^ (hash >>> 15)) * P2;
  hash = (hash ^ (hash >>> 13)) * P3;
  return hash ^ (hash >>> 16);
}
