/**
 * A table as it was before an ALTER TABLE, for reading that part of its log: rows come out in the columns of today.
 *
 * Invariant: columns are today's in number, order and type; only the names under which records have them, and what fills those that they cannot
 * have, are of then.
 */
import type { TableVersion } from "../catalog/entries.ts";
import type { MissingValue } from "./row_reader.ts";
import { Table } from "./table.ts";

const encoder = new TextEncoder();

class EarlierTable extends Table {
  override readonly missingInLog: readonly MissingValue[];

  constructor(table: Table, version: TableVersion) {
    const columns = table.definition.columns.map((column, i) => ({
      ...column,
      // No record has a field of such a name.
      name: version.columns[i]!.name ?? `\u0000${i}`,
    }));
    super(table.topic, { ...table.definition, columns, history: [] }, new Map());
    this.missingInLog = this.schema.fields.map(({ index }): MissingValue => {
      const { fill } = version.columns[index]!;
      return fill === undefined ? { kind: "null" } : { kind: "constant", json: encoder.encode(fill) };
    });
  }
}

const made = new WeakMap<Table, EarlierTable[]>();

/** What decodes the batch at an offset of the log. */
export function tableAt(table: Table, partition: number, offset: number): Table {
  const { history = [] } = table.definition;
  for (const [i, version] of history.entries()) {
    if (offset >= (version.ends[partition] ?? 0)) continue;
    let earlier = made.get(table);
    if (earlier === undefined) {
      earlier = [];
      made.set(table, earlier);
    }
    earlier[i] ??= new EarlierTable(table, version);
    return earlier[i];
  }
  return table;
}
