/**
 * Metrics that are read from the node at each scrape: topics and groups under kafka_exporter's names (dashboards exist for
 * them), storage, and the process. Bounded by `limits.metricsPartitionsMax` partitions.
 */
import { readdirSync } from "node:fs";
import process from "node:process";
import { limits } from "../base/limits.ts";
import { labelText, type MetricsRegistry, type MetricsWriter } from "../base/metrics.ts";
import type { GroupDetail, HttpServices, TopicDetail } from "./services.ts";

export function addMetricsCollectors(services: HttpServices): void {
  services.metrics.collect((writer) => writeNode(writer, services));
  services.metrics.collect((writer) => writeTopics(writer, services));
  services.metrics.collect((writer) => writeGroups(writer, services));
  services.metrics.collect(writeProcess);
}

function writeNode(writer: MetricsWriter, services: HttpServices): void {
  const { version, clusterId, kafkaAddress } = services.node;
  writer.metric("rowlog_build_info", "gauge", "Constant 1, labelled with the version.");
  writer.sample(1, labelText(["version", "cluster_id"], [version, clusterId]));
  writer.metric("kafka_brokers", "gauge", "Brokers in the cluster.");
  writer.sample(1);
  writer.metric("kafka_broker_info", "gauge", "Constant 1, labelled with the broker's id and address.");
  writer.sample(1, labelText(["id", "address"], ["1", kafkaAddress]));
  const { freeBytes, totalBytes } = services.storage();
  writer.metric("rowlog_storage_free_bytes", "gauge", "Free bytes of the lake's file system.");
  writer.sample(freeBytes);
  writer.metric("rowlog_storage_total_bytes", "gauge", "Size of the lake's file system.");
  writer.sample(totalBytes);
}

interface PartitionMetric {
  name: string;
  help: string;
  value(partition: TopicDetail["partition_details"][number]): number;
}

/** One node: replicas, leaders and in-sync replicas are constants, but dashboards sum over them. */
const partitionMetrics: PartitionMetric[] = [
  { name: "current_offset", help: "High watermark.", value: (partition) => partition.high_watermark },
  { name: "oldest_offset", help: "Log start offset.", value: (partition) => partition.log_start_offset },
  { name: "replicas", help: "Replicas.", value: () => 1 },
  { name: "in_sync_replica", help: "Replicas in sync.", value: () => 1 },
  { name: "leader", help: "Broker id of the leader.", value: () => 1 },
  { name: "leader_is_preferred", help: "1 when the leader is the preferred one.", value: () => 1 },
  { name: "under_replicated_partition", help: "1 when replicas are missing.", value: () => 0 },
];

function writeTopics(writer: MetricsWriter, services: HttpServices): void {
  const topics: {
    labels: string;
    partitions: { labels: string; detail: TopicDetail["partition_details"][number] }[];
  }[] = [];
  let left: number = limits.metricsPartitionsMax;
  let omitted = 0;
  for (const { name, partitions } of services.topics.list()) {
    if (partitions > left) {
      omitted += partitions;
      continue;
    }
    left -= partitions;
    const details = services.topics.get(name)?.partition_details ?? [];
    topics.push({
      labels: labelText(["topic"], [name]),
      partitions: details.map((detail) => ({
        labels: labelText(["topic", "partition"], [name, String(detail.partition)]),
        detail,
      })),
    });
  }
  writer.metric("kafka_topic_partitions", "gauge", "Partitions of a topic.");
  for (const topic of topics) writer.sample(topic.partitions.length, topic.labels);
  for (const metric of partitionMetrics) {
    writer.metric(`kafka_topic_partition_${metric.name}`, "gauge", metric.help);
    for (const topic of topics)
      for (const { labels, detail } of topic.partitions) writer.sample(metric.value(detail), labels);
  }
  writer.metric("rowlog_topic_size_bytes", "gauge", "Bytes of a topic's log on disk.");
  for (const topic of topics)
    writer.sample(
      topic.partitions.reduce((sum, { detail }) => sum + detail.size_bytes, 0),
      topic.labels,
    );
  writer.metric("rowlog_metrics_partitions_omitted", "gauge", "Partitions beyond the bound of one scrape.");
  writer.sample(omitted);
}

async function writeGroups(writer: MetricsWriter, services: HttpServices): Promise<void> {
  const groups: GroupDetail[] = [];
  for (const { group_id } of await services.groups.list()) {
    const group = await services.groups.get(group_id);
    if (group) groups.push(group);
  }
  writer.metric("kafka_consumergroup_members", "gauge", "Members of a group.");
  for (const group of groups) writer.sample(group.members.length, labelText(["consumergroup"], [group.group_id]));
  const each = (name: string, help: string, value: (offset: GroupDetail["offsets"][number]) => number | null) => {
    writer.metric(name, "gauge", help);
    for (const { group_id, offsets } of groups)
      for (const offset of offsets) {
        const number = value(offset);
        const labels = ["consumergroup", "topic", "partition"];
        if (number !== null)
          writer.sample(number, labelText(labels, [group_id, offset.topic, String(offset.partition)]));
      }
  };
  each("kafka_consumergroup_current_offset", "Committed offset.", (offset) => offset.committed_offset);
  each(
    "kafka_consumergroup_lag",
    "Records between the committed offset and the high watermark.",
    (offset) => offset.lag,
  );
  const sums = (name: string, help: string, value: (offset: GroupDetail["offsets"][number]) => number) => {
    writer.metric(name, "gauge", help);
    for (const { group_id, offsets } of groups) {
      const byTopic = new Map<string, number>();
      for (const offset of offsets) byTopic.set(offset.topic, (byTopic.get(offset.topic) ?? 0) + value(offset));
      for (const [topic, sum] of byTopic) writer.sample(sum, labelText(["consumergroup", "topic"], [group_id, topic]));
    }
  };
  sums("kafka_consumergroup_current_offset_sum", "Committed offsets of a topic.", (offset) => offset.committed_offset);
  sums("kafka_consumergroup_lag_sum", "Lag of a topic.", (offset) => offset.lag ?? 0);
}

function writeProcess(writer: MetricsWriter): void {
  const memory = process.memoryUsage();
  const gauge = (name: string, help: string, value: number) => {
    writer.metric(name, "gauge", help);
    writer.sample(value);
  };
  gauge("process_resident_memory_bytes", "Resident memory.", memory.rss);
  gauge("process_heap_bytes", "JavaScript heap in use.", memory.heapUsed);
  gauge("process_external_memory_bytes", "Memory of buffers outside the heap.", memory.external);
  gauge(
    "process_start_time_seconds",
    "Start of the process, seconds since 1970.",
    Date.now() / 1000 - process.uptime(),
  );
  const cpu = process.cpuUsage();
  writer.metric("process_cpu_seconds_total", "counter", "User and system CPU time.");
  writer.sample((cpu.user + cpu.system) / 1e6);
  const files = openFiles();
  if (files !== undefined) gauge("process_open_fds", "Open file descriptors.", files);
}

function openFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}

/**
 * Measures how late a timer fires: what every request on this thread waits besides its own work. Call the result to stop.
 * Sampled every 100 ms; the timer does not keep the process alive.
 */
export function watchEventLoop(metrics: MetricsRegistry): () => void {
  const periodMs = 100;
  const bounds = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
  const delay = metrics.histogram(
    "process_event_loop_delay_seconds",
    "How late a timer of the main thread fires.",
    bounds,
  );
  let expected = performance.now() + periodMs;
  const timer = setInterval(() => {
    const now = performance.now();
    delay.observe(Math.max(0, now - expected) / 1000);
    expected = now + periodMs;
  }, periodMs);
  timer.unref?.();
  return () => clearInterval(timer);
}
