/** Grammars and printers of the CLI: offsets, formats, statements, tables. */

import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { compileInput } from "../../src/cli/input_format.ts";
import { pieces } from "../../src/cli/line_reader.ts";
import { OffsetSyntaxError, parseOffset } from "../../src/cli/offset_grammar.ts";
import { parseHeader } from "../../src/cli/produce.ts";
import { progressText } from "../../src/cli/progress.ts";
import {
  compileFormat,
  delimitedPrinter,
  delimiterBytes,
  FormatError,
  kcatJsonPrinter,
  type Printer,
  rpkJsonPrinter,
} from "../../src/cli/record_format.ts";
import { failureText } from "../../src/cli/sql.ts";
import { SqlFailure } from "../../src/cli/sql_client.ts";
import { isBlank, splitStatements } from "../../src/cli/sql_text.ts";
import { displayWidth } from "../../src/cli/table_layout.ts";
import { defaultTextOptions, type OutputMode, RowPrinter } from "../../src/cli/table_text.ts";
import { rangeAssignment } from "../../src/client/group_member.ts";
import { murmur2, partitionOfKey } from "../../src/protocol/partitioner.ts";

describe("offsets", () => {
  const now = Date.UTC(2026, 0, 31, 12);
  const beginning = { kind: "beginning", plus: 0 } as const;
  test.each([
    ["start", { start: beginning }],
    ["beginning", { start: beginning }],
    ["end", { start: { kind: "end", back: 0 } }],
    ["stored", { start: { kind: "stored" } }],
    ["42", { start: { kind: "offset", offset: 42 } }],
    ["-10", { start: { kind: "end", back: 10 } }],
    ["+5", { start: { kind: "beginning", plus: 5 } }],
    ["42:", { start: { kind: "offset", offset: 42 } }],
    [":42", { start: beginning, stop: { kind: "offset", offset: 42 } }],
    ["5:10", { start: { kind: "offset", offset: 5 }, stop: { kind: "offset", offset: 10 } }],
    [":end", { start: beginning, stop: { kind: "end" } }],
    ["-3:end", { start: { kind: "end", back: 3 }, stop: { kind: "end" } }],
    ["@1600000000000", { start: { kind: "time", ms: 1_600_000_000_000 } }],
    ["@1600000000", { start: { kind: "time", ms: 1_600_000_000_000 } }],
    ["@2026-01-31", { start: { kind: "time", ms: Date.UTC(2026, 0, 31) } }],
    ["@2026-01-31T10:00:00Z", { start: { kind: "time", ms: Date.UTC(2026, 0, 31, 10) } }],
    ["@2026-01-31T10:00:00", { start: { kind: "time", ms: Date.UTC(2026, 0, 31, 10) } }],
    ["@2026-01-31T10:00:00.25+02:00", { start: { kind: "time", ms: Date.UTC(2026, 0, 31, 8, 0, 0, 250) } }],
    ["@-1h", { start: { kind: "time", ms: now - 3_600_000 } }],
    ["@-48h:-24h", { start: { kind: "time", ms: now - 172_800_000 }, stop: { kind: "time", ms: now - 86_400_000 } }],
    [
      "@2026-01-31:1h",
      { start: { kind: "time", ms: Date.UTC(2026, 0, 31) }, stop: { kind: "time", ms: Date.UTC(2026, 0, 31, 1) } },
    ],
    ["@1600000000000:", { start: { kind: "time", ms: 1_600_000_000_000 } }],
    ["@:2026-01-31", { start: beginning, stop: { kind: "time", ms: Date.UTC(2026, 0, 31) } }],
    [
      "@2026-01-30T10:00:00Z:2026-01-31T10:00:00Z",
      { start: { kind: "time", ms: Date.UTC(2026, 0, 30, 10) }, stop: { kind: "time", ms: Date.UTC(2026, 0, 31, 10) } },
    ],
    ["@-1h:end", { start: { kind: "time", ms: now - 3_600_000 }, stop: { kind: "end" } }],
    ["s@1600000000000", { start: { kind: "time", ms: 1_600_000_000_000 } }],
    ["e@1600000000000", { stop: { kind: "time", ms: 1_600_000_000_000 } }],
  ])("%s", (text, range) => {
    expect(parseOffset(text, now)).toEqual(range as never);
  });

  test.each(["", ":", "x", "5:x", "x:5", "@", "@x", "@:", "1.5", "@2026-13-01", "s@", "e@soon", "--5", "5:-1"])(
    "%p is refused",
    (text) => {
      expect(() => parseOffset(text, now)).toThrow(OffsetSyntaxError);
    },
  );
});

describe("record formats", () => {
  const record = {
    record: {
      offset: 258,
      timestamp: 1_600_000_000_123,
      key: Buffer.from("k"),
      value: Buffer.from([0xc3, 0xa9, 0xff]),
      headers: [
        { key: "h", value: Buffer.from("1") },
        { key: "n", value: null },
      ],
    },
    topic: "t",
    partition: 3,
    brokerId: 1,
    timestampType: "CreateTime" as const,
  };
  const nulls = { ...record, record: { ...record.record, key: null, value: null, headers: [] } };
  const print = (printer: Printer, what: typeof record | typeof nulls = record) => {
    const out: Uint8Array[] = [];
    printer(what as typeof record, out);
    return Buffer.concat(out);
  };

  test.each([
    ["%t %p %o %T %d\\n", "t 3 258 1600000000123 1600000000123\n"],
    ["%k/%K %S %V %H", "k/1 3 3 2"],
    ["%h", "h=1,n=NULL"],
    ["%h{%k:%v;}", "h:1;n:;"],
    ["%v{hex} %v{base64} %k{json}", 'c3a9ff w6n/ "k"'],
    ["%d{iso} %d{s}", "2020-09-13T12:26:40.123Z 1600000000"],
    ["100%% \\x41\\t\\\\é", "100% A\t\\é"],
    ["%o{hex32}", "00000102"],
  ])("%s", (format, text) => {
    expect(print(compileFormat(format)).toString()).toBe(text);
  });

  test("bytes pass through, lengths as bytes, nulls as asked", () => {
    expect(print(compileFormat("%s"))).toEqual(Buffer.from([0xc3, 0xa9, 0xff]));
    expect([...print(compileFormat("%R%o{big16}%o{little32}"))]).toEqual([0, 0, 0, 3, 1, 2, 2, 1, 0, 0]);
    expect(print(compileFormat("%k|%s|%S|%h"), nulls).toString()).toBe("||-1|");
    expect(print(compileFormat("%k|%s", "NULL"), nulls).toString()).toBe("NULL|NULL");
    expect([...print(compileFormat("%R"), nulls)]).toEqual([255, 255, 255, 255]);
  });

  test.each(["%", "%z", "%k{x}", "%o{hex}", "%h{%k", "%d{strftime[%F]}"])("%p is refused", (format) => {
    expect(() => compileFormat(format)).toThrow(FormatError);
  });

  test("JSON keeps bytes that are no text", () => {
    expect(JSON.parse(print(rpkJsonPrinter(false)).toString())).toEqual({
      topic: "t",
      key: "k",
      value_base64: "w6n/",
      value_size: 3,
      headers: [
        { key: "h", value: "1" },
        { key: "n", value: null },
      ],
      timestamp: 1_600_000_000_123,
      partition: 3,
      offset: 258,
    });
    expect(print(kcatJsonPrinter(), nulls).toString()).toBe(
      '{"topic":"t","partition":3,"offset":258,"tstype":"create","ts":1600000000123,"broker":1,"key":null,"payload":null}\n',
    );
    expect(print(delimitedPrinter(delimiterBytes("\\t"), delimiterBytes(";"), "NULL"), nulls).toString()).toBe(
      "NULL\tNULL;",
    );
  });

  test("input: lines, keys, headers", async () => {
    const parse = compileInput("%k,%v\\n");
    expect(parse(Buffer.from("a,b,c"))).toEqual({ key: Buffer.from("a"), value: Buffer.from("b,c") });
    expect(() => parse(Buffer.from("ab"))).toThrow("does not have the form");
    expect(compileInput("%p|%v")(Buffer.from("7|x"))).toEqual({ partition: 7, value: Buffer.from("x") });
    expect(() => compileInput("%t")).toThrow(FormatError);
    expect(parseHeader("a=b:c")).toEqual({ key: "a", value: Buffer.from("b:c") });
    expect(parseHeader("a:b=c")).toEqual({ key: "a", value: Buffer.from("b=c") });
    expect(parseHeader("a")).toEqual({ key: "a", value: null });
  });

  test("a stream is cut at its delimiter however it arrives", async () => {
    const bytes = Buffer.from("a||b||||c|d||");
    for (let size = 1; size <= bytes.length; size++) {
      const chunks = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      };
      const found: string[] = [];
      for await (const list of pieces(chunks(), Buffer.from("||"), 100)) found.push(...list.map(String));
      expect(found).toEqual(["a", "b", "", "c|d"]);
    }
  });
});

describe("statements", () => {
  test.each([
    ["SELECT 1; SELECT 2", ["SELECT 1"], " SELECT 2"],
    ["SELECT ';'; x", ["SELECT ';'"], " x"],
    ["SELECT 'it''s;';", ["SELECT 'it''s;'"], ""],
    ["SELECT E'a\\';';", ["SELECT E'a\\';'"], ""],
    ["SELECT 'a\\';", ["SELECT 'a\\'"], ""],
    ['SELECT "a;""b";', ['SELECT "a;""b"'], ""],
    ["SELECT 1 -- no;\n+ 2;", ["SELECT 1 -- no;\n+ 2"], ""],
    ["SELECT /* ; /* ; */ ; */ 1;", ["SELECT /* ; /* ; */ ; */ 1"], ""],
    ["SELECT $$a;b$$; SELECT $x$ $$ ; $x$;", ["SELECT $$a;b$$", "SELECT $x$ $$ ; $x$"], ""],
    ["SELECT $1; SELECT a$b;", ["SELECT $1", "SELECT a$b"], ""],
    [";;  ; -- c\n;", [], ""],
    ["SELECT 'open", [], "SELECT 'open"],
    ["SELECT /* open ;", [], "SELECT /* open ;"],
  ])("%p", (text, statements, rest) => {
    expect(splitStatements(text)).toEqual({ statements: statements as string[], rest });
  });

  test("blank is space and comments", () => {
    expect(isBlank(" \n-- c\n/* d */")).toBe(true);
    expect(isBlank(" -- c\n1")).toBe(false);
    expect(isBlank("")).toBe(true);
  });

  test("a failure shows its place", () => {
    const failure = new SqlFailure("42P01", "no such table", 17);
    expect(failureText(failure, "SELECT *\n  FROM nope")).toBe(
      "rowlog: 42P01: no such table\n    FROM nope\n         ^\n",
    );
  });
});

describe("tables", () => {
  const columns = [
    { name: "user", type: "VARCHAR" },
    { name: "n", type: "BIGINT" },
  ];
  const rows = [
    ['"ada"', "1"],
    ["null", "-20"],
    ['"a|b\\n"', "null"],
  ];
  const text = (mode: OutputMode, change: Partial<typeof defaultTextOptions> = {}) => {
    const printer = new RowPrinter(columns, { ...defaultTextOptions, mode, ...change });
    return printer.begin() + rows.map((row) => printer.row([...row])).join("") + printer.end();
  };

  test("for people", () => {
    expect(text("table")).toBe(`┌───────┬──────┐
│ user  │    n │
├───────┼──────┤
│ ada   │    1 │
│ NULL  │  -20 │
│ a|b\\n │ NULL │
└───────┴──────┘
`);
    expect(text("markdown")).toBe(`| user   |    n |
|--------|-----:|
| ada    |    1 |
| NULL   |  -20 |
| a\\|b\\n | NULL |
`);
    expect(text("column", { header: false })).toBe("ada       1\nNULL    -20\na|b\\n  NULL\n");
  });

  test("for programs", () => {
    expect(JSON.parse(text("json"))).toEqual([
      { user: "ada", n: 1 },
      { user: null, n: -20 },
      { user: "a|b\n", n: null },
    ]);
    expect(text("ndjson")).toBe('{"user":"ada","n":1}\n{"user":null,"n":-20}\n{"user":"a|b\\n","n":null}\n');
    expect(text("csv", { nullText: "" })).toBe('user,n\nada,1\n,-20\n"a|b\n",\n');
    expect(text("csv", { nullText: "", separator: "|", header: false })).toBe('ada|1\n|-20\n"a|b\n"|\n');
    expect(text("line")).toBe("user = ada\n   n = 1\n\nuser = NULL\n   n = -20\n\nuser = a|b\n\n   n = NULL\n");
    expect(text("insert")).toContain(`INSERT INTO "table"("user","n") VALUES('ada',1);\n`);
  });

  test("long cells are cut to the terminal, wide letters count two", () => {
    const printer = new RowPrinter([{ name: "a" }, { name: "b" }], { ...defaultTextOptions, width: 30 });
    printer.row([JSON.stringify("x".repeat(100)), '"日本"']);
    const lines = printer.end().trimEnd().split("\n");
    for (const line of lines) expect(displayWidth(line)).toBe(30);
    expect(displayWidth("日本é🙂")).toBe(7);
  });
});

test("a table of very many rows prints as it goes", () => {
  const printer = new RowPrinter([{ name: "n", type: "BIGINT" }], { ...defaultTextOptions });
  let text = printer.begin();
  let longest = 0;
  for (let i = 0; i < 150_000; i++) {
    const part = printer.row([String(i)]);
    longest = Math.max(longest, part.length);
    text += part;
  }
  text += printer.end();
  const lines = text.trimEnd().split("\n");
  expect(lines).toHaveLength(150_000 + 4);
  expect(lines.slice(0, 4)).toEqual(["┌──────┐", "│    n │", "├──────┤", "│    0 │"]);
  expect(lines.at(-2)).toBe("│ 149999 │");
  expect(lines.at(-1)).toBe("└──────┘");
  expect(longest).toBeLessThan(200_000);
});

test("the progress bar", () => {
  expect(progressText({ label: "t", done: 50, total: 100, unit: "B" }, 1, 80)).toBe(
    `t [${"#".repeat(20)}${"-".repeat(20)}]  50 % 50 B/s, 1 s left`,
  );
  expect(progressText({ label: "t", done: 2_000_000, unit: "records" }, 2, 80)).toBe("t 2.0M records, 1.0M records/s");
});

test("Kafka's partitioner, by vectors of its own unit tests (UtilsTest.testMurmur2)", () => {
  const vectors: [string, number][] = [
    ["21", -973932308],
    ["foobar", -790332482],
    ["a-little-bit-long-string", -985981536],
    ["a-little-bit-longer-string", -1486304829],
    ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
    ["abc", 479470107],
  ];
  for (const [text, hash] of vectors) expect([text, murmur2(Buffer.from(text)) | 0]).toEqual([text, hash]);
  expect(partitionOfKey(Buffer.from("21"), 100)).toBe((-973932308 & 0x7fffffff) % 100);
});

test("range assignment gives every partition to one member, the first members one more", () => {
  const members = ["c", "a", "b"].map((memberId) => ({ memberId, sortKey: memberId, topics: ["t", "u"] }));
  const assigned = rangeAssignment(
    members,
    new Map([
      ["t", 4],
      ["u", 2],
    ]),
  );
  expect(Object.fromEntries(assigned)).toEqual({
    a: [
      { topic: "t", partition: 0 },
      { topic: "t", partition: 1 },
      { topic: "u", partition: 0 },
    ],
    b: [
      { topic: "t", partition: 2 },
      { topic: "u", partition: 1 },
    ],
    c: [{ topic: "t", partition: 3 }],
  });
});
