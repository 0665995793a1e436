/** Random and mutated frames: decoding ends in a value or a ProtocolError, and the memory stays in proportion. */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { servedApis } from "../../src/protocol/apis.ts";
import { decodeRequest, decodeResponse } from "../../src/protocol/frames.ts";
import { ProtocolError } from "../../src/protocol/protocol_error.ts";
import { loadSchema, type Random, seeded, Twin } from "./twin.ts";

const seed = Number(process.env.ROWLOG_TEST_SEED ?? 20_261_129);
const frames = Number(process.env.ROWLOG_FUZZ_FRAMES ?? 60_000);

function decode(frame: Uint8Array): "value" | "refused" {
  try {
    decodeRequest(frame);
    return "value";
  } catch (error) {
    if (!(error instanceof ProtocolError)) {
      throw new Error(`seed ${seed}, frame ${Buffer.from(frame).toString("hex")}`, { cause: error });
    }
    return "refused";
  }
}

function mutate(frame: Uint8Array, random: Random): Uint8Array {
  const changed = frame.slice(0, random(4) === 0 ? random(frame.length + 1) : frame.length);
  for (let changes = 1 + random(4); changes > 0 && changed.length > 0; changes--) {
    const at = random(changed.length);
    const kind = random(4);
    if (kind === 0) changed[at] = random(256);
    else if (kind === 1) changed[at] = changed[at]! ^ (1 << random(8));
    else if (kind === 2) changed.fill(random(2) * 255, at, Math.min(changed.length, at + random(8)));
    else changed.copyWithin(at, random(changed.length), random(changed.length));
  }
  return changed;
}

test(`mutated requests of every served API (seed ${seed})`, () => {
  const random = seeded(seed);
  const schema = new Map(loadSchema().map((message) => [message.name, new Twin(message)]));
  const seen = { value: 0, refused: 0 };
  for (let round = 0; round < frames; round++) {
    const api = servedApis[random(servedApis.length)]!;
    const version = api.versions[0] + random(api.versions[1] - api.versions[0] + 1);
    const twin = schema.get(`${api.name}Request`)!;
    const header = new Uint8Array([0, api.key, 0, version, 0, 0, 0, 1, 0, 1, 97, 0]);
    const flexible = version >= twin.message.flexible[0] && twin.message.flexible[1] > 0;
    const body: Uint8Array = twin.write(twin.random(random, version), version);
    const frame = Uint8Array.from(Buffer.concat([flexible ? header : header.subarray(0, 11), body]));
    if (round % 20 === 0) expect(decode(frame)).toBe("value");
    seen[decode(mutate(frame, random))]++;
  }
  expect(seen.value).toBeGreaterThan(frames / 20);
  expect(seen.refused).toBeGreaterThan(frames / 20);
});

test(`random bytes (seed ${seed})`, () => {
  const random = seeded(seed + 1);
  for (let round = 0; round < frames; round++) {
    const frame = Uint8Array.from({ length: random(60) }, () => random(256));
    if (frame.length > 4 && random(2) === 0) frame.set([0, random(80), 0, random(14)]);
    decode(frame);
    const api = servedApis[random(servedApis.length)]!;
    try {
      decodeResponse(api.key, api.versions[1], frame);
    } catch (error) {
      expect(error).toBeInstanceOf(ProtocolError);
    }
  }
});
