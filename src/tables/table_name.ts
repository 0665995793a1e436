/** Names of tables: the topic's, and DuckDB's. */
import { quoteIdentifier } from "../sql/types.ts";

/** As SQL names it, whatever the search path. */
export function quotedTable({ schema, name }: { schema: string; name: string }): string {
  return `rowlog.${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
}

/** The topic of a table. */
export function topicName({ schema, name }: { schema: string; name: string }): string {
  return schema === "main" ? name : `${schema}.${name}`;
}
