/** TableService of the HTTP routes over a node's catalog. */
import type { Catalog, TopicEntry } from "../catalog/catalog.ts";
import type { TableService, TableSummary } from "./services.ts";

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
    columns: table.columns.map(({ name, type, notNull, default: byDefault }) => ({
      name,
      type,
      not_null: notNull,
      default: byDefault ?? null,
    })),
    sql: table.sql,
  };
}
