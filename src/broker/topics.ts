/**
 * Topics as the broker uses them: a catalog entry with the logs of its partitions. Logs are made when first touched; the
 * catalog alone says what exists.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Catalog, NewTopic, TopicEntry } from "../catalog/catalog.ts";
import { logConfigOf } from "../catalog/topic_configs.ts";
import type { LogStore, PartitionLog } from "../log/log_store.ts";

export class Topics {
  private readonly catalog: Catalog;
  private readonly logs: LogStore;

  constructor(catalog: Catalog, logs: LogStore) {
    this.catalog = catalog;
    this.logs = logs;
    catalog.onChange((change) => {
      if (change.kind === "deleted") logs.deleteTopic(change.topic.name);
      if (change.kind === "configured") this.configure(change.topic);
    });
  }

  /** The partition's log; throws UNKNOWN_TOPIC_OR_PARTITION where the topic has no such partition. */
  log(topic: TopicEntry, partition: number): PartitionLog {
    const known = this.logs.get(topic.name, partition);
    if (known) return known;
    if (!Number.isInteger(partition) || partition < 0 || partition >= topic.partitions)
      throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `Topic '${topic.name}' has no partition ${partition}.`);
    const log = this.logs.create(topic.name, partition);
    log.config = logConfigOf(topic);
    return log;
  }

  /** Makes a topic that a client used before anybody created it (auto.create.topics.enable). */
  async autoCreate(name: string, partitions: number): Promise<TopicEntry> {
    const topic: NewTopic = { name, partitions };
    const fault = this.catalog.creationFault(topic);
    if (fault) throw fault;
    if (this.catalog.topicCount >= limits.topicsMax)
      throw new KafkaError("POLICY_VIOLATION", `There are ${limits.topicsMax} topics already.`);
    return await this.catalog.createTopic(topic);
  }

  private configure(topic: TopicEntry): void {
    const config = logConfigOf(topic);
    for (let partition = 0; partition < topic.partitions; partition++) {
      const log = this.logs.get(topic.name, partition);
      if (log) log.config = config;
    }
  }
}
