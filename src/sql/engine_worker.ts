/**
 * The engine's thread: takes requests, lets the running statements advance in turns, and answers. Everything that fails is a reply; what
 * DuckDB cannot recover from is a `broken` reply, after which the main thread ends this thread.
 */
import { setImmediate, setTimeout } from "node:timers";
import { limits } from "../base/limits.ts";
import { SqlError } from "../base/sql_error.ts";
import { nodeDisk } from "../platform/node_disk.ts";
import { workerPort } from "../platform/worker.ts";
import { applyInserts, readCursors } from "./apply.ts";
import { EngineFailure } from "./duckdb_library.ts";
import { EngineCore } from "./engine_core.ts";
import type { EngineReply, EngineRequest } from "./messages.ts";
import { withoutParameters } from "./parameters.ts";
import { probe } from "./probe.ts";
import { type QueryRequest, QueryRun, timeIsUp } from "./query_run.ts";
import { breaksEngine, sqlErrorOf } from "./sqlstate.ts";
import { statementsOf } from "./statements.ts";
import { tokensOf } from "./tokens.ts";

let core: EngineCore | undefined;
const runs = new Map<number, QueryRun>();
/** Statements that have not started. */
const waiting: { request: QueryRequest; deadline: number }[] = [];
/** Requests for a checkpoint; it is made as soon as nothing runs. */
const checkpointsAsked: number[] = [];
let turning = false;

const send = workerPort((message) => void receive(message as EngineRequest));
const post = (reply: EngineReply, transfer?: ArrayBuffer[]) => send(reply, transfer);

async function receive(request: EngineRequest): Promise<void> {
  try {
    if (request.kind === "start") await start(request);
    else if (core) handle(core, request);
    else throw new SqlError("57P03", "the SQL engine has not started");
  } catch (error) {
    fail(request.id, error, "sql" in request ? request.sql : "");
  }
}

async function start(request: Extract<EngineRequest, { kind: "start" }>): Promise<void> {
  core = await EngineCore.start(nodeDisk(), request.settings, new Int32Array(request.fence));
  for (const message of core.notices) post({ kind: "notice", message });
  post({ kind: "done", id: request.id });
}

function handle(core: EngineCore, request: EngineRequest): void {
  switch (request.kind) {
    case "query":
      waiting.push({ request, deadline: performance.now() + request.timeoutMs });
      turn();
      break;
    case "more":
      runs.get(request.id)?.more();
      turn();
      break;
    case "cancel":
      cancel(request.id, request.reason);
      turn();
      break;
    case "checkpoint":
      checkpointsAsked.push(request.id);
      turn();
      break;
    default:
      post({ kind: "done", id: request.id, value: answer(core, request) });
      if (request.kind === "apply") turn();
  }
}

function cancel(id: number, reason: string): void {
  runs.get(id)?.cancel(reason);
  const index = waiting.findIndex(({ request }) => request.id === id);
  if (index < 0) return;
  waiting.splice(index, 1);
  fail(id, new SqlError("57014", `the statement was cancelled: ${reason}`), "");
}

/** Requests that are done when this returns. */
function answer(core: EngineCore, request: EngineRequest): Extract<EngineReply, { kind: "done" }>["value"] {
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
    case "probe":
      return probe(core, request.setup, request.queries);
    case "cursors":
      return readCursors(core);
    case "sync":
      core.files.syncLog();
      return undefined;
    case "status":
      return core.status();
    case "close":
      for (const run of runs.values()) run.end();
      core.close();
      return undefined;
    default:
      throw new Error(`a request ${request.kind} where none is due`);
  }
}

/** Lets every run that can advance take a step, then looks at the messages, and so on until none can. */
function turn(): void {
  if (turning) return;
  turning = true;
  setImmediate(() => {
    turning = false;
    startWaiting();
    let ready = false;
    for (const run of [...runs.values()]) {
      if (!run.waiting) advance(run);
      if (run.over) runs.delete(run.id);
      else if (!run.waiting) ready = true;
    }
    if (runs.size === 0) foldLog();
    if (ready || (waiting.length > 0 && mayStart())) turn();
    else wakeAtDeadline();
  });
}

/** A log that has grown too long can be folded only when nothing runs: so nothing new starts. */
function mayStart(): boolean {
  return runs.size < limits.sqlStatementsMax && core!.files.logBytes() <= limits.sqlLogBytesMax;
}

function startWaiting(): void {
  const now = performance.now();
  for (let i = waiting.length - 1; i >= 0; i--) {
    if (waiting[i]!.deadline > now) continue;
    const [{ request }] = waiting.splice(i, 1) as [(typeof waiting)[number]];
    fail(request.id, timeIsUp(request), "");
  }
  while (waiting.length > 0 && (runs.size === 0 || mayStart())) {
    const { request, deadline } = waiting.shift()!;
    try {
      runs.set(request.id, new QueryRun(core!, request, deadline, post));
    } catch (error) {
      fail(request.id, error, request.sql);
    }
  }
}

/** Called while nothing runs. */
function foldLog(): void {
  if (checkpointsAsked.length === 0 && core!.files.logBytes() <= limits.sqlLogBytesIdleMax) return;
  const asked = checkpointsAsked.splice(0);
  try {
    core!.checkpoint();
    for (const id of asked) post({ kind: "done", id });
  } catch (error) {
    // Without anyone who asked it is tried again when the next statement ends.
    for (const id of asked) fail(id, error, "");
  }
}

let alarm: ReturnType<typeof setTimeout> | undefined;

/** Statements that wait, for their readers or for their turn, still end when their time is up. */
function wakeAtDeadline(): void {
  clearTimeout(alarm);
  alarm = undefined;
  const now = performance.now();
  const leftMs = Math.min(
    ...[...runs.values()].map((run) => run.timeLeftMs),
    ...waiting.map(({ deadline }) => deadline - now),
  );
  if (leftMs === Number.POSITIVE_INFINITY) return;
  alarm = setTimeout(turn, Math.max(1, Math.min(leftMs, 2 ** 31 - 1)));
}

function advance(run: QueryRun): void {
  try {
    run.step();
  } catch (error) {
    fail(run.id, error, "");
  }
  core?.keepLogShort();
}

function fail(id: number, error: unknown, sql: string): void {
  if (error instanceof EngineFailure && !breaksEngine(error.message)) {
    const failure = core?.files.takeFailure();
    refuse(id, failure ? new SqlError("58030", failure.message) : sqlErrorOf(error.message, sql));
  } else if (error instanceof SqlError) {
    refuse(id, error);
  } else if (core === undefined) {
    refuse(id, new SqlError("58000", error instanceof Error ? error.message : String(error)));
  } else {
    // A trap of the module, or a fault of ours: its state cannot be trusted.
    post({ kind: "broken", reason: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
  }
}

function refuse(id: number, { sqlstate, message, position }: SqlError): void {
  post({ kind: "failed", id, sqlstate, message, position });
}
