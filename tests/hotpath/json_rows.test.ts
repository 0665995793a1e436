/**
 * The row kernel against its twin, the table's own decoder: same columns, same kept and rewritten values, same faults.
 */
import { describe, expect, test } from "bun:test";
import { limits } from "../../src/base/limits.ts";
import { kernels } from "../../src/hotpath/kernels.ts";
import { decodeBatch, type RecordBatchView } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { BytesVector, FixedVector, type Vector } from "../../src/tables/arrow/vectors.ts";
import { type DecodedBatch, RowDecoder } from "../../src/tables/row_decoder.ts";
import { RowKernel } from "../../src/tables/row_kernel.ts";
import { compileTable } from "../../src/tables/row_schema.ts";
import { Random, roundsFactor, seed } from "./random.ts";

const types = [
  ...[
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "FLOAT",
    "DOUBLE",
  ],
  ...["DECIMAL(4,1)", "DECIMAL(18,3)", "DECIMAL(38,10)", "VARCHAR", "JSON", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S"],
  ...["TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"],
];

function decoders(columns: [name: string, type: string, notNull?: boolean][]) {
  const definition = columns.map(([name, type, notNull]) => ({ name, type, notNull: notNull ?? false }));
  const schema = compileTable({ name: "t", columns: definition });
  expect(RowKernel.create(schema.fields)).toBeDefined();
  const missing = schema.fields.map(() => ({ kind: "null" }) as const);
  const [kernel, twin] = [new RowDecoder(schema), new RowDecoder(schema, { kernel: false })];
  return (view: RecordBatchView) =>
    [kernel, twin].map((decoder) => plainly(decoder.decode(view, 0, missing), view.count)) as [string, string];
}

/** All that a decoded batch says, as text. */
function plainly(decoded: DecodedBatch, count: number): string {
  const { rows, faults, faultCount, newValues, rewritten } = decoded;
  const columns = decoded.columns.map((column) => values(column, rows));
  const changed: string[] = [];
  for (let i = 0; newValues !== undefined && i < count; i++) {
    if (newValues[i * 2]! >= 0)
      changed.push(
        `${i}:${Buffer.from(rewritten!.view().subarray(newValues[i * 2], newValues[i * 2 + 1])).toString("hex")}`,
      );
  }
  return JSON.stringify({ rows, faults, faultCount, columns, changed });
}

function values(column: Vector, rows: number): string[] {
  const all: string[] = [`${column.length}`];
  for (let row = 0; row < rows; row++) {
    if (column.isNull(row)) all.push("null");
    else if (column instanceof FixedVector) {
      const width = Math.max(column.width, 1);
      all.push(Buffer.from(column.bytes.subarray(row * width, (row + 1) * width)).toString("hex"));
    } else if (column instanceof BytesVector)
      all.push(Buffer.from(column.data.subarray(column.start(row), column.end(row))).toString("hex"));
  }
  return all;
}

const numbers = [
  "0",
  "-0",
  "1",
  "-1",
  "12",
  "127",
  "128",
  "-128",
  "-129",
  "255",
  "256",
  "32767",
  "-32768",
  "65535",
  "2147483647",
];
numbers.push(
  "-2147483648",
  "4294967295",
  "4294967296",
  "9007199254740993",
  "9223372036854775807",
  "-9223372036854775808",
);
numbers.push(
  "9223372036854775808",
  "18446744073709551615",
  "18446744073709551616",
  "01",
  "-",
  "1.",
  ".5",
  "1.5",
  "-2.50",
  "1e2",
  "1E-3",
);
numbers.push(
  "0.1",
  "123456.7",
  "999.9",
  "1000.0",
  "99999999999999.999",
  "3.4028236e38",
  "1e400",
  "123456789012345678.5",
  "0.0000001",
  "1e+22",
  "1e",
);
const strings = [
  "",
  "a",
  "plain text of some length",
  "é",
  "日本",
  "🦆",
  '\\"',
  "\\\\",
  "\\/",
  "\\n\\t\\b\\f\\r",
  "\\u0041",
  "\\u0000",
  "\\u00e9",
];
strings.push(
  "\\ud83e\\udd86",
  "\\ud83e",
  "\\u12",
  "\\x",
  "\u0001",
  "NaN",
  "Infinity",
  "12",
  "x".repeat(15),
  "x".repeat(16),
  "y".repeat(17),
);
const times = [
  "2026-01-05T10:11:12",
  "2026-01-05T10:11:12.5",
  "2026-01-05T10:11:12.500",
  "2026-01-05T10:11:12.123456Z",
  "2024-02-29",
  "2023-02-29",
];
times.push(
  "1900-02-29",
  "2000-02-29T00:00:00Z",
  "0000-01-01",
  "0000-03-01T00:00:00",
  "9999-12-31T23:59:59.999999",
  "10:11:12",
  "23:59:59.9999999",
);
times.push(
  "24:00:00",
  "2026-01-05 10:11:12",
  "2026-01-05T10:11",
  "2262-04-12T00:00:00",
  "1677-01-01T00:00:00",
  "infinity",
  "2026-13-01",
  "2026-00-10",
);
const others = [
  "true",
  "false",
  "null",
  "[]",
  "{}",
  '[1,[2,{"a":null}]]',
  '{"a" : [ 1 , 2 ] , "b":"c"}',
  "nul",
  "truee",
  "[1,]",
  '{"a"}',
  "tru",
];

function randomValue(random: Random): string {
  switch (random.below(5)) {
    case 0:
      return numbers[random.below(numbers.length)]!;
    case 1:
      return `"${strings[random.below(strings.length)]!}"`;
    case 2:
      return `"${times[random.below(times.length)]!}"`;
    case 3:
      return others[random.below(others.length)]!;
    default:
      return `${random.below(2) ? "-" : ""}${random.below(10 ** (1 + random.below(9)))}${random.below(2) ? `.${random.below(1000)}` : ""}`;
  }
}

function suiting(random: Random, type: string): string {
  const fraction = ["", ".5", ".120", ".000"][random.below(4)]!;
  if (/INT/.test(type)) return `${random.below(100)}`;
  if (/DECIMAL/.test(type)) return ["1", "12.5", "-3.50", "0", "0.0"][random.below(5)]!;
  if (/FLOAT|DOUBLE/.test(type)) return ["1", "0.5", "-2.25", "null"][random.below(4)]!;
  if (/TIMESTAMP/.test(type))
    return `"2026-02-0${1 + random.below(9)}T1${random.below(10)}:00:01${fraction}${random.below(2) ? "Z" : ""}"`;
  if (type === "DATE") return `"2024-0${1 + random.below(9)}-11"`;
  if (type === "TIME") return `"10:11:12${fraction}"`;
  if (type === "BOOLEAN") return random.below(2) ? "true" : "false";
  return random.below(4) ? `"text ${random.below(99)}"` : `"with \\n escape"`;
}

describe("every type", () => {
  for (const type of types) {
    test(type, () => {
      const decode = decoders([["c", type]]);
      for (const value of [...numbers, ...[...strings, ...times].map((text) => `"${text}"`), ...others]) {
        const view = decodeBatch(
          encodeBatch([{ value: `{"c":${value}}` }, { value: `{"c": ${value} }` }, { value: '{"c":null}' }]),
        );
        const [kernel, twin] = decode(view);
        expect([value, kernel]).toEqual([value, twin]);
      }
    });
  }
});

test("rows of several columns: order, space, repeats, unknown and missing fields, nulls", () => {
  const decode = decoders([
    ["id", "BIGINT", true],
    ["a name longer than eight", "VARCHAR"],
    ["ok", "BOOLEAN"],
    ["id2", "INTEGER"],
    ["é", "JSON"],
  ]);
  const rows = [
    '{"id":1,"a name longer than eight":"x","ok":true,"id2":2,"é":{"a":[1]}}',
    '{"é":1,"id2":2,"ok":true,"a name longer than eight":"x","id":1}',
    ' { "id" : 1 , "a name longer than eight" : null , "ok" : null , "id2" : 2 , "é" : "t" } ',
    '{"id":1,"id":2,"a name longer than eight":"x","ok":true,"id2":2,"é":0}',
    '{"id":1,"a name longer than eight":"x","ok":true,"id2":2,"é":0,"more":1}',
    '{"id":1,"ok":true,"id2":2,"é":0}',
    '{"id":null,"a name longer than eight":"x","ok":true,"id2":2,"é":0}',
    '{"id":1,"a name longer than nine":"x","ok":true,"id2":2,"é":0}',
    '{"id":1,"a name longer than eight":"x","ok":true,"id2":2,"é":0} 1',
    '{"id":1,"a name longer than eight":"x","ok":true,"id2":2,"é":0',
    '{"\\u0069d":1,"a name longer than eight":"x","ok":true,"id2":2,"é":0}',
    "{}",
    "",
    "null",
    `{"id":1,"a name longer than eight":"x","ok":true,"id2":2,"é":${"[".repeat(499)}${"]".repeat(499)}}`,
    `{"id":1,"a name longer than eight":"x","ok":true,"id2":2,"é":${"[".repeat(500)}${"]".repeat(500)}}`,
    '\ufeff{"id":1,"a name longer than eight":"x","ok":true,"id2":2,"é":0}',
    '\u0000\u0000\u0000\u0000*{"id":1,"a name longer than eight":"x","ok":true,"id2":2,"é":0}',
  ];
  for (const row of rows) {
    const [kernel, twin] = decode(
      decodeBatch(encodeBatch([rows[0]!, row, rows[1]!, rows[2]!].map((value) => ({ value })))),
    );
    expect([row, kernel]).toEqual([row, twin]);
  }
  const [kernel, twin] = decode(decodeBatch(encodeBatch(rows.map((value) => ({ value })))));
  expect(kernel).toBe(twin);
});

test("more rows than one call takes, long texts, and a record larger than a slice", () => {
  const decode = decoders([
    ["n", "INTEGER"],
    ["t", "VARCHAR"],
  ]);
  const row = (n: number, text: string) => ({ value: `{"n":${n},"t":"${text}"}` });
  const many = Array.from({ length: 9000 }, (_, n) => row(n, "t".repeat(n % 40)));
  for (const records of [
    many,
    [row(1, "a".repeat(300_000)), row(2, "b"), row(3, "c".repeat(200_000)), row(4, "d".repeat(200_000))],
  ]) {
    const [kernel, twin] = decode(decodeBatch(encodeBatch(records)));
    expect(kernel === twin).toBe(true);
  }
});

test("many text columns stay within the memory that is kept", () => {
  const columns = Array.from({ length: 300 }, (_, at): [string, string] => [
    `a rather long name of column ${at}`,
    "VARCHAR",
  ]);
  const decode = decoders(columns);
  const row = (from: number) =>
    `{${columns
      .slice(from)
      .map(([name], at) => `"${name}":"${"x".repeat(at % 30)}"`)
      .join(",")}}`;
  const view = decodeBatch(encodeBatch(Array.from({ length: 60 }, (_, n) => ({ value: row(n % 3) }))));
  const [kernel, twin] = decode(view);
  expect(kernel === twin).toBe(true);
  expect(kernels.instance!.bytes.length).toBeLessThan(limits.kernelMemoryBytesMax + (1 << 20));
});

test("a record's own columns at fault, and what stands behind them", () => {
  const decode = decoders(
    [
      ["_key", "VARCHAR", true],
      ["n", "INTEGER"],
      ["_value", "VARCHAR"],
    ].slice(0, 2) as [string, string, boolean][],
  );
  const key = (n: number) => (n % 7 === 3 ? null : n % 11 === 5 ? Uint8Array.of(0xff) : `k${n}`);
  const records = Array.from({ length: 300 }, (_, n) => ({
    key: key(n),
    value: n % 13 === 4 ? '{"n":"x"}' : `{"n":${n}}`,
  }));
  const [kernel, twin] = decode(decodeBatch(encodeBatch(records)));
  expect(kernel).toBe(twin);
});

test("the kernel itself takes the rows that it is there for", () => {
  const columns = ["id BIGINT", "name VARCHAR", "amount DECIMAL(10,2)", "seen TIMESTAMP"].map((column) => {
    const [name, type] = column.split(" ");
    return { name: name!, type: type!, notNull: name === "id" };
  });
  const schema = compileTable({ name: "t", columns });
  const kernel = RowKernel.create(schema.fields)!;
  const taken = (values: string[], mayMiss = schema.fields.map(({ notNull }) => !notNull)) => {
    const view = decodeBatch(encodeBatch(values.map((value) => ({ value }))));
    const written: string[] = [];
    const rewritten = (_from: number, count: number, text: Uint8Array, ends: Int32Array) => {
      for (let i = 0, start = 0; i < count; start = ends[i++]!)
        written.push(new TextDecoder().decode(text.subarray(start, ends[i])));
    };
    kernel.begin(schema.reader.newChildren(view.count), mayMiss, rewritten);
    return [kernel.take(view, 0), ...written];
  };
  const usual = '{"id":1,"name":"a","amount":1.5,"seen":"2026-01-05T10:11:12.120"}';
  expect(taken([usual, usual])).toEqual([2]);
  expect(
    taken([usual, '{"id":2}', '{"seen":"2026-01-05T10:11:12.100Z","id":3,"more":[1,{"x":null}],"amount":7}']),
  ).toEqual([
    3,
    "",
    '{"id":2,"name":null,"amount":null,"seen":null}',
    '{"id":3,"name":null,"amount":7.00,"seen":"2026-01-05T10:11:12.1"}',
  ]);
  expect(taken([usual, '{"name":"no id"}'])).toEqual([1]);
  expect(taken([usual, '{"id":2}'], [false, false, true, true])).toEqual([1]);
});

test("random and mutated rows", () => {
  const random = new Random(seed + 20);
  for (let i = 0; i < 400 * roundsFactor; i++) {
    const columns = Array.from({ length: 1 + random.below(6) }, (_, at): [string, string, boolean] => {
      return [`${"column".slice(0, random.below(7))}${at}`, types[random.below(types.length)]!, random.below(4) === 0];
    });
    const decode = decoders(columns);
    // Mostly values that suit the column, so that rows get as far as the kernel takes them.
    const usual = columns.map(([, type]) => (random.below(4) === 0 ? randomValue(random) : suiting(random, type)));
    const records = Array.from({ length: 50 }, () => {
      const fields = columns.map(
        ([name], at) => `"${name}":${random.below(6) === 0 ? randomValue(random) : usual[at]}`,
      );
      if (random.below(12) === 0) fields.reverse();
      if (random.below(5) === 0) fields.splice(random.below(fields.length), 1);
      if (random.below(5) === 0)
        fields.splice(
          random.below(fields.length + 1),
          0,
          `"${["x", "é", "\\u0063", "column"][random.below(4)]}":${randomValue(random)}`,
        );
      const text = new TextEncoder().encode(`{${fields.join(random.below(9) === 0 ? " , " : ",")}}`);
      return { value: random.below(4) === 0 ? random.mutate(text) : text };
    });
    const [kernel, twin] = decode(decodeBatch(encodeBatch(records)));
    if (kernel !== twin) expect([columns, kernel]).toEqual([columns, twin]);
  }
});
