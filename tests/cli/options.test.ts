/** The option table: kinds of values, precedence, aliases, and what serve makes of them. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, parseConfigFile, resolveConfig } from "../../src/cli/config.ts";
import { environmentName, type NodeConfig, nodeOptionEntries, nodeOptions } from "../../src/cli/options.ts";
import { run } from "../../src/cli/program.ts";
import { explainStartError } from "../../src/cli/serve.ts";
import { ListenError } from "../../src/platform/tcp.ts";
import { fakeIo, runCli } from "./fake_io.ts";

const folder = mkdtempSync(join(tmpdir(), "rowlog-options-"));

describe("values", () => {
  test("every default survives being written and read", () => {
    for (const [name, option] of nodeOptionEntries)
      if (option.default !== undefined)
        expect([name, option.kind.parse(option.kind.show(option.default))]).toEqual([name, option.default]);
  });

  test.each([
    ["kafka", "0.0.0.0:9092", { host: "0.0.0.0", port: 9092 }],
    ["kafka", ":19092", { host: "0.0.0.0", port: 19092 }],
    ["kafka", "[::1]:9092", { host: "::1", port: 9092 }],
    ["kafka", "localhost:0", { host: "localhost", port: 0 }],
    ["sqlTimeoutMs", "1h30m", 5_400_000],
    ["sqlTimeoutMs", "250ms", 250],
    ["sqlTimeoutMs", "1.5s", 1_500],
    ["sqlMemoryLimitBytes", "100MiB", 104_857_600],
    ["sqlMemoryLimitBytes", "1 GB", 1_000_000_000],
    ["retainSecs", "3600", 3_600],
    ["retainSecs", "7d", 604_800],
    ["retainSecs", "-1", -1],
    ["offsetsRetentionMinutes", "1d", 1_440],
    ["autoCreateTopics", "yes", true],
    ["durability", "OS", "os"],
  ] as const)("%s %p", (name, text, value) => {
    expect(resolveConfig({ [name]: text }, {}).config[name]).toEqual(value as never);
  });

  test.each([
    ["kafka", "9092"],
    ["kafka", "a:b"],
    ["kafka", "::1:9092"],
    ["kafka", "a:65536"],
    ["kafkaAdvertise", "0.0.0.0:9092"],
    ["kafkaAdvertise", ":9092"],
    ["kafkaAdvertise", "[::]:9092"],
    ["kafkaAdvertise", "host:0"],
    ["sqlTimeoutMs", "30"],
    ["sqlTimeoutMs", "soon"],
    ["sqlMemoryLimitBytes", "10XB"],
    ["retainSecs", "-2"],
    ["retainSecs", "1.5"],
    ["retainSecs", "1500ms"],
    ["numPartitions", "0"],
    ["numPartitions", "1e3"],
    ["autoCreateTopics", "perhaps"],
    ["durability", "none"],
    ["lake", ""],
  ] as const)("%s %p is refused by name", (name, text) => {
    const place = name === "lake" ? "LAKE" : `--${nodeOptions[name].flag}`;
    expect(() => resolveConfig({ [name]: text }, {})).toThrow(place);
    expect(() => resolveConfig({ [name]: text }, {})).toThrow(ConfigError);
  });
});

describe("precedence", () => {
  const file = { path: "f.properties", content: "num-partitions = 2\n# comment\nlog.level: debug\nunknown.key=1\n" };

  test("flag, then environment, then file, then default", () => {
    const all = resolveConfig({ numPartitions: "4" }, { ROWLOG_NUM_PARTITIONS: "3" }, file);
    expect(all.config.numPartitions).toBe(4);
    expect(all.origins.numPartitions).toBe("flag");
    const noFlag = resolveConfig({}, { ROWLOG_NUM_PARTITIONS: "3" }, file);
    expect(noFlag.config.numPartitions).toBe(3);
    expect(noFlag.origins.numPartitions).toBe("ROWLOG_NUM_PARTITIONS");
    const onlyFile = resolveConfig({}, {}, file);
    expect(onlyFile.config.numPartitions).toBe(2);
    expect(onlyFile.config.logLevel).toBe("debug");
    expect(onlyFile.origins.numPartitions).toBe("f.properties");
    expect(resolveConfig({}, {}).config.numPartitions).toBe(1);
  });

  test("an unknown key or variable is named, never fatal; an empty variable counts as unset", () => {
    const { ignored, config } = resolveConfig(
      {},
      { ROWLOG_KAFKAA: "x", KAFKA_HEAP_OPTS: "-Xmx1g", ROWLOG_KAFKA: "" },
      file,
    );
    expect(ignored).toEqual(["unknown-key in f.properties", "KAFKA_HEAP_OPTS", "ROWLOG_KAFKAA"]);
    expect(config.kafka.port).toBe(9092);
  });

  test("other products' names for the same thing", () => {
    const { config } = resolveConfig(
      {},
      {
        KAFKA_LISTENERS: "CONTROLLER://:9093,PLAINTEXT://0.0.0.0:19092",
        KAFKA_ADVERTISED_LISTENERS: "PLAINTEXT://db.example:29092",
        KAFKA_AUTO_CREATE_TOPICS_ENABLE: "true",
        KAFKA_NUM_PARTITIONS: "6",
        KAFKA_LOG_RETENTION_MS: "90000",
        LOG_LEVEL: "WARNING",
      },
    );
    expect(config).toMatchObject({
      kafka: { host: "0.0.0.0", port: 19092 },
      kafkaAdvertise: { host: "db.example", port: 29092 },
      autoCreateTopics: true,
      numPartitions: 6,
      retainSecs: 90,
      logLevel: "warn",
    });
    const own = resolveConfig(
      {},
      { ADVERTISED_LISTENER_URL: "tcp://h:1", KAFKA_LOG_RETENTION_MS: "-1", ROWLOG_RETAIN_SECS: "5" },
    );
    expect(own.config).toMatchObject({ kafkaAdvertise: { host: "h", port: 1 }, retainSecs: 5 });
  });

  test("a server.properties of Kafka is read", () => {
    const content =
      "listeners=PLAINTEXT://:9092\nlog.retention.hours=2\nauto.create.topics.enable=true\nnum.partitions=3\n";
    expect(resolveConfig({}, {}, { path: "server.properties", content }).config).toMatchObject({
      kafka: { host: "0.0.0.0", port: 9092 },
      retainSecs: 7_200,
      autoCreateTopics: true,
      numPartitions: 3,
    });
  });

  test("JSON files, flat, nested or in camel case", () => {
    const read = (value: unknown) => resolveConfig({}, {}, { path: "f.json", content: JSON.stringify(value) }).config;
    expect(read({ "num-partitions": 3, "auto-create-topics": true })).toMatchObject({
      numPartitions: 3,
      autoCreateTopics: true,
    });
    expect(read({ sql: { timeout: "1s" }, numPartitions: 2 })).toMatchObject({ sqlTimeoutMs: 1_000, numPartitions: 2 });
    expect(() => parseConfigFile("{", "f.json")).toThrow("f.json is not valid JSON");
    expect(() => parseConfigFile('{"kafka": ["a"]}', "f.json")).toThrow("must be one value");
    expect(() => parseConfigFile("kafka\n", "f.properties")).toThrow("line 1");
  });
});

describe("serve", () => {
  const started: NodeConfig[] = [];
  const startNode = async (config: NodeConfig) => {
    started.push(config);
    return { kafkaAddress: config.kafka, httpAddress: config.http, close: async () => {} };
  };

  test("each option is a flag, and a variable, and a file key", async () => {
    const path = join(folder, "c.properties");
    writeFileSync(path, "http = 127.0.0.1:1\n");
    const io = fakeIo({ environment: { ROWLOG_SQL_TIMEOUT: "7s" } });
    const code = run(
      ["serve", "data", "--kafka", "h:5", "--auto-create-topics", "--durability=os", "--config", path],
      io,
      { startNode },
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    io.abort();
    expect(await code).toBe(0);
    expect(started.at(-1)).toMatchObject({
      lake: "data",
      kafka: { host: "h", port: 5 },
      http: { host: "127.0.0.1", port: 1 },
      autoCreateTopics: true,
      durability: "os",
      sqlTimeoutMs: 7_000,
    });
    const lines = io
      .stdout()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ level: "info", message: "Rowlog is ready", kafka: "h:5", http: "127.0.0.1:1" });
    expect(lines.at(-1)).toMatchObject({ message: "Stopped" });
  });

  test("on a terminal it says what listens where and what to try", async () => {
    const io = fakeIo({ outIsTerminal: true });
    const code = run(["serve", "--kafka", "0.0.0.0:9092", "--http", "127.0.0.1:8081"], io, { startNode });
    await new Promise((resolve) => setTimeout(resolve, 50));
    io.abort();
    expect(await code).toBe(0);
    expect(io.stdout()).toContain("Kafka  0.0.0.0:9092");
    expect(io.stdout()).toContain("HTTP   http://127.0.0.1:8081");
    expect(io.stdout()).toContain("kcat -b 127.0.0.1:9092 -L");
    expect(io.stdout()).toContain("| rowlog produce events\n");
    expect(io.stdout()).toContain("rowlog sql --url http://127.0.0.1:8081 -c");
  });

  test("help has every flag and variable", async () => {
    const { out, code } = await runCli(["serve", "--help"], { width: 200 });
    expect(code).toBe(0);
    for (const [name, { flag }] of nodeOptionEntries) {
      if (name !== "lake") expect(out).toContain(`--${flag}`);
      expect(out).toContain(environmentName(flag));
    }
  });

  test.each([
    [["serve", "--kafka", "nonsense"], "--kafka"],
    [["serve", "--nonsense"], "--nonsense"],
    [["serve", "a", "b"], "serve takes one LAKE"],
    [["serve", "--config", join(folder, "missing")], "missing"],
    [["topicc"], 'unknown command "topicc"'],
    [["topic", "lst"], "lst"],
  ])("%p is wrong usage: exit 2 and one line", async (argv, text) => {
    const { code, err } = await runCli(argv as string[], {}, startNode);
    expect(code).toBe(2);
    expect(err).toContain(text as string);
    expect(err.trim().split("\n").length).toBeLessThanOrEqual(2);
  });

  test("a node that cannot start: exit 1 and the way out", async () => {
    const config = resolveConfig({}, {}).config;
    const text = (error: object) => explainStartError(Object.assign(new Error("why"), error), config);
    const listen = (host: string, port: number, code: string) =>
      explainStartError(new ListenError(host, port, { code }), config);
    expect(listen("127.0.0.1", 9092, "EADDRINUSE")).toContain("another with --kafka");
    expect(listen("127.0.0.1", 8080, "EADDRINUSE")).toContain("another with --http");
    expect(listen("127.0.0.1", 8080, "ENOTFOUND")).toContain("no such address");
    expect(text({ code: "EACCES" })).toContain("permission");
    expect(text({ code: "ENOSPC" })).toContain("full");
    const { code, err } = await runCli(["serve"], {}, async () => {
      throw new Error("the lake is in use by process 7");
    });
    expect(code).toBe(1);
    expect(err).toBe("rowlog: the lake is in use by process 7\n");
  });

  test("config print shows values and origins", async () => {
    const { out, code } = await runCli(["config", "print", "--num-partitions", "4"], {
      environment: { LOG_LEVEL: "error" },
    });
    expect(code).toBe(0);
    expect(out).toContain("num-partitions = 4  # flag\n");
    expect(out).toContain("log-level = error  # LOG_LEVEL\n");
    expect(out).toContain("durability = sync  # default\n");
  });
});

test("the SQL engine's memory has bounds", () => {
  const memory = (text: string) => resolveConfig({ sqlMemoryLimitBytes: text }, {}).config.sqlMemoryLimitBytes;
  expect(memory("64MiB")).toBe(67_108_864);
  expect(memory("4GiB")).toBe(4_294_967_296);
  for (const text of ["0", "63MiB", "5GiB", "100TB"])
    expect(() => memory(text)).toThrow("is not a size from 64MiB to 4GiB");
});
