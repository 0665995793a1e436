import { describe, expect, test } from "bun:test";
import { expectedRow, type TypeCase, typeCases, typeColumns } from "./postgres_types.ts";
import { recorded, TestTable } from "./recorded.ts";

const columnsOf = (cases: readonly TypeCase[]) => ({
  id: "INTEGER",
  ...Object.fromEntries(cases.map(({ column, type }) => [column, type])),
});

/** The rows of a recording, stored in a table of these columns. */
function storedRows(file: string, columns: Record<string, string>): Record<string, string>[] {
  const table = new TestTable(columns);
  return recorded(file).map((event) => {
    const change = table.read(event.key, event.value);
    if (change.kind !== "upsert") throw new Error(`${change.kind}: ${JSON.stringify(change)}`);
    return table.stored(change.row);
  });
}

/** The cases of some columns, some of them otherwise than by default. */
function casesOf(columns: readonly string[], changes: Record<string, Partial<TypeCase>> = {}): TypeCase[] {
  return typeCases.filter(({ column }) => columns.includes(column)).map((one) => ({ ...one, ...changes[one.column] }));
}

function check(file: string, cases: readonly TypeCase[]): void {
  const rows = storedRows(file, columnsOf(cases));
  const ids = [1, 2, 3, 4, 11, 12, 13, 14];
  expect(rows).toEqual(ids.map((id) => expectedRow(id, cases)));
}

describe("every PostgreSQL type", () => {
  test("with schemas, snapshot and stream", () => {
    const ids = [1, 2, 3, 4, 11, 12, 13, 14];
    expect(storedRows("types_schemas", typeColumns)).toEqual(ids.map((id) => expectedRow(id)));
  });

  test("without schemas, by the columns' types", () => {
    // What only the schema tells: that a time is in milliseconds, and how long bits are.
    const changes: Record<string, Partial<TypeCase>> = {
      c_bit_5: { type: "BLOB", normal: '"FQ=="', lowest: '""' },
      c_varbit: { type: "BLOB", normal: '"Cw=="', lowest: '""' },
      c_time_3: { type: "INTEGER", normal: "45296789", lowest: "0", highest: "86400000" },
    };
    check(
      "types_plain",
      typeCases.map((one) => ({ ...one, ...changes[one.column] })),
    );
  });
});

describe("decimal.handling.mode", () => {
  const columns = ["c_numeric_10_2", "c_numeric_5_0", "c_numeric", "c_money", "c_numeric_array", "c_numrange"];
  for (const mode of ["precise", "string"]) test(mode, () => check(`types_decimal_${mode}`, casesOf(columns)));
  test("double: what a double has kept", () => {
    const changes = {
      c_numeric: { type: "DOUBLE", normal: "3.141592653589793", lowest: "-12345678901234567000.0", highest: "1e+40" },
      c_money: { normal: "1234.56", lowest: "-92233720368547760.00", highest: "92233720368547760.00" },
    };
    check("types_decimal_double", casesOf(columns, changes));
  });
  test("a wide enough DECIMAL holds a numeric without scale", () => {
    const table = new TestTable({ id: "INTEGER", c_numeric: "DECIMAL(38,9)" });
    const rows = recorded("types_decimal_precise")
      .slice(0, 3)
      .map((event) => table.stored((table.read(event.key, event.value) as { row: string }).row).c_numeric!);
    expect(rows).toEqual(["3.141592654", "null", "-12345678901234567890.123456789"]);
  });
});

describe("time.precision.mode", () => {
  const columns = [
    "c_date",
    "c_time",
    "c_time_3",
    "c_timetz",
    "c_timestamp",
    "c_timestamp_0",
    "c_timestamp_3",
    "c_timestamptz",
    "c_interval",
    "c_timestamptz_array",
    "c_tsrange",
  ];
  for (const mode of ["adaptive", "adaptive_time_microseconds", "microseconds"])
    test(mode, () => check(`types_time_${mode}`, casesOf(columns)));
  test("nanoseconds: what does not fit 64 bits arrives as null", () =>
    check(
      "types_time_nanoseconds",
      casesOf(columns, {
        c_timestamp: { highest: "null" },
        c_timestamp_0: { highest: "null" },
        c_timestamp_3: { highest: "null" },
      }),
    ));
  test("connect: the connector cuts to milliseconds", () =>
    check(
      "types_time_connect",
      casesOf(columns, {
        c_time: { normal: '"12:34:56.789"' },
        c_timestamp: {
          normal: '"2024-02-29T12:34:56.789"',
          lowest: '"1900-01-01T00:00:00"',
          highest: '"9999-12-31T23:59:59.999"',
        },
      }),
    ));
  test("isostring: the connector turns 24:00 into 00:00", () =>
    check(
      "types_time_isostring",
      casesOf(columns, { c_time: { highest: '"00:00:00"' }, c_time_3: { highest: '"00:00:00"' } }),
    ));
  test("the same numbers as text and as numbers, where the column asks for them", () => {
    const [event] = recorded("types_schemas");
    const table = new TestTable({
      id: "INTEGER",
      c_timestamp: "BIGINT",
      c_date: "VARCHAR",
      c_time: "BIGINT",
      c_timestamp_3: "VARCHAR",
    });
    const change = table.read(event!.key, event!.value) as { row: string };
    expect(table.stored(change.row)).toEqual({
      id: "1",
      c_timestamp: "1709210096789012",
      c_date: '"2024-02-29"',
      c_time: "45296789012",
      c_timestamp_3: '"2024-02-29T12:34:56.789"',
    });
  });
});

describe("other handling modes", () => {
  test("interval.handling.mode=string keeps years, months and days", () =>
    check(
      "types_interval_string",
      casesOf(["c_interval"], {
        c_interval: {
          normal: '"1 year 2 months 3 days 04:05:06.789012"',
          lowest: '"-1 year -2 months -3 days -04:05:06.789012"',
          highest: '"178000000 years"',
        },
      }),
    ));
  test("hstore.handling.mode=map", () => check("types_hstore_map", casesOf(["c_hstore"])));
  const binary = ["c_bytea", "c_bytea_array", "c_bit_5", "c_varbit"];
  for (const mode of ["bytes", "base64", "base64_url_safe"])
    test(`binary.handling.mode=${mode}`, () => check(`types_binary_${mode}`, casesOf(binary)));
  test("hex in a BLOB is refused where it cannot be base64", () => {
    const table = new TestTable({ id: "INTEGER", c_bytea: "BLOB" });
    const [event] = recorded("types_binary_hex");
    const { row } = table.read(event!.key, event!.value) as { row: string };
    expect(() => table.stored(row)).toThrow("base64 text is expected");
  });
  test("binary.handling.mode=hex goes into text", () =>
    check(
      "types_binary_hex",
      casesOf(binary, {
        c_bytea: { type: "VARCHAR", normal: '"00ff10"', highest: '"ffffffff"' },
        c_bytea_array: { type: "VARCHAR[]", normal: '["00ff"]' },
      }),
    ));
  test("include.unknown.datatypes sends the text of the types that are left out otherwise, as bytes", () => {
    const table = new TestTable({ id: "INTEGER", c_line: "BLOB", c_composite: "BLOB", c_pg_lsn: "BLOB" });
    const [event] = recorded("types_unknown");
    const row = table.stored((table.read(event!.key, event!.value) as { row: string }).row);
    const decoded = Object.values(row).map((cell) => atob(cell.slice(1, -1)));
    expect(decoded.slice(1)).toEqual(["{1.0,2.0,3.0}", '(1,"x y")', "16/B374D848"]);
  });
});

describe("points", () => {
  const table = new TestTable({ id: "INTEGER", p: "VARCHAR", s: "STRUCT(x DOUBLE, y DOUBLE)", b: "BLOB" });
  const stored = (point: string) => {
    const change = table.read(null, `{"op":"c","after":{"id":1,"p":${point},"s":${point},"b":${point}}}`) as {
      row: string;
    };
    return table.stored(change.row);
  };
  test("as PostgreSQL prints them, as a struct, as its bytes", () => {
    expect(stored('{"x":1.5,"y":-2.0,"wkb":"AQE=","srid":null}')).toEqual({
      id: "1",
      p: '"(1.5,-2)"',
      s: '{"x":1.5,"y":-2.0}',
      b: '"AQE="',
    });
    for (const [x, printed] of [
      ["1e15", "1e+15"],
      ["123456789012345", "123456789012345"],
      ["0.0001", "0.0001"],
      ["0.00001", "1e-05"],
      ["-0.0", "-0"],
      ['"NaN"', "NaN"],
      ['"-Infinity"', "-Infinity"],
    ])
      expect(stored(`{"x":${x},"y":0.5,"wkb":"","srid":null}`).p).toBe(`"(${printed},0.5)"`);
  });
  test("an object that only looks like one stays", () => {
    const change = table.read(null, '{"op":"c","after":{"id":1,"p":{"x":[1],"y":2}}}') as { row: string };
    expect(table.stored(change.row).p).toBe('"{\\"x\\":[1],\\"y\\":2}"');
  });
});

describe("values beyond most systems", () => {
  const rows = (file: string, columns: Record<string, string>) => storedRows(file, { id: "INTEGER", ...columns });

  test("NaN, infinity and -0 in floating columns", () => {
    const expected = [
      { r: '"NaN"', d: '"NaN"' },
      { r: '"Infinity"', d: '"Infinity"' },
      { r: '"-Infinity"', d: '"-Infinity"' },
      { r: "-0.0", d: "-0.0" },
      { r: "1e-45", d: "5e-324" },
    ];
    expect(rows("special_float_special", { r: "FLOAT", d: "DOUBLE" })).toEqual([
      ...expected.map((row, i) => ({ id: String(i + 1), ...row })),
      ...expected.map((row, i) => ({ id: String(i + 11), ...row })),
    ]);
  });

  test("numeric NaN is null by default, and NaN in a DOUBLE where the mode sends it", () => {
    const nan = (value: string) => [1, 11].map((id) => ({ id: String(id), n: value, p: value }));
    expect(rows("special_numeric_nan", { n: "DECIMAL(10,2)", p: "DECIMAL(10,2)" })).toEqual(nan("null"));
    expect(rows("special_numeric_nan_string", { n: "DOUBLE", p: "DOUBLE" })).toEqual(nan('"NaN"'));
    expect(rows("special_numeric_nan_double", { n: "DOUBLE", p: "DOUBLE" })).toEqual(nan('"NaN"'));
    expect(() => rows("special_numeric_nan_string", { n: "DECIMAL(10,2)", p: "DECIMAL(10,2)" })).toThrow(
      "DECIMAL cannot hold NaN or infinity",
    );
  });

  for (const file of ["special_timestamp_infinity", "special_timestamp_infinity_connect"])
    test(`infinite timestamps: ${file}`, () => {
      const infinite = (first: number) => [
        { id: String(first), t: '"infinity"', z: '"infinity"' },
        { id: String(first + 1), t: '"-infinity"', z: '"-infinity"' },
      ];
      const columns = { t: file.endsWith("connect") ? "TIMESTAMP_MS" : "TIMESTAMP", z: "TIMESTAMP WITH TIME ZONE" };
      expect(rows(file, columns)).toEqual([...infinite(1), ...infinite(11)]);
    });

  test("years before Christ: timestamps, and dates from the stream (the snapshot's are the connector's fault)", () => {
    const all = rows("special_bc", { d: "DATE", t: "TIMESTAMP", z: "TIMESTAMP WITH TIME ZONE" });
    const stream = [
      { d: '"-0043-03-15"', t: '"-0043-03-15T12:00:00"', z: '"-0043-03-15T12:00:00Z"' },
      { d: '"-4713-11-24"', t: '"-4713-11-24T00:00:00"', z: '"-4713-11-24T00:00:00Z"' },
    ];
    expect(all.slice(2)).toEqual(stream.map((row, i) => ({ id: String(i + 11), ...row })));
    expect(all.slice(0, 2).map(({ t, z }) => ({ t, z }))).toEqual(stream.map(({ t, z }) => ({ t, z })));
  });

  test("the last date of PostgreSQL fits; its last timestamp does not", () => {
    expect(rows("special_far_future", { d: "DATE" }).map(({ d }) => d)).toEqual([
      '"+5874897-12-31"',
      '"+5874897-12-31"',
    ]);
    expect(() => rows("special_far_future", { z: "TIMESTAMP WITH TIME ZONE" })).toThrow("out of range");
  });

  test("a time zone of the database changes nothing", () => {
    const columns = {
      t: "TIMESTAMP_MS",
      z: "TIMESTAMP WITH TIME ZONE",
      tt: "TIME",
      d: "DATE",
      za: "TIMESTAMP WITH TIME ZONE[]",
    };
    const row = {
      z: '"2024-01-01T00:00:00Z"',
      tt: '"00:00:00"',
      d: '"2024-01-01"',
      za: '["2024-01-01T00:00:00Z"]',
    };
    expect(rows("timezone", columns).map(({ id, t, ...rest }) => rest)).toEqual([row, row]);
  });
});
