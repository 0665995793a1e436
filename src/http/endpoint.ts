/**
 * One way to declare a route: its schemas check the request and make the OpenAPI document, so the two cannot differ.
 * Bodies are parsed here and not by Hono: numbers keep their exact digits (as `JSON.rawJSON`), the size is bounded while
 * reading, and `curl -d` works without a Content-Type.
 */
import { createRoute, type OpenAPIHono, type z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { limits } from "../base/limits.ts";
import { ProblemError } from "./problem.ts";
import { problemSchema } from "./schemas.ts";

type Schema = z.ZodType;
type Output<S> = S extends z.ZodType ? z.output<S> : undefined;

export interface EndpointDefinition<P, Q, B> {
  method: "get" | "post" | "delete" | "put";
  /** OpenAPI form: `/v1/topics/{name}`. */
  path: string;
  tag: string;
  summary: string;
  params?: P;
  query?: Q;
  body?: B;
  /** Successful answers: status to description and, for JSON, its schema; further media types by name. */
  answers: Record<number, { description: string; schema?: Schema; mediaTypes?: string[] }>;
  /** Statuses of problem documents, besides 400 and 500. */
  problems?: number[];
}

export interface Input<P, Q, B> {
  params: Output<P>;
  query: Output<Q>;
  body: Output<B>;
  context: Context;
}

export function endpoint<
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(
  app: OpenAPIHono,
  definition: EndpointDefinition<P, Q, B>,
  handle: (input: Input<P, Q, B>) => Promise<Response> | Response,
): void {
  app.openAPIRegistry.registerPath(createRoute(routeConfig(definition)));
  app.on(definition.method.toUpperCase(), definition.path.replaceAll(/\{(\w+)\}/g, ":$1"), async (context) =>
    handle({
      params: check(definition.params, context.req.param(), "path") as Output<P>,
      query: check(definition.query, singleValues(context), "query") as Output<Q>,
      body: (definition.body
        ? check(definition.body, await readJsonBody(context.req.raw), "body")
        : undefined) as Output<B>,
      context,
    }),
  );
}

function routeConfig(definition: EndpointDefinition<unknown, unknown, unknown>): Parameters<typeof createRoute>[0] {
  const { method, path, tag, summary, params, query, body, answers, problems = [] } = definition;
  const responses: Record<string, unknown> = {};
  for (const [status, { description, schema, mediaTypes = [] }] of Object.entries(answers)) {
    const content: Record<string, unknown> = {};
    if (schema) content["application/json"] = { schema };
    for (const type of mediaTypes) content[type] = { schema: { type: "string" } };
    responses[status] = Object.keys(content).length > 0 ? { description, content } : { description };
  }
  for (const status of [400, ...problems, 500])
    responses[status] = { description: "problem", content: { "application/problem+json": { schema: problemSchema } } };
  const request: Record<string, unknown> = {};
  if (params) request.params = params;
  if (query) request.query = query;
  if (body) request.body = { required: true, content: { "application/json": { schema: body } } };
  return { method, path, tags: [tag], summary, request, responses } as Parameters<typeof createRoute>[0];
}

function singleValues(context: Context): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of new URL(context.req.url).searchParams) values[name] = value;
  return values;
}

function check(schema: Schema | undefined, value: unknown, place: string): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.map(
    (issue) => `${[place, ...issue.path.map(String)].join(".")}: ${issue.message}`,
  );
  throw new ProblemError(400, "INVALID_REQUEST", errors[0] ?? `the ${place} is not valid`, errors);
}

async function readJsonBody(request: Request): Promise<unknown> {
  const text = await readText(request);
  if (text.trim() === "") throw new ProblemError(400, "INVALID_REQUEST", "the body is empty; send a JSON object");
  try {
    return parseExactJson(text);
  } catch (error) {
    throw new ProblemError(400, "INVALID_JSON", `the body is not valid JSON: ${(error as Error).message}`);
  }
}

/** The whole body as text; refuses more than `limits.httpBodyBytesMax` bytes and bytes that are not UTF-8. */
export async function readText(request: Request): Promise<string> {
  const tooLarge = () =>
    new ProblemError(
      413,
      "BODY_TOO_LARGE",
      `the body is larger than ${limits.httpBodyBytesMax} bytes; send less at once`,
    );
  if (Number(request.headers.get("content-length") ?? 0) > limits.httpBodyBytesMax) throw tooLarge();
  if (request.body === null) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > limits.httpBodyBytesMax) throw tooLarge();
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    if (error instanceof TypeError) throw new ProblemError(400, "INVALID_UTF8", "the body is not UTF-8");
    throw error;
  }
}

type ExactJson = {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** Like JSON.parse, but numbers that a double does not hold exactly come back as raw JSON values (`isExactNumber`). */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, ((_key: string, value: unknown, context: { source: string }) =>
    typeof value === "number" && String(value) !== context.source
      ? (JSON as unknown as ExactJson).rawJSON(context.source)
      : value) as (key: string, value: unknown) => unknown);
}

/** The digits as they were sent, when the value is such a number. */
export function exactNumberText(value: unknown): string | undefined {
  if (value === null || typeof value !== "object") return undefined;
  return (JSON as unknown as ExactJson).isRawJSON(value) ? (value as { rawJSON: string }).rawJSON : undefined;
}
