/** Rows of a keyed table as it holds them now, as JSON texts by their keys. */
import { KafkaError } from "../../base/kafka_error.ts";
import { limits } from "../../base/limits.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import type { SqlEngine } from "../../sql/engine.ts";
import { cellSeparator } from "../../sql/messages.ts";
import { parseType, quoteIdentifier, quoteText, typeName } from "../../sql/types.ts";
import { storageType } from "../json/compile.ts";
import { isRecordColumn } from "../record_columns.ts";
import { quotedTable } from "../table_name.ts";
import { cellLiteral } from "../writes/captured_write.ts";
import { objectText } from "./object_texts.ts";

/** Keys that one query asks for. */
const keysPerQuery = 1_000;

/** JSON texts of a row's fields. */
export type FieldTexts = Map<string, string>;

export class StoredRows {
  private readonly definition: TableDefinition;
  private readonly columns: readonly { name: string; type: string }[];
  private readonly key: readonly { name: string; type: string }[];

  constructor(definition: TableDefinition) {
    this.definition = definition;
    this.columns = definition.columns.filter(({ name }) => !isRecordColumn(name));
    this.key = definition.key!.map((name) => definition.columns.find((column) => column.name === name)!);
  }

  /** The rows of these keys (texts as the log has them, with the texts of their columns in the key's order). */
  async read(engine: SqlEngine, keys: ReadonlyMap<string, readonly string[]>): Promise<Map<string, FieldTexts>> {
    const rows = new Map<string, FieldTexts>();
    const wanted = [...keys.values()];
    for (let from = 0; from < wanted.length; from += keysPerQuery) {
      const values = wanted.slice(from, from + keysPerQuery).map((cells) => `(${this.literals(cells).join(", ")})`);
      const names = this.key.map((_column, i) => `k${i}`).join(", ");
      const same = this.key.map(({ name }, i) => `t.${quoteIdentifier(name)} = s.k${i}`).join(" AND ");
      const list = this.columns.map(({ name }) => `t.${quoteIdentifier(name)}`).join(", ");
      const sql = `SELECT ${list} FROM ${quotedTable(this.definition)} AS t, (VALUES ${values.join(", ")}) AS s(${names}) WHERE ${same}`;
      for (const cells of await this.cells(engine, sql, this.columns)) {
        const fields = new Map(this.columns.map(({ name }, i) => [name, cells[i]!]));
        rows.set(this.keyText(this.key.map(({ name }) => fields.get(name)!)), fields);
      }
    }
    return rows;
  }

  /** All keys of the table, as the log has them. Throws KafkaError INVALID_RECORD when they are too many for a truncation. */
  async keys(engine: SqlEngine): Promise<string[]> {
    const [[count]] = (await engine.query(`SELECT count(*) FROM ${quotedTable(this.definition)}`)).values() as [
      [number],
    ];
    if (Number(count) > limits.truncateRowsMax)
      throw new KafkaError(
        "INVALID_RECORD",
        `a truncation would delete ${count} rows, and ${limits.truncateRowsMax} are the most that one event may: TRUNCATE the table by SQL`,
      );
    return await this.allKeys(engine);
  }

  async allKeys(engine: SqlEngine): Promise<string[]> {
    const list = this.key.map(({ name }) => quoteIdentifier(name)).join(", ");
    const cells = await this.cells(engine, `SELECT ${list} FROM ${quotedTable(this.definition)}`, this.key);
    return cells.map((row) => this.keyText(row));
  }

  /** The sequences of keys that were deleted, by their texts. */
  async deletedSequences(engine: SqlEngine, topicId: string, keys: Iterable<string>): Promise<Map<string, string>> {
    const sequences = new Map<string, string>();
    const wanted = [...keys];
    for (let from = 0; from < wanted.length; from += keysPerQuery) {
      const list = wanted.slice(from, from + keysPerQuery).map(textLiteral);
      const found = await engine.query(
        `SELECT key, sequence FROM _rowlog.deleted_sequences WHERE topic_id = ${quoteText(topicId)} AND key IN (${list.join(", ")})`,
      );
      for (const [key, sequence] of found.values()) sequences.set(key as string, sequence as string);
    }
    return sequences;
  }

  keyText(cells: readonly string[]): string {
    return objectText(new Map(this.key.map(({ name }, i) => [name, cells[i]!])));
  }

  private literals(cells: readonly string[]): string[] {
    return this.key.map((column, i) => {
      const type = parseType(column.type);
      return cellLiteral(cells[i]!, typeName(storageType(type)), type.kind === "blob");
    });
  }

  private async cells(engine: SqlEngine, sql: string, columns: readonly { type: string }[]): Promise<string[][]> {
    const stream = await engine.stream(sql, { form: "cells", types: columns.map(({ type }) => type) });
    const all: string[][] = [];
    for await (const rows of stream.rows()) for (const row of rows) all.push(row.split(cellSeparator));
    return all;
  }
}

/** A text as a SQL literal; SQL text cannot hold a zero byte. */
export function textLiteral(text: string): string {
  const pieces = text.split("\0").map(quoteText);
  return pieces.length === 1 ? pieces[0]! : `(${pieces.join(" || chr(0) || ")})`;
}
