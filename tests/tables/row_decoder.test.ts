import { describe, expect, test } from "bun:test";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { nativeDefault } from "../../src/tables/native_defaults.ts";
import { RowDecoder } from "../../src/tables/row_decoder.ts";
import type { MissingValue } from "../../src/tables/row_reader.ts";
import { compileTable } from "../../src/tables/row_schema.ts";

type Column = [name: string, type: string, notNull?: boolean];

/** What a value becomes in a table of these columns: the JSON that is logged, or what is wrong with it. */
function produce(columns: Column[], value: string | Uint8Array | null, missing?: MissingValue[]): string {
  const schema = compileTable({
    name: "t",
    columns: columns.map(([name, type, notNull]) => ({ name, type, notNull: notNull ?? false })),
  });
  const batch = decodeBatch(encodeBatch([{ value, key: "k", timestamp: 1 }]));
  const decoded = new RowDecoder(schema).decode(batch, 0, missing ?? schema.fields.map(() => ({ kind: "null" })));
  const fault = decoded.faults[0];
  if (fault) return `! ${fault.message}`;
  if (decoded.newValues === undefined) return "kept";
  return new TextDecoder().decode(decoded.rewritten!.view().subarray(decoded.newValues[0], decoded.newValues[1]));
}

/** The stored form of one JSON value in a column of a type; "kept" when the produced bytes stay. */
const store = (type: string, json: string) => {
  const row = produce([["c", type]], `{"c":${json}}`);
  return row.startsWith('{"c":') ? row.slice(5, -1) : row.replace(/^! column "c": /, "! ");
};

describe("what each type accepts", () => {
  const cases: [type: string, json: string, stored: string | RegExp][] = [
    ["BOOLEAN", "true", "kept"],
    ["BOOLEAN", "1", /^! 1 does not fit BOOLEAN/],
    ["BOOLEAN", '"true"', /^!/],
    ["TINYINT", "-128", "kept"],
    ["TINYINT", "128", /the range is -128 to 127/],
    ["UTINYINT", "255", "kept"],
    ["UTINYINT", "-1", /^!/],
    ["SMALLINT", "-32768", "kept"],
    ["INTEGER", "2147483648", /^!/],
    ["INTEGER", "1.0", "1"],
    ["INTEGER", "1e2", "100"],
    ["INTEGER", "1.5", /a fraction does not fit an integer/],
    ["INTEGER", '"12"', "12"],
    ["INTEGER", '" 12"', /^!/],
    ["INTEGER", '"0x1"', /^!/],
    ["INTEGER", '""', /^!/],
    ["INTEGER", "true", /^!/],
    ["INTEGER", "-0", "0"],
    ["BIGINT", "9007199254740993", "kept"],
    ["BIGINT", "9223372036854775807", "kept"],
    ["BIGINT", "9223372036854775808", /^!/],
    ["BIGINT", "-9223372036854775808", "kept"],
    ["BIGINT", "1e400", /^!/],
    ["BIGINT", "92233720368547758.07e2", "9223372036854775807"],
    ["UBIGINT", "18446744073709551615", "kept"],
    ["HUGEINT", "-170141183460469231731687303715884105728", "kept"],
    ["UHUGEINT", "340282366920938463463374607431768211455", "kept"],
    ["UHUGEINT", "340282366920938463463374607431768211456", /^!/],
    ["DOUBLE", "1", "kept"],
    ["DOUBLE", "0.1", "kept"],
    ["DOUBLE", "0.1234567890123456789", "0.12345678901234568"],
    ["DOUBLE", '"1.5"', "1.5"],
    ["DOUBLE", '"2"', "2.0"],
    ["DOUBLE", '"NaN"', "kept"],
    ["DOUBLE", '"-Infinity"', "kept"],
    ["DOUBLE", '"nan"', /^!/],
    ["DOUBLE", "1e400", /out of range/],
    ["DOUBLE", "1e-400", "0.0"],
    ["DOUBLE", "5e-324", "kept"],
    ["FLOAT", "0.1", "kept"],
    ["FLOAT", "16777217", "16777216.0"],
    ["FLOAT", "1e39", /out of range/],
    ["DECIMAL(5,2)", "1.005", "1.01"],
    ["DECIMAL(5,2)", "-1.005", "-1.01"],
    ["DECIMAL(5,2)", "1.5", "kept"],
    ["DECIMAL(5,2)", "1.50", "kept"],
    ["DECIMAL(5,2)", "999.994", "999.99"],
    ["DECIMAL(5,2)", "999.995", /^!/],
    ["DECIMAL(5,2)", "1e2", "100.00"],
    ["DECIMAL(5,2)", '"12.3"', "12.30"],
    ["DECIMAL(5,2)", '"NaN"', /DECIMAL cannot hold NaN/],
    ["DECIMAL(5,2)", "1e-9", "0.00"],
    ["DECIMAL(38,0)", "12345678901234567890123456789012345678", "kept"],
    ["DECIMAL(38,10)", "1234567890123456789012345678.0123456789", "kept"],
    ["DECIMAL(4,4)", "0.1032", "kept"],
    ["VARCHAR", '"a\\u0000b"', "kept"],
    ["VARCHAR", '"\\ud83d\\ude00"', "kept"],
    ["VARCHAR", '"\\ud83d"', '"\ufffd"'],
    ["VARCHAR", '"\\ude00\\ud83d"', '"\ufffd\ufffd"'],
    ["VARCHAR", "12.50", '"12.50"'],
    ["VARCHAR", '{ "a" : [ 1, "x y" ] }', '"{\\"a\\":[1,\\"x y\\"]}"'],
    ["VARCHAR", "false", '"false"'],
    ["JSON", '{ "a": 1.50 }', "kept"],
    ["JSON", '"x"', "kept"],
    ["DATE", '"2024-02-29"', "kept"],
    ["DATE", '"2021-02-30"', /^!/],
    ["DATE", "19782", '"2024-02-29"'],
    ["DATE", "-1", '"1969-12-31"'],
    ["DATE", '"2024-02-29T10:00:00"', /^!/],
    ["DATE", '"infinity"', "kept"],
    ["DATE", '"+12024-02-29"', "kept"],
    ["TIME", '"23:59:59.5"', "kept"],
    ["TIME", '"23:59"', '"23:59:00"'],
    ["TIME", '"24:00:00"', "kept"],
    ["TIME", '"24:00:01"', /^!/],
    ["TIME", '"12:00:60"', /^!/],
    ["TIME", '"12:00:00.1234567"', '"12:00:00.123456"'],
    ["TIMESTAMP", '"2024-01-01T00:00:00"', "kept"],
    ["TIMESTAMP", '"2024-01-01T00:00:00Z"', '"2024-01-01T00:00:00"'],
    ["TIMESTAMP", '"2024-01-01 02:00:00.250+02:00"', '"2024-01-01T00:00:00.25"'],
    ["TIMESTAMP", '"2024-01-01T00:00:00,5"', '"2024-01-01T00:00:00.5"'],
    ["TIMESTAMP", '"2024-01-01"', '"2024-01-01T00:00:00"'],
    ["TIMESTAMP", '"2024-01-01T24:00:00"', '"2024-01-02T00:00:00"'],
    ["TIMESTAMP", '"2024-01-01T23:59:60"', /^!/],
    ["TIMESTAMP", '"2024-01-01T00:00:00.123456789"', '"2024-01-01T00:00:00.123456"'],
    ["TIMESTAMP", "1659386157403", '"2022-08-01T20:35:57.403"'],
    ["TIMESTAMP", "1659386157.403862", /^!/],
    ["TIMESTAMP", "1659386157", '"1970-01-20T04:56:26.157"'],
    ["TIMESTAMP", '"1659386157403"', /^!/],
    ["TIMESTAMP", "9223372036854775807", /out of range/],
    ["TIMESTAMP", '"0001-01-01T00:00:00"', "kept"],
    ["TIMESTAMP", '"9999-12-31T23:59:59.999999"', "kept"],
    ["TIMESTAMP", '"-infinity"', "kept"],
    ["TIMESTAMP WITH TIME ZONE", '"2024-01-01T00:00:00Z"', "kept"],
    ["TIMESTAMP WITH TIME ZONE", '"2024-01-01T00:00:00"', '"2024-01-01T00:00:00Z"'],
    ["TIMESTAMP WITH TIME ZONE", '"2024-01-01T00:00:00-0330"', '"2024-01-01T03:30:00Z"'],
    ["TIMESTAMP_NS", '"2024-01-01T00:00:00.123456789"', "kept"],
    ["TIMESTAMP_NS", '"3000-01-01T00:00:00"', /out of range/],
    ["TIMESTAMP_MS", '"2024-01-01T00:00:00.0005"', '"2024-01-01T00:00:00.001"'],
    ["TIMESTAMP_S", '"2024-01-01T00:00:00.5"', '"2024-01-01T00:00:01"'],
    ["BLOB", '"AQID"', "kept"],
    ["BLOB", '"AQ=="', "kept"],
    ["BLOB", '"AR=="', /^!/],
    ["BLOB", '"AQI"', /padded/],
    ["BLOB", '"A-_D"', /^!/],
    ["BLOB", '"\\/w=="', "kept"],
    ["BLOB", '""', "kept"],
    ["UUID", '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"', "kept"],
    ["UUID", '"{A0EEBC999C0B4EF8BB6D6BB9BD380A11}"', '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"'],
    ["UUID", '"a0eebc99"', /^!/],
    ["ENUM('a', 'b')", '"b"', "kept"],
    ["ENUM('a', 'b')", '"c"', /one of "a", "b" is expected/],
    ["INTERVAL", '"3 days 04:05:06"', "kept"],
    ["INTERVAL", '"P1Y2M3DT4H5M6.5S"', '"1 year 2 months 3 days 04:05:06.5"'],
    ["INTERVAL", '"90 minutes ago"', '"-01:30:00"'],
    ["INTERVAL", '"soon"', /^!/],
    ["INTEGER[]", "[1, null, 3]", "kept"],
    ["INTEGER[]", '[1, "2"]', "[1,2]"],
    ["INTEGER[]", "1", /an array is expected/],
    ["INTEGER[2]", "[1]", /an array of 2 values is expected, this one has 1/],
    ["STRUCT(x INTEGER, y VARCHAR)", '{"y": "a", "x": 1}', "kept"],
    ["STRUCT(x INTEGER, y VARCHAR)", '{"x": 1}', '{"x":1,"y":null}'],
    ["STRUCT(x INTEGER, y VARCHAR)", '{"x": 1, "y": "a", "X": 2}', '{"x":1,"y":"a"}'],
    ["STRUCT(x INTEGER, y VARCHAR)", '{"x": "q", "x": 2, "y": null}', '{"x":2,"y":null}'],
    ["MAP(VARCHAR, INTEGER)", '{"a": 1, "b": null}', "kept"],
    ["MAP(VARCHAR, INTEGER)", '{"a": 1, "b": 2, "a": 3}', '{"b":2,"a":3}'],
    ["MAP(INTEGER, DATE)", '{"1": "2024-01-01"}', '{"1":"2024-01-01"}'],
    ["MAP(INTEGER, DATE)", '{"x": "2024-01-01"}', /^!/],
  ];
  for (const [type, json, stored] of cases)
    test(`${type} from ${json}`, () => {
      if (typeof stored === "string") expect(store(type, json)).toBe(stored);
      else expect(store(type, json)).toMatch(stored);
      // What is logged is read back as the same value, unchanged.
      if (typeof stored === "string" && stored !== "kept")
        expect(store(type, stored).replace(/^kept$/, stored)).toBe(stored);
    });
});

describe("rows", () => {
  const columns: Column[] = [
    ["user", "VARCHAR"],
    ["amount", "BIGINT", true],
    ["_key", "VARCHAR"],
  ];
  test("bytes are kept when nothing changes", () => {
    expect(produce(columns, ' {"amount": 1, "user": null }\n')).toBe("kept");
  });
  test("columns come in table order", () => {
    expect(produce(columns, '{"extra": {"deep": [1]}, "amount": 1, "user": "x"}')).toBe('{"user":"x","amount":1}');
  });
  test("a repeated field: the last wins, whatever the first was", () => {
    expect(produce(columns, '{"user":"a","amount":"bad","amount":2}')).toBe('{"user":"a","amount":2}');
    expect(produce(columns, '{"user":"a","amount":2,"amount":"bad"}')).toContain(
      'column "amount": "bad" does not fit BIGINT',
    );
  });
  test("names are exact", () => {
    expect(produce(columns, '{"User":"a","AMOUNT":1,"amount":2}')).toBe('{"user":null,"amount":2}');
    expect(produce(columns, '{"us\\u0065r":"a","amount":2}')).toBe("kept");
  });
  test("NOT NULL", () => {
    expect(produce(columns, '{"user":"a"}')).toBe(
      '! column "amount": a missing value does not fit: the column is NOT NULL',
    );
    expect(produce(columns, '{"user":"a","amount":null}')).toContain("null does not fit");
  });
  test("a null value, JSON that is no object, empty text", () => {
    expect(produce(columns, null)).toContain("no primary key");
    expect(produce(columns, "")).toContain("the value is empty");
    expect(produce(columns, "null")).toBe("! the value is null: a JSON object is expected");
    expect(produce(columns, '"text"')).toContain("a JSON object is expected");
    expect(produce(columns, "[1]")).toContain("a JSON object is expected");
  });
  test("text after the object", () => {
    expect(produce(columns, '{"amount":1} {}')).toContain("expected the end of the value");
  });
  test("one byte-order mark is skipped", () => {
    expect(produce(columns, '\ufeff{"user":"a","amount":1}')).toBe('{"user":"a","amount":1}');
    expect(produce(columns, '\ufeff\ufeff{"user":"a","amount":1}')).toStartWith("! not valid JSON");
  });
  test("invalid UTF-8", () => {
    const value = new TextEncoder().encode('{"user":"ax","amount":1}');
    for (const bytes of [[0xff], [0xc0], [0xed], [0x80]]) {
      value.set(bytes, 10);
      expect(produce(columns, value)).toBe("! not valid UTF-8 at byte 10");
    }
  });
  test("a schema registry prefix stays where it is", () => {
    const prefixed = (json: string) => new Uint8Array([0, 0, 0, 0, 42, ...new TextEncoder().encode(json)]);
    expect(produce(columns, prefixed('{"user":"a","amount":1}'))).toBe("kept");
    expect(produce(columns, prefixed('{"amount":1}'))).toBe('\0\0\0\0*{"user":null,"amount":1}');
    expect(produce(columns, prefixed("\x02ab"))).toContain(
      "behind a schema registry prefix (a zero byte and schema id 42)",
    );
  });
  test("depth", () => {
    const nest = (depth: number) => `{"amount":1,"user":"a","x":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
    expect(produce(columns, nest(500))).toBe('{"user":"a","amount":1}');
    expect(produce(columns, nest(501))).toBe("! nested deeper than 500 levels");
    expect(produce(columns, nest(200_000))).toBe("! nested deeper than 500 levels");
  });
  test("now() and uuid() need no engine", () => {
    const table = (type: string, expression: string) =>
      nativeDefault({ type, default: expression }, () => 1_700_000_000_123)?.call(undefined);
    const text = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);
    expect(text(table("TIMESTAMP WITH TIME ZONE", "now()"))).toBe('"2023-11-14T22:13:20.123Z"');
    expect(text(table("UUID", "uuid()"))).toMatch(
      /^"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"$/,
    );
    for (const [type, expression] of [
      ["DATE", "now()"],
      ["BIGINT", "uuid()"],
      ["TIMESTAMP", "now() + to_days(1)"],
    ])
      expect(table(type!, expression!)).toBe(undefined);
    const next = () => new TextEncoder().encode('"2023-11-14T22:13:20.123Z"');
    expect(produce([["seen", "TIMESTAMP"]], "{}", [{ kind: "native", next }])).toBe(
      '{"seen":"2023-11-14T22:13:20.123"}',
    );
  });
  test("defaults", () => {
    const json = (text: string) => new TextEncoder().encode(text);
    const missing: MissingValue[] = [
      { kind: "constant", json: json('"nobody"') },
      { kind: "constant", json: json("7") },
    ];
    expect(produce(columns, "{}", missing)).toBe('{"user":"nobody","amount":7}');
    expect(produce(columns, '{"user":null}', missing)).toBe('{"user":null,"amount":7}');
  });
});
