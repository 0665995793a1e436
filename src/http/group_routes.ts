/** `/v1/groups`: consumer groups with their members, committed offsets and lag. */
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { endpoint } from "./endpoint.ts";
import { ProblemError } from "./problem.ts";
import { groupDetail, groupParameter, groupSummary } from "./schemas.ts";
import type { HttpServices } from "./services.ts";

export function addGroupRoutes(app: OpenAPIHono, services: HttpServices): void {
  endpoint(
    app,
    {
      method: "get",
      path: "/v1/groups",
      tag: "Groups",
      summary: "List consumer groups",
      answers: { 200: { description: "All groups.", schema: z.object({ groups: z.array(groupSummary) }) } },
    },
    async ({ context }) => context.json({ groups: await services.groups.list() }),
  );
  endpoint(
    app,
    {
      method: "get",
      path: "/v1/groups/{id}",
      tag: "Groups",
      summary: "Describe a consumer group, with lag",
      params: groupParameter,
      answers: { 200: { description: "The group.", schema: groupDetail } },
      problems: [404],
    },
    async ({ params, context }) => {
      const group = await services.groups.get(params.id);
      if (!group) throw new ProblemError(404, "GROUP_ID_NOT_FOUND", `there is no group "${params.id}"`);
      return context.json(group);
    },
  );
}
