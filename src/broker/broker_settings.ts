/**
 * The node's settings under Kafka's names, as DescribeConfigs shows them for the broker: those that differ from Kafka's
 * defaults or that Kafka has no default for. The rest of the list is in catalog/broker_config_table.ts.
 */
import { limits } from "../base/limits.ts";
import { brokerNamesOfTopicDefaults } from "../catalog/broker_configs.ts";
import { type CoordinatorSettings, defaultSettings } from "../groups/coordinator_types.ts";
import type { CompactorOptions } from "../log/compaction/compactor.ts";
import type { BrokerConfig } from "./handler.ts";
import { offsetsTopicConfigs } from "./offsets_topic.ts";

export interface SettingsParts {
  config: BrokerConfig;
  /** Where the node listens; port 0 before it does. */
  listener: { host: string; port: number };
  groups: Pick<
    CoordinatorSettings,
    "initialRebalanceDelayMs" | "offsetsRetentionMs" | "sessionTimeoutMsMin" | "sessionTimeoutMsMax"
  >;
  topicDefaults: ReadonlyMap<string, string>;
  compaction: Required<CompactorOptions>;
}

export function brokerSettings({
  config,
  listener,
  groups,
  topicDefaults,
  compaction,
}: SettingsParts): Map<string, string> {
  const { nodeId, advertised, autoCreateTopics, numPartitions, logDirectory } = config;
  const values = brokerNamesOfTopicDefaults(topicDefaults);
  const set = (name: string, value: string | number | boolean) => values.set(name, String(value));
  set("node.id", nodeId);
  set("broker.id", nodeId);
  set("process.roles", "broker,controller");
  set("listeners", listenerText(listener));
  set("advertised.listeners", listenerText(advertised ?? listener));
  set("log.dirs", logDirectory);
  set("auto.create.topics.enable", autoCreateTopics);
  set("num.partitions", numPartitions);
  set("group.coordinator.rebalance.protocols", "classic");
  set("group.initial.rebalance.delay.ms", groups.initialRebalanceDelayMs);
  const { sessionTimeoutMsMin, sessionTimeoutMsMax } = groups;
  if (sessionTimeoutMsMin !== defaultSettings.sessionTimeoutMsMin) {
    set("group.min.session.timeout.ms", sessionTimeoutMsMin);
  }
  if (sessionTimeoutMsMax !== defaultSettings.sessionTimeoutMsMax) {
    set("group.max.session.timeout.ms", sessionTimeoutMsMax);
  }
  set("group.max.size", limits.groupMembersMax);
  set("offsets.retention.minutes", groups.offsetsRetentionMs / 60_000);
  set("offsets.topic.replication.factor", 1);
  set("offsets.topic.segment.bytes", offsetsTopicConfigs.get("segment.bytes")!);
  set("log.retention.check.interval.ms", limits.logRetentionCheckMs);
  set("log.cleaner.enable", compaction.enabled);
  set("log.cleaner.backoff.ms", compaction.backoffMs);
  set("log.cleaner.dedupe.buffer.size", compaction.mapBytes);
  set("log.cleaner.io.max.bytes.per.second", compaction.bytesPerSecond);
  set("max.connections", limits.connectionsMax);
  return values;
}

function listenerText({ host, port }: { host: string; port: number }): string {
  return `PLAINTEXT://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
