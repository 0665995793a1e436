/**
 * What the main thread and the engine's worker say to each other: a closed list. Every request carries an id, and every reply names it;
 * failures travel as replies. `cancel` and `more` speak about a request that runs.
 */
import type { Statement } from "./statements.ts";
import type { Token } from "./tokens.ts";
import type { SqlValue } from "./values.ts";

/** What the engine needs to start. */
export interface EngineSettings {
  /** The database file; its folder exists. */
  path: string;
  /** Path of DuckDB's WebAssembly module. */
  wasmPath: string;
  /** DuckDB's `memory_limit`, in bytes. */
  memoryBytesMax: number;
}

/** A value bound to a placeholder. */
export type SqlParameter = null | boolean | number | bigint | string | Uint8Array;

/** By position (`?`, `$1`) or by name (`$name`). */
export type SqlParameters = readonly SqlParameter[] | Readonly<Record<string, SqlParameter>>;

/** `json`: rows as texts of JSON arrays; `arrow`: the messages of an Arrow IPC stream. */
export type ResultForm = "json" | "arrow";

export interface ArrowInsert {
  /** Name of the table, unquoted. */
  table: string;
  /** `main` when absent; `_topics` without `staging` is the database of that name. */
  schema?: string;
  /** An Arrow IPC stream whose columns are the table's, by order; or those of the staging table when `select` is given. */
  arrow: Uint8Array;
  /** Rows go to a staging table first; then `INSERT INTO table (columns) SELECT select FROM staging` runs. */
  staging?: { columns: readonly string[]; select: readonly string[] };
}

export interface Cursor {
  /** The topic's id (base64url text). */
  topicId: string;
  partition: number;
  /** The first offset that is not in the table yet. */
  nextOffset: number;
}

export interface ApplyRequest {
  inserts: readonly ArrowInsert[];
  cursors: readonly Cursor[];
  /** Statements that run in the same transaction, after the inserts. */
  statements?: readonly string[];
}

export type EngineRequest =
  | { kind: "start"; id: number; settings: EngineSettings; fence: SharedArrayBuffer }
  | {
      kind: "query";
      id: number;
      sql: string;
      params?: SqlParameters;
      form: ResultForm;
      /** Milliseconds that the statement may take. */
      timeoutMs: number;
      /** Chunks that may be under way before the reader asks for more. */
      window: number;
      /** Wait for the sync of what the statement changed. */
      durable: boolean;
    }
  | { kind: "more"; id: number }
  | { kind: "cancel"; id: number; reason: string }
  | { kind: "statements"; id: number; sql: string }
  | { kind: "tokens"; id: number; sql: string }
  | { kind: "tableNames"; id: number; sql: string }
  | { kind: "apply"; id: number; request: ApplyRequest }
  | { kind: "probe"; id: number; setup: readonly string[]; queries: readonly string[] }
  | { kind: "cursors"; id: number }
  | { kind: "sync"; id: number }
  | { kind: "checkpoint"; id: number }
  | { kind: "status"; id: number }
  | { kind: "close"; id: number };

export interface ResultColumn {
  name: string;
  /** DuckDB's name of the type. */
  type: string;
}

export interface EngineStatus {
  /** Bytes in DuckDB's write-ahead log. */
  logBytes: number;
  /** Bytes of the module's memory; it never shrinks. */
  memoryBytes: number;
  version: string;
}

export type EngineReply =
  | { kind: "columns"; id: number; columns: ResultColumn[]; schema?: Uint8Array }
  /** `text`: rows, each a JSON array, separated by line feeds. */
  | { kind: "rows"; id: number; rows: number; text: string }
  | { kind: "batch"; id: number; bytes: Uint8Array }
  | { kind: "done"; id: number; value?: Statement[] | Token[] | SqlValue[][][] | string[] | Cursor[] | EngineStatus }
  | { kind: "failed"; id: number; sqlstate: string; message: string; position?: number }
  /** Something to be logged. */
  | { kind: "notice"; message: string }
  /** The engine can do nothing more; it must be started anew. */
  | { kind: "broken"; reason: string };
