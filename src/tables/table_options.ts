/**
 * What CREATE TABLE's WITH says: `partitions`, `format`, `sequence_by`, `unavailable_value`, and the topic's configs by Kafka's names.
 */
import { SqlError } from "../base/sql_error.ts";
import { type TableDefinition, type TableFormat, tableFormats } from "../catalog/entries.ts";
import { validateTopicConfigs } from "../catalog/topic_configs.ts";
import { isInteger, parseType } from "../sql/types.ts";

export interface TableOptions {
  partitions: number;
  configs: Map<string, string>;
  format?: TableFormat;
  sequenceBy?: string;
  unavailableValue?: string;
}

/** `options`: names and values as parseCreateTable gives them. Throws SqlError 22023. */
export function tableOptions(options: readonly [string, string][]): TableOptions {
  const result: TableOptions = { partitions: 1, configs: new Map() };
  const configs: [string, string][] = [];
  for (const [name, value] of options) {
    if (name === "partitions") result.partitions = partitionCount(value);
    else if (name === "format") result.format = tableFormat(value);
    else if (name === "sequence_by") result.sequenceBy = value;
    else if (name === "unavailable_value") result.unavailableValue = unavailableValue(value);
    else configs.push([name, value]);
  }
  try {
    result.configs = validateTopicConfigs(configs);
  } catch (error) {
    throw new SqlError("22023", `WITH (${configs.map(([name]) => name).join(", ")}): ${(error as Error).message}`);
  }
  return result;
}

function partitionCount(value: string): number {
  const partitions = Number(value);
  if (!Number.isInteger(partitions) || partitions < 1)
    throw new SqlError("22023", `partitions = ${value}: a whole number from 1 is expected`);
  return partitions;
}

function tableFormat(value: string): TableFormat {
  const format = value.toLowerCase() as TableFormat;
  if (!tableFormats.includes(format))
    throw new SqlError("22023", `format = ${value}: it can be ${tableFormats.map((one) => `'${one}'`).join(", ")}`);
  return format;
}

function unavailableValue(value: string): string {
  if (value === "") throw new SqlError("22023", "unavailable_value = '': an empty text is a value like any other");
  return value;
}

/** Types, besides the integers, whose values have an order that a later row can be told by. */
const orderable = new Set([
  ...["float", "double", "decimal", "date", "time", "varchar"],
  ...["timestamp", "timestamptz", "timestamp_s", "timestamp_ms", "timestamp_ns"],
]);

/** Checks `format` and `sequenceBy` against the table; gives `sequenceBy` the column's spelling. Throws SqlError 22023. */
export function checkKeyedOptions(definition: TableDefinition): void {
  const { format, sequenceBy, raw, key, columns } = definition;
  if (raw && format !== undefined && format !== "json")
    throw new SqlError("22023", `format = ${format}: a table of whole values (_value) interprets nothing`);
  if (sequenceBy === undefined) return;
  const fault = (reason: string) => new SqlError("22023", `sequence_by = ${sequenceBy}: ${reason}`);
  if (key === undefined) throw fault("only a table with a PRIMARY KEY has rows that replace one another");
  const column = columns.find(({ name }) => name.toLowerCase() === sequenceBy.toLowerCase());
  if (column === undefined) throw fault("the table has no such column");
  const type = parseType(column.type);
  if (!isInteger(type) && !orderable.has(type.kind))
    throw fault(`a ${column.type} has no order that rows can be told by`);
  definition.sequenceBy = column.name;
}
