/** `/v1/topics/{name}/records`: produce a few records, or read some, without a Kafka client. */
import { Buffer } from "node:buffer";
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import { endpoint } from "./endpoint.ts";
import { ProblemError } from "./problem.ts";
import { nameParameter, newRecords, producedRecords, readQuery, recordsAnswer } from "./schemas.ts";
import type { HttpServices, RecordToProduce, StoredRecord } from "./services.ts";

export function addRecordRoutes(app: OpenAPIHono, services: HttpServices): void {
  endpoint(
    app,
    {
      method: "post",
      path: "/v1/topics/{name}/records",
      tag: "Records",
      summary: "Produce records",
      params: nameParameter,
      body: newRecords,
      answers: { 200: { description: "Where each record is, in order.", schema: producedRecords } },
      problems: [404, 413, 422, 507],
    },
    async ({ params, body, context }) => {
      const places = await services.topics.produce(params.name, body.records.map(toProduce));
      const offsets = places.map(({ partition, offset, timestampMs }) => ({
        partition,
        offset,
        timestamp_ms: timestampMs,
      }));
      return context.json({ offsets });
    },
  );
  endpoint(
    app,
    {
      method: "get",
      path: "/v1/topics/{name}/records",
      tag: "Records",
      summary: "Read records",
      params: nameParameter,
      query: readQuery,
      answers: { 200: { description: "Records and where to go on.", schema: recordsAnswer } },
      problems: [404],
    },
    async ({ params, query, context }) => {
      const { partition, limit } = query;
      const offset = startOffset(services, params.name, partition, query.offset);
      const waitMs = query.wait_ms;
      const signal = context.req.raw.signal;
      const answer = await services.topics.read(params.name, { partition, offset, limit, waitMs, signal });
      return context.json({
        records: answer.records.map(recordJson),
        next_offset: answer.nextOffset,
        log_start_offset: answer.logStartOffset,
        high_watermark: answer.highWatermark,
      });
    },
  );
}

/** Negative numbers count back from the end, never further than the start of the log. */
function startOffset(
  services: HttpServices,
  topic: string,
  partition: number,
  asked: number | "earliest" | "latest",
): number {
  if (typeof asked === "number" && asked >= 0) return asked;
  const detail = services.topics.get(topic);
  const place = detail?.partition_details.find((candidate) => candidate.partition === partition);
  if (!place)
    throw new ProblemError(
      404,
      "UNKNOWN_TOPIC_OR_PARTITION",
      detail ? `topic "${topic}" has no partition ${partition}` : `there is no topic "${topic}"`,
    );
  if (asked === "earliest") return place.log_start_offset;
  if (asked === "latest") return place.high_watermark;
  return Math.max(place.log_start_offset, place.high_watermark + asked);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

type NewRecord = z.output<typeof newRecords>["records"][number];

function toProduce(record: NewRecord): RecordToProduce {
  return {
    partition: record.partition,
    key: bytesOf("key", record.key, record.key_base64),
    value: bytesOf("value", record.value, record.value_base64),
    headers: headersOf(record.headers),
    timestampMs: record.timestamp_ms,
  };
}

function headersOf(headers: NewRecord["headers"]): RecordToProduce["headers"] {
  if (headers === undefined) return [];
  if (!Array.isArray(headers))
    return Object.entries(headers).map(([key, value]) => ({ key, value: bytesOf("headers", value, undefined) }));
  return headers.map(({ key, value, value_base64 }) => ({ key, value: bytesOf("headers", value, value_base64) }));
}

function bytesOf(field: string, value: unknown, base64: string | undefined): Uint8Array | null {
  if (base64 !== undefined) {
    if (value !== undefined)
      throw new ProblemError(
        400,
        "INVALID_REQUEST",
        `a record has both ${field} and ${field}_base64; send one of them`,
      );
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  }
  if (value === undefined || value === null) return null;
  return encoder.encode(typeof value === "string" ? value : JSON.stringify(value));
}

function recordJson(record: StoredRecord): Record<string, unknown> {
  return {
    partition: record.partition,
    offset: record.offset,
    timestamp_ms: record.timestampMs,
    ...textOrBase64("key", record.key),
    ...textOrBase64("value", record.value),
    headers: record.headers.map(({ key, value }) => ({ key, ...textOrBase64("value", value) })),
  };
}

function textOrBase64(field: string, bytes: Uint8Array | null): Record<string, string | null> {
  if (bytes === null) return { [field]: null };
  try {
    return { [field]: decoder.decode(bytes) };
  } catch {
    return { [`${field}_base64`]: Buffer.from(bytes).toString("base64") };
  }
}
