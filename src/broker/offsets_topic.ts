/**
 * Puts the group coordinator on the node's own logs: the internal topic `__consumer_offsets`, made with the first write to it.
 */
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Catalog, TopicEntry } from "../catalog/catalog.ts";
import { GroupCoordinator } from "../groups/coordinator.ts";
import type { CoordinatorSettings } from "../groups/coordinator_types.ts";
import { type OffsetsTopic, PartitionOffsetsLog } from "../groups/partition_offsets_log.ts";
import type { PartitionLog } from "../log/log_store.ts";
import type { Disk } from "../platform/disk.ts";
import type { Topics } from "./topics.ts";

export const offsetsTopicName = "__consumer_offsets";

/** offsets.topic.num.partitions. A partition costs nothing before its first record. */
const partitionsOfNewTopic = 50;

/** As Kafka makes it, but with smaller segments: what compaction leaves behind goes by whole segments. */
export const offsetsTopicConfigs: ReadonlyMap<string, string> = new Map([
  ["cleanup.policy", "compact"],
  ["compression.type", "producer"],
  ["segment.bytes", String(16 * 1024 * 1024)],
]);

export interface GroupParts {
  catalog: Catalog;
  topics: Topics;
  disk: Disk;
  /** The folder of the logs. */
  logDirectory: string;
  clock: Clock;
  logger: Logger;
  settings?: Partial<CoordinatorSettings>;
}

/** Reads the groups back and keeps them in step with the catalog: a deleted topic's offsets go with it. */
export function openGroups(parts: GroupParts): GroupCoordinator {
  const { catalog, clock, logger, settings } = parts;
  const log = new PartitionOffsetsLog(new CatalogOffsetsTopic(parts), clock);
  const groups = GroupCoordinator.open({ log, clock, logger, settings });
  catalog.onChange((change) => {
    if (change.kind !== "deleted") return;
    groups.topicDeleted(change.topic.name).catch((error: unknown) => {
      logger.error("could not delete a topic's committed offsets", { topic: change.topic.name, error: String(error) });
    });
  });
  return groups;
}

class CatalogOffsetsTopic implements OffsetsTopic {
  private readonly parts: GroupParts;

  constructor(parts: GroupParts) {
    this.parts = parts;
  }

  private get entry(): TopicEntry | undefined {
    return this.parts.catalog.topic(offsetsTopicName);
  }

  get partitionCount(): number {
    return this.entry?.partitions ?? partitionsOfNewTopic;
  }

  has(partition: number): boolean {
    const { disk, logDirectory } = this.parts;
    return this.entry !== undefined && disk.stat(`${logDirectory}/${offsetsTopicName}-${partition}`) !== undefined;
  }

  log(partition: number): PartitionLog {
    return this.parts.topics.log(this.entry!, partition);
  }

  async create(): Promise<void> {
    if (this.entry) return;
    await this.parts.catalog.createTopic({
      name: offsetsTopicName,
      partitions: partitionsOfNewTopic,
      configs: offsetsTopicConfigs,
      internal: true,
    });
  }
}
