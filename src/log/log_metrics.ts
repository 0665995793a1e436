/** What compaction tells at each scrape, after Kafka's LogCleaner and LogCleanerManager. */
import type { Clock } from "../base/clock.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { LogStore } from "./log_store.ts";

export function addLogMetrics(metrics: MetricsRegistry, logs: Pick<LogStore, "compactor">, clock: Clock): void {
  metrics.collect((writer) => {
    const { compactor } = logs;
    const { stats } = compactor;
    const one = (type: "counter" | "gauge", name: string, help: string, value: number) => {
      writer.metric(`kafka_log_cleaner_${name}`, type, help);
      writer.sample(value);
    };
    one("counter", "cleans_total", "Compactions of partitions that ended well.", stats.rounds);
    one("counter", "bytes_read_total", "Log bytes that compaction read.", stats.bytesRead);
    one("counter", "bytes_written_total", "Log bytes that compaction wrote.", stats.bytesWritten);
    one("counter", "bytes_saved_total", "Log bytes that compaction removed.", stats.bytesSaved);
    one("counter", "records_read_total", "Records that compaction looked at.", stats.recordsRead);
    one("counter", "records_removed_total", "Records that compaction removed.", stats.recordsRemoved);
    one("counter", "keyless_records_total", "Records without a key that compaction removed.", stats.keylessRecords);
    const full = 100 * stats.lastMapUtilization;
    one("gauge", "max_buffer_utilization_percent", "How full the key map of the last compaction was.", full);
    const recopied = 100 * stats.lastRecopyRatio;
    one("gauge", "cleaner_recopy_percent", "Share of the bytes that the last compaction kept.", recopied);
    one("gauge", "max_clean_time_seconds", "Time that the last compaction took.", stats.lastSeconds);
    const delay = "Longest time by which a partition was past its max.compaction.lag.ms at the last search.";
    one("gauge", "max_compaction_delay_seconds", delay, stats.maxDelaySeconds);
    const dirty = "Largest share of a log that was not compacted, at the last search.";
    one("gauge", "max_dirty_percent", dirty, 100 * stats.maxDirtyRatio);
    const uncleanable = "Partitions that cannot be compacted because they cannot be read.";
    one("gauge", "uncleanable_partitions_count", uncleanable, compactor.uncleanable.size);
    one("gauge", "uncleanable_bytes", "Log bytes of those partitions.", compactor.uncleanableBytes());
    if (stats.searchedAtMs === undefined) return;
    const since = (clock.monotonicMs() - stats.searchedAtMs) / 1000;
    one("gauge", "time_since_last_run_seconds", "Time since logs to compact were last searched for.", since);
  });
}
