import { expect, test } from "bun:test";
import { createCRC32 } from "hash-wasm";
import { crc32c } from "../../src/hotpath/crc32c.ts";
import { kernels } from "../../src/hotpath/kernels.ts";
import { crc32cTwin } from "../../src/hotpath/twins/crc32c.ts";
import { Random, roundsFactor, seed } from "./random.ts";

const castagnoli = 0x82f63b78;

test("the module is loaded", () => {
  expect(kernels.reason).toBeUndefined();
  expect(kernels.loaded).toBe(true);
});

test("vectors of RFC 3720 B.4", () => {
  const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
  const vectors: [Uint8Array, number][] = [
    [new Uint8Array(0), 0],
    [new Uint8Array(32), 0x8a9136aa],
    [new Uint8Array(32).fill(255), 0x62a8ab43],
    [ascending, 0x46dd794e],
    [ascending.slice().reverse(), 0x113fdb5c],
    [new TextEncoder().encode("123456789"), 0xe3069283],
  ];
  for (const [bytes, crc] of vectors) {
    expect(crc32cTwin(bytes, 0, bytes.length)).toBe(crc);
    expect(crc32c(bytes)).toBe(crc);
  }
});

test("kernel, twin and hash-wasm agree, at every length where the method changes", async () => {
  const random = new Random(seed);
  const oracle = await createCRC32(castagnoli);
  const lengths = [0, 1, 95, 96, 97, 191, 192, 193, 511, 512, 513, 767, 768, 1791, 2559, 2560, 2561, 17231];
  lengths.push(49151, 49152, 49153, 49167, 65536, 70000);
  for (let i = 0; i < 150 * roundsFactor; i++) lengths.push(random.size(120_000));
  for (const length of lengths) {
    const bytes = random.bytes(length + 40);
    const start = random.below(40);
    const end = start + length;
    const expected = Number.parseInt(oracle.init().update(bytes.subarray(start, end)).digest("hex"), 16);
    expect([length, crc32cTwin(bytes, start, end)]).toEqual([length, expected]);
    expect([length, crc32c(bytes, start, end)]).toEqual([length, expected]);
    const kernel = kernels.instance!;
    kernel.put(bytes, 0);
    expect(kernel.call.crc32c(kernel.arena + start, length) >>> 0).toBe(expected);
    expect(Buffer.compare(kernel.bytes.subarray(kernel.arena, kernel.arena + bytes.length), bytes)).toBe(0);
  }
});

test("an input beyond the memory that is kept gets an instance of its own", () => {
  const bytes = new Random(seed).bytes(1 << 16);
  const large = new Uint8Array(40 << 20);
  large.set(bytes, 39 << 20);
  expect(crc32c(large)).toBe(crc32cTwin(large, 0, large.length));
  expect(kernels.instance!.bytes.length).toBeLessThan(33 << 20);
});

test("a range outside the bytes is refused", () => {
  expect(() => crc32c(new Uint8Array(4), 2, 5)).toThrow(RangeError);
  expect(() => crc32c(new Uint8Array(4), -1, 3)).toThrow(RangeError);
  expect(() => crc32c(new Uint8Array(4), 3, 2)).toThrow(RangeError);
});
