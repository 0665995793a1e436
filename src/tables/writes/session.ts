/**
 * The transaction that a user's statements are in, if any: BEGIN … COMMIT over several statements, else one for each statement that writes.
 *
 * Invariant: a statement that fails ends its transaction at once, and with it the gates and the turn that it holds; what follows is refused until
 * ROLLBACK or COMMIT. One statement at a time; the caller sees to that.
 */
import { limits } from "../../base/limits.ts";
import { SqlError } from "../../base/sql_error.ts";
import type { SqlEngine } from "../../sql/engine.ts";
import type { EngineSession } from "../../sql/engine_session.ts";
import type { ResultForm, SqlParameters } from "../../sql/messages.ts";
import type { ResultStream } from "../../sql/result.ts";
import { memoryResult } from "../results.ts";
import type { WriteAnswer } from "./captured_write.ts";
import type { Placement, WriteTransaction } from "./transaction.ts";
import type { Writes } from "./writes.ts";

export interface ReadOptions {
  params?: SqlParameters;
  timeoutMs?: number;
  signal?: AbortSignal;
  form?: ResultForm;
}

type State =
  | { kind: "none" }
  /** BEGIN was said, and nothing since: what it will see is not fixed yet. */
  | { kind: "pending" }
  | { kind: "active"; write: WriteTransaction | undefined }
  | { kind: "failed"; why: SqlError };

export class SqlSession {
  private readonly writes: Writes;
  private readonly engine: () => Promise<SqlEngine>;
  private state: State = { kind: "none" };
  private connection: EngineSession | undefined;
  /** Of the transaction, on the monotonic clock. */
  private beganAt = 0;

  constructor(writes: Writes, engine: () => Promise<SqlEngine>) {
    this.writes = writes;
    this.engine = engine;
  }

  get inTransaction(): boolean {
    return this.state.kind !== "none";
  }

  begin(): void {
    if (this.state.kind !== "none")
      throw new SqlError("25001", "a transaction is open already: COMMIT or ROLLBACK ends it");
    this.state = { kind: "pending" };
    this.beganAt = this.writes.monotonicMs();
  }

  async commit(): Promise<Placement[]> {
    const { state } = this;
    if (state.kind === "none") throw new SqlError("25P01", "there is no transaction to commit: BEGIN starts one");
    this.state = { kind: "none" };
    if (state.kind === "failed")
      throw new SqlError(
        "25P02",
        `nothing was committed: the transaction was rolled back before (${state.why.message})`,
      );
    if (state.kind === "pending") return [];
    try {
      if (state.write !== undefined) return await state.write.commit();
      await this.connection!.rollback();
      return [];
    } finally {
      this.disconnect();
    }
  }

  async rollback(): Promise<void> {
    if (this.state.kind === "none")
      throw new SqlError("25P01", "there is no transaction to roll back: BEGIN starts one");
    await this.end();
  }

  /** Rolls back what is open. Never throws. */
  async end(): Promise<void> {
    const { state } = this;
    this.state = { kind: "none" };
    if (state.kind === "active") await state.write?.rollback();
    this.disconnect();
  }

  /** Rolls back and refuses what follows with `why`. */
  async fail(why: SqlError): Promise<void> {
    if (this.state.kind === "none" || this.state.kind === "failed") return;
    await this.end();
    this.state = { kind: "failed", why };
  }

  /** Throws 25P02 or 25P03 when the transaction has failed, 25001 for `what` inside of a transaction that stands. */
  refuseInTransaction(what: string): void {
    this.refuseFailed();
    if (this.state.kind !== "none")
      throw new SqlError("25001", `${what} cannot run inside a transaction: COMMIT or ROLLBACK it first`);
  }

  /** A query inside the transaction. `prepare` makes visible what was acknowledged; it is of use before the first statement only. */
  async read(sql: string, options: ReadOptions, prepare: () => Promise<void>): Promise<ResultStream> {
    this.refuseFailed();
    return await this.orFail(async () => {
      if (this.state.kind === "pending") {
        await prepare();
        await (await this.connect()).begin();
        this.state = { kind: "active", write: undefined };
      }
      const stream = await this.connection!.stream(sql, options);
      return await memoryResult(stream, options.form ?? "json");
    });
  }

  /** A statement that writes: in the transaction that is open, else in one of its own, whose placements come with the answer. */
  async write(
    work: (transaction: WriteTransaction) => Promise<WriteAnswer>,
    prepare: () => Promise<void>,
  ): Promise<{ answer: WriteAnswer; placements: Placement[] | undefined }> {
    this.refuseFailed();
    if (this.state.kind === "none") return await this.writeAlone(work, prepare);
    return await this.orFail(async () => {
      const write = await this.writing(prepare);
      return { answer: await work(write), placements: undefined };
    });
  }

  private async writeAlone(
    work: (transaction: WriteTransaction) => Promise<WriteAnswer>,
    prepare: () => Promise<void>,
  ): Promise<{ answer: WriteAnswer; placements: Placement[] }> {
    const connection = await this.connect();
    try {
      const write = await this.writes.transaction(connection, false);
      let answer: WriteAnswer;
      try {
        await prepare();
        answer = await work(write);
      } catch (error) {
        await write.rollback();
        throw error;
      }
      return { answer, placements: await write.commit() };
    } finally {
      this.disconnect();
    }
  }

  private async writing(prepare: () => Promise<void>): Promise<WriteTransaction> {
    const begun = this.state.kind === "active";
    if (this.state.kind === "active" && this.state.write !== undefined) return this.state.write;
    const write = await this.writes.transaction(await this.connect(), begun);
    this.state = { kind: "active", write };
    if (!begun) await prepare();
    return write;
  }

  private async orFail<T>(work: () => Promise<T>): Promise<T> {
    try {
      if (this.writes.monotonicMs() - this.beganAt > limits.sqlTransactionMs)
        throw new SqlError("25P03", `a transaction may be open for ${limits.sqlTransactionMs} ms; it was rolled back`);
      return await work();
    } catch (error) {
      const why = error instanceof SqlError ? error : new SqlError("XX000", (error as Error).message);
      await this.fail(why);
      throw error;
    }
  }

  private refuseFailed(): void {
    if (this.state.kind !== "failed") return;
    const { why } = this.state;
    if (why.sqlstate === "25P03") throw why;
    throw new SqlError("25P02", `the transaction was rolled back (${why.message}); ROLLBACK ends it`);
  }

  private async connect(): Promise<EngineSession> {
    this.connection ??= await (await this.engine()).openSession();
    return this.connection;
  }

  /** The engine takes requests in order: nobody has to wait for this one. */
  private disconnect(): void {
    const { connection } = this;
    this.connection = undefined;
    connection?.close().catch(() => undefined);
  }
}
