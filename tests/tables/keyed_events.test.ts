/** Change events into tables: Debezium's envelopes, deletes, truncations, columns that were not sent, and rows told by a sequence. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { RecordToEncode } from "../../src/protocol/records/encode.ts";
import { Lake } from "./lake.ts";

const unavailable = "__debezium_unavailable_value";

describe("change events", () => {
  let lake: Lake;
  let made = 0;
  beforeAll(async () => {
    lake = await Lake.open();
  });
  afterAll(async () => await lake.close());

  async function table(columns: string): Promise<string> {
    const name = `t${made++}`;
    await lake.sql(`CREATE TABLE ${name} ${columns}`);
    return name;
  }

  async function accepted(name: string, ...records: (RecordToEncode | string)[]): Promise<void> {
    const outcome = await lake.produce(name, records);
    expect(outcome.errorMessage).toBe(null);
  }

  async function refused(name: string, ...records: (RecordToEncode | string)[]): Promise<string[]> {
    const outcome = await lake.produce(name, records);
    expect(outcome.errorCode).toBe(87);
    return outcome.recordErrors.map(({ index, message }) => `${index}: ${message}`);
  }

  const event = (op: string, id: number, before: unknown, after: unknown): RecordToEncode => ({
    key: JSON.stringify({ id }),
    value: JSON.stringify({ before, after, source: { connector: "postgresql", lsn: 1 }, op, ts_ms: 1 }),
  });

  test("create, create, update, delete, tombstone leave one row, and a consumer sees rows and nulls", async () => {
    const t = await table("(id BIGINT PRIMARY KEY, name VARCHAR, balance DOUBLE)");
    const ann = { id: 1, name: "ann", balance: 10.5 };
    const bob = { id: 2, name: "bob", balance: 5.5 };
    await accepted(
      t,
      event("c", 1, null, ann),
      event("c", 2, null, bob),
      event("u", 2, bob, { ...bob, balance: 6.5 }),
      event("d", 2, { ...bob, balance: 6.5 }, null),
      { key: '{"id":2}', value: null },
    );
    expect(await lake.sql(`FROM ${t}`)).toEqual([[1, "ann", 10.5]]);
    expect(lake.logged(t)).toEqual([
      '{"id":1,"name":"ann","balance":10.5}',
      '{"id":2,"name":"bob","balance":5.5}',
      '{"id":2,"name":"bob","balance":6.5}',
      null,
      null,
    ]);
    expect(lake.keys(t)).toEqual(['{"id":1}', '{"id":2}', '{"id":2}', '{"id":2}', '{"id":2}']);
  });

  test("records beside rows leave holes, and a batch of them alone keeps its offsets", async () => {
    const t = await table("(id INTEGER PRIMARY KEY, v VARCHAR, _offset BIGINT)");
    const heartbeat = { key: '{"serverName":"s"}', value: '{"ts_ms":1}' };
    const transaction = '{"status":"BEGIN","id":"5","event_count":null,"data_collections":null,"ts_ms":1}';
    const message = '{"op":"m","ts_ms":1,"source":{"lsn":1},"message":{"prefix":"p","content":"AA=="}}';
    await accepted(
      t,
      heartbeat,
      event("c", 1, null, { id: 1, v: "a" }),
      message,
      event("c", 2, null, { id: 2, v: "b" }),
    );
    await accepted(t, heartbeat, transaction);
    await accepted(t, event("u", 1, null, { id: 1, v: "c" }));
    expect(await lake.sql(`FROM ${t} ORDER BY id`)).toEqual([
      [1, "c", 6],
      [2, "b", 3],
    ]);
    expect(lake.records(t).map(({ offset }) => offset)).toEqual([1, 3, 6]);
    await lake.stop();
    lake.forgetDatabase();
    await lake.start();
    expect(await lake.sql(`FROM ${t} ORDER BY id`)).toEqual([
      [1, "c", 6],
      [2, "b", 3],
    ]);
  }, 120_000);

  describe("C24: a primary-key change", () => {
    const change = (from: number, to: number, v: string) => [
      event("d", from, { id: from, v }, null),
      { key: JSON.stringify({ id: from }), value: null },
      event("c", to, null, { id: to, v }),
    ];
    test("as three events in one batch and in three", async () => {
      const t = await table("(id INTEGER PRIMARY KEY, v VARCHAR)");
      await accepted(t, event("c", 1, null, { id: 1, v: "a" }));
      await accepted(t, ...change(1, 2, "a"));
      expect(await lake.sql(`FROM ${t}`)).toEqual([[2, "a"]]);
      for (const one of change(2, 3, "a")) await accepted(t, one);
      expect(await lake.sql(`FROM ${t}`)).toEqual([[3, "a"]]);
    });
    test("two keys swapped through a third", async () => {
      const t = await table("(id INTEGER PRIMARY KEY, v VARCHAR)");
      await accepted(t, event("c", 1, null, { id: 1, v: "one" }), event("c", 2, null, { id: 2, v: "two" }));
      await accepted(t, ...change(1, 3, "one"), ...change(2, 1, "two"), ...change(3, 2, "one"));
      expect(await lake.sql(`FROM ${t} ORDER BY id`)).toEqual([
        [1, "two"],
        [2, "one"],
      ]);
    });
    test("one part of a key of two", async () => {
      const t = await table("(a INTEGER, b INTEGER, v VARCHAR, PRIMARY KEY (a, b))");
      const one = (op: string, a: number, b: number, before: unknown, after: unknown) => ({
        ...event(op, 0, before, after),
        key: JSON.stringify({ a, b }),
      });
      await accepted(t, one("c", 1, 1, null, { a: 1, b: 1, v: "x" }));
      await accepted(t, one("d", 1, 1, { a: 1, b: 1, v: "x" }, null), one("c", 1, 2, null, { a: 1, b: 2, v: "x" }));
      expect(await lake.sql(`FROM ${t}`)).toEqual([[1, 2, "x"]]);
    });
  });

  describe("columns that the source did not send", () => {
    test("keep what the table holds, also from a row of the same batch", async () => {
      const t = await table("(id INTEGER PRIMARY KEY, n INTEGER, big VARCHAR, j JSON, d DECIMAL(20,4))");
      const big = "x".repeat(4_000);
      await accepted(t, event("c", 1, null, { id: 1, n: 1, big, j: '{"a": [1]}', d: 12345.678 }));
      await accepted(
        t,
        event("u", 1, null, { id: 1, n: 2, big: unavailable, j: unavailable, d: 1 }),
        event("c", 2, null, { id: 2, n: 1, big: "two", j: null, d: null }),
        event("u", 2, null, { id: 2, n: 5, big: unavailable, j: unavailable, d: 2 }),
      );
      await accepted(
        t,
        event("u", 1, null, { id: 1, n: 3, big: unavailable, j: null, d: 1 }),
        event("u", 1, null, { id: 1, n: 4, big: unavailable, j: unavailable, d: 1 }),
      );
      expect(await lake.sql(`SELECT id, n, big, j FROM ${t} ORDER BY id`)).toEqual([
        [1, 4, big, null],
        [2, 5, "two", null],
      ]);
      await accepted(t, event("u", 1, null, { id: 1, n: 5, big: null, j: null, d: 1 }));
      expect(await lake.sql(`SELECT big FROM ${t} WHERE id = 1`)).toEqual([[null]]);
      expect(lake.logged(t)[1]).toBe(`{"id":1,"n":2,"big":"${big}","j":{"a": [1]},"d":1}`);
    });

    test("of a row that the table does not have take the default", async () => {
      const t = await table("(id INTEGER PRIMARY KEY, big VARCHAR DEFAULT 'lost', must VARCHAR NOT NULL)");
      await accepted(t, event("u", 1, null, { id: 1, big: unavailable, must: "m" }));
      expect(await lake.sql(`FROM ${t}`)).toEqual([[1, "lost", "m"]]);
      expect(await refused(t, event("u", 2, null, { id: 2, big: "b", must: unavailable }))).toEqual([
        expect.stringContaining('column "must"'),
      ]);
    });
  });

  test("a truncation deletes what is there, and leaves what follows it", async () => {
    const t = await table("(id INTEGER PRIMARY KEY, v VARCHAR, _offset BIGINT)");
    await accepted(t, '{"id":1,"v":"a"}', '{"id":2,"v":"b"}');
    await accepted(
      t,
      event("c", 3, null, { id: 3, v: "c" }),
      { key: null, value: '{"before":null,"after":null,"source":{},"op":"t","ts_ms":1}' },
      event("c", 4, null, { id: 4, v: "d" }),
    );
    expect(await lake.sql(`FROM ${t}`)).toEqual([[4, "d", 6]]);
    expect(lake.records(t).map(({ offset, value }) => [offset, value && 1])).toEqual([
      [0, 1],
      [1, 1],
      [2, null],
      [3, null],
      [4, null],
      [6, 1],
    ]);
    const two = await table("(id INTEGER PRIMARY KEY) WITH (partitions = 2)");
    expect(await refused(two, '{"before":null,"after":null,"op":"t"}')).toEqual([
      expect.stringContaining("one partition"),
    ]);
    const none = await table("(v INTEGER)");
    expect(await refused(none, '{"before":null,"after":null,"op":"t"}')).toEqual([
      expect.stringContaining("no primary key"),
    ]);
  });

  test("a truncation that an idempotent producer sends again deletes nothing more", async () => {
    const t = await table("(id INTEGER PRIMARY KEY, v VARCHAR)");
    const options = { producerId: 77n, producerEpoch: 0, baseSequence: 0 };
    await lake.produce(t, ['{"id":1,"v":"a"}'], options);
    const truncation = ['{"before":null,"after":null,"op":"t"}'];
    await lake.produce(t, truncation, { ...options, baseSequence: 1 });
    await lake.produce(t, ['{"id":2,"v":"b"}'], { ...options, baseSequence: 2 });
    const again = await lake.produce(t, truncation, { ...options, baseSequence: 1 });
    expect(again).toMatchObject({ errorCode: 0, baseOffset: 2 });
    expect(await lake.sql(`FROM ${t}`)).toEqual([[2, "b"]]);
  });

  describe("sequence_by", () => {
    test("the greatest sequence counts, ties go to the later one, and the log ends with what the table holds", async () => {
      const t = await table("(id INTEGER PRIMARY KEY, seq BIGINT, v VARCHAR) WITH (sequence_by = seq)");
      await accepted(t, '{"id":1,"seq":10,"v":"ten"}', '{"id":1,"seq":9,"v":"nine"}');
      expect(await lake.sql(`FROM ${t}`)).toEqual([[1, 10, "ten"]]);
      expect(lake.logged(t)).toEqual(['{"id":1,"seq":10,"v":"ten"}', '{"id":1,"seq":10,"v":"ten"}']);
      await accepted(t, '{"id":1,"seq":9,"v":"nine"}', '{"id":1,"v":"none"}');
      await accepted(t, '{"id":1,"seq":10,"v":"tie"}');
      expect(await lake.sql(`FROM ${t}`)).toEqual([[1, 10, "tie"]]);
      expect(lake.logged(t).at(-1)).toBe('{"id":1,"seq":10,"v":"tie"}');
    });

    test("a late row does not bring a deleted one back, also after a restart and from the log alone", async () => {
      const t = await table("(id INTEGER PRIMARY KEY, seq TIMESTAMP, v VARCHAR) WITH (sequence_by = seq)");
      await accepted(t, '{"id":1,"seq":"2026-01-02T00:00:00","v":"a"}');
      await accepted(t, { key: '{"id":1}', value: null });
      await accepted(t, '{"id":1,"seq":"2026-01-01T00:00:00","v":"late"}');
      expect(await lake.sql(`FROM ${t}`)).toEqual([]);
      expect(lake.logged(t)).toEqual(['{"id":1,"seq":"2026-01-02T00:00:00","v":"a"}', null, null]);
      await lake.stop();
      await lake.start();
      await accepted(t, '{"id":1,"seq":"2026-01-01T00:00:00","v":"late"}');
      expect(await lake.sql(`FROM ${t}`)).toEqual([]);
      await lake.stop();
      lake.forgetDatabase();
      await lake.start();
      await accepted(t, '{"id":1,"seq":"2026-01-01T00:00:00","v":"late"}');
      expect(await lake.sql(`FROM ${t}`)).toEqual([]);
      await accepted(t, '{"id":1,"seq":"2026-01-03T00:00:00","v":"new"}');
      expect(await lake.sql(`SELECT v FROM ${t}`)).toEqual([["new"]]);
    }, 120_000);
  });

  test("format json interprets nothing, format debezium reads flattened rows, and a table's own op column is never an event", async () => {
    const json = await table("(id INTEGER PRIMARY KEY, after JSON) WITH (format = 'json')");
    await accepted(json, '{"id":1,"op":"d","after":{"id":2}}');
    expect(await lake.sql(`FROM ${json}`)).toEqual([[1, '{"id":2}']]);
    const flat = await table("(id INTEGER PRIMARY KEY, seen TIMESTAMP) WITH (format = 'debezium')");
    await accepted(
      flat,
      '{"id":1,"seen":1000000}',
      '{"id":2,"seen":2000000}',
      '{"id":2,"seen":null,"__deleted":"true"}',
    );
    expect(await lake.sql(`FROM ${flat}`)).toEqual([[1, "1970-01-01T00:00:01"]]);
    const own = await table("(id INTEGER PRIMARY KEY, op VARCHAR)");
    await accepted(own, '{"id":1,"op":"d","before":{"id":9}}');
    expect(await lake.sql(`FROM ${own}`)).toEqual([[1, "d"]]);
  });

  test("a table without a key takes the rows of events, and refuses deletes with the reason, once a batch", async () => {
    const t = await table("(id INTEGER, v VARCHAR)");
    await accepted(t, event("c", 1, null, { id: 1, v: "a" }), event("u", 1, null, { id: 1, v: "b" }));
    expect(await lake.sql(`FROM ${t} ORDER BY v`)).toEqual([
      [1, "a"],
      [1, "b"],
    ]);
    expect(await refused(t, event("u", 1, null, { id: 1, v: unavailable }))).toEqual([
      expect.stringContaining("no row to take it from"),
    ]);
    const lines = lake.lines.length;
    expect(await refused(t, event("d", 1, { id: 1 }, null), event("d", 2, { id: 2 }, null))).toEqual([
      expect.stringContaining("primary key"),
      expect.stringContaining("primary key"),
    ]);
    expect(lake.lines.slice(lines).filter((line) => line.includes("refused a batch"))).toHaveLength(1);
  });

  test("malformed events are refused, nothing changes, and the next good one goes through", async () => {
    const t = await table("(id INTEGER PRIMARY KEY, v VARCHAR)");
    const bad: [RecordToEncode | string, string][] = [
      [event("x", 1, null, { id: 1 }), '"op" is "x"'],
      [event("u", 1, { id: 1 }, null), '"after"'],
      [event("c", 1, null, { other: 1 }), "another table"],
      [event("c", 1, null, { id: "abc", v: "a" }), 'column "id"'],
      [event("c", 1, null, { id: 2, v: "a" }), "the record's key says 1 and its value 2"],
      [{ key: null, value: '{"op":"d","before":null,"after":null}' }, "primary key"],
      [{ key: '{"id":1}', value: '{"op":"c","after":' }, "JSON"],
      [event("c", 3_000_000_000, null, { id: 3_000_000_000 }), "3000000000"],
      [`{"id":1,"v":${"[".repeat(600)}${"]".repeat(600)}}`, "500"],
    ];
    for (const [record, words] of bad) {
      const faults = await refused(t, '{"id":50,"v":"good"}', record);
      expect(faults).toEqual([expect.stringContaining(words)]);
      expect(faults[0]).toStartWith("1: ");
    }
    expect(await lake.sql(`FROM ${t}`)).toEqual([]);
    await accepted(t, event("c", 1, null, { id: 1, v: "a".repeat(1_000_000) }));
    expect(await lake.sql(`SELECT id, length(v) FROM ${t}`)).toEqual([[1, 1_000_000]]);
  });
});
