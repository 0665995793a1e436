/** JSON functions: paths as DuckDB's JSON extension reads them, exact numbers, NULL for what is not JSON. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SqlEngine } from "../../src/sql/engine.ts";
import { parsePath, wholePath } from "../../src/sql/json/path.ts";
import { JsonScanner } from "../../src/sql/json/scanner.ts";
import { failure, startEngine, type TestEngine } from "./support.ts";

let running: TestEngine;
let engine: SqlEngine;
beforeAll(async () => {
  running = await startEngine();
  engine = running.engine;
}, 60_000);
afterAll(() => running.stop());

const doc =
  '{"a": 12345678901234567890123, "o": {"x" : [1.50, "é\\u00e9\\n", null]}, "s": "plain", "n": null, "b": true, "i": -7, "f": 1.5, "big": 9223372036854775808, "d.e": 1, "": 2}';

/** [expression over `j`, row JSON] */
const cases: [string, string][] = [
  ["j->>'a'", '"12345678901234567890123"'],
  ["j->'a'", '"12345678901234567890123"'],
  ["j->'o'", '"{\\"x\\":[1.50,\\"é\\\\u00e9\\\\n\\",null]}"'],
  ["j->'$.o.x'->1", '"\\"é\\\\u00e9\\\\n\\""'],
  ["j->>'$.o.x[1]'", '"éé\\n"'],
  ["j->>'$.o.x[#-3]'", '"1.50"'],
  ["j->>'/o/x/0'", '"1.50"'],
  ["(j->'o'->'x')->>-3", '"1.50"'],
  ["j->>'n'", "null"],
  ["j->'n'", '"null"'],
  ["j->>'nope'", "null"],
  ["j->>'d.e'", '"1"'],
  ["j->>'$.\"d.e\"'", '"1"'],
  ["j->>'/d.e'", '"1"'],
  ["json_extract_string(j, '$.s')", '"plain"'],
  ["json_extract(j, '$.s')", '"\\"plain\\""'],
  ["json_get_str(j, 's')", '"plain"'],
  ["json_get_str(j, 'i')", "null"],
  ["json_get_int(j, 'i')", "-7"],
  ["json_get_int(j, 'f')", "null"],
  ["json_get_int(j, 'big')", "null"],
  ["json_get_int('9223372036854775807')", "9223372036854775807"],
  ["json_get_int('1e3')", "1000"],
  ["json_get_float(j, 'f')", "1.5"],
  ["json_get_float(j, 'o', 'x', 0)", "1.5"],
  ["json_get_bool(j, 'b')", "true"],
  ["json_get_bool(j, 'i')", "null"],
  ["json_get_json(j, 'o', 'x')", '"[1.50,\\"é\\\\u00e9\\\\n\\",null]"'],
  ["json_valid(j)", "true"],
  ["json_valid('{')", "false"],
  ["json_valid('')", "false"],
  ["json_array_length(j, '$.o.x')", "3"],
  ["json_array_length(j)", "0"],
  ["json_keys(j, 'o')", '["x"]'],
  [String.raw`json_keys('{"a\"b":1,",":2,"\\":3}')`, String.raw`["a\"b",",","\\"]`],
  ["json_keys('[1]')", "[]"],
  ["json_type(j)", '"OBJECT"'],
  ["json_type(j, 'o', 'x')", '"ARRAY"'],
  ["json_type(j, 'i')", '"BIGINT"'],
  ["json_type(j, 'big')", '"UBIGINT"'],
  ["json_type(j, 'a')", '"DOUBLE"'],
  ["json_type(j, 'n')", '"NULL"'],
  ["json_exists(j, '$.o.x[2]')", "true"],
  ["json_exists(j, '$.o.x[3]')", "false"],
  ["'not json'->>'a'", "null"],
  ["'{\"a\":1} x'->>'a'", "null"],
  ["json_get_int('nan', 'a')", "null"],
  ["json_keys('nope')", "null"],
  ["NULLIF(j, j)->>'a'", "null"],
  ["'{\"a\":1}'::JSON->>'a'", '"1"'],
  ["list_transform([1, 2], x -> x + 1)", "[2,3]"],
];

describe("one expression each", () => {
  for (const [expression, json] of cases) {
    test(expression, async () => {
      const { rows } = await engine.query(`SELECT ${expression} FROM (SELECT $1 AS j)`, { params: [doc] });
      expect(rows).toEqual([`[${json}]`]);
    });
  }
});

test("a wrong path is refused and says why", async () => {
  expect((await failure(engine.query("SELECT '{}'->>'$.'"))).sqlstate).toBe("22023");
  expect((await failure(engine.query("SELECT '{}'->>'$[*]'"))).message).toContain("wildcards");
});

test("vectors of rows, with long texts and NULLs between", async () => {
  const sql = `SELECT count(*), sum(json_get_int(j, 'n')), sum(length(j->>'p')), count(j->>'p')
    FROM (SELECT CASE WHEN n % 10 <> 0 THEN '{"n":' || n || ',"p":"' || repeat('y', (n % 1000)::INT) || '"}' END AS j FROM range(20000) t(n))`;
  expect((await engine.query(sql)).rows).toEqual(["[20000,180000000,9000000,18000]"]);
});

test("escapes are decoded whatever follows them", async () => {
  const sql = String.raw`SELECT '{"a":"x\ny","b":"z"}'->>'a', '{"a":"x","b":"z\n"}'->>'a'`;
  expect((await engine.query(sql)).rows).toEqual([String.raw`["x\ny","x"]`]);
});

test("functions stay usable in CHECK and DEFAULT", async () => {
  await engine.query(
    "CREATE TABLE checked (v VARCHAR CHECK (json_valid(v)), n BIGINT DEFAULT json_get_int('{\"a\":7}', 'a'))",
  );
  await engine.query("INSERT INTO checked (v) VALUES ('{}')");
  expect((await failure(engine.query("INSERT INTO checked (v) VALUES ('{')"))).sqlstate).toBe("23514");
  expect((await engine.query("FROM checked")).rows).toEqual(['["{}",7]']);
});

test("the scanner agrees with JSON.parse on what is JSON", () => {
  const scanner = new JsonScanner();
  const pieces = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"\\n"',
    "1",
    "-0.5e3",
    "01",
    "1.",
    "true",
    "nul",
    " ",
    '"',
    "\\",
    "\u0001",
  ];
  let seed = 7;
  const random = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed;
  };
  const texts = [
    '{"a":[1,{"b":null}]}',
    "",
    " [ ] ",
    '"\\ud800"',
    '"\\u12"',
    "[1 2]",
    '{"a":1,}',
    "--1",
    "1e",
    `${"[".repeat(500)}${"]".repeat(500)}`,
  ];
  for (let i = 0; i < 5000; i++)
    texts.push(Array.from({ length: 1 + (random() % 6) }, () => pieces[random() % pieces.length]).join(""));
  for (const text of texts) {
    const bytes = new TextEncoder().encode(text);
    let valid = true;
    try {
      JSON.parse(text);
    } catch {
      valid = false;
    }
    expect([text, scanner.find(bytes, 0, bytes.length, wholePath) !== "invalid"]).toEqual([text, valid]);
  }
  const deep = new TextEncoder().encode(`${"[".repeat(501)}${"]".repeat(501)}`);
  expect(scanner.find(deep, 0, deep.length, wholePath)).toBe("invalid");
  const found = new TextEncoder().encode(' {"x":{"y":[1, 22 ]}} ');
  expect(scanner.find(found, 0, found.length, parsePath("$.x.y[-1]"))).toBe("found");
  expect(new TextDecoder().decode(found.subarray(scanner.start, scanner.end))).toBe("22");
});
