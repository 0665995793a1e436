/** Every generated message in every version: against the interpreting twin, cut anywhere, and with hostile counts. */
import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { ProtocolError } from "../../src/protocol/protocol_error.ts";
import { Reader } from "../../src/protocol/reader.ts";
import { Writer } from "../../src/protocol/writer.ts";
import { canonical, loadGenerated, loadSchema, type MessageRow, seeded, Twin } from "./twin.ts";

const schema = loadSchema();
const seed = Number(process.env.ROWLOG_TEST_SEED ?? 20_261_129);
const rounds = 6;

function* versionsOf(message: MessageRow): Generator<number> {
  for (let version = message.versions[0]; version <= message.versions[1]; version++) yield version;
}

/** Sorts the keys, since the twin and the generated code may order unknown tags differently. */
function ordered(value: unknown): string {
  return canonical(sortKeys(value));
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}

describe("generated messages", () => {
  test("the schema has every message", () => {
    expect(schema.length).toBeGreaterThan(200);
  });

  for (const message of schema) {
    test(`${message.name}: random values (seed ${seed})`, async () => {
      const { read, write } = await loadGenerated(message.name);
      const twin = new Twin(message);
      const random = seeded(seed);
      for (const version of versionsOf(message)) {
        for (let round = 0; round < rounds; round++) {
          const value = twin.random(random, version);
          const expected = twin.write(value, version);
          const w = new Writer(8);
          write(w, value, version);
          const bytes = w.finishBytes();
          const hex = Buffer.from(bytes).toString("hex");
          expect(hex, `version ${version}`).toBe(Buffer.from(expected).toString("hex"));
          const r = new Reader(bytes);
          expect(ordered(read(r, version)), `version ${version}: ${hex}`).toBe(ordered(value));
          expect(r.remaining).toBe(0);
        }
      }
    });

    test(`${message.name}: cut, and with any byte changed`, async () => {
      const { read } = await loadGenerated(message.name);
      const twin = new Twin(message);
      const random = seeded(seed + 1);
      for (const version of versionsOf(message)) {
        const bytes = twin.write(twin.random(random, version), version);
        for (let end = 0; end < bytes.length; end++) {
          expect(() => read(new Reader(bytes, 0, end), version)).toThrow(ProtocolError);
        }
        for (let at = 0; at < bytes.length; at++) {
          const changed = bytes.slice();
          changed[at] = random(3) === 0 ? 255 : random(256);
          readOrProtocolError(() => read(new Reader(changed), version));
        }
      }
    });

    test(`${message.name}: versions outside the range`, async () => {
      const { read, write } = await loadGenerated(message.name);
      const value = new Twin(message).defaults();
      for (const version of [message.versions[0] - 1, message.versions[1] + 1]) {
        expect(() => read(new Reader(new Uint8Array(1000)), version)).toThrow(ProtocolError);
        expect(() => write(new Writer(), value, version)).toThrow(ProtocolError);
      }
    });

    test(`${message.name}: new values hold the defaults`, async () => {
      const { fresh } = await loadGenerated(message.name);
      expect(ordered(fresh())).toBe(ordered(new Twin(message).defaults()));
    });
  }
});

function readOrProtocolError(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
}
