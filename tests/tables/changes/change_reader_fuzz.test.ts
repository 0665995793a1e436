/** Recorded events with random damage: the reader always answers, alike each time, and what it calls a row is JSON. */
import { describe, expect, test } from "bun:test";
import { Random, roundsFactor, seed } from "../../hotpath/random.ts";
import { typeColumns } from "./postgres_types.ts";
import { type RecordedEvent, recorded, TestTable } from "./recorded.ts";

const rounds = 6_000 * roundsFactor;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Pieces that mean something to the reader. */
const pieces = [
  '"op":"x"',
  '"after":',
  '"before":{"id":1}',
  '"payload":{',
  '"schema":{',
  "null",
  "{}",
  "[]",
  '"__deleted":"true",',
  '"__debezium_unavailable_value"',
  '"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="',
  "1e400",
  "-0",
  '"\\ud800"',
  '{"scale":2,"value":"AQ=="}',
  '{"x":1,"y":2,"wkb":null}',
  "9223372036854775807",
  '"AP//////////////////////"',
  ",",
  '"',
  "}",
  "\u0000",
  "\\",
];

function damaged(text: string, random: Random): Uint8Array {
  let bytes = [...encoder.encode(text)];
  for (let i = random.below(4); i >= 0; i--) {
    const at = random.below(bytes.length + 1);
    switch (random.below(5)) {
      case 0:
        bytes[Math.min(at, bytes.length - 1)] = random.below(256);
        break;
      case 1:
        bytes = bytes.slice(0, at);
        break;
      case 2:
        bytes.splice(at, random.below(20));
        break;
      case 3:
        bytes.splice(at, 0, ...encoder.encode(pieces[random.below(pieces.length)]!));
        break;
      default:
        bytes.splice(at, 0, ...bytes.slice(at, at + random.below(40)));
    }
  }
  return Uint8Array.from(bytes);
}

const files = [
  "types_plain",
  "types_schemas",
  "simple_unwrap_rewrite",
  "toast",
  "composite_key",
  "heartbeat",
  "transaction_metadata_plain",
];

describe(`damaged events, seed ${seed}`, () => {
  const events: RecordedEvent[] = files.flatMap((file) => recorded(file));
  // Long ones would take the time of many.
  const short = events.filter(({ value }) => (value?.length ?? 0) < 12_000);
  for (const format of ["auto", "debezium"] as const)
    test(format, () => {
      const random = new Random(seed);
      const table = new TestTable(typeColumns, { format });
      const held: { row: Uint8Array; text: string }[] = [];
      const kinds = new Map<string, number>();
      for (let round = 0; round < rounds; round++) {
        const event = short[random.below(short.length)]!;
        const key =
          event.key === null || random.below(4) === 0
            ? null
            : random.below(3) === 0
              ? damaged(event.key, random)
              : encoder.encode(event.key);
        const value = event.value === null ? null : damaged(event.value, random);
        const change = table.change(key, value);
        kinds.set(change.kind, (kinds.get(change.kind) ?? 0) + 1);
        if (change.kind === "fault") {
          expect(change.message.length).toBeGreaterThan(5);
          expect(change.message.length).toBeLessThan(1_000);
          continue;
        }
        if (change.kind === "delete" || (change.kind === "upsert" && change.key)) {
          const names = Object.keys(JSON.parse(decoder.decode(change.key!)) as object);
          expect(names).toEqual(["id"]);
        }
        if (change.kind !== "upsert") continue;
        const text = decoder.decode(change.row);
        // A plain row is left to the row's own reader, valid or not.
        const isPlain = value !== null && text === decoder.decode(value);
        if (!isPlain) JSON.parse(text);
        if (held.length < 500) held.push({ row: change.row, text });
      }
      // Rows that somebody holds stay as they were.
      for (const { row, text } of held) expect(decoder.decode(row)).toBe(text);
      expect(kinds.get("upsert")).toBeGreaterThan(rounds / 100);
      expect(kinds.get("fault")).toBeGreaterThan(rounds / 100);
    }, 60_000);

  test("what was read before does not change what is read", () => {
    const random = new Random(seed + 1);
    const fresh = () => new TestTable(typeColumns, { format: "debezium" });
    const used = fresh();
    for (let round = 0; round < rounds / 40; round++) {
      const { key, value } = short[random.below(short.length)]!;
      if (value !== null && random.below(2) === 0) used.read(key, damaged(value, random));
      expect(used.read(key, value)).toEqual(fresh().read(key, value));
    }
  }, 60_000);
});
