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

/**
 * How long after its deletion a topic is not made again by who merely asks for it, in milliseconds. Otherwise a client's
 * next look at the metadata would undo the deletion at once; whoever really writes to the topic asks again.
 */
const deletionRestMs = 1_000;

export class Topics {
  private readonly catalog: Catalog;
  private readonly logs: LogStore;
  private readonly defaults: TopicDefaults;
  /** A late reader of a keyed table's log must still find every key's current row. */
  private readonly keyedDefaults: ReadonlyMap<string, string>;
  /** Entries are never changed, so what follows from one is worked out once. */
  private readonly known = new WeakMap<TopicEntry, TopicSettings>();
  /** Topics deleted lately, oldest first, with the time of it. */
  private readonly deleted = new Map<string, number>();

  /** From which offset on a partition's log must be kept, whatever its retention says: tables read from it. */
  retainFrom: (topic: string, partition: number) => number = () => Number.POSITIVE_INFINITY;

  /** Resolves when what is below an offset may be deleted from a partition's log: tables have it on disk. */
  beforeDelete: (topic: string, partition: number, offset: number) => Promise<void> = () => Promise.resolve();

  constructor(catalog: Catalog, logs: LogStore, defaults: TopicDefaults) {
    this.catalog = catalog;
    this.logs = logs;
    this.defaults = defaults;
    this.keyedDefaults = new Map([...defaults.table, ["cleanup.policy", "compact"]]);
    // Logs of earlier runs are known from the start, for retention and for what is told of their size.
    for (const topic of catalog.topics())
      for (let partition = 0; partition < topic.partitions; partition++) this.log(topic, partition);
    catalog.onChange((change) => {
      if (change.kind === "deleted") {
        logs.deleteTopic(change.topic.name);
        this.noteDeleted(change.topic.name);
      }
      if (change.kind === "configured") this.configure(change.topic);
    });
  }

  /** The defaults that hold for a topic; those of plain topics where there is none yet. */
  defaultsOf(topic?: TopicEntry): ReadonlyMap<string, string> {
    if (!topic?.table) return this.defaults.plain;
    return topic.table.key ? this.keyedDefaults : this.defaults.table;
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
    log.beforeDelete = (offset) => this.beforeDelete(topic.name, partition, offset);
    return log;
  }

  /** Makes a topic that a client used before anybody created it (auto.create.topics.enable). */
  async autoCreate(name: string, partitions: number): Promise<TopicEntry> {
    if (performance.now() - (this.deleted.get(name) ?? Number.NEGATIVE_INFINITY) < deletionRestMs)
      throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `Topic '${name}' has just been deleted.`);
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

  private noteDeleted(name: string): void {
    const nowMs = performance.now();
    for (const [other, atMs] of this.deleted) {
      if (nowMs - atMs < deletionRestMs) break;
      this.deleted.delete(other);
    }
    this.deleted.delete(name);
    this.deleted.set(name, nowMs);
  }

  private configure(topic: TopicEntry): void {
    const { log: config } = this.settings(topic);
    for (let partition = 0; partition < topic.partitions; partition++) {
      const log = this.logs.get(topic.name, partition);
      if (log) log.config = config;
    }
  }
}
