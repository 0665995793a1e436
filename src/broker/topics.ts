/**
 * Topics as the broker uses them: a catalog entry with the logs of its partitions and its settings. Logs are made when
 * first touched; the catalog alone says what exists.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Catalog, TopicEntry } from "../catalog/catalog.ts";
import { type TopicSettings, topicSettings } from "../catalog/topic_settings.ts";
import type { LogStore, PartitionLog } from "../log/log_store.ts";

/** The node's own defaults of topic configs (`--retain-secs`, `--changelog-secs`), by Kafka's names. */
export interface TopicDefaults {
  plain: ReadonlyMap<string, string>;
  table: ReadonlyMap<string, string>;
}

export class Topics {
  private readonly catalog: Catalog;
  private readonly logs: LogStore;
  private readonly defaults: TopicDefaults;
  /** Entries are never changed, so what follows from one is worked out once. */
  private readonly known = new WeakMap<TopicEntry, TopicSettings>();

  /** From which offset on a partition's log must be kept, whatever its retention says: tables read from it. */
  retainFrom: (topic: string, partition: number) => number = () => Number.POSITIVE_INFINITY;

  constructor(catalog: Catalog, logs: LogStore, defaults: TopicDefaults) {
    this.catalog = catalog;
    this.logs = logs;
    this.defaults = defaults;
    // Logs of earlier runs are known from the start, for retention and for what is told of their size.
    for (const topic of catalog.topics())
      for (let partition = 0; partition < topic.partitions; partition++) this.log(topic, partition);
    catalog.onChange((change) => {
      if (change.kind === "deleted") logs.deleteTopic(change.topic.name);
      if (change.kind === "configured") this.configure(change.topic);
    });
  }

  /** The defaults that hold for a topic; those of plain topics where there is none yet. */
  defaultsOf(topic?: TopicEntry): ReadonlyMap<string, string> {
    return topic?.table ? this.defaults.table : this.defaults.plain;
  }

  settings(topic: TopicEntry): TopicSettings {
    let settings = this.known.get(topic);
    if (!settings) {
      settings = topicSettings(topic.configs, this.defaultsOf(topic));
      this.known.set(topic, settings);
    }
    return settings;
  }

  /** The partition's log; throws UNKNOWN_TOPIC_OR_PARTITION where the topic has no such partition. */
  log(topic: TopicEntry, partition: number): PartitionLog {
    const known = this.logs.get(topic.name, partition);
    if (known && partition < topic.partitions) return known;
    if (!Number.isInteger(partition) || partition < 0 || partition >= topic.partitions) {
      const message = `Topic '${topic.name}' has no partition ${partition}.`;
      throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", message);
    }
    const log = this.logs.create(topic.name, partition, { topicId: topic.id, config: this.settings(topic).log });
    log.retainFrom = () => this.retainFrom(topic.name, partition);
    return log;
  }

  /** Makes a topic that a client used before anybody created it (auto.create.topics.enable). */
  async autoCreate(name: string, partitions: number): Promise<TopicEntry> {
    if (this.catalog.topicCount >= limits.topicsMax)
      throw new KafkaError("POLICY_VIOLATION", `There are ${limits.topicsMax} topics already.`);
    return await this.catalog.createTopic({ name, partitions });
  }

  /** Deletes a topic, its log, and the table where it is one. */
  async remove(topic: TopicEntry): Promise<void> {
    if (topic.internal)
      throw new KafkaError("TOPIC_AUTHORIZATION_FAILED", `Topic '${topic.name}' belongs to the node and stays.`);
    await this.catalog.deleteTopic(topic.name);
  }

  private configure(topic: TopicEntry): void {
    const { log: config } = this.settings(topic);
    for (let partition = 0; partition < topic.partitions; partition++) {
      const log = this.logs.get(topic.name, partition);
      if (log) log.config = config;
    }
  }
}
