import { describe, expect, test } from "bun:test";
import { TestTable } from "./recorded.ts";

const one = (type: string) => new TestTable({ id: type, name: "VARCHAR" });

describe("the record's key", () => {
  const keys: [what: string, type: string, key: string, read: string | undefined][] = [
    ["an object", "INTEGER", '{"id":1}', '{"id":1}'],
    ["an object with space and more fields", "INTEGER", ' { "x" : [1] , "id" : 1 } ', '{"id":1}'],
    ["a payload", "INTEGER", '{"payload":{"id":1}}', '{"id":1}'],
    [
      "a schema and a payload",
      "INTEGER",
      '{"schema":{"type":"struct","fields":[{"type":"int32","field":"id"}]},"payload":{"id":1}}',
      '{"id":1}',
    ],
    ["a plain value as payload", "INTEGER", '{"schema":{"type":"int32"},"payload":7}', '{"id":7}'],
    [
      "a schema of a decimal and its plain value",
      "DECIMAL(10,2)",
      '{"schema":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}},"payload":"AeJA"}',
      '{"id":1234.56}',
    ],
    ["a number", "BIGINT", "9223372036854775807", '{"id":9223372036854775807}'],
    ["text", "VARCHAR", '"a\\"b"', '{"id":"a\\"b"}'],
    ["bare text", "VARCHAR", "user-1", '{"id":"user-1"}'],
    ["bare text that starts like JSON", "VARCHAR", "[x", '{"id":"[x"}'],
    ["bare text that starts like an object", "VARCHAR", "{x", '{"id":"{x"}'],
    ["bare text that starts like null", "VARCHAR", "nullable", '{"id":"nullable"}'],
    ["bare text with signs that JSON escapes", "VARCHAR", 'a"b\nc', '{"id":"a\\"b\\nc"}'],
    ["a bare UUID", "UUID", "01234567-89ab-cdef-0123-456789abcdef", '{"id":"01234567-89ab-cdef-0123-456789abcdef"}'],
    ["a bare date", "DATE", "2024-02-29", '{"id":"2024-02-29"}'],
    ["the last of a repeated field", "INTEGER", '{"id":1,"id":2}', '{"id":2}'],
    ["an escaped name", "INTEGER", '{"\\u0069d":1}', '{"id":1}'],
    ["JSON's null", "VARCHAR", "null", undefined],
    ["a list", "VARCHAR", "[1]", undefined],
    ["an empty text", "VARCHAR", "", undefined],
    ["an object without the column", "INTEGER", '{"other":1}', undefined],
    ["an object with null", "INTEGER", '{"id":null}', undefined],
  ];
  for (const [what, type, key, read] of keys)
    test(what, () => {
      const tombstone = one(type).read(key, null);
      if (read === undefined) expect(tombstone).toMatchObject({ kind: "fault" });
      else expect(tombstone).toEqual({ kind: "delete", key: read });
      // A row does not need it.
      const row = one(type).read(key, '{"op":"c","after":{"name":"a"}}');
      expect(row).toEqual({ kind: "upsert", row: '{"name":"a"}', ...(read ? { key: read } : {}) } as never);
    });

  test("bytes that are no UTF-8 are no key", () => {
    const table = one("VARCHAR");
    expect(table.read(Uint8Array.of(0xff, 0xfe), null)).toMatchObject({ kind: "fault" });
  });
  test("of a key of two columns, what the record's key gives", () => {
    const table = new TestTable({ a: "INTEGER", b: "VARCHAR" }, { key: ["b", "a"] });
    expect(table.read('{"a":1,"b":"x"}', null)).toEqual({ kind: "delete", key: '{"b":"x","a":1}' });
    expect(table.read('{"a":1}', '{"b":"x"}')).toEqual({ kind: "upsert", row: '{"b":"x"}', key: '{"a":1}' });
    expect(table.read('{"a":1}', null)).toEqual({
      kind: "fault",
      message:
        'a null value deletes the row of its key (b, a), and the record\'s key is {"a":1}, which gives not every key column (b is missing)',
    });
    expect(table.read("plain", null)).toMatchObject({ kind: "fault" });
  });
  test("a column called payload is no wrapper", () => {
    const table = new TestTable({ payload: "INTEGER" }, { key: ["payload"] });
    expect(table.read('{"payload":1}', null)).toEqual({ kind: "delete", key: '{"payload":1}' });
  });
  test("what the messages say", () => {
    const table = one("INTEGER");
    expect(table.read(null, null)).toEqual({
      kind: "fault",
      message: "a null value deletes the row of its key (id), and the record has no key",
    });
    expect(table.read('{"other":1}', '{"op":"d","before":null}')).toEqual({
      kind: "fault",
      message:
        'a delete needs the primary key (id): the record\'s key is {"other":1}, which gives no key column (id is missing), and "before" is no row',
    });
    expect(table.read(null, '{"op":"d","before":{"name":"a"}}')).toMatchObject({
      message: 'a delete needs the primary key (id): the record has no key, neither does "before"',
    });
    expect(new TestTable({ id: "INTEGER" }, { key: [] }).read('{"id":1}', '{"op":"d","before":{"id":1}}')).toEqual({
      kind: "fault",
      message: "a delete needs a primary key, and this table has none",
    });
  });
});

describe("a null value's key is read as the last value before it was", () => {
  test("in microseconds behind a change event, in milliseconds behind a plain row", () => {
    const table = one("TIMESTAMP");
    const key = '{"id":1709210096789012}';
    expect(table.read(key, '{"op":"d","before":null}')).toEqual({
      kind: "delete",
      key: '{"id":"2024-02-29T12:34:56.789012"}',
    });
    expect(table.read(key, null)).toEqual({ kind: "delete", key: '{"id":"2024-02-29T12:34:56.789012"}' });
    table.read('{"id":1709210096789}', '{"id":1709210096789}');
    expect(table.read('{"id":1709210096789}', null)).toEqual({ kind: "delete", key: '{"id":1709210096789}' });
  });
  test("a table of change events only needs no value before", () => {
    const table = new TestTable({ id: "DECIMAL(10,2)" }, { format: "debezium" });
    expect(table.read('{"id":"AeJA"}', null)).toEqual({ kind: "delete", key: '{"id":1234.56}' });
  });
});
