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
  /** `none`: DuckDB writes values as they are; `auto`: it tries its methods on each column and takes the smallest. `none` when absent. */
  compression?: "none" | "auto";
}

/** A value bound to a placeholder. */
export type SqlParameter = null | boolean | number | bigint | string | Uint8Array;

/** By position (`?`, `$1`) or by name (`$name`). */
export type SqlParameters = readonly SqlParameter[] | Readonly<Record<string, SqlParameter>>;

/**
 * `json`: rows as texts of JSON arrays; `cells`: rows as JSON texts of their values with `cellSeparator` between them; `arrow`: the messages
 * of an Arrow IPC stream.
 */
export type ResultForm = "json" | "cells" | "arrow";

/** Cannot be in a JSON text. */
export const cellSeparator = "\u001f";

/** A record that a statement made with produce(), in the order of the calls. */
export interface ProducedRecord {
  topic: string;
  /** Undefined: the key decides. */
  partition: number | undefined;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: { key: Uint8Array; value: Uint8Array | null }[];
}

/** What goes into DuckDB together with what a session's transaction changed. */
export interface CommitRequest {
  inserts: readonly ArrowInsert[];
  statements: readonly string[];
}

export interface ArrowInsert {
  /** Name of the table, unquoted. */
  table: string;
  /** `main` when absent; `_topics` without `staging` is the database of that name. */
  schema?: string;
  /** An Arrow IPC stream whose columns are the table's, by order; or those of the staging table when `select` is given. */
  arrow: Uint8Array;
  /** Rows go to a staging table first; then `INSERT INTO table (columns) SELECT select FROM staging` runs. */
  staging?: { columns: readonly string[]; select: readonly string[] };
  /**
   * The rows replace those of the same key, each key in one row at most. `places`: the key's columns among those of `staging`. `gone`: a
   * stream of the key's columns, keys to be deleted; empty for none.
   */
  key?: { places: readonly number[]; gone: Uint8Array };
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
      /** Wait for the sync of what the statement changed. Without meaning in a session: its commit is synced. */
      durable: boolean;
      /** Runs on this session's connection. */
      session?: number;
      /** Exact types of the first columns, where the caller knows them better than the result's schema tells; JSON is written as it is. */
      types?: readonly string[];
      /** The statement may call produce(); the answer has what it produced. */
      produces?: boolean;
    }
  | { kind: "openSession"; id: number; session: number }
  | { kind: "begin"; id: number; session: number }
  | { kind: "commit"; id: number; session: number; request: CommitRequest }
  | { kind: "rollback"; id: number; session: number }
  | { kind: "closeSession"; id: number; session: number }
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
  /** Copies the database's files, as they are committed, into a folder. */
  | { kind: "copy"; id: number; folder: string }
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
  | {
      kind: "done";
      id: number;
      value?: Statement[] | Token[] | SqlValue[][][] | string[] | Cursor[] | EngineStatus | ProducedRecord[];
    }
  | { kind: "failed"; id: number; sqlstate: string; message: string; position?: number }
  /** Something to be logged. */
  | { kind: "notice"; message: string }
  /** The engine can do nothing more; it must be started anew. */
  | { kind: "broken"; reason: string };
