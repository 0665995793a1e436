import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fflate from "fflate";
import { xxhash32 } from "hash-wasm";
import lz4js from "lz4js";
import snappyjs from "snappyjs";
import { CodecError } from "../../src/hotpath/codec_error.ts";
import { type Codec, codecs, compress, decompress } from "../../src/hotpath/codecs.ts";
import { kernels } from "../../src/hotpath/kernels.ts";
import { lz4DecodeTwin } from "../../src/hotpath/twins/lz4_decode.ts";
import { lz4EncodeTwin, lz4FrameBytesMax } from "../../src/hotpath/twins/lz4_encode.ts";
import { snappyDecodeTwin, snappyEncodeTwin, xerialBytesMax } from "../../src/hotpath/twins/snappy.ts";
import { xxhash32Twin } from "../../src/hotpath/twins/xxhash32.ts";
import { guarded } from "./guarded.ts";
import { Random, roundsFactor, seed } from "./random.ts";

const vectors = join(import.meta.dir, "../vectors/records");
const vector = (name: string) => new Uint8Array(readFileSync(join(vectors, name)));
const utf8 = new TextEncoder();
const call = kernels.instance!.call;
const text = utf8.encode(
  Array.from({ length: 2400 }, (_, i) => {
    return `{"id":${i},"user":"u${(i * 7919) % 101}","note":"the quick brown fox ${i % 17}"}\n`;
  }).join(""),
);
const old = utf8.encode("old header checksum ".repeat(20));
const roomy = 1 << 24;

/** The bytes, or the fault. */
function outcome(run: () => Uint8Array): Uint8Array | string {
  try {
    return run();
  } catch (error) {
    if (error instanceof CodecError) return error.fault;
    throw error;
  }
}

describe("vectors of independent encoders", () => {
  for (const name of ["linked", "independent", "all", "256k-high", "4m", "two-frames"]) {
    test(`lz4: ${name} (C21)`, () => {
      const frame = vector(`text-${name}.lz4`);
      expect(Buffer.compare(lz4DecodeTwin(frame, roomy, false), text)).toBe(0);
      expect(Buffer.compare(decompress(codecs.lz4, frame, roomy), text)).toBe(0);
      expect(outcome(() => decompress(codecs.lz4, frame, text.length - 1))).toBe("too_large");
      expect(decompress(codecs.lz4, frame, text.length).length).toBe(text.length);
    });
  }

  test("lz4: every checksum is verified (C21)", () => {
    const frame = vector("text-all.lz4");
    const firstBlock = new DataView(frame.buffer).getUint32(15, true);
    for (const [what, at] of [
      ["header", 14],
      ["block", 19 + firstBlock],
      ["content", frame.length - 1],
    ] as const) {
      const bad = frame.slice();
      bad[at] = bad[at]! ^ 1;
      expect([what, outcome(() => decompress(codecs.lz4, bad, roomy))]).toEqual([what, "corrupt"]);
      expect([what, outcome(() => lz4DecodeTwin(bad, roomy, false))]).toEqual([what, "corrupt"]);
    }
  });

  test("lz4: the old header checksum only below magic 2 (KIP-57)", () => {
    const frame = vector("legacy-old-checksum.lz4");
    expect(Buffer.compare(decompress(codecs.lz4, frame, roomy, 1), old)).toBe(0);
    expect(Buffer.compare(lz4DecodeTwin(frame, roomy, true), old)).toBe(0);
    expect(outcome(() => decompress(codecs.lz4, frame, roomy, 2))).toBe("corrupt");
    expect(outcome(() => lz4DecodeTwin(frame, roomy, false))).toBe("corrupt");
    expect(Buffer.compare(decompress(codecs.lz4, vector("legacy-block-checksum.lz4"), roomy), old)).toBe(0);
  });

  test("snappy: raw by the reference library, raw by snappyjs (C20)", () => {
    expect(Buffer.compare(decompress(codecs.snappy, vector("text-raw.snappy"), roomy), text)).toBe(0);
    expect(Buffer.compare(snappyDecodeTwin(vector("text-raw.snappy"), roomy), text)).toBe(0);
    expect(Buffer.compare(decompress(codecs.snappy, snappyjs.compress(text), roomy), text)).toBe(0);
  });
});

describe("xerial framing (C20)", () => {
  const header = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1];
  const block = (bytes: Uint8Array) => {
    const raw = bytes.length === 0 ? new Uint8Array(0) : snappyjs.compress(bytes);
    return [raw.length >>> 24, raw.length >>> 16, raw.length >>> 8, raw.length, ...raw].map((byte) => byte & 255);
  };
  const frames: [string, number[], Uint8Array][] = [
    ["one block", [...header, ...block(text.subarray(0, 500))], text.subarray(0, 500)],
    ["an empty block", [...header, ...block(new Uint8Array(0)), ...block(text.subarray(0, 9))], text.subarray(0, 9)],
    ["no block", header, new Uint8Array(0)],
    [
      "a second header",
      [...header, ...block(text.subarray(0, 99)), ...header, ...block(text.subarray(99, 300))],
      text.subarray(0, 300),
    ],
  ];
  const blocks: number[] = [];
  for (let at = 0; at < text.length; at += 32768) blocks.push(...block(text.subarray(at, at + 32768)));
  frames.push(["blocks of 32 KiB", [...header, ...blocks], text]);
  const little = [...header];
  little.splice(8, 8, 1, 0, 0, 0, 1, 0, 0, 0);
  frames.push(["little-endian versions", [...little, ...blocks], text]);
  for (const [name, bytes, plain] of frames) {
    test(name, () => {
      const frame = Uint8Array.from(bytes);
      expect(Buffer.compare(decompress(codecs.snappy, frame, roomy), plain)).toBe(0);
      expect(Buffer.compare(snappyDecodeTwin(frame, roomy), plain)).toBe(0);
    });
  }

  test("what we write has version and compatible version as big-endian 1", () => {
    expect([...compress(codecs.snappy, text).subarray(0, 16)]).toEqual(header);
  });
});

describe("gzip and zstd", () => {
  test("every gzip member is read, and zero padding ignored (C11)", () => {
    const members = Buffer.concat([fflate.gzipSync(text.subarray(0, 1000)), fflate.gzipSync(text.subarray(1000))]);
    expect(Buffer.compare(decompress(codecs.gzip, members, roomy), text)).toBe(0);
    const padded = Buffer.concat([members, Buffer.alloc(16)]);
    expect(Buffer.compare(decompress(codecs.gzip, padded, roomy), text)).toBe(0);
    expect(outcome(() => decompress(codecs.gzip, members, text.length - 1))).toBe("too_large");
  });

  for (const name of ["gzip", "zstd"] as const) {
    test(`${name}: damaged or cut data is corrupt, a bomb is bounded`, () => {
      const whole = compress(codecs[name], text);
      expect(outcome(() => decompress(codecs[name], whole.subarray(0, whole.length >> 1), roomy))).toBe("corrupt");
      expect(outcome(() => decompress(codecs[name], utf8.encode("neither"), roomy))).toBe("corrupt");
      const bomb = compress(codecs[name], new Uint8Array(20_000_000));
      expect(outcome(() => decompress(codecs[name], bomb, 1 << 20))).toBe("too_large");
      expect(decompress(codecs[name], bomb, 20_000_000).length).toBe(20_000_000);
    });
  }
});

test("zstd: several frames and a skippable one are read, a cut at any place is seen", () => {
  const [first, second] = [compress(codecs.zstd, text.subarray(0, 1000)), compress(codecs.zstd, text.subarray(1000))];
  const skippable = Uint8Array.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2]);
  const frames = Buffer.concat([first, skippable, second]);
  expect(Buffer.compare(decompress(codecs.zstd, frames, roomy), text)).toBe(0);
  for (let length = 0; length < frames.length; length++) {
    const whole = length === first.length || length === first.length + skippable.length;
    expect([length, typeof outcome(() => decompress(codecs.zstd, frames.subarray(0, length), roomy))]).toEqual([
      length,
      whole ? "object" : "string",
    ]);
  }
});

describe("hostile sizes", () => {
  test("lz4 and snappy bombs stop at the bound", () => {
    const zeros = new Uint8Array(20_000_000);
    for (const codec of [codecs.lz4, codecs.snappy] as Codec[]) {
      const bomb = compress(codec, zeros);
      expect(bomb.length).toBeLessThan(1_300_000);
      expect(outcome(() => decompress(codec, bomb, 1 << 20))).toBe("too_large");
      expect(decompress(codec, bomb, zeros.length).length).toBe(zeros.length);
    }
  });

  test("a length that the data cannot have costs no memory", () => {
    const before = kernels.instance!.bytes.length;
    const lie = Uint8Array.from([0xff, 0xff, 0xff, 0x7f, 0, 65]);
    expect(outcome(() => decompress(codecs.snappy, lie, 256 << 20))).toBe("corrupt");
    const frame = lz4js.compress(text.subarray(0, 50));
    const sized = Uint8Array.from([4, 34, 77, 24, 0x68, 0x70, 255, 255, 255, 15, 0, 0, 0, 0, 0, ...frame.subarray(7)]);
    sized[14] = (xxhash32Twin(sized, 4, 14) >>> 8) & 255;
    expect(outcome(() => decompress(codecs.lz4, sized, 256 << 20))).toBe("corrupt");
    expect(kernels.instance!.bytes.length).toBeLessThan(before + (1 << 20));
  });
});

test("xxhash32: kernel, twin and hash-wasm agree", async () => {
  const random = new Random(seed);
  for (let i = 0; i < 100; i++) {
    const bytes = random.bytes(i < 40 ? i : random.size(9000));
    const expected = Number.parseInt(await xxhash32(bytes), 16);
    expect(xxhash32Twin(bytes, 0, bytes.length)).toBe(expected);
    expect(guarded(bytes, 0, (source) => call.xxhash32(source, bytes.length) & 0).result).toBe(0);
    expect(call.xxhash32(kernels.instance!.arena + 64, bytes.length) >>> 0).toBe(expected);
  }
});

describe("random input", () => {
  test("encoders: the kernel writes what the twin writes, within the bound; others read it", () => {
    const random = new Random(seed);
    for (let i = 0; i < 250 * roundsFactor; i++) {
      const plain = random.bytes(random.size(200_000));
      const frame = guarded(plain, lz4FrameBytesMax(plain.length), (s, t) => call.lz4Encode(s, plain.length, t)).output;
      expect(Buffer.compare(frame, lz4EncodeTwin(plain))).toBe(0);
      expect(Buffer.compare(decompress(codecs.lz4, frame, plain.length), plain)).toBe(0);
      expect(Buffer.compare(lz4DecodeTwin(frame, plain.length, false), plain)).toBe(0);
      if (plain.length > 0) expect(Buffer.compare(lz4js.decompress(frame), plain)).toBe(0);
      const framed = guarded(plain, xerialBytesMax(plain.length), (s, t) =>
        call.snappyEncode(s, plain.length, t),
      ).output;
      expect(Buffer.compare(framed, snappyEncodeTwin(plain))).toBe(0);
      expect(Buffer.compare(decompress(codecs.snappy, framed, plain.length), plain)).toBe(0);
      for (let at = 16, plainAt = 0; at < framed.length; ) {
        const size = new DataView(framed.buffer, framed.byteOffset).getInt32(at);
        const block = snappyjs.uncompress(framed.slice(at + 4, at + 4 + size));
        expect(Buffer.compare(block, plain.subarray(plainAt, plainAt + block.length))).toBe(0);
        plainAt += block.length;
        at += 4 + size;
      }
    }
  });

  test("decoders read what lz4js and snappyjs write", () => {
    const random = new Random(seed + 1);
    for (let i = 0; i < 150 * roundsFactor; i++) {
      const plain = random.bytes(1 + random.size(100_000));
      expect(Buffer.compare(decompress(codecs.lz4, lz4js.compress(plain), plain.length), plain)).toBe(0);
      expect(Buffer.compare(decompress(codecs.snappy, snappyjs.compress(plain), plain.length), plain)).toBe(0);
    }
  });

  test("mutated frames: kernel and twin answer alike and stay within their buffers", () => {
    const random = new Random(seed + 2);
    const small = text.subarray(0, 3000);
    const frames = [
      ...["all", "two-frames"].map((name) => vector(`text-${name}.lz4`)),
      ...[small, small.subarray(0, 40), random.bytes(500)].flatMap((plain) => [
        lz4js.compress(plain),
        lz4EncodeTwin(plain),
      ]),
      vector("legacy-old-checksum.lz4"),
      vector("legacy-block-checksum.lz4"),
    ];
    const raws = [small, small.subarray(0, 40), random.bytes(500)].flatMap((plain) => [
      snappyjs.compress(plain),
      snappyEncodeTwin(plain),
    ]);
    const faults = new Map<string, number>();
    for (let i = 0; i < 20_000 * roundsFactor; i++) {
      const lz4 = i % 2 === 0;
      const from = lz4
        ? frames[random.below(i % 100 === 0 ? frames.length : 8) % frames.length]!
        : raws[random.below(raws.length)]!;
      const input = repairHeader(random.mutate(from.length > 9000 && i % 100 !== 0 ? frames[3]! : from), lz4);
      const maxBytes = random.below(8) === 0 ? random.below(4000) : 200_000;
      const twin = outcome(() =>
        lz4 ? lz4DecodeTwin(input, maxBytes, i % 4 === 0) : snappyDecodeTwin(input, maxBytes),
      );
      const face = outcome(() => decompress(lz4 ? codecs.lz4 : codecs.snappy, input, maxBytes, i % 4 === 0 ? 1 : 2));
      const { result, output } = guarded(input, maxBytes, (source, target) =>
        lz4
          ? call.lz4Decode(source, input.length, target, maxBytes, i % 4 === 0 ? 1 : 0)
          : call.snappyDecode(source, input.length, target, maxBytes),
      );
      if (typeof twin === "string") {
        faults.set(twin, (faults.get(twin) ?? 0) + 1);
        expect([i, face, result < 0]).toEqual([i, twin, true]);
      } else {
        expect([i, typeof face, result]).toEqual([i, "object", twin.length]);
        expect(Buffer.compare(face as Uint8Array, twin)).toBe(0);
        expect(Buffer.compare(output, twin)).toBe(0);
      }
    }
    expect(faults.get("corrupt")).toBeGreaterThan(100);
    expect(faults.get("too_large")).toBeGreaterThan(20);
  });
});

/** Half the time the LZ4 header checksum is made right again, so that the fault behind it is reached. */
function repairHeader(input: Uint8Array, lz4: boolean): Uint8Array {
  if (!lz4 || input.length < 20 || input[input.length - 1]! % 2 === 0) return input;
  const at = input[4]! & 8 ? 14 : 6;
  input[at] = (xxhash32Twin(input, 4, at) >>> 8) & 255;
  return input;
}
