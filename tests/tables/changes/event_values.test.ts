/** Values that the row kernel reads in change events, decimals in base64 and times as numbers, against the decoder without kernels. */
import { expect, test } from "bun:test";
import { decodeBatch } from "../../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../../src/protocol/records/encode.ts";
import { encodeStream } from "../../../src/tables/arrow/stream.ts";
import { batchToLog } from "../../../src/tables/ingest.ts";
import { ChangeDecoder } from "../../../src/tables/keyed/change_decoder.ts";
import { RowKernel } from "../../../src/tables/row_kernel.ts";
import { compileTable } from "../../../src/tables/row_schema.ts";
import { Random, roundsFactor, seed } from "../../hotpath/random.ts";
import { definitionOf } from "./recorded.ts";

const types = {
  id: "BIGINT",
  price: "DECIMAL(9,2)",
  whole: "DECIMAL(18,0)",
  wide: "DECIMAL(38,10)",
  tiny: "DECIMAL(4,4)",
  seen: "TIMESTAMP",
  zoned: "TIMESTAMP WITH TIME ZONE",
  millis: "TIMESTAMP_MS",
  nanos: "TIMESTAMP_NS",
  seconds: "TIMESTAMP_S",
  day: "DATE",
  clock: "TIME",
  name: "VARCHAR",
};
const encoder = new TextEncoder();

function bigNumber(random: Random, bits: number): bigint {
  let value = 0n;
  for (let i = random.below(bits); i > 0; i -= 8) value = (value << 8n) | BigInt(random.below(256));
  return random.below(2) === 0 ? value : -value;
}

/** Big-endian two's complement in base64, as Java's BigInteger writes it; now and then with more bytes than needed. */
function base64Of(value: bigint, random: Random): string {
  let bytes = 1;
  while (BigInt.asIntN(bytes * 8, value) !== value) bytes++;
  if (random.below(10) === 0) bytes += random.below(3);
  const text = BigInt.asUintN(bytes * 8, value)
    .toString(16)
    .padStart(bytes * 2, "0");
  return JSON.stringify(Buffer.from(text, "hex").toString("base64"));
}

/** Microseconds, milliseconds, days …: mostly of usual years, at times at an edge or beyond all. */
function count(random: Random, perDay: number): string {
  const days = BigInt(random.below(10) === 0 ? random.below(7_000_000) - 3_000_000 : random.below(40_000) - 5_000);
  const rest = random.below(3) === 0 ? 0 : Math.floor((random.below(1_000_000) / 1_000_000) * perDay);
  const value = days * BigInt(perDay) + BigInt(rest);
  const edges = [0n, -1n, -719528n * BigInt(perDay), 2932897n * BigInt(perDay) - 1n, 2932897n * BigInt(perDay)];
  return String(random.below(12) === 0 ? edges[random.below(edges.length)]! : value);
}

const odd = [
  "null",
  '"AQ="',
  '"A"',
  '""',
  '"AAAA"',
  '"1234"',
  "12.5",
  "1e3",
  "-0",
  "0",
  "true",
  '"AQ=\\u003d"',
  '"////////////"',
];

function randomValue(name: keyof typeof types, random: Random): string {
  if (random.below(40) === 0) return odd[random.below(odd.length)]!;
  switch (name) {
    case "id":
      return "1";
    case "name":
      return '"a"';
    case "price":
      return base64Of(bigNumber(random, 34), random);
    case "tiny":
      return base64Of(bigNumber(random, 18), random);
    case "whole":
    case "wide":
      return base64Of(bigNumber(random, 80), random);
    case "day":
      return count(random, 1);
    case "clock":
      return random.below(10) === 0
        ? String(86_400_000_000 + random.below(3) - 2)
        : String(random.below(86_400) * 999_983);
    case "millis":
    case "seconds":
      return count(random, 86_400_000);
    case "nanos":
      return random.below(5) === 0
        ? String(bigNumber(random, 72))
        : `${random.below(2_000_000_000)}${random.below(10)}00000000`;
    default:
      return count(random, 86_400_000_000);
  }
}

function eventOf(random: Random, names: readonly (keyof typeof types)[]): string {
  const space = random.below(20) === 0 ? " " : "";
  const fields = names
    .filter(() => random.below(40) > 0)
    .map((name) => `"${name}":${space}${randomValue(name, random)}`);
  if (random.below(30) === 0) fields.push('"unknown":[1]');
  if (random.below(30) === 0) fields.reverse();
  return `{"before":null,"after":{${fields.join(`,${space}`)}},"source":{"connector":"postgresql"},"op":"${"cru"[random.below(3)]}","ts_ms":1}`;
}

test(`the same columns, the same log (seed ${seed})`, () => {
  const random = new Random(seed);
  let rows = 0;
  for (let round = 0; round < 1_500 * roundsFactor; round++) {
    // Few columns at a time, so that one odd value does not leave everything to the other decoder.
    const all = Object.keys(types) as (keyof typeof types)[];
    const names = all.filter((name) => name === "id" || random.below(4) === 0);
    const definition = definitionOf(Object.fromEntries(names.map((name) => [name, types[name]])));
    const schema = compileTable(definition);
    const missing = schema.fields.map(() => ({ kind: "null" as const }));
    const values = Array.from({ length: 1 + random.below(40) }, () => eventOf(random, names));
    const bytes = encodeBatch(
      values.map((value) => ({
        key: encoder.encode('{"id":1}'),
        value: encoder.encode(value),
        timestamp: 1,
      })),
    );
    const shownAs = (kernel: boolean) => {
      const view = decodeBatch(bytes);
      const decoded = new ChangeDecoder(schema, definition, { kernel }).decode(view, 0, missing);
      if (decoded.faultCount > 0) return { faults: decoded.faults };
      const batch = { bytes, header: view.header };
      const logged = decodeBatch(batchToLog(batch as never, view, decoded, 0)).records.map(
        ({ key, value }) => `${key && new TextDecoder().decode(key)} ${value && new TextDecoder().decode(value)}`,
      );
      rows += decoded.rows;
      const columns = decoded.columns.map((column) =>
        encodeStream(new Uint8Array(0), [column], decoded.rows).toString(),
      );
      return { logged, columns };
    };
    expect([values, shownAs(true)]).toEqual([values, shownAs(false)]);
  }
  expect(rows).toBeGreaterThan(5_000);
}, 60_000);

test("decimals in keys", () => {
  const definition = definitionOf({ id: "DECIMAL(10,2)", day: "DATE", v: "INTEGER" }, { key: ["day", "id"] });
  const schema = compileTable(definition);
  const missing = schema.fields.map(() => ({ kind: "null" as const }));
  const bytes = encodeBatch(
    Array.from({ length: 40 }, (_, i) => ({
      key: encoder.encode('{"id":"AeJA","day":19782}'),
      value: encoder.encode(`{"op":"u","after":{"id":"AeJA","day":19782,"v":${i}}}`),
      timestamp: 1,
    })),
  );
  for (const kernel of [true, false]) {
    const view = decodeBatch(bytes);
    const decoded = new ChangeDecoder(schema, definition, { kernel }).decode(view, 0, missing);
    expect(decoded.faults).toEqual([]);
    const logged = decodeBatch(batchToLog({ bytes, header: view.header } as never, view, decoded, 0)).records;
    expect(new TextDecoder().decode(logged[39]!.key!)).toBe('{"day":"2024-02-29","id":1234.56}');
    expect(new TextDecoder().decode(logged[39]!.value!)).toBe('{"id":1234.56,"day":"2024-02-29","v":39}');
  }
});

test("the kernel itself takes these values", () => {
  const names = ["id", "price", "whole", "seen", "zoned", "millis", "nanos", "day", "clock"] as const;
  const schema = compileTable(definitionOf(Object.fromEntries(names.map((name) => [name, types[name]]))));
  const kernel = RowKernel.create(schema.fields, { key: [0] })!;
  const row =
    '{"id":1,"price":"AeJA","whole":"gAAAAAAA","seen":1709210096789012,"zoned":-1,"millis":1709210096789,"nanos":1709210096789012345,"day":-1,"clock":45296789012}';
  const view = decodeBatch(
    encodeBatch(
      Array.from({ length: 32 }, () => ({
        value: encoder.encode(row),
        timestamp: 1,
      })),
    ),
  );
  let written = "";
  kernel.begin(
    schema.reader.newChildren(32),
    schema.fields.map(() => true),
    (_record, _count, text, ends) => {
      written = new TextDecoder().decode(text.subarray(0, ends[0]));
    },
  );
  // Another index than the batch's own says that the rows are of change events.
  expect(kernel.take(view, 0, view.fields.slice(), 32)).toBe(32);
  expect(written).toBe(
    '{"id":1,"price":1234.56,"whole":-140737488355328,"seen":"2024-02-29T12:34:56.789012","zoned":"1969-12-31T23:59:59.999999Z","millis":"2024-02-29T12:34:56.789","nanos":"2024-02-29T12:34:56.789012345","day":"1969-12-31","clock":"12:34:56.789012"}',
  );
});
