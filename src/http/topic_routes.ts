/** `/v1/topics`: topics as Kafka's admin tools see them. */
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { endpoint } from "./endpoint.ts";
import { ProblemError } from "./problem.ts";
import { nameParameter, newTopic, topicDetail, topicSummary } from "./schemas.ts";
import type { HttpServices } from "./services.ts";

export function addTopicRoutes(app: OpenAPIHono, services: HttpServices): void {
  endpoint(
    app,
    {
      method: "get",
      path: "/v1/topics",
      tag: "Topics",
      summary: "List topics",
      answers: { 200: { description: "All topics.", schema: z.object({ topics: z.array(topicSummary) }) } },
    },
    ({ context }) => context.json({ topics: services.topics.list() }),
  );
  endpoint(
    app,
    {
      method: "post",
      path: "/v1/topics",
      tag: "Topics",
      summary: "Create a plain topic",
      body: newTopic,
      answers: { 201: { description: "The new topic.", schema: topicDetail } },
      problems: [409, 507],
    },
    async ({ body, context }) => {
      const topic = await services.topics.create(body);
      return context.json(topic, 201, { location: `/v1/topics/${encodeURIComponent(topic.name.toWellFormed())}` });
    },
  );
  endpoint(
    app,
    {
      method: "get",
      path: "/v1/topics/{name}",
      tag: "Topics",
      summary: "Describe a topic",
      params: nameParameter,
      answers: { 200: { description: "The topic.", schema: topicDetail } },
      problems: [404],
    },
    ({ params, context }) => {
      const topic = services.topics.get(params.name);
      if (!topic) throw unknownTopic(params.name);
      return context.json(topic);
    },
  );
  endpoint(
    app,
    {
      method: "delete",
      path: "/v1/topics/{name}",
      tag: "Topics",
      summary: "Delete a topic and its records",
      params: nameParameter,
      answers: { 204: { description: "Deleted." } },
      problems: [404, 409],
    },
    async ({ params, context }) => {
      const topic = services.topics.list().find((candidate) => candidate.name === params.name);
      if (!topic) throw unknownTopic(params.name);
      await services.topics.delete(params.name);
      return context.body(null, 204);
    },
  );
}

export function unknownTopic(name: string): ProblemError {
  return new ProblemError(
    404,
    "UNKNOWN_TOPIC_OR_PARTITION",
    `there is no topic "${name}"; POST /v1/topics or CREATE TABLE makes one`,
  );
}
