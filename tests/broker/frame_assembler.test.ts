import { expect, test } from "bun:test";
import { limits } from "../../src/base/limits.ts";
import { FrameAssembler, FrameError } from "../../src/broker/frame_assembler.ts";

function framed(...bodies: Uint8Array[]): Uint8Array {
  const parts = bodies.flatMap((body) => {
    const length = new Uint8Array(4);
    new DataView(length.buffer).setInt32(0, body.length);
    return [length, body];
  });
  return new Uint8Array(Buffer.concat(parts));
}

const body = (size: number, seed: number) => Uint8Array.from({ length: size }, (_, at) => (at * 31 + seed) & 0xff);

test("frames come out whole, however the bytes are cut", () => {
  const bodies = [body(0, 1), body(1, 2), body(5, 3), body(70_000, 4), body(3_000_000, 5), body(17, 6)];
  const stream = framed(...bodies);
  for (const step of [1_000_003, 65_536, 4_099, 7]) {
    const assembler = new FrameAssembler();
    const frames: Uint8Array[] = [];
    let unneeded = 0;
    for (let at = 0; at < stream.length; at += step) {
      const chunk = stream.slice(at, at + step);
      if (assembler.push(chunk, (frame) => frames.push(frame))) continue;
      // Nobody may need it any more.
      chunk.fill(0xee);
      unneeded++;
    }
    expect(unneeded).toBeGreaterThan(0);
    expect(frames.length).toBe(bodies.length);
    for (const [place, frame] of frames.entries()) expect(Buffer.compare(frame, bodies[place]!)).toBe(0);
  }
});

test("single bytes at a time", () => {
  const assembler = new FrameAssembler();
  const frames: Uint8Array[] = [];
  for (const byte of framed(body(3, 1), body(4, 2))) assembler.push(Uint8Array.of(byte), (frame) => frames.push(frame));
  expect(frames.map((frame) => [...frame])).toEqual([[...body(3, 1)], [...body(4, 2)]]);
});

test("a negative or too large length is refused", () => {
  for (const length of [-1, -2147483648, limits.requestFrameBytesMax + 1]) {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setInt32(0, length);
    expect(() => new FrameAssembler().push(bytes, () => undefined)).toThrow(FrameError);
  }
});

test("an announced frame holds only a bounded buffer until bytes arrive", () => {
  const assembler = new FrameAssembler();
  const bytes = new Uint8Array(5);
  new DataView(bytes.buffer).setInt32(0, limits.requestFrameBytesMax);
  assembler.push(bytes, () => undefined);
  expect(assembler.heldBytes).toBeLessThanOrEqual(2 * 1024 * 1024);
});

test("a frame of the size of an earlier one gets its whole buffer at once", () => {
  const assembler = new FrameAssembler();
  const stream = framed(body(7_000_000, 1));
  const frames: Uint8Array[] = [];
  const first = stream.slice(0, 100_000);
  assembler.push(first, () => undefined);
  expect(assembler.heldBytes).toBe(2 * 1024 * 1024);
  assembler.push(stream.slice(100_000), (frame) => frames.push(frame));
  assembler.push(first, () => undefined);
  expect(assembler.heldBytes).toBe(7_000_000);
  expect(Buffer.compare(frames[0]!, body(7_000_000, 1))).toBe(0);
});
