/** A table as the node runs it: its topic, its compiled schema, and what fills the fields that a row lacks. */
import type { TopicEntry } from "../catalog/catalog.ts";
import type { TableDefinition } from "../catalog/entries.ts";
import type { RecordBatchView } from "../protocol/records/decode.ts";
import type { Vector } from "./arrow/vectors.ts";
import { changesOf, type KeyedChunk, keyedChunk, rowDeltas } from "./keyed/change_batch.ts";
import { ChangeDecoder } from "./keyed/change_decoder.ts";
import { EventResolver } from "./keyed/event_resolver.ts";
import { HomesOfTable } from "./keyed/homes_of_table.ts";
import { KeyCodec } from "./keyed/key_codec.ts";
import { nativeDefault } from "./native_defaults.ts";
import { type DecodedBatch, RowDecoder } from "./row_decoder.ts";
import type { MissingValue } from "./row_reader.ts";
import { compileTable, type RowSchema } from "./row_schema.ts";

/** Rows of one record batch, on their way into DuckDB. */
export interface RowChunk {
  baseOffset: number;
  /** The offset behind the batch. */
  nextOffset: number;
  rows: number;
  columns: Vector[];
  /** For the bounds of queues. */
  bytes: number;
  /** Of a keyed table's batch. */
  keyed?: KeyedChunk;
}

/** Decodes a table's batches, as they are produced or as the log has them. */
export interface BatchDecoder {
  decode(batch: RecordBatchView, partition: number, missing: readonly MissingValue[]): DecodedBatch;
}

export class Table {
  readonly topic: TopicEntry;
  readonly definition: TableDefinition;
  readonly schema: RowSchema;
  readonly decoder: BatchDecoder;
  readonly logDecoder: BatchDecoder;
  private resolving: { resolver: EventResolver; decoder: BatchDecoder } | undefined;
  /** Of a keyed table. */
  readonly key: KeyCodec | undefined;
  /** Of a keyed table: which partition each key belongs to. */
  readonly homes: HomesOfTable | undefined;
  /** A column has the key of each row's record, which for a keyed table is the log's and not the producer's. */
  readonly hasKeyOfRecord: boolean;
  /** What fills each field that a row lacks; computed ones have no values yet. */
  readonly missing: readonly MissingValue[];
  /** When reading the log, every field is there; should one not be, it is NULL. */
  readonly missingInLog: readonly MissingValue[];
  /** Staged columns are the table's own, in order and type, so that rows need no staging table. */
  readonly insertsDirectly: boolean;
  /** DuckDB has a say about each batch (computed.ts). */
  readonly needsEngine: boolean;

  /** `defaults`: the JSON text of each default that is a constant, by column name; other defaults are computed. */
  constructor(
    topic: TopicEntry,
    definition: TableDefinition,
    defaults: ReadonlyMap<string, Uint8Array>,
    nowMs: () => number = Date.now,
    homes: HomesOfTable | undefined = definition.key && new HomesOfTable(topic),
  ) {
    this.topic = topic;
    this.homes = homes;
    this.definition = definition;
    this.schema = compileTable(definition);
    this.key = definition.key && new KeyCodec(this.schema, definition.key);
    this.hasKeyOfRecord = this.key !== undefined && this.schema.record.some(({ name }) => name === "_key");
    if (!this.schema.raw && ChangeDecoder.isFor(definition)) {
      this.decoder = new ChangeDecoder(this.schema, definition);
      this.logDecoder = new ChangeDecoder(this.schema, definition, { fromLog: true });
    } else this.decoder = this.logDecoder = new RowDecoder(this.schema);
    this.missing = this.schema.fields.map((field): MissingValue => {
      if (field.default === undefined) return { kind: "null" };
      const json = defaults.get(field.name);
      if (json !== undefined) return { kind: "constant", json };
      const next = nativeDefault(field, nowMs);
      return next === undefined ? { kind: "computed", values: undefined } : { kind: "native", next };
    });
    this.missingInLog = this.schema.fields.map(() => ({ kind: "null" }));
    const hasGenerated = (definition.generated ?? []).length > 0;
    this.insertsDirectly = !hasGenerated && !this.schema.needsCast;
    this.needsEngine = hasGenerated || definition.checks.length > 0 || definition.unique.length > 0;
  }

  /** Completes a produced batch that was appended at `baseOffset`; `appendTimeMs` is -1 unless the topic stamps records. */
  appendedChunk(decoded: DecodedBatch, baseOffset: number, appendTimeMs: number): RowChunk {
    const { columns, rows } = decoded;
    const changes = changesOf(decoded);
    const deltas = changes && this.schema.record.length > 0 ? rowDeltas(changes) : undefined;
    for (const { column, index } of this.schema.record)
      column.fill(columns[index]!, rows, baseOffset, appendTimeMs, deltas);
    return chunkOf(decoded, baseOffset, baseOffset + (changes?.span ?? rows));
  }

  /** For batches that mean something only together with what the table holds: what makes plain ones of them, and what decodes those. */
  get resolution(): { resolver: EventResolver; decoder: BatchDecoder } {
    this.resolving ??= {
      resolver: new EventResolver(this.topic, this.definition, this.schema),
      decoder: new ChangeDecoder(this.schema, this.definition, { resolved: true }),
    };
    return this.resolving;
  }

  newColumns(capacity: number): Vector[] {
    return this.schema.sets.take(capacity).columns;
  }
}

/** What the applier gets of a batch. */
export function chunkOf(decoded: DecodedBatch, baseOffset: number, nextOffset: number): RowChunk {
  const { columns, rows } = decoded;
  const keyed = keyedChunk(changesOf(decoded));
  const bytes = bytesOf(columns) + (keyed?.bytes ?? 0);
  return { baseOffset, nextOffset, rows, columns, bytes, ...(keyed ? { keyed } : {}) };
}

function bytesOf(columns: readonly Vector[]): number {
  let bytes = 0;
  for (const column of columns) bytes += column.byteLength();
  return bytes;
}
