import { describe, expect, test } from "bun:test";
import { ChangeReader } from "../../../src/tables/changes/change_reader.ts";
import { definitionOf, recorded, TestTable } from "./recorded.ts";

const item = { id: "INTEGER", name: "VARCHAR" };
const data = { id: "INTEGER", value: "INTEGER", key: "INTEGER" };

/** The changes of a recording's topic, short: `+{row}`, `-{key}`, or what else. */
function changes(table: TestTable, file: string, topic = ""): string[] {
  return recorded(file, topic).map(({ key, value }) => {
    const change = table.read(key, value);
    switch (change.kind) {
      case "upsert":
        return `+${change.row}${change.unchanged ? ` unchanged ${change.unchanged.join()}` : ""}`;
      case "delete":
        return `-${change.key}`;
      case "skip":
        return `skip ${change.why}`;
      case "fault":
        return change.message;
      default:
        return change.kind;
    }
  });
}

describe("recorded operations", () => {
  const rows = [
    '+{"id":1,"value":10,"key":1}',
    '+{"id":2,"value":20,"key":2}',
    '+{"id":3,"value":30,"key":3}',
    '+{"id":4,"value":40,"key":4}',
    '+{"id":2,"value":21,"key":2}',
  ];
  const gone = '-{"id":3}';

  for (const file of ["simple_schemas", "simple_plain"])
    test(`${file}: snapshot, insert, update, delete with tombstone, truncate`, () =>
      expect(changes(new TestTable(data), file)).toEqual([...rows, gone, gone, "truncate"]));
  test("a delete without a tombstone", () =>
    expect(changes(new TestTable(data), "simple_no_tombstone")).toEqual([...rows, gone]));
  for (const file of ["simple_unwrap_schemas", "simple_unwrap_plain"])
    test(`${file}: flattened rows, and a tombstone for the delete`, () =>
      expect(changes(new TestTable(data), file)).toEqual([...rows, gone]));
  test("flattened rows with __deleted and other metadata", () => {
    const all = changes(new TestTable(data), "simple_unwrap_rewrite");
    expect(all.map((one) => one.replace(/,"__deleted".*}/, "}"))).toEqual([...rows, gone]);
  });
  test("a change of key is a delete of the old one and a row of the new one", () => {
    const expected = ['+{"id":1,"name":"one"}', '-{"id":1}', '-{"id":1}', '+{"id":2,"name":"two"}'];
    expect(changes(new TestTable(item), "key_update")).toEqual(expected);
    expect(changes(new TestTable(item), "key_update_default_identity")).toEqual(expected);
  });
  test("keys of several columns, in the key's order", () => {
    const line = { note: "VARCHAR", order_id: "INTEGER", line_no: "SMALLINT", amount: "DECIMAL(8,3)" };
    expect(changes(new TestTable(line, { key: ["order_id", "line_no"] }), "composite_key", "line")).toEqual([
      '+{"note":"first","order_id":1,"line_no":1,"amount":1.500}',
      '+{"note":null,"order_id":1,"line_no":2,"amount":0.500}',
      '+{"note":"changed","order_id":1,"line_no":1,"amount":1.500}',
      '-{"order_id":1,"line_no":1}',
      '-{"order_id":1,"line_no":1}',
    ]);
    // The table here may have its key in another order than the record's.
    const other = new TestTable(line, { key: ["line_no", "order_id"] });
    expect(changes(other, "composite_key", "line").at(-1)).toBe('-{"line_no":1,"order_id":1}');
    const reversed = new TestTable({ a: "INTEGER", b: "INTEGER", c: "INTEGER" }, { key: ["c", "a"] });
    expect(changes(reversed, "composite_key", "reversed")).toEqual(['+{"a":1,"b":2,"c":3}']);
  });
  test("the connector's own choice of key columns names no row: deletes go by before", () => {
    const log = { at: "INTEGER", message: "VARCHAR", n: "INTEGER" };
    expect(changes(new TestTable(log, { key: ["n"] }), "message_key_columns").slice(0, 3)).toEqual([
      '+{"at":1,"message":"before","n":1}',
      // n is no part of the connector's key, so its change came as an update of one row.
      'an update changes the primary key from {"n":1} to {"n":2}, and the record\'s key is {"at":1,"message":"before"}, which gives no key column (n is missing): a change of key is a delete and an insert',
      '-{"n":2}',
    ]);
    expect(changes(new TestTable(log, { key: ["at", "message"] }), "message_key_columns")).toEqual([
      '+{"at":1,"message":"before","n":1}',
      '+{"at":1,"message":"before","n":2}',
      '-{"at":1,"message":"before"}',
      '-{"at":1,"message":"before"}',
      '+{"at":2,"message":"before","n":2}',
    ]);
  });
  test("rows of a table without a key: a delete needs before, and a tombstone has no key", () => {
    const log = { at: "TIMESTAMP WITH TIME ZONE", message: "VARCHAR" };
    expect(changes(new TestTable(log, { key: ["at"] }), "no_key", "log_full").slice(3)).toEqual([
      '-{"at":"2024-01-02T00:00:00.000000Z"}',
      "a null value deletes the row of its key (at), and the record has no key",
    ]);
    expect(changes(new TestTable(log, { key: [] }), "no_key", "log_full").slice(2)).toEqual([
      '+{"at":"2024-01-02T00:00:00.000000Z","message":"changed"}',
      "a delete needs a primary key, and this table has none",
      "a null value deletes the row of its key, and this table has no primary key",
    ]);
  });
  test("names that SQL has to quote", () => {
    const names = {
      Id: "INTEGER",
      "Some Column": "VARCHAR",
      "1st": "INTEGER",
      "dotted.name": "INTEGER",
      tägen: "INTEGER",
    };
    const table = new TestTable(names, { key: ["Id"] });
    const last = recorded("names", "Mixed.Case").at(-1)!;
    const change = table.read(last.key, last.value) as { row: string; key: string };
    expect(change.key).toBe('{"Id":1}');
    expect(table.stored(change.row)).toEqual({
      Id: "1",
      "Some Column": '"x"',
      "1st": "2",
      "dotted.name": "2",
      tägen: "3",
    });
  });
  test("schemas that change under way", () => {
    const table = new TestTable({ id: "INTEGER", name: "VARCHAR", n: "INTEGER", m: "BIGINT", z: "VARCHAR" });
    const rows = recorded("alter_table").map((event) => {
      const change = table.read(event.key, event.value) as { row: string };
      return table.stored(change.row);
    });
    expect(rows).toEqual([
      { id: "1", name: '"one"' },
      { id: "2", name: '"two"' },
      { id: "3", name: '"three"', n: "3" },
      { id: "1", name: '"uno"', n: "7" },
      { id: "4", name: '"four"', m: "4" },
      { id: "5", m: "5" },
      { id: "6", m: "7", z: '"zed"' },
    ]);
  });
});

describe("records beside rows", () => {
  test("heartbeats, transaction records, messages are skipped", () => {
    const table = new TestTable(item);
    expect(new Set(changes(table, "heartbeat", "__debezium-heartbeat.heartbeat"))).toEqual(new Set(["skip heartbeat"]));
    for (const file of ["transaction_metadata", "transaction_metadata_plain"])
      expect(new Set(changes(table, file, ".transaction"))).toEqual(new Set(["skip transaction"]));
    expect(new Set(changes(table, "logical_message", ".message"))).toEqual(new Set(["skip message"]));
  });
  test("a heartbeat without schemas, by its key", () => {
    const table = new TestTable(item);
    expect(table.read('{"serverName":"shop"}', '{"ts_ms":1795980657727}')).toEqual({ kind: "skip", why: "heartbeat" });
    expect(table.read('{"id":1}', '{"ts_ms":1795980657727}')).toMatchObject({ kind: "upsert" });
  });
  test("schema change records", () => {
    const table = new TestTable(item);
    const value =
      '{"source":{"connector":"mysql"},"ts_ms":1,"databaseName":"shop","schemaName":null,"ddl":"CREATE TABLE x (a INT)","tableChanges":[]}';
    expect(table.read('{"databaseName":"shop"}', value)).toEqual({ kind: "skip", why: "schema_change" });
  });
  test("rows of transactions carry the transaction's block", () => {
    const table = new TestTable({ id: "INTEGER", t: "VARCHAR" });
    expect(changes(table, "transaction_metadata", ".a").at(-1)).toBe('+{"id":2,"t":"z"}');
  });
});

describe("which records are change events", () => {
  const envelope = '{"before":null,"after":{"id":1,"name":"a"},"op":"c"}';
  const read = (format: "json" | "debezium" | "auto", value: string, columns: Record<string, string> = item) =>
    new TestTable(columns, { format }).read('{"id":1}', value);

  test("auto: op with after or before, bare or as a payload", () => {
    const row = { kind: "upsert", row: '{"id":1,"name":"a"}', key: '{"id":1}' };
    expect(read("auto", envelope)).toEqual(row as never);
    expect(read("auto", `{"payload":${envelope}}`)).toEqual(row as never);
    expect(read("auto", `{"schema":null,"payload":${envelope}}`)).toEqual(row as never);
    expect(read("auto", '{"op":"d","before":{"id":1}}')).toEqual({ kind: "delete", key: '{"id":1}' });
    expect(read("auto", ` { "op" : "c" , "after" : { "id" : 1 } } `)).toMatchObject({ row: '{ "id" : 1 }' });
  });
  test("auto: a row without those is a plain row, byte for byte", () => {
    for (const value of [
      '{"id":1,"op":"c"}',
      '{"id":1,"name":"a","extra":{"after":1}}',
      '{ "id":1}',
      "[1]",
      "5",
      '{"id":1,"payload":2}',
    ])
      expect(read("auto", value)).toMatchObject({ kind: "upsert", row: value });
  });
  test("auto: a table with a column op, before, after or payload is never guessed at", () => {
    for (const name of ["op", "before", "after", "payload"]) {
      const value = '{"before":null,"after":{"id":1},"op":"c","payload":1}';
      expect(read("auto", value, { id: "INTEGER", [name]: "VARCHAR" })).toMatchObject({ kind: "upsert", row: value });
    }
  });
  test("json: everything is a row", () => {
    expect(read("json", envelope)).toMatchObject({ row: envelope });
    expect(read("json", '{"id":1,"__deleted":true}')).toMatchObject({ kind: "upsert" });
  });
  test("debezium: a column called op is no reason to doubt, and a row without op is flattened", () => {
    const columns = { id: "INTEGER", op: "VARCHAR", at: "TIMESTAMP" };
    const value = '{"before":null,"after":{"id":1,"op":"x","at":1709210096789012},"op":"c"}';
    const row = '{"id":1,"op":"x","at":"2024-02-29T12:34:56.789012"}';
    expect(read("debezium", value, columns)).toMatchObject({ row });
    expect(read("debezium", '{"id":1,"op":"x","at":1709210096789012}', columns)).toMatchObject({ row });
    // The same as a plain row: an integer is milliseconds there.
    expect(read("auto", '{"id":1,"at":1709210096789012}', columns)).toMatchObject({
      row: '{"id":1,"at":1709210096789012}',
    });
  });
  test("the reader says whether it looks at values at all", () => {
    const interprets = (columns: Record<string, string>, format: "json" | "debezium" | "auto") =>
      new ChangeReader(definitionOf(columns, { format })).interpretsValues;
    expect(interprets(item, "auto")).toBe(true);
    expect(interprets(item, "json")).toBe(false);
    expect(interprets({ ...item, op: "VARCHAR" }, "auto")).toBe(false);
    expect(interprets({ ...item, op: "VARCHAR" }, "debezium")).toBe(true);
  });
});

describe("flattened rows with a deleted flag (C53)", () => {
  const table = new TestTable(item);
  test("text and boolean true alike delete", () => {
    for (const flag of ['"true"', "true"])
      expect(table.read('{"id":1}', `{"id":1,"name":"a","__deleted":${flag}}`)).toEqual({
        kind: "delete",
        key: '{"id":1}',
      });
    expect(table.read(null, '{"id":1,"name":"a","__deleted":"true"}')).toEqual({ kind: "delete", key: '{"id":1}' });
  });
  test("false, null and absent do not", () => {
    for (const flag of ['"false"', "false", "null"])
      expect(table.read('{"id":1}', `{"id":1,"__deleted":${flag}}`)).toMatchObject({ kind: "upsert" });
    expect(table.read('{"id":1}', '{"id":1,"__op":"u","__table":"t"}')).toMatchObject({ kind: "upsert" });
  });
  test("__op d deletes, and so does a tombstone alone", () => {
    expect(table.read('{"id":1}', '{"id":1,"__op":"d"}')).toMatchObject({ kind: "delete" });
    expect(table.read('{"id":1}', null)).toEqual({ kind: "delete", key: '{"id":1}' });
  });
  test("anything else in the flag is a fault", () =>
    expect(table.read('{"id":1}', '{"id":1,"__deleted":"maybe"}')).toEqual({
      kind: "fault",
      message: '"__deleted" is "maybe": true or false is expected',
    }));
  test("a table with such a column keeps the flag", () => {
    const soft = new TestTable({ ...item, __deleted: "VARCHAR" });
    expect(soft.read('{"id":1}', '{"id":1,"__deleted":"true"}')).toMatchObject({ kind: "upsert" });
  });
});

describe("malformed change events", () => {
  const table = new TestTable({ id: "INTEGER", name: "VARCHAR", amount: "DECIMAL(10,2)", at: "TIMESTAMP" });
  const schema = (type: string) =>
    `{"type":"struct","fields":[{"type":"struct","optional":true,"field":"after","fields":[{"type":"int32","field":"id"},${type}]}]}`;
  const decimal =
    '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"},"field":"amount"}';
  const faults: [what: string, value: string, message: string][] = [
    [
      "an unknown op",
      '{"op":"x","after":{"id":1}}',
      'a change event\'s "op" is "x": c, r, u (rows), d (delete), t (truncate) and m (message) are known',
    ],
    ["an op that is no text", '{"op":1,"after":{"id":1}}', 'a change event\'s "op" is 1'],
    [
      "after missing",
      '{"op":"c","before":null}',
      'a change event with op "c" needs a row in "after", which is missing',
    ],
    ["after null", '{"op":"u","after":null}', 'a change event with op "u" needs a row in "after", which is null'],
    ["after no object", '{"op":"r","after":[1]}', "which is [1]: an object is expected"],
    [
      "a document of MongoDB",
      '{"op":"c","after":"{\\"_id\\":{\\"$oid\\":\\"5\\"}}"}',
      "its ExtractNewDocumentState transform makes rows of them",
    ],
    [
      "neither after nor before",
      '{"op":"c","source":{"table":"t"}}',
      'needs a row in "after" or "before", and this one has neither',
    ],
    ["another table's columns", '{"op":"c","after":{"other":1}}', "it is another table's"],
    ["text after the envelope", '{"op":"c","after":{"id":1}} x', 'expected the end of the value, found "x"'],
    ["a cut envelope", '{"op":"c","after":{"id":1}', "not valid JSON at byte 26"],
    [
      "invalid UTF-8 in what is not needed",
      '{"op":"c","after":{"id":1},"source":"\xff"}',
      "not valid UTF-8 at byte 37",
    ],
    [
      "a decimal that is none",
      `{"schema":${schema(decimal)},"payload":{"op":"c","after":{"id":1,"amount":"!!"}}}`,
      'column "amount": "!!" is not a decimal in base64',
    ],
    [
      "a decimal object in place of bytes",
      `{"schema":${schema(decimal)},"payload":{"op":"c","after":{"id":1,"amount":{"scale":1}}}}`,
      'column "amount": {"scale":1} is not a decimal',
    ],
    [
      "text where the schema has a time",
      `{"schema":${schema('{"type":"int64","name":"io.debezium.time.MicroTimestamp","field":"at"}')},"payload":{"op":"c","after":{"id":1,"at":"soon"}}}`,
      'column "at": "soon" is not a number of us since 1970',
    ],
    [
      "a field that the schema lacks",
      `{"schema":${schema(decimal)},"payload":{"op":"c","after":{"id":1,"name":"a"}}}`,
      'column "name": the payload has this field and its schema does not',
    ],
    [
      "a schema that is none",
      '{"schema":{"fields":[]},"payload":{"op":"c","after":{"id":1}}}',
      "the schema block is no Connect schema: schema has no type",
    ],
    [
      "a decimal without a scale",
      `{"schema":${schema('{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","field":"amount"}')},"payload":{"op":"c","after":{"id":1,"amount":"AQ=="}}}`,
      "the record's schema cannot be used: a Decimal has no scale among its parameters",
    ],
    [
      "a scale beyond reason",
      '{"op":"c","after":{"id":1,"amount":{"scale":2000000000,"value":"AQ=="}}}',
      'column "amount": {"scale":2000000000,"value":"AQ=="} is not an object of a number "scale" and a base64 text "value"',
    ],
  ];
  for (const [what, value, message] of faults)
    test(what, () => {
      const bytes = Uint8Array.from(value, (char) => char.charCodeAt(0));
      const change = table.read('{"id":1}', bytes);
      expect(change.kind).toBe("fault");
      expect((change as { message: string }).message).toContain(message);
    });
  test("after any of them the next good record goes through", () => {
    for (const [, value] of faults) {
      table.read('{"id":1}', value);
      expect(table.read('{"id":2}', '{"op":"c","after":{"id":2,"amount":"AeJA"}}')).toMatchObject({
        row: '{"id":2,"amount":1234.56}',
        key: '{"id":2}',
      });
    }
  });
  test("an op that the table's format asks for", () => {
    const strict = new TestTable(item, { format: "debezium" });
    expect(strict.read('{"id":1}', '{"before":null,"after":{"id":1}}')).toEqual({
      kind: "fault",
      message: 'a change event needs an "op", and this one has none',
    });
  });
  test("deep nesting is refused without recursion, in every part", () => {
    const deep = "[".repeat(100_000);
    for (const value of [
      `{"op":"c","after":{"id":1,"name":${deep}`,
      `{"op":"c","source":${deep}`,
      `{"before":${deep}`,
      `{"schema":${deep}`,
      `{"payload":${deep}`,
      deep,
    ]) {
      const change = table.read('{"id":1}', value);
      // A value that is no object is left to the row's reader, which refuses it.
      if (value === deep) expect(change).toMatchObject({ kind: "upsert" });
      else expect(change).toEqual({ kind: "fault", message: "nested deeper than 500 levels" });
    }
    expect(table.read(deep, '{"op":"c","after":{"id":1}}')).toMatchObject({ kind: "upsert" });
    const json = new TestTable({ id: "INTEGER", doc: "JSON" });
    const change = json.read(null, JSON.stringify({ op: "c", after: { id: 1, doc: `${deep}${"]".repeat(100_000)}` } }));
    // Text that is no JSON that we read stays text.
    expect(change).toMatchObject({ kind: "upsert" });
  });
  test("values that would grow out of all proportion", () => {
    const bits = '{"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"2147483647"},"field":"name"}';
    const long = Buffer.alloc(9_000, 255).toString("base64");
    const value = `{"schema":${schema(bits)},"payload":{"op":"c","after":{"id":1,"name":"${long}"}}}`;
    expect((table.read(null, value) as { message: string }).message).toContain("is not at most 65536 bits");
    const text = new TestTable({ id: "INTEGER", name: "VARCHAR" });
    const digits = (scale: number) =>
      text.read(null, `{"op":"c","after":{"id":1,"name":{"scale":${scale},"value":"AQ=="}}}`);
    expect((digits(1_000) as { row: string }).row).toHaveLength(1_002 + '{"id":1,"name":""}'.length);
    // No decimal that is read: the object stays one.
    expect(digits(1_001)).toMatchObject({ row: '{"id":1,"name":{"scale":1001,"value":"AQ=="}}' });
    const huge = Buffer.alloc(1_100, 1).toString("base64");
    expect(table.read(null, `{"op":"c","after":{"id":1,"amount":"${huge}"}}`)).toMatchObject({ kind: "fault" });
  });
  test("many schemas, and large ones, are not all kept", () => {
    const wide = (n: number) =>
      `{"type":"struct","fields":[{"type":"struct","field":"after","fields":[{"type":"int32","field":"id"},{"type":"string","field":"name"},{"type":"string","field":"f${n}","doc":"${"x".repeat(200_000)}"}]}]}`;
    for (let n = 0; n < 60; n++) {
      const change = table.read(null, `{"schema":${wide(n % 40)},"payload":{"op":"c","after":{"id":1,"name":"${n}"}}}`);
      expect(change).toEqual({ kind: "upsert", row: `{"id":1,"name":"${n}"}` });
    }
    const tooLarge = `{"schema":${wide(1).replace("xxx", "x".repeat(4_200_000))},"payload":{"op":"c","after":{"id":1}}}`;
    expect((table.read(null, tooLarge) as { message: string }).message).toContain("at most 4194304 are read");
  });
  test("a row of 10 MB", () => {
    const name = "x".repeat(10_000_000);
    const change = table.read(
      '{"id":1}',
      `{"op":"c","after":{"id":1,"name":"${name}","amount":"AeJA"},"source":{}}`,
    ) as { row: string };
    expect(change.row).toBe(`{"id":1,"name":"${name}","amount":1234.56}`);
  });
});

describe("prefixes", () => {
  const bytes = (prefix: number[], text: string) => Uint8Array.from([...prefix, ...Buffer.from(text)]);
  const registry = [0, 0, 0, 0, 42];
  test("a schema registry's, before key and value (C48)", () => {
    const table = new TestTable(item);
    expect(table.read(bytes(registry, '{"id":1}'), bytes(registry, '{"op":"c","after":{"id":1}}'))).toEqual({
      kind: "upsert",
      row: '{"id":1}',
      key: '{"id":1}',
    });
    expect(table.read(bytes(registry, '{"id":1}'), null)).toEqual({ kind: "delete", key: '{"id":1}' });
  });
  test("a byte-order mark", () => {
    const table = new TestTable(item);
    expect(table.read(null, bytes([0xef, 0xbb, 0xbf], '{"op":"c","after":{"id":1}}'))).toEqual({
      kind: "upsert",
      row: '{"id":1}',
    });
  });
});

describe("MySQL's events", () => {
  const source = '"source":{"version":"3.6.1.Final","connector":"mysql","name":"shop","db":"shop","table":"t"}';
  const columns = {
    id: "UBIGINT",
    flag: "BOOLEAN",
    made: "DATE",
    seen: "TIMESTAMP",
    lasted: "INTERVAL",
    mask: "INTEGER",
    doc: "JSON",
    shape: "BLOB",
  };
  test("TINYINT(1), unsigned BIGINT as decimal, zero dates as null, a TIME past a day", () => {
    const fields = [
      '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"},"field":"id"}',
      '{"type":"int16","field":"flag"}',
      '{"type":"int32","name":"io.debezium.time.Date","field":"made"}',
      '{"type":"int64","name":"io.debezium.time.MicroTimestamp","field":"seen"}',
      '{"type":"int64","name":"io.debezium.time.MicroTime","field":"lasted"}',
      '{"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"10"},"field":"mask"}',
      '{"type":"string","name":"io.debezium.data.Json","field":"doc"}',
      '{"type":"struct","name":"io.debezium.data.geometry.Geometry","fields":[{"type":"bytes","field":"wkb"},{"type":"int32","field":"srid"}],"field":"shape"}',
    ].join();
    const after =
      '{"id":"AP//////////","flag":1,"made":null,"seen":null,"lasted":-3020399000000,"mask":"AgM=","doc":"{\\"a\\": 1}","shape":{"wkb":"AQEAAAA=","srid":null}}';
    const schema = `{"type":"struct","fields":[{"type":"struct","fields":[${fields}],"optional":true,"field":"after"}]}`;
    const table = new TestTable(columns);
    const change = table.read(
      '{"schema":{"type":"struct","fields":[{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"},"field":"id"}]},"payload":{"id":"AP//////////"}}',
      `{"schema":${schema},"payload":{"before":null,"after":${after},${source},"op":"c","ts_ms":1}}`,
    ) as { row: string; key: string };
    expect(change.key).toBe('{"id":18446744073709551615}');
    expect(table.stored(change.row)).toEqual({
      id: "18446744073709551615",
      flag: "true",
      made: "null",
      seen: "null",
      lasted: '"-838:59:59"',
      mask: "770",
      doc: '{"a": 1}',
      shape: '"AQEAAAA="',
    });
  });
  test("without a schema", () => {
    const table = new TestTable(columns);
    const value = `{"before":null,"after":{"id":"AP//////////","flag":0,"made":19782,"seen":1709210096789012},${source},"op":"c"}`;
    const change = table.read('{"id":"AP//////////"}', value) as { row: string; key: string };
    expect(change.key).toBe('{"id":18446744073709551615}');
    expect(table.stored(change.row)).toEqual({
      id: "18446744073709551615",
      flag: "false",
      made: '"2024-02-29"',
      seen: '"2024-02-29T12:34:56.789012"',
    });
  });
});
