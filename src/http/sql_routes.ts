/**
 * `POST /v1/sql`: runs statements and answers with the last one's rows in the form that Accept asks for. A plain-text body
 * (`text/plain`, `application/sql`) is the SQL itself. When the client goes away the statement is cancelled.
 */
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { endpoint, exactNumberText, readText } from "./endpoint.ts";
import { ProblemError } from "./problem.ts";
import { sqlAnswer, sqlRequest } from "./schemas.ts";
import type { HttpServices, SqlParameter } from "./services.ts";
import { acceptedFormat, mediaTypes, type SqlFormat, sqlResponse } from "./sql_formats.ts";

export function addSqlRoutes(app: OpenAPIHono, services: HttpServices): void {
  const seconds = services.metrics.histogramFamily(
    "rowlog_sql_query_seconds",
    "Time from a SQL request to the first byte of its answer, by outcome.",
    ["outcome"],
  );
  const run = async (context: Context, request: z.output<typeof sqlRequest>) => {
    const format = formatFor(context);
    const started = performance.now();
    try {
      const answer = await services.sql.execute(request.sql, {
        params: request.params && parameters(request.params),
        timeoutMs: request.timeout_ms,
        session: request.session,
        data: request.data,
        form: format === "arrow" ? "arrow" : "json",
        signal: context.req.raw.signal,
      });
      const response = await sqlResponse(answer, format);
      seconds.with("ok").observe((performance.now() - started) / 1000);
      return response;
    } catch (error) {
      seconds.with("error").observe((performance.now() - started) / 1000);
      throw error;
    }
  };
  app.use("/v1/sql", async (context, next) => {
    const type = (context.req.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
    if (context.req.method !== "POST" || (type !== "text/plain" && type !== "application/sql")) return next();
    const sql = await readText(context.req.raw);
    if (sql.trim() === "") throw new ProblemError(400, "INVALID_REQUEST", "the body is empty; send SQL");
    return run(context, { sql, session: context.req.query("session") });
  });
  endpoint(
    app,
    {
      method: "post",
      path: "/v1/sql",
      tag: "SQL",
      summary: "Run SQL",
      body: sqlRequest,
      answers: {
        200: {
          description: "The rows of the last statement.",
          schema: sqlAnswer,
          mediaTypes: [mediaTypes.ndjson, "text/csv", mediaTypes.arrow, mediaTypes.rows],
        },
      },
      problems: [404, 406, 409, 413, 503, 504],
    },
    ({ body, context }) => run(context, body),
  );
}

function formatFor(context: Context): SqlFormat {
  const format = acceptedFormat(context.req.header("accept"));
  if (format !== undefined) return format;
  const known = ["application/json", mediaTypes.ndjson, "text/csv", mediaTypes.arrow].join(", ");
  throw new ProblemError(406, "NOT_ACCEPTABLE", `this endpoint answers with ${known}`);
}

function parameters(values: unknown[] | Record<string, unknown>): SqlParameter[] | Record<string, SqlParameter> {
  if (Array.isArray(values)) return values.map(parameter);
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, parameter(value)]));
}

/** Lists and objects are bound as their JSON text; numbers that a double cannot hold as bigint, or as their digits. */
function parameter(value: unknown): SqlParameter {
  const exact = exactNumberText(value);
  if (exact !== undefined) {
    if (/^-?\d+$/.test(exact)) return BigInt(exact);
    return exactDouble(exact) ? Number(exact) : exact;
  }
  if (value !== null && typeof value === "object") return JSON.stringify(value);
  return value as SqlParameter;
}

/** True for spellings such as `1.0`, `1e3` or `1.10` that a double holds as written; false when digits would be lost. */
function exactDouble(text: string): boolean {
  return (
    Number.isFinite(Number(text)) &&
    text
      .replace(/[eE].*$/, "")
      .replace(/\D/g, "")
      .replace(/^0+/, "").length <= 15
  );
}
