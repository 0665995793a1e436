/**
 * Errors as `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, and ours: `code` (an SQLSTATE, a
 * Kafka error name, or an HTTP word), `position` (1-based character in the SQL text), `errors` (one line per bad field).
 * Every door's failure passes through `problemOf`, so the same failure always looks the same.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { SqlError } from "../base/sql_error.ts";

export interface Problem {
  status: number;
  code: string;
  detail: string;
  position?: number;
  errors?: string[];
}

/** Thrown by routes for failures of the request itself. */
export class ProblemError extends Error {
  override name = "ProblemError";
  readonly problem: Problem;
  constructor(status: number, code: string, detail: string, errors?: string[]) {
    super(detail);
    this.problem = { status, code, detail, errors };
  }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof SqlError) {
    const problem: Problem = { status: sqlStatus(error.sqlstate), code: error.sqlstate, detail: error.message };
    if (error.position !== undefined) problem.position = error.position;
    return problem;
  }
  if (error instanceof KafkaError) {
    const problem: Problem = { status: kafkaStatus(error.errorName), code: error.errorName, detail: error.message };
    const recordErrors = (error as { recordErrors?: { index: number; message: string }[] }).recordErrors;
    if (recordErrors) problem.errors = recordErrors.map(({ index, message }) => `record ${index}: ${message}`);
    return problem;
  }
  const code = (error as { code?: unknown } | null)?.code;
  if (code === "ENOSPC") return { status: 507, code: "DISK_FULL", detail: "the disk of the lake is full; free space" };
  return { status: 500, code: "INTERNAL_ERROR", detail: "the node failed to answer; its log says more" };
}

export function problemResponse(problem: Problem, headers: Record<string, string> = {}): Response {
  const { status, code, detail, position, errors } = problem;
  const body = { type: "about:blank", title: titles[status] ?? "Error", status, code, detail, position, errors };
  return new Response(`${JSON.stringify(body)}\n`, {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
  });
}

const titles: Record<number, string> = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  507: "Insufficient Storage",
};

/** By class of SQLSTATE, so that a client can tell "my statement" from "that node" by the status alone. */
export function sqlStatus(sqlstate: string): number {
  switch (sqlstate) {
    case "42P01": // undefined table
      return 404;
    case "42P07": // duplicate table
    case "23505": // unique violation
      return 409;
    case "25001": // a transaction is open
    case "25P01": // no transaction is open
    case "25P02": // the transaction has failed
    case "25P03": // the transaction was idle for too long
    case "40001": // another transaction was first
      return 409;
    case "08003": // no such session
      return 404;
    case "55P03": // the turn to write could not be had in time
      return 503;
    case "42501": // insufficient privilege
      return 403;
    case "08P01": // a value for a parameter that is not there, and the like
      return 400;
    case "57014": // cancelled, or out of time
      return 504;
  }
  switch (sqlstate.slice(0, 2)) {
    case "53": // insufficient resources
    case "57": // operator intervention: starting, stopping
    case "08":
      return 503;
    case "58": // system error (disk)
      return sqlstate === "58030" ? 507 : 500;
    case "XX":
      return 500;
    default:
      return 400;
  }
}

export function kafkaStatus(name: string): number {
  switch (name) {
    case "UNKNOWN_TOPIC_OR_PARTITION":
    case "UNKNOWN_TOPIC_ID":
    case "GROUP_ID_NOT_FOUND":
    case "UNKNOWN_MEMBER_ID":
      return 404;
    case "TOPIC_ALREADY_EXISTS":
    case "NON_EMPTY_GROUP":
    case "GROUP_SUBSCRIBED_TO_TOPIC":
      return 409;
    case "INVALID_RECORD":
      return 422;
    case "MESSAGE_TOO_LARGE":
    case "RECORD_LIST_TOO_LARGE":
      return 413;
    case "TOPIC_AUTHORIZATION_FAILED":
    case "GROUP_AUTHORIZATION_FAILED":
    case "CLUSTER_AUTHORIZATION_FAILED":
      return 403;
    case "REQUEST_TIMED_OUT":
      return 504;
    case "KAFKA_STORAGE_ERROR":
      return 507;
    case "COORDINATOR_LOAD_IN_PROGRESS":
    case "COORDINATOR_NOT_AVAILABLE":
    case "NOT_COORDINATOR":
    case "LEADER_NOT_AVAILABLE":
    case "NOT_LEADER_OR_FOLLOWER":
    case "BROKER_NOT_AVAILABLE":
      return 503;
    case "UNKNOWN_SERVER_ERROR":
      return 500;
    default:
      return 400;
  }
}
