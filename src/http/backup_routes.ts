/** `/v1/backup`: a consistent picture of the lake's files for `rowlog backup`, which copies them. */
import type { OpenAPIHono } from "@hono/zod-openapi";
import { z as zod } from "@hono/zod-openapi";
import { endpoint } from "./endpoint.ts";
import type { BackupService } from "./services.ts";

const contentsSchema = zod.object({
  directory: zod.string().describe("Folder on the node's machine that holds the files."),
  cluster_id: zod.string(),
  partitions: zod.array(
    zod.object({
      topic: zod.string(),
      partition: zod.int(),
      start_offset: zod.int(),
      end_offset: zod.int(),
    }),
  ),
  files: zod.array(
    zod.object({
      path: zod.string().describe("Relative to the folder."),
      bytes: zod.int().describe("Bytes from its start that belong to the picture."),
    }),
  ),
});

export function addBackupRoutes(app: OpenAPIHono, backup: BackupService): void {
  endpoint(
    app,
    {
      method: "post",
      path: "/v1/backup",
      tag: "Backup",
      summary: "Make a consistent picture of the lake's files; an earlier one is removed",
      answers: { 201: { description: "What it consists of.", schema: contentsSchema } },
      problems: [503],
    },
    async ({ context }) => context.json(await backup.make(), 201),
  );
  endpoint(
    app,
    {
      method: "delete",
      path: "/v1/backup",
      tag: "Backup",
      summary: "Remove the picture",
      answers: { 204: { description: "Removed." } },
    },
    ({ context }) => {
      backup.remove();
      return context.body(null, 204);
    },
  );
}
