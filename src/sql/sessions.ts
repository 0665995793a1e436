/**
 * Connections that stay across requests, on the engine's thread, with the transactions on them.
 *
 * Invariants: a statement that fails or is cancelled ends its session's transaction. Nothing makes a checkpoint while a transaction is
 * open: DuckDB would wait for it for ever. A commit answers after its sync.
 */
import { SqlError } from "../base/sql_error.ts";
import { spaceFor } from "./apply.ts";
import type { EngineCore } from "./engine_core.ts";
import type { CommitRequest } from "./messages.ts";

interface Session {
  connection: number;
  inTransaction: boolean;
}

export class Sessions {
  private readonly core: EngineCore;
  private readonly sessions = new Map<number, Session>();

  constructor(core: EngineCore) {
    this.core = core;
  }

  open(id: number): void {
    this.sessions.set(id, { connection: this.core.connect(), inTransaction: false });
  }

  /** Throws 57P02 for a session that is not there: the engine was started anew since it was opened. */
  connection(id: number): number {
    return this.find(id).connection;
  }

  /** Transactions that are open. */
  get transactions(): number {
    let count = 0;
    for (const { inTransaction } of this.sessions.values()) if (inTransaction) count++;
    return count;
  }

  begin(id: number): void {
    const session = this.find(id);
    this.core.calls.run(session.connection, "BEGIN TRANSACTION");
    session.inTransaction = true;
  }

  /** All or nothing; durable when it returns. An error that is no EngineFailure leaves open whether it was committed. */
  commit(id: number, { inserts, statements }: CommitRequest): void {
    const session = this.find(id);
    const { calls } = this.core;
    if (!session.inTransaction) throw new SqlError("25P01", "there is no transaction to commit");
    this.core.files.takeFailure();
    try {
      this.core.files.checkSpace(spaceFor(inserts));
      for (const { schema = "main", table, arrow } of inserts)
        calls.insertArrow(session.connection, arrow, { schema, name: table, create: false });
      for (const statement of statements) calls.run(session.connection, statement);
      calls.run(session.connection, "COMMIT");
    } catch (error) {
      this.rollback(id);
      throw this.core.files.commitFault(error);
    }
    session.inTransaction = false;
    try {
      this.core.files.syncLog();
    } catch (error) {
      // What DuckDB shows may be lost in a power cut: only a new start tells what there is.
      throw new Error(`a commit could not be synced: ${(error as Error).message}`);
    }
  }

  /** Also where no transaction is open any more. */
  rollback(id: number): void {
    const session = this.find(id);
    session.inTransaction = false;
    try {
      this.core.calls.run(session.connection, "ROLLBACK");
    } catch {
      // No transaction is open: what failed has ended it.
    }
  }

  /** After a statement that did not come to its end. */
  abort(id: number): void {
    const session = this.sessions.get(id);
    if (session === undefined) return;
    this.core.calls.cancel(session.connection);
    this.rollback(id);
  }

  close(id: number): void {
    const session = this.sessions.get(id);
    if (session === undefined) return;
    this.sessions.delete(id);
    this.core.disconnect(session.connection, false);
  }

  closeAll(): void {
    for (const id of [...this.sessions.keys()]) this.close(id);
  }

  private find(id: number): Session {
    const session = this.sessions.get(id);
    if (session === undefined)
      throw new SqlError("57P02", "the SQL engine was started anew, and with it the session and its transaction ended");
    return session;
  }
}
