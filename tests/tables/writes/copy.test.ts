import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { piecesOf } from "../../../src/cli/copy_command.ts";
import type { CliError, Io } from "../../../src/cli/io.ts";
import { sql as sqlCommand } from "../../../src/cli/sql.ts";
import { startTestNode, type TestNode } from "../../harness/node.ts";

// Starting DuckDB takes seconds, and many of them beside other work.
setDefaultTimeout(180_000);

let node: TestNode;
const folder = mkdtempSync(join(tmpdir(), "rowlog-copy-"));
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(async () => {
  await node.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** The shell's statements; standard output, and what went to standard error behind it. */
async function shell(commands: string[], input = ""): Promise<string> {
  let out = "";
  const io = {
    out: async (chunk: string | Uint8Array) => {
      out += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
    },
    err: (text: string) => {
      out += text;
    },
    async *input() {
      yield new TextEncoder().encode(input);
    },
    outIsTerminal: false,
    errIsTerminal: false,
    inIsTerminal: false,
    width: 80,
    environment: {},
    programName: "rowlog",
    signal: new AbortController().signal,
    watchInterrupt() {},
  } as Io;
  await sqlCommand(
    { url: `http://127.0.0.1:${node.httpPort}`, command: commands, csv: true, noheader: true },
    io,
  ).catch((error: CliError) => {
    out += error.message;
  });
  return out.replaceAll("\r", "");
}

test("COPY of CSV from a file of the client's machine, and from standard input", async () => {
  await shell(["CREATE TABLE t (id INTEGER, name VARCHAR, ok BOOLEAN, list INTEGER[])"]);
  const path = join(folder, "it's.csv");
  writeFileSync(path, 'name,id\r\n"a ""quoted"",\nname",1\r\n"",2\r\n,3\r\n');
  expect(await shell([`COPY t FROM '${path.replaceAll("'", "''")}' (HEADER)`])).toBe("");
  expect(
    await shell(
      ["COPY t (id, ok, list, name) FROM STDIN WITH (FORMAT csv, DELIMITER ';', NULL '-')"],
      "4;true;[1,2];-\n",
    ),
  ).toBe("");
  expect(await shell(["SELECT id, name, ok, list FROM t ORDER BY id"])).toBe(
    '1,"a ""quoted"",\nname",,\n2,"",,\n3,,,\n4,,true,"[1,2]"\n',
  );
});

test("JSON lines are taken as produced ones", async () => {
  await shell(["CREATE TABLE j (id INTEGER PRIMARY KEY, v VARCHAR DEFAULT 'd')"]);
  const path = join(folder, "rows.jsonl");
  writeFileSync(path, '{"id":1}\n{"id":2,"v":"x","more":0}\n\n{"id":1,"v":"last"}\n');
  expect(await shell([`COPY j FROM '${path}'`])).toBe("");
  expect(await shell(["SELECT * FROM j ORDER BY id"])).toBe("1,last\n2,x\n");
});

test("what is larger than a request goes in one transaction", async () => {
  await shell(["CREATE TABLE big (id INTEGER, text VARCHAR)"]);
  const line = (id: number) => `${id},"${"long ".repeat(2000)}"\n`;
  const rows = Array.from({ length: 700 }, (_, id) => line(id)).join("");
  expect(await shell(["COPY big FROM STDIN"], rows)).toBe("");
  expect(await shell(["SELECT count(*), count(DISTINCT id) FROM big"])).toBe("700,700\n");
  expect(await shell(["COPY big FROM STDIN"], `${rows}x,y\n`)).toContain("22P02");
  expect(await shell(["SELECT count(*) FROM big"])).toBe("700\n");
});

test("refusals", async () => {
  expect(await shell(["COPY t FROM STDIN"], "1,2\n1\n")).toContain("22P04");
  expect(await shell(["COPY t FROM STDIN"], '"1\n')).toContain("22P04");
  expect(await shell(["COPY t TO 'x.csv'"])).toContain("0A000");
  expect(await shell(["COPY t FROM STDIN (COLOUR red)"], "1")).toContain("42601");
  expect(await shell([`COPY t FROM '${join(folder, "none.csv")}'`])).toContain("cannot read");
  const response = await fetch(`http://127.0.0.1:${node.httpPort}/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: "COPY t FROM '/etc/passwd'" }),
  });
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, "0A000"]);
});

test("BEGIN works in the shell", async () => {
  expect(
    await shell([
      "-- a comment\nBEGIN",
      "DELETE FROM big",
      "SELECT count(*) FROM big",
      "ROLLBACK",
      "SELECT count(*) FROM big",
    ]),
  ).toBe("700\n0\n700\n");
  // A shell that ends inside a transaction leaves nothing behind.
  await shell(["BEGIN", "DELETE FROM big"]);
  expect(await shell(["SELECT count(*) FROM big"])).toBe("700\n");
});

test("pieces end with rows", () => {
  expect([...piecesOf('h\n1,"a\nb"\n2,c\n3\n', true, 3)]).toEqual(['h\n1,"a\nb"\n', "h\n2,c\n", "h\n3\n"]);
  expect([...piecesOf("", false, 3)]).toEqual([""]);
});
