/** `/v1/sessions`: transactions over several requests to `/v1/sql`, which name the session. */
import type { OpenAPIHono } from "@hono/zod-openapi";
import { z } from "@hono/zod-openapi";
import { endpoint } from "./endpoint.ts";
import type { HttpServices } from "./services.ts";

const sessionSchema = z
  .object({
    id: z.string(),
    idle_timeout_ms: z
      .int()
      .describe("A transaction in which nothing happens for this time is rolled back (--sql-idle-timeout)."),
  })
  .openapi("SqlSession");

export function addSessionRoutes(app: OpenAPIHono, services: HttpServices): void {
  endpoint(
    app,
    {
      method: "post",
      path: "/v1/sessions",
      tag: "SQL",
      summary: "Open a session",
      answers: {
        201: { description: "The session; name its id in requests to /v1/sql.", schema: sessionSchema },
      },
      problems: [503],
    },
    ({ context }) => {
      const { sessions } = services.sql;
      const id = sessions.open();
      return context.json({ id, idle_timeout_ms: sessions.idleMs }, 201, { location: `/v1/sessions/${id}` });
    },
  );
  endpoint(
    app,
    {
      method: "delete",
      path: "/v1/sessions/{id}",
      tag: "SQL",
      summary: "Close a session",
      params: z.object({ id: z.string() }),
      answers: { 204: { description: "The session is closed, and a transaction that it had is rolled back." } },
      problems: [404],
    },
    async ({ params, context }) => {
      await services.sql.sessions.close(params.id);
      return context.body(null, 204);
    },
  );
}
