import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LogFields, type Logger, silentLogger } from "../../src/base/log.ts";
import { decodeBatches } from "../../src/protocol/records/decode.ts";
import { type EncodeOptions, encodeBatch } from "../../src/protocol/records/encode.ts";

export const baseTime = 1_700_000_000_000;

/** A batch of `count` records with the values `<text>-<n>`. */
export function batchOf(count: number, text = "value", options: EncodeOptions = {}): Uint8Array {
  const records = Array.from({ length: count }, (_, index) => ({ value: `${text}-${index}` }));
  return encodeBatch(records, { timestamp: baseTime, ...options });
}

/** A batch of an idempotent producer. */
export function sequenced(producerId: number, producerEpoch: number, baseSequence: number, count = 1): Uint8Array {
  return batchOf(count, `p${producerId}-${baseSequence}`, {
    producerId: BigInt(producerId),
    producerEpoch,
    baseSequence,
  });
}

/** Offset and value of each record in what a read gave. */
export function recordsOf(parts: readonly Uint8Array[]): { offset: number; value: string }[] {
  const found: { offset: number; value: string }[] = [];
  for (const part of parts)
    for (const view of decodeBatches(part))
      for (const record of view) found.push({ offset: record.offset, value: new TextDecoder().decode(record.value!) });
  return found;
}

export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "rowlog-log-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A logger that remembers what was said. */
export function listeningLogger(): Logger & { lines: { level: string; message: string; fields?: LogFields }[] } {
  const lines: { level: string; message: string; fields?: LogFields }[] = [];
  const hear = (level: string) => (message: string, fields?: LogFields) => void lines.push({ level, message, fields });
  return { ...silentLogger, lines, info: hear("info"), warn: hear("warn"), error: hear("error") };
}
