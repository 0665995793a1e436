/** A node's tables on a lake of their own, without its doors: catalog, log, engine, and the produce path of the broker. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { createLogger, type Logger } from "../../src/base/log.ts";
import { MetricsRegistry } from "../../src/base/metrics.ts";
import { BrokerMetrics } from "../../src/broker/broker_metrics.ts";
import { type ProduceOutcome, produceBatch } from "../../src/broker/produce_path.ts";
import { Topics } from "../../src/broker/topics.ts";
import { Catalog } from "../../src/catalog/catalog.ts";
import { LogStore } from "../../src/log/log_store.ts";
import type { Disk } from "../../src/platform/disk.ts";
import { nodeDisk } from "../../src/platform/node_disk.ts";
import { type DecodedRecord, decodeBatches } from "../../src/protocol/records/decode.ts";
import { type EncodeOptions, encodeBatch, type RecordToEncode } from "../../src/protocol/records/encode.ts";
import { SqlEngine } from "../../src/sql/engine.ts";
import { SqlRunner } from "../../src/tables/execute.ts";
import { Tables } from "../../src/tables/tables.ts";

/** Tests produce records of long ago, which retention would remove. */
const keep = new Map([["retention.ms", "-1"]]);

export interface LoggedRecord {
  offset: number;
  timestamp: number;
  key: string | null;
  value: string | null;
  headers: [string, string | null][];
}

export class Lake {
  readonly directory: string;
  readonly lines: string[] = [];
  private readonly logger: Logger = createLogger({ sink: (line) => this.lines.push(line), level: "debug" });
  catalog!: Catalog;
  logs!: LogStore;
  topics!: Topics;
  engine: SqlEngine | undefined;
  tables!: Tables;
  runner!: SqlRunner;

  private readonly disk: Disk;

  private constructor(directory: string, disk: Disk) {
    this.directory = directory;
    this.disk = disk;
  }

  static async open(disk: Disk = nodeDisk(), directory = mkdtempSync(join(tmpdir(), "rowlog-tables-"))): Promise<Lake> {
    const lake = new Lake(directory, disk);
    await lake.start();
    return lake;
  }

  async start(): Promise<void> {
    const { directory, disk, logger } = this;
    const clock = systemClock;
    this.catalog = await Catalog.open(disk, `${directory}/catalog`, clock, logger);
    this.logs = LogStore.open(disk, `${directory}/log`, { durability: "os", clock, logger });
    this.topics = new Topics(this.catalog, this.logs, { plain: keep, table: keep });
    this.tables = new Tables({
      catalog: this.catalog,
      log: (topic, partition) => this.topics.log(topic, partition),
      startEngine: async () => {
        this.engine = await SqlEngine.start({ path: `${directory}/tables.duckdb`, logger });
        return this.engine;
      },
      clock,
      logger,
    });
    this.tables.start();
    this.runner = new SqlRunner(this.tables);
  }

  async stop(): Promise<void> {
    await this.tables.close();
    await this.logs.close();
    this.catalog.close();
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Rows of the last statement, by JSON.parse. */
  async sql(text: string, params?: (string | number | null)[]): Promise<unknown[][]> {
    return (await this.sqlText(text, params)).map((row) => JSON.parse(row) as unknown[]);
  }

  async sqlText(text: string, params?: (string | number | null)[]): Promise<string[]> {
    const result = await this.runner.execute(text, params ? { params } : {});
    const all: string[] = [];
    for await (const rows of result.rows()) all.push(...rows);
    return all;
  }

  /** The message with which a text fails. (Bun's `expect().rejects` blocks the loop that the engine answers on.) */
  async failure(text: string): Promise<string> {
    return await this.sqlText(text).then(
      () => "it did not fail",
      (error: Error) => error.message,
    );
  }

  /** The SQLSTATE with which a text fails. */
  async state(text: string, session?: string): Promise<string> {
    return await this.runner.execute(text, { session }).then(
      async (result) => {
        for await (const _rows of result.rows());
        return "it did not fail";
      },
      (error: Error & { sqlstate?: string }) => error.sqlstate ?? error.stack ?? "",
    );
  }

  async produce(
    topic: string,
    records: readonly (RecordToEncode | string)[],
    options: EncodeOptions & { partition?: number } = {},
  ): Promise<ProduceOutcome> {
    const batch = encodeBatch(
      records.map((record) => (typeof record === "string" ? { value: record } : record)),
      { timestamp: 1_700_000_000_000, ...options },
    );
    const entry = this.catalog.topic(topic)!;
    const metrics = new BrokerMetrics(new MetricsRegistry());
    const path = { topics: this.topics, tables: this.tables, clock: systemClock, logger: this.logger, metrics };
    return await produceBatch(path, entry, options.partition ?? 0, batch);
  }

  /** Values in a partition's log, as text. */
  logged(topic: string, partition = 0): (string | null)[] {
    return this.records(topic, partition).map(({ value }) => text(value));
  }

  /** Keys in a partition's log, as text. */
  keys(topic: string, partition = 0): (string | null)[] {
    return this.records(topic, partition).map(({ key }) => text(key));
  }

  /** What is in a partition's log. */
  records(topic: string, partition = 0): DecodedRecord[] {
    const log = this.topics.log(this.catalog.topic(topic)!, partition);
    const records: DecodedRecord[] = [];
    let next = log.logStartOffset;
    while (next < log.highWatermark) {
      const parts = log.read(next, { maxBytes: 1 << 20, minOneBatch: true, isolation: "highWatermark" });
      for (const part of parts)
        for (const batch of decodeBatches(part)) {
          records.push(...batch);
          next = batch.header.lastOffset + 1;
        }
    }
    return records;
  }

  /** DuckDB's files are gone; between `stop` and `start`. */
  forgetDatabase(): void {
    for (const name of readdirSync(this.directory))
      if (name.startsWith("tables.duckdb")) rmSync(join(this.directory, name));
  }
}

function text(part: Uint8Array | null): string | null {
  return part && new TextDecoder().decode(part);
}
