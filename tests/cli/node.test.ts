/** The commands against a real node in this process: Kafka port, HTTP, SQL. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Buffer } from "node:buffer";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../src/base/log.ts";
import { resolveConfig } from "../../src/cli/config.ts";
import { startNode } from "../../src/cli/node.ts";
import { run } from "../../src/cli/program.ts";
import type { RunningNode } from "../../src/cli/serve.ts";
import { fakeIo, type Outcome, runCli } from "./fake_io.ts";

// DuckDB takes seconds to start on a busy machine.
setDefaultTimeout(60_000);

const folder = mkdtempSync(join(tmpdir(), "rowlog-cli-"));
let node: RunningNode;
let environment: Record<string, string>;

beforeAll(async () => {
  const flags = { lake: join(folder, "lake"), kafka: "127.0.0.1:0", http: "127.0.0.1:0", durability: "os" };
  node = await startNode(resolveConfig(flags, {}).config, silentLogger);
  environment = {
    ROWLOG_BROKERS: `127.0.0.1:${node.kafkaAddress.port}`,
    ROWLOG_URL: `http://127.0.0.1:${node.httpAddress.port}`,
  };
});

afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true });
});

const cli = (argv: string[], stdin: string | Uint8Array = ""): Promise<Outcome> => runCli(argv, { environment, stdin });

/** The output of a command that must succeed. */
async function ok(argv: string[], stdin: string | Uint8Array = ""): Promise<string> {
  const { code, out, err } = await cli(argv, stdin);
  expect({ argv, code, err: code === 0 ? "" : err }).toEqual({ argv, code: 0, err: "" });
  return out;
}

describe("topics", () => {
  test("create, list, describe, alter, add partitions, offsets, trim, delete", async () => {
    expect(await ok(["topic", "create", "a1", "a2", "-p", "2", "-c", "retention.ms=5000000"])).toContain("a2     OK");
    const again = await cli(["topic", "create", "a1"]);
    expect(again.code).toBe(1);
    expect(again.out).toContain("TOPIC_ALREADY_EXISTS");
    expect(await ok(["topic", "create", "a1", "--if-not-exists"])).toContain("exists already");
    expect(await ok(["topic", "create", "a3", "--dry"])).toContain("nothing was created");
    expect(JSON.parse(await ok(["topic", "list", "--format", "json"]))).toEqual([
      { name: "a1", partitions: 2, replicas: 1 },
      { name: "a2", partitions: 2, replicas: 1 },
    ]);
    const [described] = JSON.parse(await ok(["topic", "describe", "a1", "--format", "json"]));
    expect(described).toMatchObject({ name: "a1", internal: false });
    expect(described.partitions).toHaveLength(2);
    expect(described.configs.find((config: { name: string }) => config.name === "retention.ms")).toMatchObject({
      value: "5000000",
      source: "DYNAMIC_TOPIC_CONFIG",
    });
    await ok(["topic", "alter-config", "a1", "-s", "retention.ms=6000000", "-d", "segment.bytes"]);
    expect(await ok(["topic", "describe", "a1", "-c"])).toMatch(/retention\.ms +6000000 +DYNAMIC_TOPIC_CONFIG/);
    await ok(["topic", "add-partitions", "a2", "-n", "1"]);
    expect(await ok(["topic", "list", "a2", "--format", "csv"])).toBe("name,partitions,replicas\na2,3,1\n");
    await ok(["produce", "a1", "-p", "1", "-q"], "x\ny\nz\n");
    await ok(["topic", "trim-prefix", "a1", "-o", "1", "-p", "1"]);
    expect(await ok(["topic", "offsets", "a1", "--format", "csv"])).toBe(
      "topic,partition,start,end,records\na1,0,0,0,0\na1,1,1,3,2\n",
    );
    expect(await ok(["topic", "offsets", "a1", "-p", "1", "--at", "@-1h", "--format", "csv"])).toMatch(
      /a1,1,1,\d{13}\n/,
    );
    await ok(["topic", "delete", "a1", "a2"]);
    expect((await cli(["topic", "delete", "a1"])).code).toBe(1);
    await ok(["topic", "delete", "a1", "--if-exists"]);
  });

  test.each([
    [["topic", "describe", "none"], 1, 'there is no topic "none"'],
    [["topic", "create", "bad/name"], 1, ""],
    [["topic", "create", "t", "-c", "nonsense"], 2, "KEY=VALUE"],
    [["topic", "create", "t", "-r", "3"], 1, ""],
    [["consume", "none", "-e"], 1, 'there is no topic "none"'],
    [["consume"], 2, "no topic"],
    [["consume", "t", "-o", "nonsense"], 2, "is not an offset"],
    [["consume", "t", "-f", "%z"], 2, "%z is not known"],
    [["consume", "t", "-X", "nonsense=1"], 2, "not known"],
    [["consume", "t", "-X", "security.protocol=SSL"], 2, "not supported"],
    [["produce", "t", "--acks", "2"], 2, "acks"],
    [["produce", "t", "-z", "rar"], 2, "compression"],
    [["produce", "t", "missing-file"], 1, "missing-file"],
    [["group", "describe", "none"], 1, 'no group "none"'],
    [["group", "seek", "g"], 2, "say once where to"],
    [["topic", "list", "-b", "127.0.0.1:1"], 1, "nothing listens there"],
    [["topic", "list", "-b", "a:b"], 2, "HOST:PORT"],
  ])("%p fails with exit code %p", async (argv, code, text) => {
    const outcome = await cli(argv);
    expect(outcome.code).toBe(code);
    expect(outcome.err + outcome.out).toContain(text);
  });
});

describe("produce and consume", () => {
  test("keys, headers, nulls and every codec come back as they went in", async () => {
    await ok(["topic", "create", "p1"]);
    const codecs = ["none", "gzip", "snappy", "lz4", "zstd"];
    for (const codec of codecs)
      await ok(["produce", "p1", "-q", "-K:", "-Z", "-H", "h=1", "-H", "n", "-z", codec], "k:v\n:\nplain\n");
    const lines = (await ok(["consume", "p1", "-e", "-f", "%o|%k|%s|%h\\n", "-Z"])).split("\n");
    expect(lines).toHaveLength(3 * codecs.length + 1);
    expect(lines.slice(0, 3)).toEqual(["0|k|v|h=1,n=NULL", "1|NULL|NULL|h=1,n=NULL", "2|NULL|plain|h=1,n=NULL"]);
    const json = (await ok(["consume", "p1", "-n", "2"]))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(json[0]).toMatchObject({ topic: "p1", key: "k", value: "v", value_size: 1, partition: 0, offset: 0 });
    expect(json[1].value).toBeNull();
    const kcat = (await ok(["consume", "-C", "-t", "p1", "-J", "-c", "1"])).trim();
    expect(JSON.parse(kcat)).toMatchObject({
      tstype: "create",
      broker: 1,
      headers: ["h", "1", "n", null],
      payload: "v",
    });
  });

  test("bytes are kept, whatever they are", async () => {
    await ok(["topic", "create", "p2"]);
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i).filter((byte) => byte !== 10));
    await ok(["produce", "p2", "-q"], Buffer.concat([bytes, Buffer.from("\n")]));
    expect((await cli(["consume", "p2", "-e", "-f", "%s"])).bytes).toEqual(bytes);
    writeFileSync(join(folder, "whole"), "two\nlines");
    await ok(["produce", "-t", "p2", "-q", join(folder, "whole")]);
    await ok(["produce", "-t", "p2", "-q", "-l", join(folder, "whole")]);
    expect(await ok(["consume", "p2", "-o", "1:", "-e", "-f", "[%s]"])).toBe("[two\nlines][two][lines]");
  });

  test("where to begin and where to end", async () => {
    await ok(["topic", "create", "p3"]);
    const before = Date.now();
    await ok(["produce", "p3", "-q"], Array.from({ length: 10 }, (_, i) => `${i}\n`).join(""));
    const read = (...flags: string[]) => ok(["consume", "p3", "-f", "%s", ...flags]);
    expect(await read("-o", ":end")).toBe("0123456789");
    expect(await read("-o", "3", "-n", "2")).toBe("34");
    expect(await read("-o", "-3", "-e")).toBe("789");
    expect(await read("-o", "+8", "-e")).toBe("89");
    expect(await read("-o", "2:5")).toBe("234");
    expect(await read("-o", ":2")).toBe("01");
    expect(await read("-o", "end", "-e")).toBe("");
    expect(await read("-o", `@${before}:end`)).toBe("0123456789");
    expect(await read("-o", `@:${before - 1_000}`)).toBe("");
    expect(await read("-o", `s@${before - 1_000}`, "-o", `e@${Date.now() + 1}`, "-e")).toBe("0123456789");
    expect(await read("--from-beginning", "--max-messages", "1")).toBe("0");
    expect((await cli(["consume", "p3", "-o", "99", "-e"])).out).toBe("");
    expect((await cli(["consume", "p3", "-o", "99", "-n", "1"])).err).toContain("has no offset 99");
    expect((await cli(["consume", "p3", "-p", "7", "-e"])).code).toBe(1);
  });

  test("a large input is sent in batches and keeps its order", async () => {
    await ok(["topic", "create", "p4"]);
    const lines = Array.from({ length: 40_000 }, (_, i) => `line ${i} ${"x".repeat(i % 50)}\n`).join("");
    await ok(["produce", "p4", "-q", "-z", "lz4"], lines);
    expect(await ok(["consume", "p4", "-e", "-f", "%s\\n"])).toBe(lines);
  });

  test("a read over HTTP ends early when its records are large, and says where to go on", async () => {
    const large = 1_000_000;
    await ok(["topic", "create", "large"]);
    await ok(["produce", "large", "-z", "gzip", "-q"], `${"x".repeat(large)}\n`.repeat(20));
    const url = `${environment.ROWLOG_URL}/v1/topics/large/records?limit=1000`;
    const sizes: number[] = [];
    for (let offset = 0; offset < 20; ) {
      const answer = (await (await fetch(`${url}&offset=${offset}`)).json()) as {
        records: { value: string }[];
        next_offset: number;
      };
      expect(answer.next_offset).toBe(offset + answer.records.length);
      sizes.push(answer.records.length);
      offset = answer.next_offset;
    }
    expect(sizes).toEqual([9, 9, 2]);
  });

  test("Ctrl-C while waiting for input sends what was typed and ends", async () => {
    await ok(["topic", "create", "p6"]);
    const io = fakeIo({ environment });
    io.input = async function* () {
      yield Buffer.from("typed\n");
      await new Promise(() => {});
    };
    const running = run(["produce", "p6"], io, { startNode });
    while (!io.stderr.includes("offset 0")) await new Promise((resolve) => setTimeout(resolve, 10));
    io.abort();
    expect(await running).toBe(130);
    expect(await ok(["consume", "p6", "-e", "-f", "%s"])).toBe("typed");
  });

  test("keys choose partitions as every Kafka client does; -p and %p choose them by hand", async () => {
    await ok(["topic", "create", "p5", "-p", "3"]);
    const report = (await cli(["produce", "p5", "-K,"], "21,a\nfoobar,b\n21,c\n")).err;
    expect(report).toMatch(/^(Produced to partition \d at offset \d+ with timestamp \d+\.\n){3}$/);
    const [first, second, third] = [...report.matchAll(/partition (\d)/g)].map(([, partition]) => Number(partition));
    expect(first).toBe((-973_932_308 & 0x7fffffff) % 3);
    expect(second).toBe((-790_332_482 & 0x7fffffff) % 3);
    expect(third).toBe(first as number);
    await ok(["produce", "p5", "-q", "-f", "%p %k=%v\\n"], "2 k=by hand\n");
    expect(await ok(["consume", "p5", "-p", "2", "-o", "-1", "-e", "-f", "%k %s"])).toBe("k by hand");
  });

  test("a typed table refuses a bad record by its line, and stores nothing of the batch", async () => {
    await ok(["sql", "-c", "CREATE TABLE strict (n BIGINT)"]);
    const outcome = await cli(["produce", "strict"], '{"n":1}\n{"n":"x"}\n');
    expect(outcome.code).toBe(1);
    // By its place in the input, and by no other number.
    expect(outcome.err).toContain("record 2:");
    expect(outcome.err).not.toContain("record 1:");
    expect(await ok(["sql", "-csv", "-noheader", "-c", "SELECT count(*) FROM strict"])).toBe("0\n");
  });
});

describe("groups", () => {
  test("read in parts, describe, seek, delete", async () => {
    await ok(["topic", "create", "g1", "-p", "2"]);
    await ok(["produce", "g1", "-q", "-p", "0"], "a\nb\nc\n");
    await ok(["produce", "g1", "-q", "-p", "1"], "d\ne\n");
    const first = await ok(["consume", "-g", "group1", "g1", "-n", "2", "-f", "%s"]);
    const second = await ok(["consume", "-G", "group1", "g1", "-n", "3", "-f", "%s"]);
    expect([...`${first}${second}`].sort().join("")).toBe("abcde");
    const [group] = JSON.parse(await ok(["group", "describe", "group1", "--format", "json"]));
    expect(group).toMatchObject({ state: "Empty", members: 0, total_lag: 0 });
    expect(await ok(["group", "list", "--format", "csv"])).toContain("group1,Empty,consumer");
    const dry = await ok(["group", "seek", "group1", "--to", "start", "--dry-run", "--format", "csv"]);
    expect(dry).toBe("topic,partition,prior_offset,would_be\ng1,0,3,0\ng1,1,2,0\n");
    await ok(["group", "seek", "group1", "--shift-by", "-1"]);
    expect(await ok(["group", "describe", "group1"])).toContain("TOTAL-LAG    2");
    await ok(["group", "seek", "group1", "--to-offset", "99", "--topics", "g1"]);
    expect(await ok(["group", "describe", "group1"])).toContain("TOTAL-LAG    0");
    await ok(["group", "seek", "group2", "--to-group", "group1"]);
    expect(await ok(["group", "describe", "group2"])).toContain("TOTAL-LAG    0");
    await ok(["group", "delete", "group1", "group2"]);
    expect((await cli(["group", "describe", "group1"])).code).toBe(1);
  });
});

describe("sql", () => {
  test("statements, formats and errors", async () => {
    await ok(["sql", "-c", "CREATE TABLE people (name VARCHAR, n HUGEINT)"]);
    await ok(
      ["produce", "people", "-q"],
      '{"name":"ada","n":170141183460469231731687303715884105727}\n{"name":null,"n":-1}\n',
    );
    expect(
      await ok(["sql", "-c", "SELECT * FROM people ORDER BY n DESC"]),
    ).toBe(`┌──────┬─────────────────────────────────────────┐
│ name │                                       n │
├──────┼─────────────────────────────────────────┤
│ ada  │ 170141183460469231731687303715884105727 │
│ NULL │                                      -1 │
└──────┴─────────────────────────────────────────┘
`);
    const query = "SELECT * FROM people ORDER BY n";
    expect(await ok(["sql", "-json", "-c", query])).toBe(
      '[{"name":null,"n":-1},\n{"name":"ada","n":170141183460469231731687303715884105727}]\n',
    );
    expect(await ok(["sql", "--format", "csv", "-c", query])).toBe(
      "name,n\n,-1\nada,170141183460469231731687303715884105727\n",
    );
    expect(await ok(["sql", "-list", "-noheader", "-separator", ";", "-nullvalue", "-", "-c", query])).toStartWith(
      "-;-1\n",
    );
    const failed = await cli(["sql", "-c", "SELECT 1; SELECT * FROM none_such; SELECT 2"]);
    expect(failed.code).toBe(1);
    expect(failed.out).toContain("│ 1 │");
    expect(failed.out).not.toContain("│ 2 │");
    expect(failed.err).toContain("42P01");
    expect(failed.err).toContain("  SELECT * FROM none_such\n                ^\n");
  });

  test("a plan is drawn, not put into a cell", async () => {
    expect(await ok(["sql", "-c", "EXPLAIN SELECT 1"])).toMatch(/^┌─+┐\n│ +PROJECTION +│\n/);
    expect(await ok(["sql", "--format", "csv", "-c", "EXPLAIN SELECT 1"])).toStartWith("explain_key,explain_value\n");
  });

  test("scripts from standard input and files, with dot commands", async () => {
    const script = ".mode csv\n.headers off\nSELECT 1,\n  2; SELECT 'a;b';\n-- end\n.tables\n.print done\nSELECT 3";
    const out = await ok(["sql"], script);
    expect(out).toMatch(/^1,2\na;b\n(.+\n)*done\n3\n$/);
    writeFileSync(
      join(folder, "script.sql"),
      `.output ${join(folder, "out.csv")}\nSELECT 4 AS x;\n.output\nSELECT 5 AS y;\n`,
    );
    expect(await ok(["sql", "-csv", "-f", join(folder, "script.sql")])).toBe("y\n5\n");
    expect(readFileSync(join(folder, "out.csv"), "utf8")).toBe("x\n4\n");
    const goesOn = await cli(["sql", "-csv", "-noheader"], "SELECT * FROM none_such;\n.nonsense\nSELECT 6;\n");
    expect(goesOn).toMatchObject({ code: 1, out: "6\n" });
    expect(await cli(["sql", "-csv", "-bail"], "SELECT * FROM none_such;\nSELECT 6;\n")).toMatchObject({
      code: 1,
      out: "",
    });
  });

  test("a large result streams", async () => {
    const out = await ok(["sql", "-csv", "-noheader", "-c", "SELECT range FROM range(100000)"]);
    const lines = out.trimEnd().split("\n");
    expect(lines).toHaveLength(100_000);
    expect(lines.at(-1)).toBe("99999");
  });

  test("a node that is not there, and one that is something else", async () => {
    const none = await cli(["sql", "--url", "127.0.0.1:1", "-c", "SELECT 1"]);
    expect(none.code).toBe(1);
    expect(none.err).toContain("cannot reach http://127.0.0.1:1");
    expect((await cli(["sql", "--url", "nonsense url", "-c", "SELECT 1"])).code).toBe(2);
    expect((await cli(["sql", "--format", "nonsense", "-c", "SELECT 1"])).code).toBe(2);
  });
});

describe("completion", () => {
  test.each(["bash", "zsh", "fish"])("%s", async (shell) => {
    const script = await ok(["completion", shell]);
    for (const word of ["topic create", "--if-not-exists", "consume"])
      expect(script).toContain(shell === "fish" ? word.replace(/^--/, "") : word);
  });

  test("bash offers commands and flags", async () => {
    const script = await ok(["completion", "bash"]);
    const probe = `${script}
COMP_WORDS=(rowlog topic cr); COMP_CWORD=2; _rowlog; echo "\${COMPREPLY[@]}"
COMP_WORDS=(rowlog topic create --if); COMP_CWORD=3; _rowlog; echo "\${COMPREPLY[@]}"`;
    const { stdout } = Bun.spawnSync(["bash", "-c", probe]);
    expect(stdout.toString()).toBe("create\n--if-not-exists\n");
  });
});

test("a second node is told which port, or that the lake, is taken", async () => {
  const lake = join(folder, "lake");
  const start = (flags: Record<string, string>) =>
    runCli(
      [
        "serve",
        flags.lake ?? join(folder, "other"),
        "--kafka",
        flags.kafka ?? "127.0.0.1:0",
        "--http",
        flags.http ?? "127.0.0.1:0",
      ],
      {},
      startNode,
    );
  const kafka = await start({ kafka: `127.0.0.1:${node.kafkaAddress.port}` });
  expect(kafka.code).toBe(1);
  expect(kafka.err).toMatch(
    /^rowlog: Kafka cannot listen on 127.0.0.1:\d+: another program has that port; .*--kafka HOST:PORT\n$/,
  );
  const http = await start({ http: `127.0.0.1:${node.httpAddress.port}` });
  expect(http.code).toBe(1);
  expect(http.err).toMatch(/^rowlog: HTTP cannot listen on .*--http HOST:PORT\n$/);
  // Nothing of the failed starts is left behind: the lake is free again.
  const locked = await start({ lake });
  expect(locked.code).toBe(1);
  expect(locked.err).toContain("in use");
  expect(locked.err.trim().split("\n")).toHaveLength(1);
});

test("a read over HTTP that waits for records does not hold up the end of the node", async () => {
  const flags = { lake: join(folder, "stopped"), kafka: "127.0.0.1:0", http: "127.0.0.1:0", durability: "os" };
  const config = resolveConfig({ ...flags, shutdownTimeoutMs: "25s" }, {}).config;
  const stopped = await startNode(config, silentLogger);
  const url = `http://127.0.0.1:${stopped.httpAddress.port}/v1/topics`;
  const body = JSON.stringify({ name: "quiet" });
  await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  let answered = false;
  const waiting = fetch(`${url}/quiet/records?wait_ms=30000`).then(async (answer) => {
    answered = true;
    return await answer.json();
  });
  await fetch(`${url}/quiet`);
  expect(answered).toBe(false);
  // Were the wait not ended, the answer would be cut off by the time-out instead.
  await stopped.close();
  expect(await waiting).toMatchObject({ records: [], next_offset: 0 });
});
