/**
 * One statement under way on the engine's thread. It advances by steps of about ten milliseconds, so that others get their turn and a
 * cancellation is seen; and it stops fetching while its reader is behind, so that a result of any size needs a few chunks of memory.
 */
import { SqlError } from "../base/sql_error.ts";
import { readBatch } from "./arrow/batch.ts";
import { type ArrowField, readSchema } from "./arrow/schema.ts";
import { clearBehindBooleans, declareBooleans } from "./arrow/standard.ts";
import { withExactTypes, withGivenTypes, withPlainTypes } from "./described_types.ts";
import { EngineFailure } from "./duckdb_library.ts";
import type { EngineCore } from "./engine_core.ts";
import type { EngineReply, EngineRequest, ProducedRecord } from "./messages.ts";
import { type BoundSql, bindParameters } from "./parameters.ts";
import { cellsOf, rowsOf } from "./row_json.ts";
import type { Sessions } from "./sessions.ts";
import { sqlErrorOf } from "./sqlstate.ts";
import { refuseDangerous } from "./statement_guard.ts";
import { type StatementKind, statementsOf } from "./statements.ts";
import { tokensOf } from "./tokens.ts";
import { typeName } from "./types.ts";

export type QueryRequest = Extract<EngineRequest, { kind: "query" }>;

/** Characters of rows that are sent together. */
const chunkCharsMin = 64 * 1024;

export class QueryRun {
  readonly id: number;
  private readonly core: EngineCore;
  private readonly sessions: Sessions;
  /** What the statement made with produce(). */
  private readonly produced: ProducedRecord[] | undefined;
  private readonly request: QueryRequest;
  private readonly post: (reply: EngineReply, transfer?: ArrayBuffer[]) => void;
  private readonly deadline: number;
  private readonly bound: BoundSql;
  private readonly kind: StatementKind;
  private readonly connection: number;
  private state: "new" | "pending" | "fetching" | "over" = "new";
  private fields: readonly ArrowField[] = [];
  /** Chunks that may still be sent before the reader asks for more. */
  private credit: number;
  private text: string[] = [];
  private chars = 0;
  private rows = 0;
  private typesArePlain = false;
  private cancelled: string | undefined;

  /** `deadline`: when its time is up, on the clock of `performance`. Throws SqlError for text that is not one statement that may run. */
  constructor(core: EngineCore, sessions: Sessions, request: QueryRequest, deadline: number, post: QueryRun["post"]) {
    this.core = core;
    this.sessions = sessions;
    this.produced = request.produces ? [] : undefined;
    this.request = request;
    this.post = post;
    this.id = request.id;
    this.credit = request.window;
    this.deadline = deadline;
    const { sql, params } = request;
    const tokens = tokensOf(sql, core.calls.tokenize(sql));
    const statements = statementsOf(sql, tokens);
    if (statements.length === 0) throw new SqlError("42601", "the statement is empty");
    if (statements.length > 1)
      throw new SqlError("42601", "one statement at a time is expected here", statements[1]!.offset + 1);
    this.kind = statements[0]!.kind;
    refuseDangerous(statements[0]!, tokens);
    this.bound = params ? bindParameters(sql, tokens, params) : { sql, originalOffset: (offset) => offset };
    this.connection = request.session === undefined ? core.connect() : sessions.connection(request.session);
  }

  more(): void {
    this.credit++;
  }

  cancel(reason: string): void {
    this.cancelled ??= reason;
  }

  get over(): boolean {
    return this.state === "over";
  }

  /** Nothing to do until the reader asks for more (or the time is up). */
  get waiting(): boolean {
    return this.credit <= 0 && this.cancelled === undefined && performance.now() < this.deadline;
  }

  /** Milliseconds until the statement's time is up. */
  get timeLeftMs(): number {
    return this.deadline - performance.now();
  }

  step(): void {
    try {
      if (this.cancelled !== undefined) throw new SqlError("57014", `the statement was cancelled: ${this.cancelled}`);
      if (this.timeLeftMs <= 0) throw timeIsUp(this.request);
      this.core.produced = this.produced;
      try {
        this.advance();
      } finally {
        this.core.produced = undefined;
      }
    } catch (error) {
      this.end();
      throw this.describe(error);
    }
  }

  /** Frees what the run holds. Safe to call twice. */
  end(): void {
    if (this.state === "over") return;
    if (this.request.session !== undefined) this.sessions.abort(this.request.session);
    else this.core.disconnect(this.connection, this.state === "new");
    this.state = "over";
  }

  private advance(): void {
    const { calls } = this.core;
    if (this.state === "new") {
      this.state = "pending";
      this.begin(calls.start(this.connection, this.bound.sql));
    } else if (this.state === "pending") {
      this.begin(calls.poll(this.connection));
    } else {
      const message = calls.fetch(this.connection);
      if (!message) this.flush();
      else if (message.length === 0) this.finish();
      else this.take(message);
    }
  }

  private begin(schema: Uint8Array | undefined): void {
    if (!schema) return;
    const fields = readSchema(schema);
    if (this.request.form === "arrow" && !this.typesArePlain) {
      this.typesArePlain = true;
      const plain = withPlainTypes(this.core, fields, this.bound.sql);
      if (plain !== this.bound.sql) {
        // Starting another statement on a connection drops the one under way.
        this.begin(this.core.calls.start(this.connection, plain));
        return;
      }
    }
    this.state = "fetching";
    this.fields = this.request.form === "arrow" ? fields : this.exactTypes(fields);
    const columns = this.fields.map(({ name, type }) => ({ name, type: typeName(type) }));
    if (this.request.form === "arrow") declareBooleans(schema);
    this.post({ kind: "columns", id: this.id, columns, schema: this.request.form === "arrow" ? schema : undefined });
  }

  private exactTypes(fields: readonly ArrowField[]): readonly ArrowField[] {
    const { types } = this.request;
    if (types === undefined) return withExactTypes(this.core, fields, this.bound.sql);
    return withGivenTypes(fields, types);
  }

  private take(message: Uint8Array): void {
    if (this.request.form === "arrow") {
      clearBehindBooleans(readBatch(message, this.fields));
      this.credit--;
      this.post({ kind: "batch", id: this.id, bytes: message }, [message.buffer as ArrayBuffer]);
      return;
    }
    const batch = readBatch(message, this.fields);
    const rows = this.request.form === "cells" ? cellsOf(batch) : rowsOf(batch);
    if (rows.length === 0) return;
    const text = rows.join("\n");
    this.rows += rows.length;
    this.chars += text.length;
    this.text.push(text);
    if (this.chars >= chunkCharsMin) this.flush();
  }

  private flush(): void {
    if (this.rows === 0) return;
    this.credit--;
    this.post({ kind: "rows", id: this.id, rows: this.rows, text: this.text.join("\n") });
    this.text = [];
    this.rows = this.chars = 0;
  }

  private finish(): void {
    this.flush();
    this.state = "over";
    if (this.request.session === undefined) {
      this.core.disconnect(this.connection, true);
      if (this.request.durable && !reads.has(this.kind)) this.core.files.syncLog();
    }
    this.post({ kind: "done", id: this.id, value: this.produced });
  }

  /** Errors of DuckDB with their SQLSTATE, and positions in the text before binding. Others pass as they are. */
  private describe(error: unknown): unknown {
    if (!(error instanceof EngineFailure)) return error;
    const failure = this.core.files.takeFailure();
    const found = sqlErrorOf(error.message, this.bound.sql);
    if (failure && found.sqlstate === "XX000") return new SqlError("58030", failure.message);
    if (found.position === undefined) return found;
    return new SqlError(found.sqlstate, found.message, this.bound.originalOffset(found.position - 1) + 1);
  }
}

const reads = new Set<StatementKind>(["select", "describe", "show", "summarize"]);

export function timeIsUp({ timeoutMs }: QueryRequest): SqlError {
  return new SqlError("57014", `the statement was cancelled: it took longer than ${timeoutMs} ms`);
}
