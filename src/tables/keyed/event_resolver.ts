/**
 * Turns a batch whose records mean what they mean only together with what the table holds into one of plain rows and deletes: events with
 * columns that the source did not send, truncations, and rows of a table with `sequence_by`.
 *
 * Invariant: after it, the last record of a key in the log is what the table holds for that key. It is run while DuckDB has all of the
 * partition's log, and nothing else writes to that partition.
 */
import { limits } from "../../base/limits.ts";
import type { TopicEntry } from "../../catalog/catalog.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import type { Codec } from "../../hotpath/codecs.ts";
import type { RecordBatchView } from "../../protocol/records/decode.ts";
import { encodeBatch, type RecordToEncode } from "../../protocol/records/encode.ts";
import type { RecordFault } from "../../protocol/records/record_errors.ts";
import type { SqlEngine } from "../../sql/engine.ts";
import { ByteSink } from "../arrow/bytes.ts";
import { type Change, ChangeReader } from "../changes/change_reader.ts";
import { prefixLength } from "../changes/record_key.ts";
import type { RowSchema } from "../row_schema.ts";
import { KeyCodec } from "./key_codec.ts";
import { objectText, objectTexts } from "./object_texts.ts";
import { SequenceOrder, sequenceHeader } from "./sequence_order.ts";
import { type FieldTexts, StoredRows } from "./stored_rows.ts";

export interface ResolvedBatch {
  /** The batch's records as plain rows and deletes, at the same offsets; undefined when there are faults. */
  batch: Uint8Array | undefined;
  /** Batches of deletes that go into the log before it. */
  before: Uint8Array[];
  faults: RecordFault[];
}

/** What the table holds for a key. */
interface KeyState {
  /** Undefined: no row. */
  fields: FieldTexts | undefined;
  sequence: string | undefined;
}

interface ReadRecord {
  change: Change;
  /** The key's text, and those of its columns; of rows and deletes. */
  key?: string;
  cells?: string[];
}

export class EventResolver {
  private readonly topic: Pick<TopicEntry, "id" | "partitions">;
  private readonly definition: TableDefinition;
  private readonly key: KeyCodec;
  private readonly reader: ChangeReader;
  private readonly stored: StoredRows;
  private readonly order: SequenceOrder | undefined;

  constructor(topic: Pick<TopicEntry, "id" | "partitions">, definition: TableDefinition, schema: RowSchema) {
    this.topic = topic;
    this.definition = definition;
    this.key = new KeyCodec(schema, definition.key!);
    this.reader = new ChangeReader(definition);
    this.stored = new StoredRows(definition);
    const sequence = definition.columns.find(({ name }) => name === definition.sequenceBy);
    this.order = sequence && new SequenceOrder(sequence.type);
  }

  async resolve(engine: SqlEngine, view: RecordBatchView): Promise<ResolvedBatch> {
    const faults: RecordFault[] = [];
    const records: ReadRecord[] = [];
    for (let record = 0; record < view.count; record++) {
      const read = this.read(view, record);
      if (typeof read === "string") faults.push({ index: record, message: read });
      else records.push(read);
    }
    if (faults.length > 0) return { batch: undefined, before: [], faults };
    const states = await this.states(engine, records);
    const lastTruncate = records.findLastIndex(({ change }) => change.kind === "truncate");
    const before = lastTruncate < 0 ? [] : this.deletes(view, await this.stored.keys(engine));
    const resolved = records.map((record, index) =>
      index < lastTruncate ? this.truncated(view, record, index) : this.record(view, record, index, states),
    );
    return { batch: this.encode(view, resolved), before, faults };
  }

  /** The text of what is wrong with it otherwise. */
  private read(view: RecordBatchView, record: number): ReadRecord | string {
    const change = this.reader.read(view.key(record), view.value(record));
    if (change.kind === "upsert") change.row = change.row.subarray(prefixLength(change.row, 0, change.row.length));
    if (change.kind === "fault") return change.message;
    if (change.kind === "truncate" && this.topic.partitions > 1)
      return "a truncation empties a table whose topic has one partition; this one has more, and the event says nothing of the other partitions";
    if (change.kind !== "upsert" && change.kind !== "delete") return { change };
    const vectors = this.key.newVectors(1);
    const cells: string[] = [];
    const sources = [...(change.kind === "upsert" ? [change.row] : []), ...(change.key ? [change.key] : [])];
    const sink = new ByteSink();
    for (const source of sources) {
      for (const vector of vectors) vector.truncate(0);
      const fault = this.key.read(source, 0, source.length, vectors, 0);
      if (fault !== undefined) return fault;
      this.key.dropSigns((column) => vectors[column]!, 0);
      for (let column = 0; column < vectors.length; column++) {
        if (cells[column] !== undefined || !this.key.wasSeen(column) || vectors[column]!.isNull(0)) continue;
        sink.length = 0;
        this.key.codec(column).write(sink, vectors[column]!, 0);
        cells[column] = new TextDecoder().decode(sink.view());
      }
    }
    for (const [column, name] of this.definition.key!.entries())
      if (cells[column] === undefined) return `column "${name}": a missing value does not fit: the column is NOT NULL`;
    return { change, key: this.stored.keyText(cells), cells };
  }

  private async states(engine: SqlEngine, records: readonly ReadRecord[]): Promise<Map<string, KeyState>> {
    const keys = new Map<string, readonly string[]>();
    for (const { key, cells } of records) if (key !== undefined) keys.set(key, cells!);
    const rows = await this.stored.read(engine, keys);
    const { sequenceBy } = this.definition;
    const gone = sequenceBy
      ? await this.stored.deletedSequences(
          engine,
          this.topic.id,
          [...keys.keys()].filter((key) => !rows.has(key)),
        )
      : undefined;
    const states = new Map<string, KeyState>();
    for (const key of keys.keys()) {
      const fields = rows.get(key);
      states.set(key, { fields, sequence: (sequenceBy && fields?.get(sequenceBy)) ?? gone?.get(key) });
    }
    return states;
  }

  /** A record before a truncation: nothing of it stays. */
  private truncated(view: RecordBatchView, { key }: ReadRecord, index: number): RecordToEncode | undefined {
    return key === undefined ? undefined : { ...placeOf(view, index), key, value: null };
  }

  private record(
    view: RecordBatchView,
    { change, key }: ReadRecord,
    index: number,
    states: Map<string, KeyState>,
  ): RecordToEncode | undefined {
    if (change.kind === "truncate") for (const state of states.values()) state.fields = state.sequence = undefined;
    if (key === undefined) return undefined;
    const state = states.get(key)!;
    const place = placeOf(view, index);
    if (change.kind === "delete") {
      state.fields = undefined;
      return { ...place, key, value: null, ...sequenceHeaders(place.headers, state) };
    }
    if (change.kind !== "upsert") return undefined;
    const fields = objectTexts(change.row) ?? new Map<string, string>();
    // The key's own spelling, also where the value lacks it.
    for (const [name, text] of objectTexts(new TextEncoder().encode(key))!)
      if (!fields.has(name)) fields.set(name, text);
    for (const name of change.unchanged ?? []) {
      const text = state.fields?.get(name);
      if (text !== undefined) fields.set(name, text);
    }
    const { sequenceBy } = this.definition;
    const sequence = sequenceBy && fields.get(sequenceBy);
    if (this.order?.isBefore(sequence, state.sequence)) {
      if (state.fields) return { ...place, key, value: objectText(state.fields) };
      return { ...place, key, value: null, ...sequenceHeaders(place.headers, state) };
    }
    state.fields = fields;
    state.sequence = sequence;
    // The record's own key stays, so that one that contradicts the row is still found.
    const value = change.unchanged || change.row.length === 0 ? objectText(this.inOrder(fields)) : change.row;
    return { ...place, key: change.key ?? key, value };
  }

  /** The table's columns in its order; the plain rules for rows say what becomes of the others. */
  private inOrder(fields: FieldTexts): FieldTexts {
    const ordered: FieldTexts = new Map();
    for (const { name } of this.definition.columns) {
      const text = fields.get(name);
      if (text !== undefined) ordered.set(name, text);
    }
    return ordered;
  }

  private deletes(view: RecordBatchView, keys: readonly string[]): Uint8Array[] {
    const timestamp = view.header.maxTimestamp;
    const batches: Uint8Array[] = [];
    for (let from = 0; from < keys.length; from += limits.truncateBatchRecords)
      batches.push(
        encodeBatch(
          keys.slice(from, from + limits.truncateBatchRecords).map((key) => ({ key, value: null })),
          { timestamp },
        ),
      );
    return batches;
  }

  /** The batch anew, with its offsets, producer and times; records that are undefined leave holes. */
  private encode(view: RecordBatchView, records: readonly (RecordToEncode | undefined)[]): Uint8Array {
    const { header } = view;
    return encodeBatch(
      records.filter((record) => record !== undefined),
      {
        codec: header.codecId as Codec,
        baseOffset: header.baseOffset,
        partitionLeaderEpoch: header.partitionLeaderEpoch,
        timestampType: header.timestampType,
        timestamp: header.maxTimestamp,
        producerId: header.producerId,
        producerEpoch: header.producerEpoch,
        baseSequence: header.baseSequence,
        isTransactional: header.isTransactional,
        lastOffsetDelta: header.lastOffsetDelta,
      },
    );
  }
}

function placeOf(view: RecordBatchView, record: number) {
  // Only the node says what a delete's sequence is.
  const headers = view.headers(record).filter(({ key }) => key !== sequenceHeader);
  return { offset: view.offset(record), timestamp: view.timestamp(record), headers };
}

function sequenceHeaders(headers: ReturnType<typeof placeOf>["headers"], { sequence }: KeyState) {
  if (sequence === undefined || sequence === "null") return {};
  return { headers: [...headers, { key: sequenceHeader, value: sequence }] };
}
