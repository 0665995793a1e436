/**
 * What DuckDB must never see, refused at once and by token. Two further walls stand behind this one: DuckDB's own
 * `enable_external_access = false` with a locked configuration, and files of the runtime that are the database's alone.
 */
import { SqlError } from "../base/sql_error.ts";
import type { Statement, StatementKind } from "./statements.ts";
import { nameOf, type Token } from "./tokens.ts";

/** LOAD with no network blocks the thread for good; the others reach outside the lake, or change how its files are kept. */
const refusedKinds: Partial<Record<StatementKind, string>> = {
  install: "INSTALL is not available: this node has no extensions",
  load: "LOAD is not available: this node has no extensions",
  update_extensions: "UPDATE EXTENSIONS is not available: this node has no extensions",
  attach: "ATTACH is not available: SQL works on this node's own tables and topics",
  detach: "DETACH is not available",
  copy: "COPY is not available: read results over HTTP or with the command line, and produce records to write",
  export: "EXPORT DATABASE is not available",
  import: "IMPORT DATABASE is not available",
  pragma: "PRAGMA is not available: the engine's settings are the node's",
  set: "SET is not available: the engine's settings are the node's",
  reset: "RESET is not available: the engine's settings are the node's",
  checkpoint: "CHECKPOINT is not available: the node makes its own checkpoints",
  vacuum: "VACUUM is not available",
  prepare: "PREPARE is not available: send parameters with the statement",
  execute: "EXECUTE is not available: send parameters with the statement",
  deallocate: "DEALLOCATE is not available: send parameters with the statement",
  use: "USE is not available: write the schema before the table's name",
  begin: "BEGIN is not available: every statement is a transaction of its own",
  commit: "COMMIT is not available: every statement is a transaction of its own",
  rollback: "ROLLBACK is not available: every statement is a transaction of its own",
  create_secret: "secrets of DuckDB are not available",
  drop_secret: "secrets of DuckDB are not available",
};

/** Functions that read files or the network, run SQL given as text, or change how the database is kept. */
const refusedFunctions = new Set([
  "read_csv",
  "read_csv_auto",
  "sniff_csv",
  "read_text",
  "read_blob",
  "read_parquet",
  "parquet_scan",
  "parquet_metadata",
  "parquet_schema",
  "parquet_file_metadata",
  "parquet_kv_metadata",
  "parquet_bloom_probe",
  "read_json",
  "read_json_auto",
  "read_json_objects",
  "read_json_objects_auto",
  "read_ndjson",
  "read_ndjson_auto",
  "read_ndjson_objects",
  "read_xlsx",
  "read_avro",
  "read_duckdb",
  "iceberg_scan",
  "delta_scan",
  "sqlite_scan",
  "postgres_scan",
  "postgres_query",
  "mysql_scan",
  "mysql_query",
  "st_read",
  "glob",
  "query",
  "checkpoint",
  "force_checkpoint",
  "enable_logging",
  "enable_profiling",
  "enable_profile",
  "add_parquet_key",
  "getenv",
  "load_aws_credentials",
  "write_log",
  "truncate_duckdb_logs",
  "duckdb_secrets",
  "which_secret",
]);

/** Throws SqlError 0A000. `tokens` are the statement's. */
export function refuseDangerous(statement: Statement, tokens: readonly Token[]): void {
  for (const kind of [statement.kind, statement.explained]) {
    const refusal = kind && refusedKinds[kind];
    if (refusal) throw new SqlError("0A000", refusal, statement.offset + 1);
  }
  for (let i = 0; i + 1 < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.kind !== "name" && token.kind !== "keyword") continue;
    if (tokens[i + 1]!.text !== "(") continue;
    const name = nameOf(token).toLowerCase();
    if (!refusedFunctions.has(name)) continue;
    throw new SqlError(
      "0A000",
      `the function ${name} is not available: SQL works on this node's own tables`,
      token.start + 1,
    );
  }
}
