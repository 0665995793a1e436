/**
 * Situations from the field in which other systems lost or changed rows on their way from JSON into a table. Where such a record is
 * produced to a typed table here, its batch is refused, and nothing of it is stored.
 */
import { describe, expect, test } from "bun:test";
import { type Codec, codecs } from "../../src/hotpath/codecs.ts";
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch, type RecordToEncode } from "../../src/protocol/records/encode.ts";
import { RecordErrors } from "../../src/protocol/records/record_errors.ts";
import { batchToLog, decodeForTable, viewBatch } from "../../src/tables/ingest.ts";
import { Table } from "../../src/tables/table.ts";

function tableOf(...columns: [name: string, type: string, notNull?: boolean][]): Table {
  const definition = {
    schema: "main",
    name: "t",
    sql: "",
    columns: columns.map(([name, type, notNull]) => ({ name, type, notNull: notNull ?? false })),
    checks: [],
    unique: [],
    raw: false,
  };
  const topic = { name: "t", id: "t", partitions: 1, configs: new Map(), internal: false, createdMs: 0 };
  return new Table(topic, definition, new Map());
}

/** The values that are logged, or the faults for which the batch is refused. */
function produce(table: Table, records: (RecordToEncode | string | null | Uint8Array)[], codec: Codec = codecs.none) {
  const bytes = encodeBatch(
    records.map((record) =>
      typeof record === "string" || record === null || record instanceof Uint8Array ? { value: record } : record,
    ),
    { codec, timestamp: 1 },
  );
  const batch = { bytes, header: new BatchHeader(bytes) };
  const view = viewBatch(batch);
  try {
    const logged = batchToLog(batch, view, decodeForTable(table, 0, view), "producer");
    return { bytes, logged, records: decodeBatch(logged).records, faults: [] };
  } catch (error) {
    if (!(error instanceof RecordErrors)) throw error;
    return { bytes, logged: undefined, records: [], faults: error.recordErrors, message: error.message };
  }
}

const text = (bytes: Uint8Array | null) => (bytes === null ? null : new TextDecoder().decode(bytes));
const store = (type: string, json: string) => {
  const { records, faults } = produce(tableOf(["v", type]), [`{"v":${json}}`]);
  return faults.length > 0 ? `! ${faults[0]!.message}` : text(records[0]!.value)!.slice(5, -1);
};

describe("C06: integers above 2^53", () => {
  test("digits are never rounded", () => {
    for (const digits of ["9007199254740993", "73314510714175488", "9223372036854775807"])
      expect(store("BIGINT", digits)).toBe(digits);
    expect(store("UBIGINT", "18446744073709551615")).toBe("18446744073709551615");
    expect(store("HUGEINT", "327267367867168100000")).toBe("327267367867168100000");
    expect(store("DECIMAL(38,2)", "12345678901234567.89")).toBe("12345678901234567.89");
    expect(store("VARCHAR", "327267367867168100000")).toBe('"327267367867168100000"');
    expect(store("JSON", "327267367867168100000.10")).toBe("327267367867168100000.10");
  });
  test("what does not fit is refused, not rounded, not dropped", () => {
    expect(store("BIGINT", "18446744073709551615")).toContain(
      "the range is -9223372036854775808 to 9223372036854775807",
    );
    expect(store("BIGINT", "12345678901234567.89")).toContain("a fraction does not fit an integer");
    expect(store("DOUBLE", "1e400")).toContain("out of range");
    expect(store("BIGINT", "-0")).toBe("0");
    expect(store("DOUBLE", "-0.0")).toBe("-0.0");
  });
  test("the produced bytes are the stored bytes", () => {
    const { bytes, logged } = produce(tableOf(["id", "BIGINT"]), ['{ "id" : 9007199254740993 }']);
    expect(logged).toBe(bytes);
  });
});

describe("C17: names that differ only in case", () => {
  test("a field goes to the column of its exact name; another case is another, unknown field", () => {
    const { records } = produce(tableOf(["id", "INTEGER"]), ['{"id":1,"Id":2}', '{"ID":3}', '{"Id":4,"id":5}']);
    expect(records.map((record) => text(record.value))).toEqual(['{"id":1}', '{"id":null}', '{"id":5}']);
  });
  test("the same at every depth", () => {
    const { records } = produce(tableOf(["o", "STRUCT(x INTEGER)"]), ['{"o":{"x":1,"X":2}}', '{"o":{"X":2}}']);
    expect(records.map((record) => text(record.value))).toEqual(['{"o":{"x":1}}', '{"o":{"x":null}}']);
    expect(store("MAP(VARCHAR, INTEGER)", '{"k":1,"K":2}')).toBe('{"k":1,"K":2}');
  });
});

describe("C18: bad messages among good ones", () => {
  const table = tableOf(["n", "INTEGER"], ["s", "VARCHAR"]);
  const good = (n: number) => `{"n":${n},"s":"x"}`;
  test("the batch is refused, and each bad record is named", () => {
    const values: (string | Uint8Array)[] = Array.from({ length: 1003 }, (_, n) => good(n));
    values[300] = '{"n":300,"s":"tru';
    values[500] = '{"n":"five","s":"x"}';
    values[700] = new Uint8Array([...new TextEncoder().encode('{"n":7,"s":"'), 0xff, 0x22, 0x7d]);
    const { faults, message } = produce(table, values, codecs.gzip);
    expect(faults.map((fault) => fault.index)).toEqual([300, 500, 700]);
    expect(faults[0]!.message).toContain("not valid JSON at byte 17: expected the closing quote of a string");
    expect(faults[1]!.message).toBe('column "n": "five" does not fit INTEGER: an integral number is expected');
    expect(faults[2]!.message).toBe("not valid UTF-8 at byte 12");
    expect(message).toContain("3 of 1003 records");
  });
  test("no partial row: a refused record leaves the columns as they were", () => {
    const decoded = table.decoder.decode(
      decodeBatch(encodeBatch([{ value: good(1) }, { value: '{"s":"y","n":true}' }, { value: good(2) }])),
      0,
      table.missing,
    );
    expect([decoded.rows, decoded.faultCount, ...decoded.columns.map((column) => column.length)]).toEqual([2, 1, 2, 2]);
  });
  test("many bad records: the answer is bounded, the count is not", () => {
    const { faults, message } = produce(
      table,
      Array.from({ length: 500 }, () => "bad"),
    );
    expect(faults.length).toBe(100);
    expect(message).toContain("500 of 500 records");
  });
});

describe("C34: null and empty", () => {
  test("keys, header values and their order survive a batch that is written anew", () => {
    const headers = [
      { key: "b", value: null },
      { key: "", value: "" },
      { key: "b", value: "2" },
    ];
    const sent = [null, "", "k"].map((key) => ({ key, value: '{"n":"1"}', headers, timestamp: 5 }));
    const { records } = produce(tableOf(["n", "INTEGER"]), sent, codecs.lz4);
    expect(records.map((record) => text(record.key))).toEqual([null, "", "k"]);
    expect(records.map((record) => text(record.value))).toEqual(['{"n":1}', '{"n":1}', '{"n":1}']);
    for (const record of records)
      expect(record.headers.map((header) => [header.key, text(header.value)])).toEqual([
        ["b", null],
        ["", ""],
        ["b", "2"],
      ]);
  });
  test("1,000 headers", () => {
    const headers = Array.from({ length: 1000 }, (_, i) => ({ key: `h${i % 7}`, value: `${i}` }));
    const { records } = produce(tableOf(["n", "INTEGER"]), [{ value: "{}", headers }]);
    expect(records[0]!.headers.length).toBe(1000);
  });
  test("only a null value is a tombstone; an empty one is no JSON", () => {
    const { faults } = produce(tableOf(["n", "INTEGER"]), [null, ""]);
    expect(faults[0]!.message).toContain("no primary key");
    expect(faults[1]!.message).toContain("the value is empty");
  });
  test("NULL and the empty text stay apart in a raw table", () => {
    const table = tableOf(["_key", "VARCHAR"], ["_value", "VARCHAR"]);
    const batch = decodeBatch(
      encodeBatch([
        { key: null, value: "" },
        { key: "", value: null },
      ]),
    );
    const { columns } = table.decoder.decode(batch, 0, table.missing);
    expect([0, 1].map((row) => columns.map((column) => column.isNull(row)))).toEqual([
      [true, false],
      [false, true],
    ]);
  });
});

describe("C46: NaN and infinity", () => {
  test("bare NaN is no JSON", () => {
    expect(store("DOUBLE", "NaN")).toContain("not valid JSON");
    expect(store("DOUBLE", "-Infinity")).toContain("not valid JSON");
  });
  test("their texts fit floating columns alone", () => {
    for (const type of ["DOUBLE", "FLOAT"])
      for (const value of ['"NaN"', '"Infinity"', '"-Infinity"']) expect(store(type, value)).toBe(value);
    expect(store("DECIMAL(10,2)", '"NaN"')).toContain("DECIMAL cannot hold NaN or infinity");
    expect(store("BIGINT", '"Infinity"')).toStartWith("!");
  });
  test("never NULL in their place", () => {
    const { faults } = produce(tableOf(["v", "DOUBLE", true]), ['{"v":NaN}']);
    expect(faults.length).toBe(1);
  });
});

describe("C48: a schema registry prefix before the JSON", () => {
  const prefixed = (tail: Uint8Array) => new Uint8Array([0, 0, 0, 0, 0x2a, ...tail]);
  const json = new TextEncoder().encode('{"n":1}');
  test("is skipped, and the bytes are unchanged", () => {
    const { bytes, logged } = produce(tableOf(["n", "INTEGER"]), [prefixed(json)]);
    expect(logged).toBe(bytes);
  });
  test("before something else: the reason names it", () => {
    const { faults } = produce(tableOf(["n", "INTEGER"]), [prefixed(new Uint8Array([2, 14]))]);
    expect(faults[0]!.message).toContain("schema registry prefix (a zero byte and schema id 42)");
  });
  test("in a key it is part of the key", () => {
    const { records } = produce(tableOf(["n", "INTEGER"], ["_key", "BLOB"]), [
      { key: prefixed(json), value: '{"n":1}' },
    ]);
    expect(records[0]!.key).toEqual(prefixed(json));
  });
});

describe("C50: timestamps in many shapes", () => {
  test("ISO 8601", () => {
    expect(store("TIMESTAMP", '"2022-08-01T20:35:57.403862Z"')).toBe('"2022-08-01T20:35:57.403862"');
    expect(store("TIMESTAMP", '"2022-08-01T20:35:57+02:00"')).toBe('"2022-08-01T18:35:57"');
    expect(store("TIMESTAMPTZ", '"2022-08-01T20:35:57"')).toBe('"2022-08-01T20:35:57Z"');
    expect(store("TIMESTAMP", '"2022-08-01T20:35:57,5"')).toBe('"2022-08-01T20:35:57.5"');
    expect(store("TIMESTAMP_NS", '"2022-08-01T20:35:57.123456789"')).toBe('"2022-08-01T20:35:57.123456789"');
    expect(store("TIMESTAMP", '"2022-08-01T24:00:00"')).toBe('"2022-08-02T00:00:00"');
  });
  test("what is no time is refused, never NULL", () => {
    for (const value of [
      '"2021-02-30"',
      '"2022-08-01T20:35:60"',
      '"2022-08-01T25:00:00"',
      '"yesterday"',
      '""',
      "true",
      "1659386157.403862",
    ])
      expect(store("TIMESTAMP", value)).toStartWith("!");
  });
  test("an integer is milliseconds whatever its size; the unit is never guessed", () => {
    expect(store("TIMESTAMP", "1659386157")).toBe('"1970-01-20T04:56:26.157"');
    expect(store("TIMESTAMP", "1659386157403")).toBe('"2022-08-01T20:35:57.403"');
    expect(store("TIMESTAMP", "1659386157403862")).toBe('"+54553-11-08T07:16:43.862"');
    expect(store("TIMESTAMP", "1659386157403862123")).toContain("out of range");
    expect(store("BIGINT", "1659386157403862123")).toBe("1659386157403862123");
  });
});

describe("C51: missing, null, repeated", () => {
  test("missing and null are NULL; of a repeated field the last counts", () => {
    const { records } = produce(tableOf(["a", "INTEGER"], ["b", "INTEGER"]), [
      '{"a":1,"b":2}',
      '{"a":3}',
      '{"a":null,"b":4}',
      '{"a":1,"a":2,"b":3}',
    ]);
    expect(records.map((record) => text(record.value))).toEqual([
      '{"a":1,"b":2}',
      '{"a":3,"b":null}',
      '{"a":null,"b":4}',
      '{"a":2,"b":3}',
    ]);
  });
});
