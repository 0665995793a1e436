/**
 * The commonest computed defaults, `now()` and `uuid()`, without asking DuckDB for each batch: such tables stay on the fast path.
 */
import { parseType, type SqlType } from "../sql/types.ts";

const nowNames = new Set(["now()", "get_current_timestamp()", "transaction_timestamp()", "current_timestamp"]);
const uuidNames = new Set(["uuid()", "gen_random_uuid()", "uuidv4()"]);
const timestamps = new Set<SqlType["kind"]>([
  "timestamp",
  "timestamptz",
  "timestamp_s",
  "timestamp_ms",
  "timestamp_ns",
]);

const encoder = new TextEncoder();

/** What makes the JSON text of each row's value; undefined for defaults that only DuckDB can compute. */
export function nativeDefault(
  column: { type: string; default?: string },
  nowMs: () => number,
): (() => Uint8Array) | undefined {
  const expression = column.default?.toLowerCase();
  if (expression === undefined) return undefined;
  const { kind } = parseType(column.type);
  if (nowNames.has(expression) && timestamps.has(kind))
    return () => encoder.encode(JSON.stringify(new Date(nowMs()).toISOString()));
  if (uuidNames.has(expression) && (kind === "uuid" || kind === "varchar"))
    return () => encoder.encode(`"${crypto.randomUUID()}"`);
  return undefined;
}
