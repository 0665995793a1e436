/** Records that connectors send beside rows: told by their schema's name, or by fields that no table of the kind has by chance. */
import { decodeUtf8 } from "../json/utf8.ts";
import type { SkipReason } from "./change.ts";
import { type EnvelopeScan, fieldBit } from "./envelope.ts";
import type { SchemaEntry } from "./programs.ts";
import type { RecordKey } from "./record_key.ts";

const messageFields = fieldBit.op | fieldBit.source | fieldBit.message;
const transactionFields = fieldBit.status | fieldBit.id | fieldBit.event_count | fieldBit.data_collections;
const schemaChangeFields = fieldBit.source | fieldBit.databaseName | fieldBit.ddl;

/** Undefined for a record that is none of them. `columns`: of the table; a field that is a column tells nothing. */
export function besideRows(
  scan: EnvelopeScan,
  entry: SchemaEntry | undefined,
  key: RecordKey,
  columns: ReadonlySet<string>,
): SkipReason | undefined {
  const name = entry?.schema?.name;
  if (name?.startsWith("io.debezium.")) {
    if (name.endsWith(".Heartbeat")) return "heartbeat";
    if (name.endsWith(".TransactionMetadataValue")) return "transaction";
    if (name.endsWith(".SchemaChangeValue")) return "schema_change";
  }
  const { seen } = scan;
  if ((seen & messageFields) === messageFields && !columns.has("message")) return "message";
  if ((seen & schemaChangeFields) === schemaChangeFields && !columns.has("ddl")) return "schema_change";
  if (scan.others > 0) return undefined;
  if ((seen & transactionFields) === transactionFields && !columns.has("data_collections")) return "transaction";
  return seen === fieldBit.ts_ms && isHeartbeatKey(key) ? "heartbeat" : undefined;
}

/** `{"serverName": …}`, alone or as a payload. */
function isHeartbeatKey({ bytes, start, length }: RecordKey): boolean {
  if (length < 0) return false;
  const text = decodeUtf8(bytes, start, Math.min(start + length, start + 4096));
  return /^\s*\{\s*(?:"schema"\s*:.*"payload"\s*:\s*\{\s*|"payload"\s*:\s*\{\s*)?"serverName"\s*:/s.test(text);
}
