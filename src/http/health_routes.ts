/**
 * Probes and facts: `/livez` (the process answers), `/readyz` (503 with reasons until everything serves), `/healthz`
 * (a summary), `/metrics` (Prometheus), `/version`.
 */
import type { OpenAPIHono } from "@hono/zod-openapi";
import { endpoint } from "./endpoint.ts";
import { healthSchema, versionSchema } from "./schemas.ts";
import type { HttpServices } from "./services.ts";

const text = { description: "ok", mediaTypes: ["text/plain"] };

export function addHealthRoutes(app: OpenAPIHono, services: HttpServices): void {
  const health = async () => {
    const reasons = await services.notReady();
    const { freeBytes, totalBytes } = services.storage();
    return {
      status: reasons.length === 0 ? ("ready" as const) : ("not_ready" as const),
      reasons,
      uptime_seconds: Math.round((Date.now() - services.node.startedAtMs) / 1000),
      storage: { free_bytes: freeBytes, total_bytes: totalBytes },
    };
  };
  endpoint(
    app,
    { method: "get", path: "/livez", tag: "Health", summary: "The process answers", answers: { 200: text } },
    ({ context }) => context.text("ok\n"),
  );
  endpoint(
    app,
    {
      method: "get",
      path: "/readyz",
      tag: "Health",
      summary: "Everything serves",
      answers: {
        200: { description: "Ready.", schema: healthSchema },
        503: { description: "Not yet.", schema: healthSchema },
      },
    },
    async ({ context }) => {
      const summary = await health();
      return context.json(summary, summary.status === "ready" ? 200 : 503);
    },
  );
  // Redpanda's names for the same question.
  for (const path of ["/v1/status/ready", "/status/ready"])
    app.get(path, async (context) => {
      const { status } = await health();
      return context.json({ status }, status === "ready" ? 200 : 503);
    });
  endpoint(
    app,
    {
      method: "get",
      path: "/healthz",
      tag: "Health",
      summary: "A summary of the node",
      answers: { 200: { description: "The summary, ready or not.", schema: healthSchema } },
    },
    async ({ context }) => context.json(await health()),
  );
  addFactRoutes(app, services);
}

function addFactRoutes(app: OpenAPIHono, services: HttpServices): void {
  endpoint(
    app,
    { method: "get", path: "/metrics", tag: "Health", summary: "Prometheus metrics", answers: { 200: text } },
    async ({ context }) =>
      context.text(await services.metrics.render(), 200, {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
      }),
  );
  endpoint(
    app,
    {
      method: "get",
      path: "/version",
      tag: "Health",
      summary: "What this is",
      answers: { 200: { description: "Version.", schema: versionSchema } },
    },
    ({ context }) =>
      context.json({
        name: "rowlog",
        version: services.node.version,
        cluster_id: services.node.clusterId,
        kafka_address: services.node.kafkaAddress,
      }),
  );
}
