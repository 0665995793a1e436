/**
 * Compaction beside Apache Kafka's: the same batches into a compacted topic of each, two rounds of compaction, and what `kafka-dump-log`
 * finds in the segments is the same: which batches and records are left, at which offsets, with which sequences and delete horizons.
 * Then an Apache Kafka is started on a copy of Rowlog's segments and serves the same records.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import kafkajs from "kafkajs";
import { component } from "../../scripts/install-clients.ts";
import { startKafka, stopKafka } from "../../scripts/kafka-reference.ts";
import { ToolRunner } from "../tools/tool_runner.ts";
import { clients, missing } from "./clients.ts";
import { Driver } from "./driver.ts";
import { asText } from "./scenario.ts";
import { createTopic, startReference, startRowlog } from "./target.ts";

const { Kafka, logLevel, ConfigResourceTypes } = kafkajs;
const why = ["jars", "java", "tools"].map((name) => component(name)).find((one) => !one.installed());
const java = clients.find(({ name }) => name === "java")!;

type Pair = [key: string, value: string | null];
const pause = (ms: number) => new Promise((wake) => setTimeout(wake, ms));
const segmentMs = 300;

/** Batches of one segment each list; between two of them the segment's time runs out. */
const firstRound: Pair[][][] = [
  [
    [
      ["a", "1"],
      ["b", "1"],
      ["c", "1"],
    ],
    [
      ["a", "2"],
      ["b", "2"],
    ],
    [
      ["d", "1"],
      ["e", "1"],
      ["c", null],
    ],
  ],
  [
    [["a", "3"]],
    [["e", null]],
    [
      ["f", "1"],
      ["f", "2"],
      ["f", "3"],
    ],
  ],
  [
    [
      ["g", "1"],
      ["d", "2"],
    ],
  ],
  [[["h", "1"]]],
];
const secondRound: Pair[][][] = [
  [
    [
      ["b", "3"],
      ["g", "2"],
    ],
    [["a", null]],
  ],
  [[["i", "1"]]],
];

class Side {
  readonly bootstrap: string;
  readonly folder: string;
  private readonly kafka: kafkajs.Kafka;

  constructor(bootstrap: string, logFolder: string) {
    this.bootstrap = bootstrap;
    this.folder = join(logFolder, "compacted-0");
    this.kafka = new Kafka({ clientId: "compaction", brokers: [bootstrap], logLevel: logLevel.NOTHING });
  }

  async configure(ratio: string, create = false): Promise<void> {
    const configs = {
      "cleanup.policy": "compact",
      "segment.ms": String(segmentMs),
      "min.cleanable.dirty.ratio": ratio,
      "delete.retention.ms": "500",
    };
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
    const admin = this.kafka.admin();
    await admin.connect();
    try {
      const topics = [{ topic: "compacted", numPartitions: 1, replicationFactor: 1, configEntries }];
      if (create) await admin.createTopics({ topics, waitForLeaders: true });
      else
        await admin.alterConfigs({
          validateOnly: false,
          resources: [{ type: ConfigResourceTypes.TOPIC, name: "compacted", configEntries }],
        });
    } finally {
      await admin.disconnect();
    }
  }

  async produce(segments: readonly Pair[][][]): Promise<void> {
    const producer = this.kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    try {
      for (const batches of segments) {
        for (const batch of batches)
          await producer.send({ topic: "compacted", messages: batch.map(([key, value]) => ({ key, value })) });
        await pause(segmentMs + 100);
      }
    } finally {
      await producer.disconnect();
    }
  }

  private segments(): string[] {
    return readdirSync(this.folder)
      .filter((name) => /^\d{20}\.log$/.test(name))
      .sort();
  }

  /** Waits until compaction has made fewer segments of these. */
  async compacted(before: number): Promise<void> {
    for (let waited = 0; this.segments().length >= before; waited += 100) {
      if (waited > 40_000) throw new Error(`nothing is compacted in ${this.folder}: ${this.segments()}`);
      await pause(100);
    }
    // The last files are renamed one by one.
    await pause(1_000);
  }

  get segmentCount(): number {
    return this.segments().length;
  }

  async dump(runner: ToolRunner): Promise<string[]> {
    const files = this.segments().map((name) => join(this.folder, name));
    const { output } = await runner.run("dump-log", ["--files", files.join(","), "--print-data-log"]);
    const lines = output.split("\n").filter((line) => /^(baseOffset|\|)/.test(line));
    return lines.map((line) =>
      line
        .replace(/(CreateTime|producerId|crc|position|size): -?\d+/g, "$1: N")
        .replace(/deleteHorizonMs: \d+/g, "deleteHorizonMs: N")
        .replace(/OptionalLong\[\d+\]/g, "OptionalLong[N]")
        .replace(/partitionLeaderEpoch: \d+/, "partitionLeaderEpoch: N"),
    );
  }
}

async function consume(bootstrap: string, count: number): Promise<string[]> {
  const driver = new Driver(java.command());
  try {
    const { records = [] } = await driver.must("consume", { bootstrap, topic: "compacted", counts: { 0: count } });
    return records.map(({ offset, key, value }) => `${offset} ${asText(key)}=${asText(value)}`);
  } finally {
    await driver.kill();
  }
}

const isPossible = missing(java) === undefined && why === undefined;

describe("compaction beside Apache Kafka", () => {
  let rowlog: Awaited<ReturnType<typeof startRowlog>>;
  let reference: Awaited<ReturnType<typeof startReference>>;
  let runner: ToolRunner;

  beforeAll(async () => {
    if (!isPossible) return;
    [rowlog, reference] = await Promise.all([
      startRowlog(["--log-cleaner-backoff-ms", "100"], true),
      startReference(["log.cleaner.backoff.ms=100"], true),
    ]);
    runner = new ToolRunner();
  }, 120_000);

  afterAll(async () => {
    await Promise.all([rowlog?.stop(), reference?.stop(), runner?.end()]);
  });

  (isPossible ? test : test.skip)(
    "the same batches and records are left, and Kafka reads our segments",
    async () => {
      const ours = new Side(rowlog.bootstrap, `${rowlog.directory}/log`);
      const theirs = new Side(reference.bootstrap, `${reference.directory}/data`);
      const rounds = async (side: Side) => {
        const dumps: string[][] = [];
        await side.configure("1.0", true);
        for (const round of [firstRound, secondRound]) {
          await side.produce(round);
          const before = side.segmentCount;
          await side.configure("0.001");
          await side.compacted(before);
          dumps.push(await side.dump(runner));
          await side.configure("1.0");
        }
        return dumps;
      };
      const [found, expected] = await Promise.all([rounds(ours), rounds(theirs)]);
      expect(found[0]).toEqual(expected[0]!);
      expect(found[1]).toEqual(expected[1]!);
      // Tombstones of the first round went with the second; the newest one is still there.
      const records = found[1]!.filter((line) => line.startsWith("|"));
      expect(records.map((line) => /offset: (\d+).* key: (\w)/.exec(line)?.slice(1).join(" "))).toEqual([
        "12 f",
        "14 d",
        "15 h",
        "16 b",
        "17 g",
        "18 a",
        "19 i",
      ]);
      const served = await consume(rowlog.bootstrap, records.length);
      expect(await consume(reference.bootstrap, records.length)).toEqual(served);
      await onApacheKafka(ours.folder, records.length, served);
    },
    400_000,
  );

  /** A fresh Apache Kafka with our segments in the place of its own. */
  async function onApacheKafka(folder: string, count: number, served: readonly string[]): Promise<void> {
    await rowlog.node.end("SIGTERM");
    const other = await startReference([], true);
    try {
      await createTopic(other.bootstrap, "compacted", 1);
      await stopKafka(other.directory);
      const place = join(other.directory, "data/compacted-0");
      const metadata = readFileSync(join(place, "partition.metadata"), "utf8");
      rmSync(place, { recursive: true });
      cpSync(folder, place, { recursive: true });
      await Bun.write(join(place, "partition.metadata"), metadata);
      const cleaner = join(folder, "../cleaner-offset-checkpoint");
      expect(existsSync(cleaner)).toBe(true);
      cpSync(cleaner, join(other.directory, "data/cleaner-offset-checkpoint"));
      await startKafka(other.directory, Number(other.bootstrap.split(":")[1]));
      expect(await consume(other.bootstrap, count)).toEqual([...served]);
    } finally {
      await other.stop();
    }
  }
});
