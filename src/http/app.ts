/**
 * The HTTP face of a node: a Hono application over `HttpServices`. `app.fetch` is all a server needs.
 * Invariants: every failure is a problem document; no failure of a request stops anything else; a page of another origin in
 * somebody's browser cannot use a node that listens on this machine only.
 */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context, Next } from "hono";
import { type Logger, silentLogger } from "../base/log.ts";
import { addBackupRoutes } from "./backup_routes.ts";
import { addGroupRoutes } from "./group_routes.ts";
import { addHealthRoutes } from "./health_routes.ts";
import { addMetricsCollectors } from "./metrics_collectors.ts";
import { type Problem, ProblemError, problemOf, problemResponse } from "./problem.ts";
import { addRecordRoutes } from "./record_routes.ts";
import type { HttpServices } from "./services.ts";
import { addSessionRoutes } from "./session_routes.ts";
import { addSqlRoutes } from "./sql_routes.ts";
import { addTableRoutes } from "./table_routes.ts";
import { addTopicRoutes } from "./topic_routes.ts";

export interface HttpAppOptions {
  logger?: Logger;
  /** The address that the server listens on; a loopback one serves only requests that name this machine. */
  host?: string;
}

export function createHttpApp(services: HttpServices, options: HttpAppOptions = {}): OpenAPIHono {
  const app = new OpenAPIHono();
  const logger = options.logger ?? silentLogger;
  app.use(timing(services));
  app.use(refuseOtherOrigins);
  if (options.host !== undefined && isLoopback(options.host)) app.use(refuseOtherHosts);
  addHealthRoutes(app, services);
  addSqlRoutes(app, services);
  addSessionRoutes(app, services);
  addTableRoutes(app, services);
  addTopicRoutes(app, services);
  addRecordRoutes(app, services);
  addGroupRoutes(app, services);
  if (services.backup) addBackupRoutes(app, services.backup);
  addDocument(app, services);
  addMetricsCollectors(services);
  app.onError((error, context) => {
    const problem = problemOf(error);
    if (problem.status === 500 && problem.code === "INTERNAL_ERROR")
      logger.error("HTTP request failed", {
        method: context.req.method,
        path: context.req.path,
        reason: reasonOf(error),
      });
    return problemResponse(problem);
  });
  app.notFound((context) => missing(app, context));
  return app;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Counts by route pattern, not by path, so that names in paths make no new series. */
function timing(services: HttpServices) {
  const seconds = services.metrics.histogramFamily(
    "rowlog_http_request_seconds",
    "Time from an HTTP request to the start of its answer.",
    ["route", "status"],
  );
  return async (context: Context, next: Next) => {
    const started = performance.now();
    await next();
    const matched = context.req.matchedRoutes?.findLast((route) => route.path !== "/*" && route.path !== "*");
    seconds.with(matched?.path ?? "unknown", String(context.res.status)).observe((performance.now() - started) / 1000);
  };
}

/** Browsers send Origin with cross-origin writes, and Sec-Fetch-Site with everything: enough to tell a foreign page. */
async function refuseOtherOrigins(context: Context, next: Next): Promise<void> {
  const origin = context.req.header("origin");
  const site = context.req.header("sec-fetch-site");
  const host = context.req.header("host");
  const foreign =
    origin !== undefined && host !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
  if (foreign || (site === "cross-site" && context.req.header("sec-fetch-mode") !== "navigate"))
    throw new ProblemError(403, "CROSS_ORIGIN", "requests from pages of another origin are refused");
  await next();
}

function isLoopback(host: string): boolean {
  return /^(localhost|(.+\.)?localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

/**
 * A name that its owner lets point to 127.0.0.1 makes a foreign page look like one of ours (DNS rebinding). On a loopback
 * address only addresses and `localhost` can be meant.
 */
async function refuseOtherHosts(context: Context, next: Next): Promise<void> {
  const host = (context.req.header("host") ?? "").replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
  if (host !== "" && !isLoopback(host) && !/^[\d.]+$/.test(host) && !host.includes(":"))
    throw new ProblemError(
      421,
      "UNKNOWN_HOST",
      `this node listens on this machine only and is not "${host}"; use 127.0.0.1 or localhost, or another --http address`,
    );
  await next();
}

/** 405 with Allow when the path exists for other methods, otherwise 404. */
function missing(app: OpenAPIHono, context: Context): Response {
  const path = context.req.path;
  const methods = ["GET", "POST", "DELETE", "PUT"].filter((method) => {
    const [routes] = app.router.match(method, path);
    return routes.some(([[, route]]) => route.path !== "/*" && route.method === method);
  });
  if (methods.length > 0) {
    const problem: Problem = {
      status: 405,
      code: "METHOD_NOT_ALLOWED",
      detail: `${path} answers ${methods.join(", ")}, not ${context.req.method}`,
    };
    return problemResponse(problem, { allow: methods.join(", ") });
  }
  return problemResponse({ status: 404, code: "NOT_FOUND", detail: `there is nothing at ${path}; see /openapi.json` });
}

function addDocument(app: OpenAPIHono, services: HttpServices): void {
  const document = () => openApiDocument(app, services.node.version);
  let cached: unknown;
  for (const path of ["/openapi.json", "/api/openapi.json"])
    app.get(path, (context) => {
      cached ??= document();
      return context.json(cached as object);
    });
}

export function openApiDocument(app: OpenAPIHono, version: string): object {
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Rowlog",
      version,
      description: "A Kafka topic is a SQL table. Errors are application/problem+json.",
    },
  });
}
