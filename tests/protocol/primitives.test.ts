/** Reader and writer by themselves: limits, hostile counts, growth, bytes by reference. */
import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { limits } from "../../src/base/limits.ts";
import { readCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { readMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { ProtocolError } from "../../src/protocol/protocol_error.ts";
import { Reader } from "../../src/protocol/reader.ts";
import { Writer } from "../../src/protocol/writer.ts";

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
const reading = (hex: string) => new Reader(bytesOf(hex));

describe("Reader", () => {
  test("varints", () => {
    for (const value of [0, 1, 127, 128, 300, 16383, 16384, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
      const w = new Writer();
      w.unsignedVarint(value);
      expect(new Reader(w.finishBytes()).unsignedVarint()).toBe(value);
    }
    expect(reading("8000").unsignedVarint()).toBe(0);
    for (const hex of ["", "80", "ffffffff", "ffffffff10", "8080808080", "ffffffffff01"]) {
      expect(() => reading(hex).unsignedVarint(), hex).toThrow(ProtocolError);
    }
  });

  test("strings", () => {
    expect(reading("0003e697a5").string()).toBe("日");
    expect(reading("ffff").nullableString()).toBeNull();
    expect(reading("fffe").nullableString()).toBeNull();
    expect(reading("00").compactNullableString()).toBeNull();
    expect(reading("01").compactString()).toBe("");
    // Bytes that are not UTF-8 read as the replacement character, in short text and in long.
    expect(reading("0002ff41").string()).toBe("\ufffdA");
    expect(reading(`0020${"41".repeat(31)}ff`).string()).toBe(`${"A".repeat(31)}\ufffd`);
    // A byte-order mark is text like any other.
    expect(reading("0004efbbbf41").string()).toBe("\ufeffA");
    for (const hex of ["ffff", "0002", "000241", "7fff41"]) {
      expect(() => reading(hex).string(), hex).toThrow(ProtocolError);
    }
    for (const hex of ["00", "02", "818004"]) expect(() => reading(hex).compactString(), hex).toThrow(ProtocolError);
  });

  test("a compact string may not be longer than a plain one", () => {
    const long = new Uint8Array(40_000);
    long.set([0x81, 0x80, 0x02]); // 32768 bytes
    expect(() => new Reader(long).compactString()).toThrow("longer than 32767");
  });

  test("bytes are views of the frame", () => {
    const frame = bytesOf("00000002aabb03ccdd");
    const r = new Reader(frame);
    const first = r.byteString();
    const second = r.compactByteString();
    expect([first, second]).toEqual([bytesOf("aabb"), bytesOf("ccdd")]);
    expect(first.buffer).toBe(frame.buffer);
    for (const hex of ["ffffffff", "00000001", "7fffffff00"]) {
      expect(() => reading(hex).byteString(), hex).toThrow(ProtocolError);
    }
  });

  test("stays inside its window", () => {
    const r = new Reader(bytesOf("0102030405060708"), 2, 4);
    expect(r.int16()).toBe(0x0304);
    for (const read of [() => r.int8(), () => r.int64(), () => r.slice(1), () => r.uuid(), () => r.unsignedVarint()]) {
      expect(read).toThrow(ProtocolError);
    }
    expect(r.position).toBe(4);
  });

  test("ids", () => {
    expect(reading("00".repeat(16)).uuid()).toBe("AAAAAAAAAAAAAAAAAAAAAA");
    expect(reading(`${"00".repeat(7)}01${"00".repeat(8)}`).uuid()).toBe("AAAAAAAAAAEAAAAAAAAAAA");
    expect(reading(`${"00".repeat(15)}01`).uuid()).toBe("AAAAAAAAAAAAAAAAAAAAAQ");
  });
});

describe("hostile counts", () => {
  test("more elements than bytes are refused before anything is allocated", () => {
    for (const count of ["7fffffff", "00ffffff", "00000005"]) {
      const frame = `${count}00000000`;
      expect(() => readCreateTopicsRequest(reading(frame), 4), count).toThrow(ProtocolError);
    }
    for (const count of ["ffffffff0f", "ffffff7f", "06"]) {
      expect(() => readCreateTopicsRequest(reading(`${count}00000000`), 7), count).toThrow(ProtocolError);
    }
    expect(() => readCreateTopicsRequest(reading("80000000"), 4)).toThrow("null array");
  });

  test("the elements of a whole frame are bounded", () => {
    const count = limits.frameElementsMax + 1;
    const w = new Writer(8 + count * 18);
    w.compactArrayLength(count);
    // As many topics as there is room for: an id, a null name, no tags.
    const frame = new Uint8Array(w.length + count * 18 + 3);
    frame.set(w.finishBytes());
    expect(() => readMetadataRequest(new Reader(frame), 13)).toThrow("frameElementsMax");
  });

  test("tagged fields are bounded too", () => {
    const count = 1000;
    const w = new Writer();
    w.compactArrayLength(0);
    for (let i = 0; i < 3; i++) w.bool(false);
    w.unsignedVarint(count);
    for (let tag = 0; tag < count; tag++) {
      w.unsignedVarint(tag);
      w.unsignedVarint(0);
    }
    const bytes = w.finishBytes();
    expect(readMetadataRequest(new Reader(bytes), 8 + 1).unknownTaggedFields).toHaveLength(count);
    expect(() => readMetadataRequest(new Reader(bytes, 0, bytes.length, count - 1), 9)).toThrow("frameElementsMax");
  });
});

describe("Writer", () => {
  test("grows from any size at any write", () => {
    for (let size = 0; size < 40; size++) {
      const w = new Writer(size);
      w.string("abc");
      w.int64(-1n);
      w.compactString("é");
      w.uuid("AAAAAAAAAAAAAAAAAAAAAQ");
      w.int32(7);
      w.byteString(bytesOf("0102"));
      const hex = `0003616263ffffffffffffffff03c3a9${"00".repeat(15)}0100000007000000020102`;
      expect(Buffer.from(w.finishBytes()).toString("hex")).toBe(hex);
    }
  });

  test("large bytes are chunks of their own, small ones are copied", () => {
    const large = new Uint8Array(10_000).fill(5);
    const small = new Uint8Array(100).fill(6);
    const w = new Writer();
    w.int32(0);
    w.byteString(large);
    w.byteString([small, large]);
    w.int8(9);
    w.patchInt32(0, w.length);
    const chunks = w.finish();
    expect(chunks.filter((chunk) => chunk === large)).toHaveLength(2);
    expect(chunks).toHaveLength(5);
    const total = 4 + 4 + 10_000 + 4 + 10_100 + 1;
    const joined = Buffer.concat(chunks);
    expect(joined.length).toBe(total);
    expect(joined.readInt32BE(0)).toBe(total);
    expect(joined.readInt32BE(4)).toBe(10_000);
    expect(joined.readInt32BE(8 + 10_000)).toBe(10_100);
    expect(joined[total - 1]).toBe(9);
  });

  test("tagged fields of any size get their length in front", () => {
    for (const size of [0, 1, 126, 127, 128, 3000, 20_000]) {
      const w = new Writer(4);
      w.int8(1);
      const mark = w.openTag(3);
      w.data(new Uint8Array(size).fill(7));
      w.closeTag(mark);
      w.int8(2);
      const r = new Reader(w.finishBytes());
      expect([r.int8(), r.unsignedVarint()]).toEqual([1, 3]);
      const end = r.taggedFieldEnd();
      expect(r.slice(size)).toEqual(new Uint8Array(size).fill(7));
      r.expectEnd(end);
      expect([r.int8(), r.remaining]).toEqual([2, 0]);
    }
  });

  test("a string that is too long is refused", () => {
    expect(() => new Writer().string("x".repeat(32_768))).toThrow(ProtocolError);
    expect(() => new Writer().compactString("é".repeat(20_000))).toThrow(ProtocolError);
    const longest = new Writer();
    longest.string("x".repeat(32_767));
    expect(longest.length).toBe(32_769);
  });

  test("a tag may not be written twice", () => {
    const field = (tag: number) => ({ tag, data: new Uint8Array(1) });
    expect(() => new Writer().unknownTags([field(1), field(1)])).toThrow(ProtocolError);
    const w = new Writer();
    w.unknownTags([field(9), field(2)]);
    expect(Buffer.from(w.finishBytes()).toString("hex")).toBe("02020100090100");
  });
});
