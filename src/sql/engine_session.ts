/**
 * A connection of the engine that stays across statements, and the transaction on it.
 *
 * Invariant: one call at a time; the caller sees to that. When the engine is started anew the session is gone: calls fail with 57P02.
 */
import { limits } from "../base/limits.ts";
import { SqlError } from "../base/sql_error.ts";
import type { SessionRequest, SqlEngine, StreamOptions } from "./engine.ts";
import type { CommitRequest, ProducedRecord, ResultColumn } from "./messages.ts";
import type { ResultQueue, ResultStream } from "./result.ts";

type Body = SessionRequest extends infer R ? (R extends { id: number } ? Omit<R, "id"> : never) : never;

/** A statement's answer, whole. */
export interface Collected {
  columns: readonly ResultColumn[];
  rows: string[];
  produced: readonly ProducedRecord[];
}

export class EngineSession {
  private readonly engine: SqlEngine;
  private readonly id: number;
  private readonly request: (body: Body) => Promise<void>;

  constructor(engine: SqlEngine, id: number, request: (body: Body) => Promise<void>) {
    this.engine = engine;
    this.id = id;
    this.request = request;
  }

  /** As SqlEngine.stream, on this session's connection. A statement that fails or is cancelled ends the transaction. */
  stream(sql: string, options: Omit<StreamOptions, "session"> = {}): Promise<ResultStream> {
    return this.engine.stream(sql, { ...options, session: this.id });
  }

  /** Throws SqlError 54000 when the rows have more than `charsMax` characters. */
  async collect(
    sql: string,
    options: Omit<StreamOptions, "session"> = {},
    charsMax: number = limits.sqlCollectedCharsMax,
  ): Promise<Collected> {
    const stream = (await this.stream(sql, options)) as ResultQueue;
    const rows: string[] = [];
    let chars = 0;
    for await (const chunk of stream.rows()) {
      for (const row of chunk) chars += row.length;
      if (chars > charsMax) {
        stream.close();
        throw new SqlError("54000", `the rows have more than ${charsMax} characters; take fewer at a time`);
      }
      for (const row of chunk) rows.push(row);
    }
    return { columns: stream.columns, rows, produced: stream.produced };
  }

  begin(): Promise<void> {
    return this.request({ kind: "begin", session: this.id });
  }

  /** Resolves when the transaction is durable. Fails with 57P02 when the engine broke: then it may have been committed or not. */
  commit(request: CommitRequest = { inserts: [], statements: [] }): Promise<void> {
    return this.request({ kind: "commit", session: this.id, request });
  }

  rollback(): Promise<void> {
    return this.request({ kind: "rollback", session: this.id });
  }

  close(): Promise<void> {
    return this.request({ kind: "closeSession", session: this.id });
  }
}
