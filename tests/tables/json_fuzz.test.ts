/** Random and mutated JSON, with JSON.parse as the judge of what is JSON and what it means. */
import { expect, test } from "bun:test";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { encodeStream } from "../../src/tables/arrow/stream.ts";
import { BytesVector } from "../../src/tables/arrow/vectors.ts";
import { JsonScanner } from "../../src/tables/json/scan.ts";
import { RowDecoder } from "../../src/tables/row_decoder.ts";
import { compileTable } from "../../src/tables/row_schema.ts";

const seed = Number(process.env.ROWLOG_SEED ?? 20261129);
const random = new SeededRandom(seed);
const below = (bound: number): number => random.below(bound);
const pick = <T>(list: readonly T[]): T => random.pick(list);

const strings = [
  '""',
  '"a"',
  '"\\u00e9"',
  '"é😀"',
  '"\\ud83d\\ude00"',
  '"\\ud800"',
  '"\\n\\\\\\""',
  '"\\u0000"',
  '"NaN"',
  '"12"',
  '"2024-01-01"',
  '"AQ=="',
];
const numbers = [
  "0",
  "-0",
  "1",
  "-12",
  "3.25",
  "1e3",
  "1E-2",
  "123456789012345678901234567890",
  "0.1",
  "1e400",
  "-1.5e+2",
];
const names = ['"a"', '"b"', '"c"', '"d"', '"\\u0061"', '"x"', '""', '"A"'];

function value(depth: number): string {
  const space = pick(["", "", "", " ", "\n\t"]);
  switch (below(depth > 3 ? 4 : 7)) {
    case 0:
      return space + pick(strings);
    case 1:
    case 2:
      return pick(numbers) + space;
    case 3:
      return pick(["true", "false", "null"]);
    case 4:
      return `[${Array.from({ length: below(4) }, () => value(depth + 1)).join(",")}${space}]`;
    default:
      return object(depth + 1);
  }
}

function object(depth: number): string {
  const space = pick(["", "", " "]);
  const fields = Array.from({ length: below(5) }, () => `${pick(names)}${space}:${value(depth)}`);
  return `{${space}${fields.join(`,${space}`)}}`;
}

/** The text with a few bytes changed, removed or put in. */
function mutated(text: string): Uint8Array {
  let bytes = [...new TextEncoder().encode(text)];
  for (let left = 1 + below(3); left > 0; left--) {
    const at = below(bytes.length + 1);
    const byte = pick([
      0x22,
      0x5c,
      0x7b,
      0x7d,
      0x5b,
      0x5d,
      0x2c,
      0x3a,
      0x30,
      0x2e,
      0x65,
      0x2d,
      0xff,
      0xc3,
      0x00,
      0x0a,
      below(256),
    ]);
    const remove = pick([0, 0, 1, 1, 3]);
    bytes = [...bytes.slice(0, at), ...(below(4) === 0 ? [] : [byte]), ...bytes.slice(at + remove)];
  }
  return new Uint8Array(bytes);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function judge(bytes: Uint8Array): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(strictUtf8.decode(bytes)) as unknown };
  } catch {
    return undefined;
  }
}

test(`the scanner accepts what JSON.parse accepts (seed ${seed})`, () => {
  const scanner = new JsonScanner();
  for (let i = 0; i < 20_000; i++) {
    const bytes = below(3) === 0 ? new TextEncoder().encode(value(0)) : mutated(value(0));
    scanner.reset(bytes, 0, bytes.length);
    scanner.skipSpace();
    let accepted = scanner.skipValue();
    scanner.skipSpace();
    accepted &&= scanner.position === bytes.length;
    if (accepted !== (judge(bytes) !== undefined))
      throw new Error(
        `case ${i}: ${JSON.stringify(new TextDecoder().decode(bytes))}: ${scanner.syntaxError || "accepted"}`,
      );
  }
});

test("strings mean what JSON.parse says", () => {
  const scanner = new JsonScanner();
  for (let i = 0; i < 5_000; i++) {
    let text = '"';
    for (let left = below(12); left > 0; left--)
      text += pick([
        "a",
        "\\u00e9",
        "é",
        "😀",
        "\\ud83d",
        "\\ude00",
        "\\/",
        "\\b",
        "\\f",
        "\\t",
        "\\uFFFF",
        "\\u0000",
        "\\\\",
        " ",
      ]);
    const bytes = new TextEncoder().encode(`${text}"`);
    scanner.reset(bytes, 0, bytes.length);
    expect(scanner.scanString()).toBe(true);
    const expected = (JSON.parse(`${text}"`) as string).toWellFormed();
    const vector = new BytesVector(1);
    scanner.pushText(vector);
    expect(new TextDecoder().decode(vector.data.subarray(0, vector.used))).toBe(expected);
    expect(scanner.textValue()).toBe(expected);
  }
});

test("rows: refused whenever JSON.parse refuses, and what is logged is read back unchanged", () => {
  const columns = ["VARCHAR", "JSON", "DOUBLE", "BIGINT[]"].map((type, i) => ({
    name: "abcd"[i]!,
    type,
    notNull: false,
  }));
  const schema = compileTable({ name: "t", columns });
  const missing = columns.map(() => ({ kind: "null" as const }));
  const decode = (bytes: Uint8Array, kernel: boolean) =>
    new RowDecoder(schema, { kernel }).decode(decodeBatch(encodeBatch([{ value: bytes }])), 0, missing);
  let stored = 0;
  for (let i = 0; i < 6_000; i++) {
    const text = object(0);
    const bytes = below(3) === 0 ? mutated(text) : new TextEncoder().encode(text);
    const decoded = decode(bytes, i % 2 === 0);
    const found = judge(bytes);
    if (found === undefined || typeof found.value !== "object" || Array.isArray(found.value) || found.value === null) {
      // A byte-order mark and a schema registry prefix may stand in front: both are ours to skip.
      if (bytes[0] !== 0 && bytes[0] !== 0xef) expect(decoded.rows).toBe(0);
      continue;
    }
    if (decoded.rows === 0) continue;
    stored++;
    const row = found.value as Record<string, unknown>;
    const logged = decoded.newValues === undefined ? bytes : decoded.rewritten!.take();
    const again = decode(logged, i % 2 === 1);
    expect([again.rows, again.newValues]).toEqual([1, undefined]);
    const read = JSON.parse(new TextDecoder().decode(logged)) as Record<string, unknown>;
    if (typeof row.a === "string") expect(read.a).toBe(row.a.toWellFormed());
    if (typeof row.c === "number") expect(read.c).toBe(row.c);
    expect(read.b ?? null).toEqual(row.b ?? null);
    expect(Object.keys(read).length).toBeGreaterThanOrEqual(decoded.newValues === undefined ? 0 : 4);
  }
  expect(stored).toBeGreaterThan(500);
});

test("the kernel and the decoder make the same of a batch", () => {
  const types = ["VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "DECIMAL(9,2)", "TIMESTAMP", "JSON", "INTEGER"];
  const columns = types.map((type, i) => ({ name: "abcdefgh"[i]!, type, notNull: i === 1 }));
  const json = (text: string) => new TextEncoder().encode(text);
  const missing = columns.map((_, i) =>
    i < 2 ? { kind: "constant" as const, json: json(i === 0 ? '"none"' : "7") } : { kind: "null" as const },
  );
  const schema = compileTable({ name: "t", columns: [...columns, { name: "_key", type: "VARCHAR", notNull: false }] });
  const plain = ['"x"', "12", "1.5", "true", "3.25", '"2024-05-06T07:08:09.5"', '{"k":[1]}', "-4"];
  const field = (i: number) => `"${"abcdefgh"[i]}":${below(8) === 0 ? value(2) : below(12) === 0 ? "null" : plain[i]}`;
  const row = () => {
    const space = pick(["", " "]);
    const fields = types.map((_, i) => i).filter(() => below(10) > 0);
    if (below(6) === 0) fields.reverse();
    return `{${fields.map(field).join(`,${space}`)}${below(10) === 0 ? ',"other":1' : ""}}`;
  };
  const kernel = new RowDecoder(schema);
  const decoder = new RowDecoder(schema, { kernel: false });
  for (let i = 0; i < 1_500; i++) {
    const records = Array.from({ length: 1 + below(40) }, () => {
      const text = row();
      return { key: pick(["k", null, ""]), value: below(30) === 0 ? mutated(text) : text };
    });
    const batch = decodeBatch(encodeBatch(records));
    const [a, b] = [kernel, decoder].map((one) => {
      const { rows, faults, faultCount, newValues, rewritten, columns: vectors } = one.decode(batch, 0, missing);
      // A batch with a fault is refused: only its reasons count.
      const data = faultCount > 0 ? [] : [encodeStream(schema.arrowSchema, vectors, rows)];
      const values = records.map((_, record) => {
        const start = newValues?.[record * 2] ?? -1;
        return start < 0
          ? "kept"
          : new TextDecoder().decode(rewritten!.bytes.subarray(start, newValues![record * 2 + 1]));
      });
      return { rows, faults, faultCount, values: faultCount > 0 ? [] : values, data };
    });
    if (!Bun.deepEquals(a, b)) expect({ case: i, ...a }).toEqual({ case: i, ...b! });
  }
});
