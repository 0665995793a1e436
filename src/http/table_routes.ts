/** `/v1/tables`: tables are made and dropped by SQL; these routes write the statement and show what the catalog holds. */
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import { z as zod } from "@hono/zod-openapi";
import { endpoint } from "./endpoint.ts";
import { ProblemError } from "./problem.ts";
import { nameParameter, newTable, tableSchema } from "./schemas.ts";
import type { HttpServices, TableSummary } from "./services.ts";

export function addTableRoutes(app: OpenAPIHono, services: HttpServices): void {
  endpoint(
    app,
    {
      method: "get",
      path: "/v1/tables",
      tag: "Tables",
      summary: "List tables",
      answers: { 200: { description: "All tables.", schema: zod.object({ tables: zod.array(tableSchema) }) } },
    },
    ({ context }) => context.json({ tables: services.tables.list() }),
  );
  endpoint(
    app,
    {
      method: "post",
      path: "/v1/tables",
      tag: "Tables",
      summary: "Create a table",
      body: newTable,
      answers: { 201: { description: "The new table.", schema: tableSchema } },
      problems: [409, 503],
    },
    async ({ body, context }) => {
      const before = new Set(services.tables.list().map((table) => table.topic));
      await runStatement(services, createStatement(body), context.req.raw.signal);
      const made = services.tables.list().find((table) => !before.has(table.topic));
      const table = "name" in body ? (services.tables.get(body.name) ?? made) : made;
      if (!table) throw new ProblemError(400, "INVALID_REQUEST", "the statement ran, but it made no new table");
      return context.json(table, 201, { location: `/v1/tables/${encodeURIComponent(table.topic.toWellFormed())}` });
    },
  );
  endpoint(
    app,
    {
      method: "get",
      path: "/v1/tables/{name}",
      tag: "Tables",
      summary: "Describe a table",
      params: nameParameter,
      answers: { 200: { description: "The table.", schema: tableSchema } },
      problems: [404],
    },
    ({ params, context }) => context.json(required(services, params.name)),
  );
  endpoint(
    app,
    {
      method: "delete",
      path: "/v1/tables/{name}",
      tag: "Tables",
      summary: "Drop a table, its rows and its topic",
      params: nameParameter,
      answers: { 204: { description: "Dropped." } },
      problems: [404, 503],
    },
    async ({ params, context }) => {
      const table = required(services, params.name);
      const name = table.schema === "main" ? quoted(table.name) : `${quoted(table.schema)}.${quoted(table.name)}`;
      await runStatement(services, `DROP TABLE ${name}`, context.req.raw.signal);
      return context.body(null, 204);
    },
  );
}

function required(services: HttpServices, name: string): TableSummary {
  const table = services.tables.get(name);
  if (table) return table;
  throw new ProblemError(404, "42P01", `there is no table "${name}"; GET /v1/tables lists them`);
}

async function runStatement(services: HttpServices, sql: string, signal: AbortSignal): Promise<void> {
  const answer = await services.sql.execute(sql, { signal });
  answer.close();
}

/** The head of a CREATE TABLE statement, behind white space and comments. There is one way to match each text: no backtracking. */
const createTable = /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*create\s+(?:or\s+replace\s+)?table\b/i;

function createStatement(body: z.output<typeof newTable>): string {
  if ("sql" in body) {
    if (!createTable.test(body.sql))
      throw new ProblemError(400, "INVALID_REQUEST", "`sql` is not a CREATE TABLE statement; POST /v1/sql runs others");
    return body.sql;
  }
  const columns = body.columns.map(({ name, type, not_null, default: expression }) => {
    const rest = `${not_null ? " NOT NULL" : ""}${expression === undefined ? "" : ` DEFAULT (${expression})`}`;
    return `${quoted(name)} ${type}${rest}`;
  });
  if (body.key) columns.push(`PRIMARY KEY (${body.key.map(quoted).join(", ")})`);
  const options = body.partitions === undefined ? "" : ` WITH (partitions = ${body.partitions})`;
  return `CREATE TABLE ${quoted(body.name)} (${columns.join(", ")})${options}`;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
