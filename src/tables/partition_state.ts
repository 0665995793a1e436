/** A partition of a table on its way into DuckDB. */
import type { PartitionLog } from "../log/partition_log.ts";
import type { RowChunk, Table } from "./table.ts";

export interface PartitionState {
  table: Table;
  partition: number;
  log: PartitionLog;
  next: number;
  /** What of `next` is known to survive a power loss. */
  durable: number;
  queue: RowChunk[];
  /** While its rows cannot be applied: when they are tried again (monotonic milliseconds), and the pause before that. */
  retryAt: number;
  pauseMs: number;
  stopWatching: () => void;
}

/** Who waits until tables have caught up. */
export interface Waiter {
  /** Where each partition must be. */
  targets: Map<PartitionState, number>;
  /** Whether it fails when this table's rows cannot be applied; else it goes on without them. */
  needs: (table: Table) => boolean;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** What one transaction takes of a partition. */
export interface Work {
  state: PartitionState;
  chunks: RowChunk[];
  next: number;
}
