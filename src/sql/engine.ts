/**
 * The SQL engine as the rest of the node sees it: one worker with DuckDB-WASM, and calls that never block this thread.
 *
 * Invariants: a worker that breaks (a trap of the module, a statement that cannot be stopped, memory gone) is ended and started anew, and
 * every call that it had open fails with SQLSTATE 57P02; what was committed stays. A worker that was given up can write no more
 * (its fence is up) before its successor opens the database.
 */
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import { SqlError } from "../base/sql_error.ts";
import { duckdbWasmPath } from "../platform/duckdb_assets.ts";
import { spawnWorker, type WorkerEvents, type WorkerHandle } from "../platform/worker.ts";
import { EngineSession } from "./engine_session.ts";
import type {
  ApplyRequest,
  Cursor,
  EngineReply,
  EngineRequest,
  EngineSettings,
  EngineStatus,
  ProducedRecord,
  ResultForm,
  SqlParameters,
} from "./messages.ts";
import { QueryResult, ResultQueue, type ResultStream } from "./result.ts";
import type { Statement } from "./statements.ts";
import type { Token } from "./tokens.ts";
import type { SqlValue } from "./values.ts";

export interface EngineOptions {
  /** The database file; its folder must exist. */
  path: string;
  logger: Logger;
  /** DuckDB's memory limit in bytes; by default 1.5 GiB, of the 4 GiB that a WebAssembly module can have. */
  memoryBytesMax?: number;
  /** See EngineSettings. */
  compression?: EngineSettings["compression"];
  /** Starts the engine's thread; a worker unless a simulation keeps it on this thread (EngineThread). */
  spawn?: (events: WorkerEvents) => WorkerHandle;
  /** Milliseconds a statement may take unless it says otherwise; 5 minutes by default. */
  timeoutMs?: number;
}

export interface QueryOptions {
  /** By position (`?`, `$1`) or by name (`$name`). */
  params?: SqlParameters;
  timeoutMs?: number;
  /** Cancels the statement. */
  signal?: AbortSignal;
  /** False: a statement that writes answers before its changes are synced. */
  durable?: boolean;
}

/** What a statement's answer looks like, and where it runs. */
export interface StreamOptions extends QueryOptions {
  form?: ResultForm;
  /** See the request `query`. */
  session?: number;
  types?: readonly string[];
  produces?: boolean;
}

/** Requests about sessions; EngineSession sends them. */
export type SessionRequest = Extract<
  EngineRequest,
  { session: number; kind: `${string}ession` | "begin" | "commit" | "rollback" }
>;

/** Chunks (of 64 KiB of text, or a batch of 2,048 rows) on their way to a reader. */
const windowChunks = 8;
/** Milliseconds after which a statement that does not stop takes its worker with it. */
const stopGraceMs = 10_000;

/** Milliseconds before an engine that failed to start is tried again. */
const restartPauseMs = 1_000;

/** An open call: settled once. */
interface Call {
  settle(value: unknown): void;
  fail(error: SqlError): void;
  result?: ResultQueue;
  timer?: ReturnType<typeof setTimeout>;
}

interface Running {
  worker: WorkerHandle;
  fence: Int32Array;
}

type RequestBody = EngineRequest extends infer R ? (R extends { id: number } ? Omit<R, "id"> : never) : never;

export class SqlEngine {
  private readonly options: EngineOptions;
  private running: Running | undefined;
  private readonly calls = new Map<number, Call>();
  private nextId = 1;
  private ready: Promise<void>;
  private state: "starting" | "up" | "failed" = "starting";
  /** When an engine that failed to start may be tried again, on the clock of `performance`. */
  private retryAtMs = 0;
  private closed = false;
  private readonly restartListeners = new Set<() => void>();

  private constructor(options: EngineOptions) {
    this.options = options;
    this.ready = this.launch();
  }

  /** Resolves when the engine can take statements: one to three seconds. Throws SqlError when the database cannot be opened. */
  static async start(options: EngineOptions): Promise<SqlEngine> {
    const engine = new SqlEngine(options);
    try {
      await engine.ready;
    } catch (error) {
      engine.abandon();
      throw error;
    }
    return engine;
  }

  /** Called after the engine was started anew: what was not committed is gone, cursors must be read again. */
  onRestart(listener: () => void): () => void {
    this.restartListeners.add(listener);
    return () => this.restartListeners.delete(listener);
  }

  /** Runs one statement and collects its rows. Throws SqlError. */
  async query(sql: string, options: QueryOptions = {}): Promise<QueryResult> {
    const stream = await this.stream(sql, options);
    const rows: string[] = [];
    let chars = 0;
    for await (const chunk of stream.rows()) {
      for (const row of chunk) chars += row.length;
      if (chars > limits.sqlCollectedCharsMax) {
        stream.close();
        throw new SqlError(
          "54000",
          `the result is larger than ${limits.sqlCollectedCharsMax} characters; ask for fewer rows, or stream it`,
        );
      }
      rows.push(...chunk);
    }
    return new QueryResult(stream.columns, rows);
  }

  /** Runs one statement; resolves when its columns are known. Throws SqlError, here or while the rows are read. */
  async stream(sql: string, options: StreamOptions = {}): Promise<ResultStream> {
    const { params, signal, form = "json", durable = true, session, types, produces } = options;
    const timeoutMs = options.timeoutMs ?? this.options.timeoutMs ?? 300_000;
    if (signal?.aborted) throw new SqlError("57014", "the statement was cancelled before it started");
    await this.started();
    const id = this.nextId++;
    const cancel = (reason: string) => this.cancel(id, reason);
    const onAbort = () => cancel("nobody waits for its answer");
    const result = new ResultQueue(() => this.post({ kind: "more", id }), onAbort);
    signal?.addEventListener("abort", onAbort);
    await new Promise<void>((resolve, reject) => {
      const over = (error?: SqlError) => {
        signal?.removeEventListener("abort", onAbort);
        result.end(error);
        if (error) reject(error);
        else resolve();
      };
      const settle = (value: unknown) => {
        if (value === true) return resolve();
        result.produced = (value as ProducedRecord[] | undefined) ?? [];
        over();
      };
      this.calls.set(id, { result, settle, fail: over });
      this.watch(id, timeoutMs + stopGraceMs);
      const window = windowChunks;
      this.post({ kind: "query", id, sql, params, form, timeoutMs, window, durable, session, types, produces });
    });
    return result;
  }

  /** A connection that stays, for transactions. */
  async openSession(): Promise<EngineSession> {
    await this.started();
    const session = this.nextId++;
    await this.send<void>({ kind: "openSession", session });
    return new EngineSession(this, session, (request) => this.request(request));
  }

  /** The text's statements, told apart by DuckDB's tokenizer. */
  statements(sql: string): Promise<Statement[]> {
    return this.request({ kind: "statements", sql });
  }

  /** The text as DuckDB's tokenizer cuts it. */
  tokens(sql: string): Promise<Token[]> {
    return this.request({ kind: "tokens", sql });
  }

  /** Names of the tables that one statement speaks of, as written. */
  tableNames(sql: string): Promise<string[]> {
    return this.request({ kind: "tableNames", sql });
  }

  /** One transaction of rows and cursors; others see all of it or nothing. Not synced: see `sync`. */
  apply(request: ApplyRequest): Promise<void> {
    return this.request({ kind: "apply", request });
  }

  /** What `queries` answer behind `setup`, in a transaction that is rolled back. */
  probe(setup: readonly string[], queries: readonly string[]): Promise<SqlValue[][][]> {
    return this.request({ kind: "probe", setup, queries });
  }

  cursors(): Promise<Cursor[]> {
    return this.request({ kind: "cursors" });
  }

  /** Makes everything that was applied durable. */
  sync(): Promise<void> {
    return this.request({ kind: "sync" });
  }

  /** Folds DuckDB's write-ahead log into the database file. */
  checkpoint(): Promise<void> {
    return this.request({ kind: "checkpoint" });
  }

  /** Copies the database's files into a folder: all that is committed. No statement advances meanwhile, about a second for each GiB. */
  copyTo(folder: string): Promise<void> {
    return this.request({ kind: "copy", folder });
  }

  status(): Promise<EngineStatus> {
    return this.request({ kind: "status" });
  }

  /** Ends running statements, makes a checkpoint and stops the worker. */
  async close(): Promise<void> {
    if (this.closed) return;
    try {
      await this.request({ kind: "close" });
    } finally {
      this.abandon();
    }
  }

  private async request<T>(body: RequestBody): Promise<T> {
    await this.started();
    return this.send<T>(body);
  }

  private send<T>(body: RequestBody): Promise<T> {
    const id = this.nextId++;
    return new Promise<T>((resolve, reject) => {
      this.calls.set(id, { settle: (value) => resolve(value as T), fail: reject });
      this.post({ ...body, id } as EngineRequest);
    });
  }

  private post(request: EngineRequest): void {
    this.running?.worker.post(request);
  }

  private cancel(id: number, reason: string): void {
    if (!this.calls.has(id)) return;
    this.post({ kind: "cancel", id, reason });
    this.watch(id, stopGraceMs);
  }

  /** Ends the worker when the call is still open by then: its thread is stuck in a step that nothing can interrupt. */
  private watch(id: number, ms: number): void {
    const call = this.calls.get(id);
    if (!call) return;
    clearTimeout(call.timer);
    call.timer = setTimeout(() => this.broke("a statement could not be stopped in time"), Math.min(ms, 2 ** 31 - 1));
    (call.timer as { unref?: () => void }).unref?.();
  }

  private received(reply: EngineReply): void {
    if (reply.kind === "broken") {
      this.broke(reply.reason);
      return;
    }
    if (reply.kind === "notice") {
      this.options.logger.warn(reply.message);
      return;
    }
    const call = this.calls.get(reply.id);
    if (!call) return;
    switch (reply.kind) {
      case "columns":
        call.result?.begin(reply.columns, reply.schema);
        call.settle(true);
        break;
      case "rows":
        call.result?.push(reply.text);
        break;
      case "batch":
        call.result?.push(reply.bytes);
        break;
      case "done":
        this.finished(reply.id).settle(reply.value);
        break;
      case "failed":
        this.finished(reply.id).fail(new SqlError(reply.sqlstate, reply.message, reply.position));
    }
  }

  private finished(id: number): Call {
    const call = this.calls.get(id)!;
    clearTimeout(call.timer);
    this.calls.delete(id);
    return call;
  }

  /** The engine as soon as it can take calls; starts it again when the last attempt to start failed a while ago. */
  private async started(): Promise<void> {
    if (this.closed) throw closedError();
    if (this.state === "failed" && performance.now() >= this.retryAtMs) this.ready = this.launch();
    await this.ready;
    if (this.closed) throw closedError();
  }

  private async launch(): Promise<void> {
    this.state = "starting";
    try {
      const wasmPath = await duckdbWasmPath();
      if (this.closed) throw closedError();
      const fence = new SharedArrayBuffer(4);
      const { spawn = spawnEngine } = this.options;
      const worker = spawn({
        message: (message) => this.received(message as EngineReply),
        died: (reason) => this.broke(reason),
      });
      this.running = { worker, fence: new Int32Array(fence) };
      const { path, memoryBytesMax = 1536 * 1024 * 1024, compression = "none" } = this.options;
      await this.send<void>({ kind: "start", settings: { path, wasmPath, memoryBytesMax, compression }, fence });
      this.state = "up";
    } catch (error) {
      this.state = "failed";
      this.retryAtMs = performance.now() + restartPauseMs;
      this.stopWorker("the SQL engine could not be started");
      throw error;
    }
  }

  private broke(reason: string): void {
    if (this.closed || this.state === "failed") return;
    const wasUp = this.state === "up";
    this.stopWorker(`the SQL engine stopped (${reason}) and starts again; run the statement again`);
    // One that breaks while it starts is tried again with the next call, not at once and for ever.
    if (!wasUp) return;
    this.options.logger.error("SQL engine stopped; starting it again", { reason });
    this.ready = this.launch();
    this.ready.then(
      () => {
        for (const listener of this.restartListeners) listener();
      },
      (error: Error) => this.options.logger.error("SQL engine could not be started again", { reason: error.message }),
    );
  }

  private stopWorker(why: string): void {
    const { running } = this;
    this.running = undefined;
    if (running) {
      Atomics.store(running.fence, 0, 1);
      running.worker.terminate();
    }
    for (const id of [...this.calls.keys()]) this.finished(id).fail(new SqlError("57P02", why));
  }

  private abandon(): void {
    this.closed = true;
    this.stopWorker("the SQL engine was closed");
  }
}

function spawnEngine(events: WorkerEvents): WorkerHandle {
  return spawnWorker(new URL("./engine_worker.ts", import.meta.url), events);
}

function closedError(): SqlError {
  return new SqlError("57P01", "the SQL engine is closed");
}
