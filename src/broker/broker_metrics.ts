/** What the Kafka side counts, under the names that docs/reference lists. Series are looked up once per name. */
import { type Counter, type Family, latencyBounds, type MetricsRegistry } from "../base/metrics.ts";
import { servedApis } from "../protocol/apis.ts";

export class BrokerMetrics {
  private readonly requests: Map<number, { observe(seconds: number, requestBytes: number, answerBytes: number): void }>;
  private readonly records: Family<Counter>;
  private readonly producedBytes: Family<Counter>;
  private readonly fetchedBytes: Family<Counter>;
  private readonly refusals: Family<Counter>;
  private readonly skips: Family<Counter>;

  constructor(metrics: MetricsRegistry) {
    const help = "Time from a request's start to its answer.";
    const latency = metrics.histogramFamily("rowlog_kafka_request_latency_seconds", help, ["request"], latencyBounds);
    const received = metrics.counterFamily("rowlog_request_bytes_total", "Bytes of Kafka requests.", ["request"]);
    const sent = metrics.counterFamily("rowlog_response_bytes_total", "Bytes of Kafka answers.", ["request"]);
    this.requests = new Map(
      servedApis.map(({ key, name }) => {
        const [seconds, bytesIn, bytesOut] = [latency.with(name), received.with(name), sent.with(name)];
        return [
          key,
          {
            observe(took, requestBytes, answerBytes) {
              seconds.observe(took);
              bytesIn.inc(requestBytes);
              bytesOut.inc(answerBytes);
            },
          },
        ];
      }),
    );
    this.records = metrics.counterFamily("rowlog_records_produced_total", "Records accepted from producers.", [
      "topic",
    ]);
    this.producedBytes = metrics.counterFamily(
      "rowlog_produced_bytes_total",
      "Bytes of record batches accepted from producers.",
      ["topic"],
    );
    this.fetchedBytes = metrics.counterFamily(
      "rowlog_fetched_bytes_total",
      "Bytes of record batches given to consumers.",
      ["topic"],
    );
    this.refusals = metrics.counterFamily(
      "rowlog_ingest_errors_total",
      "Batches refused because records are no rows of the table.",
      ["topic"],
    );
    this.skips = metrics.counterFamily(
      "rowlog_ingest_skipped_total",
      "Records that connectors send beside rows (heartbeats, transactions, messages, schema changes), which are not stored.",
      ["topic", "reason"],
    );
  }

  request(apiKey: number, seconds: number, requestBytes: number, answerBytes: number): void {
    this.requests.get(apiKey)?.observe(seconds, requestBytes, answerBytes);
  }

  produced(topic: string, records: number, bytes: number): void {
    this.records.with(topic).inc(records);
    this.producedBytes.with(topic).inc(bytes);
  }

  refused(topic: string): void {
    this.refusals.with(topic).inc();
  }

  skipped(topic: string, reason: string, records: number): void {
    this.skips.with(topic, reason).inc(records);
  }

  fetched(topic: string, bytes: number): void {
    this.fetchedBytes.with(topic).inc(bytes);
  }
}
