/** Frames of real clients and of an Apache Kafka broker: decoded whole, and encoded to the same bytes. */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  apiByKey,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  readRequestHeader,
} from "../../src/protocol/frames.ts";
import type { ApiKey } from "../../src/protocol/generated/index.ts";
import { Reader } from "../../src/protocol/reader.ts";

const lines = readFileSync(join(import.meta.dirname, "../vectors/protocol/traffic.txt"), "utf8")
  .trim()
  .split("\n");

interface Recorded {
  key: ApiKey;
  version: number;
  side: string;
  frame: Buffer;
}

const recorded = lines.map((line): Recorded => {
  const [, key, version, side, hex] = line.split(" ") as [string, string, string, string, string];
  return { key: Number(key) as ApiKey, version: Number(version), side, frame: Buffer.from(hex, "hex") };
});

const withoutLength = (chunks: Uint8Array[]) => Buffer.concat(chunks).subarray(4).toString("hex");
const name = ({ key, version, side }: Recorded) => `${apiByKey(key)!.name} ${version} ${side}`;

for (const [title, frames] of Map.groupBy(recorded, name)) {
  test(title, () => {
    for (const { key, version, side, frame } of frames) {
      const codec = apiByKey(key)!;
      if (side === "request") {
        const r = new Reader(frame);
        const header = readRequestHeader(r);
        expect(header).toMatchObject({ apiKey: key, apiVersion: version });
        const body = codec.readRequest(r, version);
        expect(r.remaining).toBe(0);
        const again = encodeRequest(key, version, header.correlationId, header.clientId, body as never);
        expect(withoutLength(again)).toBe(frame.toString("hex"));
      } else {
        const { correlationId, body } = decodeResponse(key, version, frame);
        expect(withoutLength(encodeResponse(key, version, correlationId, body))).toBe(frame.toString("hex"));
      }
    }
  });
}

test("the recording has both directions of many APIs", () => {
  expect(new Set(recorded.map(name)).size).toBeGreaterThan(100);
});
