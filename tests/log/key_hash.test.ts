import { describe, expect, test } from "bun:test";
import { KeyHasher } from "../../src/log/compaction/key_hash.ts";
import { OffsetMap } from "../../src/log/compaction/offset_map.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("the hash of keys", () => {
  test("is HalfSipHash, twice (reference vectors of HalfSipHash-2-4 with 64 bits)", () => {
    const half = [0, 1, 2, 3, 4, 5, 6, 7];
    const hasher = new KeyHasher(new Uint8Array([...half, ...half]), 2, 4);
    const vectors = ["218d1f59b9b83cc8", "be552412f8387315", "064f39ef7c50eb57"];
    for (const [length, expected] of vectors.entries()) {
      hasher.hash(new Uint8Array(half), 0, length);
      const [a, b, c, d] = hasher.words;
      for (const words of [
        [a!, c!],
        [b!, d!],
      ])
        expect(Buffer.from(new Int32Array(words).buffer).toString("hex")).toBe(expected);
    }
  });

  test("sees length, place and every byte", () => {
    const hasher = new KeyHasher();
    const seen = new Set<string>();
    const note = (key: Uint8Array, start: number, end: number) => {
      hasher.hash(key, start, end);
      seen.add(hasher.words.join());
    };
    const zeros = new Uint8Array(16);
    for (let end = 0; end <= 16; end++) note(zeros, 0, end);
    for (let at = 0; at < 16; at++) note(zeros.with(at, 1), 0, 16);
    expect(seen.size).toBe(33);
    note(bytes("xxabcdyy"), 2, 6);
    note(bytes("abcd"), 0, 4);
    expect(seen.size).toBe(34);
  });
});

describe("the offset map", () => {
  test("gives the last offset of each key, like a Map", () => {
    const random = new SeededRandom(5);
    const map = new OffsetMap(3_000, 1 << 20);
    const model = new Map<string, number>();
    for (let offset = 0; offset < 20_000; offset++) {
      const key = `key${random.below(3_000)}`;
      expect(map.put(bytes(key), 0, key.length, offset)).toBe(true);
      model.set(key, offset);
    }
    for (const [key, offset] of model) expect(map.get(bytes(key), 0, key.length)).toBe(offset);
    expect(map.get(bytes("other"), 0, 5)).toBe(-1);
    expect(map.size).toBe(model.size);
  });

  test("says when it is full, keeps its memory, and still takes keys that it has", () => {
    const map = new OffsetMap(1_000_000, 24 * 100);
    expect(map.capacity).toBe(90);
    for (let n = 0; n < 90; n++) expect(map.put(bytes(`k${n}`), 0, `k${n}`.length, n)).toBe(true);
    expect(map.put(bytes("more"), 0, 4, 90)).toBe(false);
    expect(map.put(bytes("k5"), 0, 2, 91)).toBe(true);
    expect(map.get(bytes("k5"), 0, 2)).toBe(91);
    expect(map.get(bytes("more"), 0, 4)).toBe(-1);
  });
});
