/** What the catalog knows of topics and tables: plain data, written as JSON into its journal. */
import type { Uuid } from "../base/uuid.ts";

export interface ColumnDefinition {
  name: string;
  /** DuckDB's text for the type, such as `DECIMAL(10,2)` or `STRUCT(a INTEGER)[]`. */
  type: string;
  notNull: boolean;
  /** DuckDB's text of the default expression, where there is one. */
  default?: string;
  /** The default's JSON text where it is the same for every row; others are computed for each. */
  defaultJson?: string;
}

export const tableFormats = ["json", "debezium", "auto"] as const;
export type TableFormat = (typeof tableFormats)[number];

export interface TableDefinition {
  schema: string;
  name: string;
  /** A complete CREATE TABLE statement that DuckDB runs to make the table anew. */
  sql: string;
  columns: ColumnDefinition[];
  /** Columns that DuckDB computes and nobody produces, with its texts of their expressions. */
  generated?: { name: string; expression: string }[];
  /** DuckDB's texts of CHECK expressions. */
  checks: string[];
  /** Column lists of UNIQUE constraints. */
  unique: string[][];
  /** PRIMARY KEY columns in the key's order; absent for a table without a key. */
  key?: string[];
  /** What records hold, from WITH: rows, change events, or either (absent: auto). */
  format?: TableFormat;
  /** From WITH: the row with the greatest value of this column wins, instead of the last one. */
  sequenceBy?: string;
  /** From WITH: what the source of change events sends in place of a value that it left out, where it is not Debezium's usual text. */
  unavailableValue?: string;
  /** Earlier versions, the oldest first. */
  history?: TableVersion[];
  /** What each ALTER TABLE did to DuckDB's table, the first one first. */
  alterations?: string[][];
  /** The table takes any value as it is (it has a `_value` column and only the record's own columns). */
  raw: boolean;
}

/** How records of before an ALTER TABLE are read. */
export interface TableVersion {
  /** For each partition, the offset at which the next version begins. Partitions made later have no records of it. */
  ends: number[];
  /** For each column of the table as it is now: its name then, or null and the JSON text that such rows have in it (absent: NULL). */
  columns: { name: string | null; fill?: string }[];
}

export interface TopicEntry {
  readonly name: string;
  readonly id: Uuid;
  readonly partitions: number;
  /** Only what was set on the topic; Kafka's defaults are in topic_configs.ts. */
  readonly configs: ReadonlyMap<string, string>;
  /** Topics of the node's own, such as `__consumer_offsets`. */
  readonly internal: boolean;
  readonly createdMs: number;
  /** Absent for plain topics. */
  readonly table?: TableDefinition;
}

export interface NewTopic {
  name: string;
  partitions: number;
  configs?: Iterable<readonly [string, string]>;
  internal?: boolean;
  table?: TableDefinition;
}

export type CatalogChange =
  | { kind: "created"; topic: TopicEntry }
  | { kind: "deleted"; topic: TopicEntry }
  | { kind: "configured"; topic: TopicEntry }
  | { kind: "altered"; topic: TopicEntry }
  | { kind: "extended"; topic: TopicEntry; partitionsBefore: number };
