/** Situations from the field: decimals of change events with the wrong scale, times in the wrong unit. */
import { describe, expect, test } from "bun:test";
import { TestTable } from "./recorded.ts";

/** What a column holds after an event with this value; `schema` as Connect writes it for the field `v`. */
function stored(type: string, json: string, schema?: string): string {
  const table = new TestTable({ id: "INTEGER", v: type });
  const payload = `{"op":"c","after":{"id":1,"v":${json}}}`;
  const fields = `{"type":"int32","field":"id"},${schema?.replace("{", '{"field":"v",')}`;
  const block = `{"type":"struct","fields":[{"type":"struct","field":"after","fields":[${fields}]}]}`;
  const change = table.read(null, schema === undefined ? payload : `{"schema":${block},"payload":${payload}}`);
  if (change.kind !== "upsert") throw new Error(JSON.stringify(change));
  return table.stored(change.row).v!;
}

const decimal = (scale: number) =>
  `{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"${scale}"}}`;
const variable = '{"type":"struct","name":"io.debezium.data.VariableScaleDecimal","fields":[]}';
const named = (type: string, name: string) => `{"type":"${type}","name":"${name}","version":1}`;

describe("decimals keep their scale (C14)", () => {
  test("0.1032, with and without a schema", () => {
    expect(stored("DECIMAL(4,4)", '"BAg="', decimal(4))).toBe("0.1032");
    expect(stored("DECIMAL(4,4)", '"BAg="')).toBe("0.1032");
  });
  test("the scale is the schema's of that very record, whatever the column's", () => {
    expect(stored("DECIMAL(10,2)", '"BAg="', decimal(2))).toBe("10.32");
    expect(stored("DECIMAL(10,2)", '"BAg="', decimal(0))).toBe("1032.00");
    expect(stored("DECIMAL(10,2)", '"BAg="', decimal(-1))).toBe("10320.00");
    expect(stored("DECIMAL(10,2)", '"BAg="', decimal(3))).toBe("1.03");
    const table = new TestTable({ id: "INTEGER", v: "DECIMAL(10,4)" });
    const event = (scale: number) =>
      `{"schema":{"type":"struct","fields":[{"type":"struct","field":"after","fields":[{"type":"int32","field":"id"},${decimal(scale).replace("{", '{"field":"v",')}]}]},"payload":{"op":"c","after":{"id":1,"v":"BAg="}}}`;
    const rows = [2, 4, 2].map((scale) => (table.read(null, event(scale)) as { row: string }).row);
    expect(rows).toEqual(['{"id":1,"v":10.32}', '{"id":1,"v":0.1032}', '{"id":1,"v":10.32}']);
  });
  test("negative numbers and zero", () => {
    expect(stored("DECIMAL(10,2)", '"+/g="', decimal(2))).toBe("-10.32");
    expect(stored("DECIMAL(10,2)", '"AA=="', decimal(2))).toBe("0.00");
    expect(stored("DECIMAL(10,2)", '"/w=="')).toBe("-0.01");
  });
  test("a scale of the value's own", () => {
    for (const schema of [variable, undefined]) {
      expect(stored("DECIMAL(10,2)", '{"scale":2,"value":"BAg="}', schema)).toBe("10.32");
      expect(stored("VARCHAR", '{"scale":4,"value":"BAg="}', schema)).toBe('"0.1032"');
      expect(stored("DOUBLE", '{"scale":4,"value":"BAg="}', schema)).toBe("0.1032");
    }
  });
  test("all 38 digits, exactly", () => {
    const digits = "12345678901234567890123456789012345678";
    const base64 = Buffer.from(BigInt(digits).toString(16).padStart(32, "0"), "hex").toString("base64");
    expect(stored("DECIMAL(38,10)", JSON.stringify(base64), decimal(10))).toBe(
      `${digits.slice(0, 28)}.${digits.slice(28)}`,
    );
    expect(stored("HUGEINT", JSON.stringify(base64), decimal(0))).toBe(digits);
  });
  test("modes that send text or numbers", () => {
    expect(stored("DECIMAL(10,2)", '"10.32"', '{"type":"string"}')).toBe("10.32");
    expect(stored("DECIMAL(10,0)", '"1234"', '{"type":"string"}')).toBe("1234");
    expect(stored("DECIMAL(10,2)", '"10.32"')).toBe("10.32");
    expect(stored("DECIMAL(10,2)", "10.32", '{"type":"double"}')).toBe("10.32");
    expect(stored("DECIMAL(10,2)", "10.32", decimal(2))).toBe("10.32");
  });
  test("what is too large is refused, never cut", () => {
    expect(() => stored("DECIMAL(4,2)", '"AeJA"', decimal(2))).toThrow("at most 2 digits may stand before the decimal");
  });
});

describe("times keep their unit (C15)", () => {
  const debezium = (name: string, type = "int64") => named(type, `io.debezium.time.${name}`);
  const cases: [column: string, json: string, schema: string | undefined, stored: string][] = [
    // 1972 in nanoseconds, a number that would pass for one in microseconds.
    ["TIMESTAMP", "63072000000000000", debezium("NanoTimestamp"), '"1972-01-01T00:00:00"'],
    ["TIMESTAMP", "63072000000000", debezium("MicroTimestamp"), '"1972-01-01T00:00:00"'],
    ["TIMESTAMP", "63072000000", debezium("Timestamp"), '"1972-01-01T00:00:00"'],
    ["TIMESTAMP", "63072000000", named("int64", "org.apache.kafka.connect.data.Timestamp"), '"1972-01-01T00:00:00"'],
    ["TIMESTAMP_NS", "63072000000000001", debezium("NanoTimestamp"), '"1972-01-01T00:00:00.000000001"'],
    ["TIMESTAMP", "63072000000000", undefined, '"1972-01-01T00:00:00"'],
    ["TIMESTAMP_MS", "63072000000", undefined, '"1972-01-01T00:00:00"'],
    ["TIMESTAMP_NS", "63072000000000001", undefined, '"1972-01-01T00:00:00.000000001"'],
    ["TIMESTAMP", "-1", debezium("MicroTimestamp"), '"1969-12-31T23:59:59.999999"'],
    ["TIMESTAMP", "-62135596800000", debezium("Timestamp"), '"0001-01-01T00:00:00"'],
    ["TIMESTAMP", "-62135596800000000", undefined, '"0001-01-01T00:00:00"'],
    ["TIMESTAMP WITH TIME ZONE", "63072000000000", debezium("MicroTimestamp"), '"1972-01-01T00:00:00Z"'],
    ["DATE", "63072000000", debezium("Timestamp"), '"1972-01-01"'],
    ["DATE", "730", debezium("Date", "int32"), '"1972-01-01"'],
    ["DATE", "730", named("int32", "org.apache.kafka.connect.data.Date"), '"1972-01-01"'],
    ["DATE", "-719162", undefined, '"0001-01-01"'],
    ["TIMESTAMP", "730", debezium("Date", "int32"), '"1972-01-01T00:00:00"'],
    ["TIME", "45296789", debezium("Time", "int32"), '"12:34:56.789"'],
    ["TIME", "45296789000", debezium("MicroTime"), '"12:34:56.789"'],
    ["TIME", "45296789000000", debezium("NanoTime"), '"12:34:56.789"'],
    ["TIME", "86400000000", debezium("MicroTime"), '"24:00:00"'],
    ["TIME", "45296789000", undefined, '"12:34:56.789"'],
    ["TIME", '"10:34:56+02:00"', debezium("ZonedTime", "string"), '"08:34:56"'],
    ["TIME", '"00:34:56.5+02:00"', undefined, '"22:34:56.5"'],
    [
      "TIMESTAMP WITH TIME ZONE",
      '"2024-02-29T10:34:56Z"',
      debezium("ZonedTimestamp", "string"),
      '"2024-02-29T10:34:56Z"',
    ],
    [
      "TIMESTAMP WITH TIME ZONE",
      '"2024-02-29T10:34:56.789Z"',
      debezium("ZonedTimestamp", "string"),
      '"2024-02-29T10:34:56.789Z"',
    ],
    ["TIMESTAMP WITH TIME ZONE", '"2024-02-29T10:34:56.789012+02:00"', undefined, '"2024-02-29T08:34:56.789012Z"'],
    ["TIMESTAMP WITH TIME ZONE", '"infinity"', debezium("ZonedTimestamp", "string"), '"infinity"'],
    ["INTERVAL", "90061000000", debezium("MicroDuration"), '"25:01:01"'],
    ["INTERVAL", "90061000000000", debezium("NanoDuration"), '"25:01:01"'],
    ["INTERVAL", '"P1Y2M3DT4H5M6.5S"', debezium("Interval", "string"), '"1 year 2 months 3 days 04:05:06.5"'],
    // A number that no schema calls a time is what a plain row's number is.
    ["TIMESTAMP", "63072000000", '{"type":"int64"}', '"1972-01-01T00:00:00"'],
  ];
  for (const [column, json, schema, expected] of cases)
    test(`${column} ${json} ${schema?.match(/[A-Za-z]+(?=","version)/)?.[0] ?? schema ?? "without a schema"}`, () =>
      expect(stored(column, json, schema)).toBe(expected));
  test("a fraction is no count", () => {
    expect(() => stored("TIMESTAMP", "1659386157.403862")).toThrow(
      "1659386157.403862 is not a number of us since 1970",
    );
    expect(() => stored("DATE", "1.5", debezium("Date", "int32"))).toThrow("1.5 is not a number of days since 1970");
  });
});
