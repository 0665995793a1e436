/** What one transaction of the applier brings to DuckDB: rows, keys' homes and sequences of deletes, and the cursors behind them. */
import type { ApplyRequest, ArrowInsert } from "../sql/messages.ts";
import type { KeyedChunk } from "./keyed/change_batch.ts";
import type { HomesOfTable } from "./keyed/homes_of_table.ts";
import type { RowChunk, Table } from "./table.ts";
import { insertOf, sequenceStatements } from "./table_insert.ts";

/** A partition's chunks, in their order, up to offset `next`. */
export interface PartitionWork {
  state: { table: Table; partition: number };
  chunks: readonly RowChunk[];
  next: number;
}

/** `allocate`: memory that stays as it is until the engine is done. Call `failed` when the transaction is not committed. */
export function applyTransaction(
  work: readonly PartitionWork[],
  allocate: (length: number) => Uint8Array,
): { request: ApplyRequest; failed(): void } {
  const byTable = new Map<Table, RowChunk[]>();
  const homeless = new Map<HomesOfTable, { keyed: KeyedChunk; partition: number }[]>();
  for (const { state, chunks } of work) {
    if (chunks.length === 0) continue;
    const { table, partition } = state;
    if (table.homes?.matter) {
      const all = homeless.get(table.homes) ?? [];
      for (const { keyed } of chunks) if (keyed) all.push({ keyed, partition });
      homeless.set(table.homes, all);
    }
    const all = byTable.get(table);
    if (all === undefined) byTable.set(table, chunks.slice());
    else all.push(...chunks);
  }
  const inserts: ArrowInsert[] = [];
  const statements: string[] = [];
  for (const [table, chunks] of byTable) {
    inserts.push(insertOf(table, chunks, allocate));
    statements.push(...sequenceStatements(table, chunks));
  }
  const stored = [...homeless].map(([homes, chunks]) => homes.store(chunks));
  for (const { insert } of stored) if (insert) inserts.push(insert);
  const cursors = work.map(({ state, next }) => ({
    topicId: state.table.topic.id,
    partition: state.partition,
    nextOffset: next,
  }));
  return {
    request: { inserts, cursors, ...(statements.length > 0 ? { statements } : {}) },
    failed() {
      for (const { failed } of stored) failed();
    },
  };
}
