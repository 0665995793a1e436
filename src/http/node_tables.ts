/** TableService of the HTTP routes over a node's catalog. */
import { labelText, type MetricsRegistry } from "../base/metrics.ts";
import type { Catalog, TopicEntry } from "../catalog/catalog.ts";
import type { Tables } from "../tables/tables.ts";
import type { TableService, TableSummary } from "./services.ts";

/** Tables whose rows lag behind their logs: above 0 for long, DuckDB cannot keep up or cannot write. */
export function addTableMetrics(metrics: MetricsRegistry, tables: Pick<Tables, "lags">): void {
  metrics.collect((writer) => {
    writer.metric("rowlog_table_lag_records", "gauge", "Acknowledged records that are not in the table yet.");
    for (const { topic, records } of tables.lags()) writer.sample(records, labelText(["table"], [topic]));
  });
}

export function nodeTables(catalog: Catalog): TableService {
  return {
    list: () => [...catalog.topics()].flatMap((topic) => summary(topic) ?? []),
    get(name) {
      const topic = catalog.topic(name);
      if (topic?.table) return summary(topic);
      for (const other of catalog.topics()) if (other.table?.name === name) return summary(other);
      return undefined;
    },
  };
}

function summary(topic: TopicEntry): TableSummary | undefined {
  const { table } = topic;
  if (!table) return undefined;
  return {
    name: table.name,
    schema: table.schema,
    topic: topic.name,
    partitions: topic.partitions,
    raw: table.raw,
    key: table.key ?? null,
    columns: table.columns.map(({ name, type, notNull, default: byDefault }) => ({
      name,
      type,
      not_null: notNull,
      default: byDefault ?? null,
    })),
    sql: table.sql,
  };
}
