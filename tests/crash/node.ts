/** A whole node but for its doors, on a simulated disk: catalog, logs, groups, tables with DuckDB. One node is one process. */
import type { ManualClock } from "../../src/base/clock.ts";
import { createLogger, type Logger } from "../../src/base/log.ts";
import { MetricsRegistry } from "../../src/base/metrics.ts";
import { BrokerMetrics } from "../../src/broker/broker_metrics.ts";
import { openGroups } from "../../src/broker/offsets_topic.ts";
import { type ProduceOutcome, produceBatch } from "../../src/broker/produce_path.ts";
import { ProducerIds } from "../../src/broker/producer_ids.ts";
import { Topics } from "../../src/broker/topics.ts";
import { Catalog, type TopicEntry } from "../../src/catalog/catalog.ts";
import type { GroupCoordinator } from "../../src/groups/coordinator.ts";
import { LogStore } from "../../src/log/log_store.ts";
import type { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { SqlEngine } from "../../src/sql/engine.ts";
import { SqlRunner } from "../../src/tables/execute.ts";
import { Tables } from "../../src/tables/tables.ts";
import type { EngineImage } from "./engine_image.ts";

export const lake = "/lake";

export interface NodeParts {
  disk: SimDisk;
  clock: ManualClock;
  image: EngineImage;
  /** Called with the engine as it was found, before the tables are put right and anything is applied. */
  foundEngine?: (node: SimulatedNode, engine: SqlEngine) => Promise<void>;
}

export class SimulatedNode {
  readonly disk: SimDisk;
  readonly clock: ManualClock;
  readonly catalog: Catalog;
  readonly logs: LogStore;
  readonly topics: Topics;
  readonly tables: Tables;
  readonly runner: SqlRunner;
  readonly groups: GroupCoordinator;
  readonly producerIds: ProducerIds;
  readonly lines: string[];
  private readonly logger: Logger;
  private readonly metrics = new BrokerMetrics(new MetricsRegistry());
  private readonly image: EngineImage;
  private hasEnded = false;

  private constructor(parts: NodeParts, catalog: Catalog, logger: Logger, lines: string[]) {
    const { disk, clock, image } = parts;
    this.disk = disk;
    this.clock = clock;
    this.image = image;
    this.catalog = catalog;
    this.logger = logger;
    this.lines = lines;
    this.logs = LogStore.open(disk, `${lake}/log`, {
      durability: "sync",
      clock,
      logger,
      compaction: { bytesPerSecond: Number.POSITIVE_INFINITY },
    });
    for (const name of this.logs.unclaimedTopics()) if (!catalog.topic(name)) this.logs.deleteTopic(name);
    const defaults = new Map<string, string>();
    this.topics = new Topics(catalog, this.logs, { plain: defaults, table: defaults });
    this.tables = new Tables({
      catalog,
      log: (topic, partition) => this.topics.log(topic, partition),
      startEngine: async () => {
        const path = `${lake}/tables.duckdb`;
        const engine = await SqlEngine.start({
          path,
          logger,
          spawn: image.spawn(disk, () => this.hasEnded),
          memoryBytesMax: 256 << 20,
        });
        await parts.foundEngine?.(this, engine);
        return engine;
      },
      clock,
      logger,
    });
    this.topics.retainFrom = (topic, partition) => this.tables.retainFrom(topic, partition);
    this.topics.beforeDelete = (topic, partition, offset) => this.tables.beforeDelete(topic, partition, offset);
    this.runner = new SqlRunner(this.tables);
    const { topics } = this;
    this.groups = openGroups({ catalog, topics, disk, logDirectory: `${lake}/log`, clock, logger });
    this.producerIds = new ProducerIds(catalog);
  }

  /** `lines`: takes what the node logs. */
  static async open(parts: NodeParts, lines: string[] = []): Promise<SimulatedNode> {
    const logger = createLogger({ level: "debug", sink: (line) => void lines.push(line) });
    const catalog = await Catalog.open(parts.disk, `${lake}/catalog`, parts.clock, logger);
    return new SimulatedNode(parts, catalog, logger, lines);
  }

  produce(topic: TopicEntry, partition: number, batch: Uint8Array): Promise<ProduceOutcome> {
    const { topics, tables, clock, logger, metrics } = this;
    return produceBatch({ topics, tables, clock, logger, metrics }, topic, partition, batch);
  }

  /** The rows of the last statement, by JSON.parse. */
  async sql(text: string): Promise<unknown[][]> {
    const result = await this.runner.execute(text);
    const all: unknown[][] = [];
    for await (const rows of result.rows()) for (const row of rows) all.push(JSON.parse(row) as unknown[]);
    return all;
  }

  async close(): Promise<void> {
    await this.groups.close();
    await this.tables.close();
    await this.logs.close();
    this.catalog.close();
  }

  /** Nothing of this process runs on: its disk refuses it, and so does the module. */
  abandon(): void {
    this.hasEnded = true;
    this.disk.cutPowerAfter(0);
    this.image.retire();
  }
}
