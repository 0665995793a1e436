/**
 * What runs on the engine's thread: takes requests, lets the running statements advance in turns, and answers. Everything that fails is a
 * reply; what DuckDB cannot recover from is a `broken` reply, after which the main thread ends this thread.
 */
import { setImmediate, setTimeout } from "node:timers";
import { limits } from "../base/limits.ts";
import { SqlError } from "../base/sql_error.ts";
import { applyInserts, readCursors } from "./apply.ts";
import { EngineFailure } from "./duckdb_library.ts";
import type { EngineCore } from "./engine_core.ts";
import type { EngineReply, EngineRequest, EngineSettings } from "./messages.ts";
import { withoutParameters } from "./parameters.ts";
import { probe } from "./probe.ts";
import { type QueryRequest, QueryRun, timeIsUp } from "./query_run.ts";
import { Sessions } from "./sessions.ts";
import { breaksEngine, sqlErrorOf } from "./sqlstate.ts";
import { statementsOf } from "./statements.ts";
import { tokensOf } from "./tokens.ts";

export type PostReply = (reply: EngineReply, transfer?: ArrayBuffer[]) => void;

/** Starts the engine's core; `EngineCore.start` on the disk of the node, unless a simulation says otherwise. */
export type StartCore = (settings: EngineSettings, fence: Int32Array) => Promise<EngineCore>;

export class EngineThread {
  private readonly startCore: StartCore;
  private readonly post: PostReply;
  private core: EngineCore | undefined;
  private sessions!: Sessions;
  private readonly runs = new Map<number, QueryRun>();
  /** Statements that have not started. */
  private readonly waiting: { request: QueryRequest; deadline: number }[] = [];
  /** Requests for a checkpoint; it is made as soon as nothing runs. */
  private readonly checkpointsAsked: number[] = [];
  private turning = false;
  private alarm: ReturnType<typeof setTimeout> | undefined;

  constructor(startCore: StartCore, post: PostReply) {
    this.startCore = startCore;
    this.post = post;
  }

  async receive(request: EngineRequest): Promise<void> {
    try {
      if (request.kind === "start") await this.start(request);
      else if (this.core) this.handle(this.core, request);
      else throw new SqlError("57P03", "the SQL engine has not started");
    } catch (error) {
      this.fail(request.id, error, "sql" in request ? request.sql : "");
    }
  }

  private async start(request: Extract<EngineRequest, { kind: "start" }>): Promise<void> {
    this.core = await this.startCore(request.settings, new Int32Array(request.fence));
    this.sessions = new Sessions(this.core);
    for (const message of this.core.notices) this.post({ kind: "notice", message });
    this.post({ kind: "done", id: request.id });
  }

  private handle(core: EngineCore, request: EngineRequest): void {
    switch (request.kind) {
      case "query":
        this.waiting.push({ request, deadline: performance.now() + request.timeoutMs });
        this.turn();
        break;
      case "more":
        this.runs.get(request.id)?.more();
        this.turn();
        break;
      case "cancel":
        this.cancel(request.id, request.reason);
        this.turn();
        break;
      case "checkpoint":
        this.checkpointsAsked.push(request.id);
        this.turn();
        break;
      default:
        this.post({ kind: "done", id: request.id, value: this.answer(core, request) });
        // There may be statements that waited for the end of a transaction, or for a log that is short again.
        if (request.kind === "apply" || "session" in request) this.turn();
    }
  }

  private cancel(id: number, reason: string): void {
    this.runs.get(id)?.cancel(reason);
    const index = this.waiting.findIndex(({ request }) => request.id === id);
    if (index < 0) return;
    this.waiting.splice(index, 1);
    this.fail(id, new SqlError("57014", `the statement was cancelled: ${reason}`), "");
  }

  /** Requests that are done when this returns. */
  private answer(core: EngineCore, request: EngineRequest): Extract<EngineReply, { kind: "done" }>["value"] {
    switch (request.kind) {
      case "statements":
        return statementsOf(request.sql, tokensOf(request.sql, core.calls.tokenize(request.sql)));
      case "tokens":
        return tokensOf(request.sql, core.calls.tokenize(request.sql));
      case "tableNames": {
        const tokens = tokensOf(request.sql, core.calls.tokenize(request.sql));
        return core.calls.tableNames(core.own, withoutParameters(request.sql, tokens));
      }
      case "apply":
        applyInserts(core, request.request);
        return undefined;
      case "openSession":
        this.sessions.open(request.session);
        return undefined;
      case "begin":
        this.sessions.begin(request.session);
        return undefined;
      case "commit":
        this.sessions.commit(request.session, request.request);
        return undefined;
      case "rollback":
        this.sessions.rollback(request.session);
        return undefined;
      case "closeSession":
        this.sessions.close(request.session);
        return undefined;
      case "probe":
        return probe(core, request.setup, request.queries);
      case "cursors":
        return readCursors(core);
      case "sync":
        core.files.syncLog();
        return undefined;
      case "copy":
        core.files.copyTo(request.folder);
        return undefined;
      case "status":
        return core.status();
      case "close":
        for (const run of this.runs.values()) run.end();
        this.sessions.closeAll();
        core.close();
        return undefined;
      default:
        throw new Error(`a request ${request.kind} where none is due`);
    }
  }

  /** Lets every run that can advance take a step, then looks at the messages, and so on until none can. */
  private turn(): void {
    if (this.turning) return;
    this.turning = true;
    setImmediate(() => {
      this.turning = false;
      this.startWaiting();
      let ready = false;
      for (const run of [...this.runs.values()]) {
        if (!run.waiting) this.advance(run);
        if (run.over) this.runs.delete(run.id);
        else if (!run.waiting) ready = true;
      }
      if (this.runs.size === 0) this.foldLog();
      if (ready || (this.waiting.length > 0 && this.mayStart())) this.turn();
      else this.wakeAtDeadline();
    });
  }

  /**
   * A log that has grown too long can be folded only when nothing runs: so nothing new starts. But an open transaction, which keeps it from
   * being folded, must come to its end.
   */
  private mayStart(): boolean {
    if (this.runs.size >= limits.sqlStatementsMax) return false;
    return this.core!.files.logBytes() <= limits.sqlLogBytesMax || this.sessions.transactions > 0;
  }

  private startWaiting(): void {
    const now = performance.now();
    for (let i = this.waiting.length - 1; i >= 0; i--) {
      if (this.waiting[i]!.deadline > now) continue;
      const [{ request }] = this.waiting.splice(i, 1) as [(typeof this.waiting)[number]];
      this.fail(request.id, timeIsUp(request), "");
    }
    while (this.waiting.length > 0 && (this.runs.size === 0 || this.mayStart())) {
      const { request, deadline } = this.waiting.shift()!;
      try {
        this.runs.set(request.id, new QueryRun(this.core!, this.sessions, request, deadline, this.post));
      } catch (error) {
        this.fail(request.id, error, request.sql);
      }
    }
  }

  /** Called while nothing runs. */
  private foldLog(): void {
    if (this.sessions.transactions > 0) return;
    if (this.checkpointsAsked.length === 0 && this.core!.files.logBytes() <= limits.sqlLogBytesIdleMax) return;
    const asked = this.checkpointsAsked.splice(0);
    try {
      this.core!.checkpoint();
      for (const id of asked) this.post({ kind: "done", id });
    } catch (error) {
      // Without anyone who asked it is tried again when the next statement ends.
      for (const id of asked) this.fail(id, error, "");
    }
  }

  /** Statements that wait, for their readers or for their turn, still end when their time is up. */
  private wakeAtDeadline(): void {
    clearTimeout(this.alarm);
    this.alarm = undefined;
    const now = performance.now();
    const leftMs = Math.min(
      ...[...this.runs.values()].map((run) => run.timeLeftMs),
      ...this.waiting.map(({ deadline }) => deadline - now),
    );
    if (leftMs === Number.POSITIVE_INFINITY) return;
    this.alarm = setTimeout(() => this.turn(), Math.max(1, Math.min(leftMs, 2 ** 31 - 1)));
  }

  private advance(run: QueryRun): void {
    try {
      run.step();
    } catch (error) {
      this.fail(run.id, error, "");
    }
    this.core?.keepLogShort();
  }

  private fail(id: number, error: unknown, sql: string): void {
    if (error instanceof EngineFailure && !breaksEngine(error.message)) {
      const failure = this.core?.files.takeFailure();
      this.refuse(id, failure ? new SqlError("58030", failure.message) : sqlErrorOf(error.message, sql));
    } else if (error instanceof SqlError) {
      this.refuse(id, error);
    } else if (this.core === undefined) {
      this.refuse(id, new SqlError("58000", error instanceof Error ? error.message : String(error)));
    } else {
      // A trap of the module, or a fault of ours: its state cannot be trusted.
      this.post({ kind: "broken", reason: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
    }
  }

  private refuse(id: number, { sqlstate, message, position }: SqlError): void {
    this.post({ kind: "failed", id, sqlstate, message, position });
  }
}
