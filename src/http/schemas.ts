/** The shapes of requests and answers: they check what comes in and make /openapi.json. Names are in snake case on the wire. */
import { z } from "@hono/zod-openapi";
import { limits } from "../base/limits.ts";

export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string().describe("An SQLSTATE, the name of a Kafka error, or a word of this API."),
    detail: z.string(),
    position: z.int().optional().describe("1-based character in the SQL text."),
    errors: z.array(z.string()).optional(),
  })
  .openapi("Problem");

/** Any JSON value; numbers keep their digits. */
const jsonValue = z.any().openapi({ description: "Any JSON value; numbers keep their exact digits." });

export const sqlRequest = z
  .strictObject({
    sql: z.string().min(1).describe("One or more statements; the answer is the last one's."),
    params: z
      .union([z.array(jsonValue), z.record(z.string(), jsonValue)])
      .optional()
      .describe("Values for `?` or `$1` (an array), or for `$name` (an object). Only with one statement."),
    timeout_ms: z.int().min(1).optional().describe("At most the node's --sql-timeout."),
    data: z.string().optional().describe("What COPY … FROM STDIN reads: CSV, or JSON lines."),
    session: z
      .string()
      .optional()
      .describe("The id of a session (POST /v1/sessions), for transactions over several requests."),
  })
  .openapi("SqlRequest");

export const sqlAnswer = z
  .object({
    columns: z.array(z.object({ name: z.string(), type: z.string() })),
    rows: z.array(z.array(jsonValue)),
    row_count: z.int(),
    written: z
      .array(z.object({ topic: z.string(), partition: z.int(), base_offset: z.int(), records: z.int() }))
      .optional()
      .describe("Of a statement that wrote, and of COMMIT: the offsets of its records."),
  })
  .openapi("SqlAnswer");

export const tableColumn = z.object({
  name: z.string(),
  type: z.string(),
  not_null: z.boolean(),
  default: z.string().nullable(),
});

export const tableSchema = z
  .object({
    name: z.string(),
    schema: z.string(),
    topic: z.string(),
    partitions: z.int(),
    raw: z.boolean(),
    key: z.array(z.string()).nullable().describe("PRIMARY KEY columns in the key's order."),
    columns: z.array(tableColumn),
    sql: z.string(),
  })
  .openapi("Table");

export const newTable = z
  .union([
    z.strictObject({ sql: z.string().min(1).describe("A CREATE TABLE statement.") }),
    z.strictObject({
      name: z.string().min(1),
      columns: z
        .array(
          z.strictObject({
            name: z.string().min(1),
            type: z.string().min(1).describe("A DuckDB type."),
            not_null: z.boolean().optional(),
            default: z.string().optional().describe("A SQL expression."),
          }),
        )
        .min(1),
      key: z.array(z.string().min(1)).min(1).optional().describe("PRIMARY KEY columns in the key's order."),
      partitions: z.int().min(1).max(limits.partitionsPerTopicMax).optional(),
    }),
  ])
  .openapi("NewTable");

export const topicSummary = z
  .object({
    name: z.string(),
    id: z.string(),
    partitions: z.int(),
    internal: z.boolean(),
    kind: z.enum(["plain", "table"]),
  })
  .openapi("TopicSummary");

export const topicDetail = z
  .object({
    ...topicSummary.shape,
    configs: z.array(z.object({ name: z.string(), value: z.string().nullable(), source: z.string() })),
    partition_details: z.array(
      z.object({
        partition: z.int(),
        log_start_offset: z.int(),
        high_watermark: z.int(),
        log_end_offset: z.int(),
        size_bytes: z.int(),
      }),
    ),
  })
  .openapi("Topic");

export const newTopic = z
  .strictObject({
    name: z.string().min(1),
    partitions: z.int().min(1).max(limits.partitionsPerTopicMax).optional(),
    configs: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
      .optional()
      .describe("Topic configs by Kafka's names."),
  })
  .openapi("NewTopic");

const base64 = z.base64().describe("Bytes as base64.");

export const newRecords = z
  .strictObject({
    records: z
      .array(
        z.strictObject({
          key: jsonValue.optional().describe("Text as it is, another JSON value as compact JSON, null for no key."),
          key_base64: base64.optional(),
          value: jsonValue
            .optional()
            .describe("Text as it is, another JSON value as compact JSON, null for a tombstone."),
          value_base64: base64.optional(),
          headers: z
            .union([
              z.record(z.string(), z.string().nullable()),
              z.array(
                z.strictObject({ key: z.string(), value: z.string().nullish(), value_base64: base64.optional() }),
              ),
            ])
            .optional(),
          partition: z.int().min(0).optional(),
          timestamp_ms: z.int().min(0).optional(),
        }),
      )
      .min(1)
      .max(limits.httpReadRecordsMax),
  })
  .openapi("NewRecords");

export const producedRecords = z
  .object({
    offsets: z.array(z.object({ partition: z.int(), offset: z.int(), timestamp_ms: z.int() })),
  })
  .openapi("ProducedRecords");

export const recordSchema = z.object({
  partition: z.int(),
  offset: z.int(),
  timestamp_ms: z.int(),
  key: z.string().nullable().optional().describe("Absent when the key is not UTF-8: then key_base64."),
  key_base64: z.string().optional(),
  value: z.string().nullable().optional().describe("Absent when the value is not UTF-8: then value_base64."),
  value_base64: z.string().optional(),
  headers: z.array(
    z.object({ key: z.string(), value: z.string().nullable().optional(), value_base64: z.string().optional() }),
  ),
});

export const recordsAnswer = z
  .object({
    records: z.array(recordSchema),
    next_offset: z.int(),
    log_start_offset: z.int(),
    high_watermark: z.int(),
  })
  .openapi("Records");

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

export const readQuery = z.strictObject({
  partition: whole(0, limits.partitionsPerTopicMax).default(0),
  offset: z
    .union([z.enum(["earliest", "latest"]), whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)])
    .default("earliest")
    .describe("`earliest`, `latest`, a number, or a negative number: that many before the end."),
  limit: whole(1, limits.httpReadRecordsMax).default(100),
  wait_ms: whole(0, limits.httpReadWaitMsMax).default(0).describe("How long to wait for a first record."),
});

export const groupSummary = z
  .object({ group_id: z.string(), state: z.string(), protocol_type: z.string(), members: z.int() })
  .openapi("GroupSummary");

export const groupDetail = z
  .object({
    group_id: z.string(),
    state: z.string(),
    protocol_type: z.string(),
    protocol: z.string(),
    members: z.array(
      z.object({
        member_id: z.string(),
        instance_id: z.string().nullable(),
        client_id: z.string(),
        host: z.string(),
        assignments: z.array(z.object({ topic: z.string(), partitions: z.array(z.int()) })),
      }),
    ),
    offsets: z.array(
      z.object({
        topic: z.string(),
        partition: z.int(),
        committed_offset: z.int(),
        log_end_offset: z.int().nullable(),
        lag: z.int().nullable(),
        metadata: z.string().nullable(),
      }),
    ),
    total_lag: z.int(),
  })
  .openapi("Group");

export const versionSchema = z
  .object({ name: z.string(), version: z.string(), cluster_id: z.string(), kafka_address: z.string() })
  .openapi("Version");

export const healthSchema = z
  .object({
    status: z.enum(["ready", "not_ready"]),
    reasons: z.array(z.object({ part: z.string(), reason: z.string() })),
    uptime_seconds: z.number(),
    storage: z.object({ free_bytes: z.number(), total_bytes: z.number() }),
  })
  .openapi("Health");

export const nameParameter = z.object({ name: z.string().min(1) });
export const groupParameter = z.object({ id: z.string() });
