/** The kernel that finds rows in change events against the reader that knows all of them: what it takes, the reader reads alike. */
import { expect, test } from "bun:test";
import { changeRows } from "../../src/hotpath/change_rows.ts";
import { fieldsPerRecord } from "../../src/hotpath/twins/walk.ts";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { encodeStream } from "../../src/tables/arrow/stream.ts";
import type { Vector } from "../../src/tables/arrow/vectors.ts";
import { ChangeReader } from "../../src/tables/changes/change_reader.ts";
import { batchToLog } from "../../src/tables/ingest.ts";
import { ChangeDecoder } from "../../src/tables/keyed/change_decoder.ts";
import { RowDecoder } from "../../src/tables/row_decoder.ts";
import { RowKernel } from "../../src/tables/row_kernel.ts";
import { compileTable } from "../../src/tables/row_schema.ts";
import { Random, roundsFactor, seed } from "../hotpath/random.ts";

const columns = [
  ["id", "BIGINT"],
  ["name", "VARCHAR"],
  ["amount", "DECIMAL(10,2)"],
  ["ok", "BOOLEAN"],
  ["seen", "TIMESTAMP"],
  ["day", "DATE"],
  ["ratio", "DOUBLE"],
].map(([name, type]) => ({ name: name!, type: type!, notNull: name === "id" }));
const definition = {
  schema: "main",
  name: "t",
  sql: "",
  columns,
  checks: [],
  unique: [],
  raw: false,
  key: ["id"],
};

function batchOf(values: readonly string[], key: string | null = '{"id":1}') {
  const encoder = new TextEncoder();
  const records = values.map((value) => ({
    key: key === null ? null : encoder.encode(key),
    value: encoder.encode(value),
    timestamp: 1,
  }));
  return decodeBatch(encodeBatch(records));
}

const usual = (n: number) =>
  `{"before":${n % 2 ? "null" : '{"id":1,"name":"old"}'},"after":{"id":1,"name":"n${n}","amount":${n}.25,"ok":true,"seen":"2026-01-02T03:04:05.678"},"source":{"version":"3.6","connector":"postgresql","txId":${n},"snapshot":"false","sequence":"[null,\\"${n}\\"]","xmin":null},"op":"${"cru"[n % 3]}","ts_ms":1767225600123,"transaction":null}`;

test("usual envelopes are all taken, and their rows are where the index says", () => {
  const view = batchOf(Array.from({ length: 10_000 }, (_, n) => usual(n)));
  const target = new Int32Array(view.fields.length);
  let taken = 0;
  while (taken < view.count) {
    const more = changeRows(view.plain, view.fields, taken, view.count, target);
    expect(more).toBeGreaterThan(0);
    taken += more;
  }
  for (const record of [0, 1, 4095, 4096, 9_999]) {
    const start = target[record * fieldsPerRecord + 3]!;
    const row = view.plain.subarray(start, start + target[record * fieldsPerRecord + 4]!);
    const { after } = JSON.parse(usual(record)) as { after: unknown };
    expect(JSON.parse(new TextDecoder().decode(row))).toEqual(after);
    expect(target[record * fieldsPerRecord + 1]).toBe(view.keyStart(record));
  }
});

test("deletes, truncations, messages, wrapped and unfinished events are left to the reader", () => {
  const left = [
    usual(1).replace(/"op":"."/, '"op":"d"'),
    usual(1).replace(/"op":"."/, '"op":"t"'),
    usual(1).replace(/"op":"."/, '"op":"x"'),
    usual(1).replace(/"op":"."/, '"op":1'),
    usual(1).replace(/,"op":"."/, ""),
    usual(1).replace(/"op":"."/, '"op":"c","op":"c"'),
    usual(1).replace(/"after":\{[^}]*\}/, '"after":null'),
    usual(1).replace('"after"', '"\\u0061fter"'),
    usual(1).replace("n1", "__debezium_unavailable_value"),
    usual(1).replace("n1", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="),
    usual(1).replace("n1", "\\u005f_debezium_unavailable_value"),
    `{"payload":${usual(1)}}`,
    `{"schema":null,"payload":${usual(1)}}`,
    `${usual(1)} x`,
    usual(1).slice(0, -1),
    '{"id":1,"name":"a plain row"}',
    "{}",
    "",
    "[]",
  ];
  for (const value of left) {
    const view = batchOf([value, usual(2)]);
    expect([value, changeRows(view.plain, view.fields, 0, 2, new Int32Array(view.fields.length))]).toEqual([value, 0]);
  }
  const changeOfKey = batchOf([usual(2)], null);
  expect(changeRows(changeOfKey.plain, changeOfKey.fields, 0, 1, new Int32Array(7))).toBe(0);
});

/** Values of a row's columns, usual ones and others. */
const pool: Record<string, readonly string[]> = {
  id: ["1", "1", '"1"', "1.5", "null", '"AQ=="', "true"],
  name: [
    '"a"',
    '"ä\\n"',
    '"__debezium_unavailable_value"',
    '"_\\u005fx"',
    "null",
    "5",
    '{"x":1,"y":2}',
    '["a"]',
    '"{\\"__d"',
  ],
  amount: ["1.25", '"BAg="', '"1234"', "null", '{"scale":1,"value":"AQ=="}', "1e2", "-0.5"],
  ok: ["true", "false", "1", "0", "null", '"true"'],
  seen: ['"2026-01-02T03:04:05"', '"2026-01-02T03:04:05Z"', "1767225600123", "1767225600123456", "null", '"infinity"'],
  day: ['"2026-01-02"', "20000", "null"],
  ratio: ["1.5", '"NaN"', "null", "3"],
};

function randomEnvelope(random: Random): string {
  const space = () => (random.below(8) === 0 ? " " : "");
  const row = () =>
    `{${Object.entries(pool)
      .filter(() => random.below(12) > 0)
      .map(([name, values]) => `"${name}":${space()}${values[random.below(random.below(3) === 0 ? values.length : 1)]}`)
      .join(`,${space()}`)}}`;
  const parts = [
    `"before":${random.below(2) ? "null" : row()}`,
    `"after":${space()}${random.below(15) ? row() : "null"}`,
    `"source":{"connector":"postgresql","a":[1,{"b":"c\\"}"}]}`,
    `"op":${space()}"${"ccuurrdtmx"[random.below(10)]}"`,
    `"ts_ms":1${space()}`,
  ];
  if (random.below(20) === 0) parts.push(`"payload":{}`);
  if (random.below(20) === 0) parts.push(parts[random.below(parts.length)]!);
  if (random.below(10) === 0) parts.splice(random.below(parts.length), 1);
  for (let i = parts.length - 1; i > 0 && random.below(2) === 0; i--) {
    const other = random.below(i + 1);
    [parts[i], parts[other]] = [parts[other]!, parts[i]!];
  }
  const text = `${space()}{${space()}${parts.join(`${space()},${space()}`)}${space()}}${space()}`;
  if (random.below(4) > 0) return text;
  const at = random.below(text.length);
  return text.slice(0, at) + String.fromCharCode(32 + random.below(96)) + text.slice(at + random.below(2));
}

test(`what both kernels take, the reader reads as the same row (seed ${seed})`, () => {
  const random = new Random(seed);
  const schema = compileTable(definition as never);
  const kernel = RowKernel.create(schema.fields, { key: [0] })!;
  const decoder = new RowDecoder(schema, { kernel: false });
  const mayMiss = schema.fields.map(({ notNull }) => !notNull);
  let taken = 0;
  for (let round = 0; round < 20_000 * roundsFactor; round++) {
    const value = randomEnvelope(random);
    const view = batchOf([value], random.below(10) === 0 ? null : '{"id":1}');
    const target = new Int32Array(view.fields.length);
    if (changeRows(view.plain, view.fields, 0, 1, target) === 0) continue;
    const children = schema.reader.newChildren(1);
    kernel.begin(children, mayMiss, () => undefined);
    if (kernel.take(view, 0, target) === 0) continue;
    taken++;
    const change = new ChangeReader(definition as never).read(view.key(0), view.value(0));
    expect([value, change.kind]).toEqual([value, "upsert"]);
    if (change.kind !== "upsert") continue;
    expect(change.unchanged).toBeUndefined();
    // The kernel's values are those of the row that the reader makes.
    const missing = schema.fields.map(() => ({ kind: "null" as const }));
    const decoded = decoder.decode(batchOf([new TextDecoder().decode(change.row)]), 0, missing);
    expect([value, decoded.faults]).toEqual([value, []]);
    const streams = (all: readonly Vector[]) =>
      all.map((column) => encodeStream(new Uint8Array(0), [column], 1).toString());
    expect([value, streams(children)]).toEqual([value, streams(decoded.columns)]);
  }
  expect(taken).toBeGreaterThan(1_000);
});

test(`batches of events come out alike with and without kernels (seed ${seed})`, () => {
  const random = new Random(seed + 1);
  const schema = compileTable(definition as never);
  const withKernels = new ChangeDecoder(schema, definition as never);
  const without = new ChangeDecoder(schema, definition as never, {
    kernel: false,
  });
  const missing = schema.fields.map(() => ({ kind: "null" as const }));
  let rows = 0;
  for (let round = 0; round < 1_000 * roundsFactor; round++) {
    const encoder = new TextEncoder();
    const values = Array.from({ length: 1 + random.below(random.below(10) === 0 ? 300 : 30) }, (_, n) =>
      random.below(30) === 0 ? randomEnvelope(random) : random.below(25) === 0 ? null : eventOf(random, n),
    );
    const records = values.map((value) => {
      const key =
        value === null || random.below(20) > 0 ? '{"id":1}' : ["1", '{"payload":{"id":1}}', null][random.below(3)];
      return {
        key: typeof key === "string" ? encoder.encode(key) : null,
        value: value === null ? null : encoder.encode(value),
        timestamp: 1,
      };
    });
    const bytes = encodeBatch(records);
    const shownAs = (decoder: ChangeDecoder) => {
      const view = decodeBatch(bytes);
      const decoded = decoder.decode(view, 0, missing);
      const { faults, faultCount, needsTable, holes, skipped } = decoded;
      if (faultCount > 0) return { faults };
      if (needsTable) return { needsTable };
      const batch = { bytes, header: view.header };
      const logged = decodeBatch(batchToLog(batch as never, view, decoded, 0)).records.map(
        ({ offset, key, value }) => ({
          offset,
          key: key && new TextDecoder().decode(key),
          value: value && new TextDecoder().decode(value),
        }),
      );
      rows += decoded.rows;
      const columns = decoded.columns.map((column) =>
        encodeStream(new Uint8Array(0), [column], decoded.rows).toString(),
      );
      return {
        logged,
        columns,
        rowOf: [...decoded.rowOf],
        holes,
        skipped: skipped && [...skipped],
      };
    };
    expect(shownAs(withKernels)).toEqual(shownAs(without));
  }
  expect(rows).toBeGreaterThan(10_000);
});

/** A usual event of key 1, now and then with a value that the kernels leave. */
function eventOf(random: Random, n: number): string {
  const value = usual(n);
  switch (random.below(20)) {
    case 0:
      return value.replace('"ok":true', '"ok":1');
    case 1:
      return value.replace(/"op":"."/, '"op":"d"').replace(/"after":\{[^}]*\}/, '"after":null');
    case 2:
      return `{"id":1,"name":"plain ${n}"}`;
    case 3:
      return `{"schema":null,"payload":${value}}`;
    case 4:
      return value.replace(".25", ".1");
    default:
      return value;
  }
}
