/**
 * Batches to the changes that they make: rows as columns for DuckDB, keys as the log has them, deletes, and records that are nothing for the
 * table. It reads batches as they are produced, and reads them back from the log, where every record is in the form that the table stores.
 *
 * Invariant: either every record of the batch is a change (or nothing), or `faults` names the records that are not and the rest is to be
 * thrown away; batches from the log keep what is good.
 */
import { limits } from "../../base/limits.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import { keyWords, ownKeys } from "../../hotpath/json_rows.ts";
import type { RecordBatchView } from "../../protocol/records/decode.ts";
import { nullPart } from "../../protocol/records/rewrite.ts";
import { parseType } from "../../sql/types.ts";
import { ByteSink } from "../arrow/bytes.ts";
import type { Vector } from "../arrow/vectors.ts";
import { ChangeReader } from "../changes/change_reader.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import { behindPrefix, keepRewritten, pushRecordColumns, registryPrefixBytes, rewriteTarget } from "../row_decoder.ts";
import { RowKernel } from "../row_kernel.ts";
import { type MissingValue, RowReader } from "../row_reader.ts";
import type { RowSchema } from "../row_schema.ts";
import { type ChangeBatch, isDelete, isHole, keyTextWords } from "./change_batch.ts";
import { EventRows } from "./event_rows.ts";
import { KeyCodec } from "./key_codec.ts";
import { keyHash } from "./key_hash.ts";
import { sequenceHeader } from "./sequence_order.ts";

/** A batch under way. */
interface Run {
  batch: RecordBatchView;
  partition: number;
  result: ChangeBatch;
  children: readonly Vector[];
  missing: readonly MissingValue[];
}

export class ChangeDecoder {
  readonly schema: RowSchema;
  readonly key: KeyCodec | undefined;
  private readonly changes: ChangeReader;
  private readonly rows: RowReader;
  private readonly kernel: RowKernel | undefined;
  /** The kernel may take values as they are. */
  private readonly takesPlain: boolean = false;
  /** Finds rows in change events for the kernel. */
  private readonly events: EventRows | undefined;
  /** The key of one record. */
  private readonly ownKey: Vector[];
  private readonly scratch = new ByteSink();
  private readonly hasSequence: boolean;
  /** Which row of a key is the later one depends on what the table holds. */
  private readonly usesSequence: boolean;

  /** Whether a table's records may be anything but its rows. */
  static isFor(definition: TableDefinition): boolean {
    return definition.key !== undefined || new ChangeReader(definition).interpretsValues;
  }

  /** `fromLog`: records have the form that the table stores. `resolved`: they are plain rows and deletes (event_resolver.ts). */
  constructor(
    schema: RowSchema,
    definition: TableDefinition,
    options: { fromLog?: boolean; resolved?: boolean; kernel?: boolean } = {},
  ) {
    const { fromLog = false } = options;
    this.schema = schema;
    this.rows = new RowReader(schema);
    this.changes = new ChangeReader(fromLog || options.resolved ? { ...definition, format: "json" } : definition);
    this.key = definition.key && new KeyCodec(schema, definition.key);
    this.ownKey = this.key?.newVectors(1) ?? [];
    this.hasSequence = definition.sequenceBy !== undefined;
    this.usesSequence = this.hasSequence && !fromLog && !options.resolved;
    if (options.kernel === false || schema.raw) return;
    this.takesPlain = fromLog || options.resolved || definition.format !== "debezium";
    // Without a key, an event may have none of the table's columns and still be taken; JSON comes as text in events.
    // The kernel knows the usual text in place of values that were not sent.
    const isUsual = definition.unavailableValue === undefined && !schema.fields.some(isJson);
    const readsEvents = this.changes.interpretsValues && this.key !== undefined && isUsual;
    if (readsEvents) this.events = new EventRows();
    if (this.takesPlain || readsEvents)
      this.kernel = RowKernel.create(schema.fields, {
        key: this.key?.fields ?? [],
        guard: this.changes.interpretsValues,
      });
  }

  /** `missing`: one for each field column of the schema. */
  decode(batch: RecordBatchView, partition: number, missing: readonly MissingValue[]): ChangeBatch {
    const run = this.begin(batch, partition, missing);
    const { result } = run;
    for (let record = 0; record < batch.count; record++) {
      for (let taken = -1; taken !== 0; record += taken) taken = this.takeRows(run, record);
      if (record === batch.count) break;
      const fault = this.decodeRecord(run, record);
      if (fault === undefined) continue;
      result.faultCount++;
      result.rowOf[record] = isHole;
      if (result.faults.length < limits.recordErrorsMax) result.faults.push({ index: record, message: fault });
      this.truncate(run, record);
    }
    if (this.usesSequence && batch.count > result.holes) result.needsTable = true;
    return result;
  }

  private begin(batch: RecordBatchView, partition: number, missing: readonly MissingValue[]): Run {
    const { schema, key } = this;
    const { count } = batch;
    const { columns, children } = schema.sets.take(count);
    const result: ChangeBatch = {
      records: count,
      span: batch.header.lastOffsetDelta + 1,
      deltas: deltasOf(batch),
      rows: 0,
      columns,
      faults: [],
      faultCount: 0,
      newValues: undefined,
      rewritten: undefined,
      missing: undefined,
      rowOf: new Int32Array(count),
      keys: key && { text: new ByteSink(count * 16 + 64), words: new Int32Array(count * keyTextWords) },
      writesKey: undefined,
      gone: key?.newVectors(4) ?? [],
      deletes: 0,
      holes: 0,
      skipped: undefined,
      sequences: undefined,
      needsTable: false,
    };
    const run = { batch, partition, result, children, missing };
    this.events?.begin(batch);
    if (this.kernel !== undefined) {
      const mayMiss = schema.fields.map(({ notNull }, i) => !notNull && missing[i]!.kind === "null");
      this.kernel.begin(
        children,
        mayMiss,
        (...rows) => keepRewritten(batch, result, ...rows),
        (record, taken, text, words) => this.keepKeys(result, record, taken, text, words),
      );
    }
    return run;
  }

  /** Keys of rows that the kernel took; whether the record's own key says the same is checked by takeRows. */
  private keepKeys(result: ChangeBatch, record: number, count: number, text: Uint8Array, words: Int32Array): void {
    const keys = result.keys!;
    const base = keys.text.length;
    keys.text.copy(text, 0, text.length);
    let start = base;
    for (let i = 0, from = 0, to = record * keyTextWords; i < count; i++, from += keyWords, to += keyTextWords) {
      const end = base + words[from]!;
      keys.words[to] = start;
      keys.words[to + 1] = end;
      keys.words[to + 2] = words[from + 1]!;
      start = end;
      if (words[from + 2] === ownKeys.same) continue;
      writesKeyOf(result)[record + i] = words[from + 2] === ownKeys.none ? 1 : 2;
    }
  }

  /** Rows from `record` on that the kernel reads; how many. */
  private takeRows(run: Run, record: number): number {
    if (this.kernel === undefined) return 0;
    const { batch } = run;
    const end = this.events?.find(batch, record) ?? record;
    if (end === record) {
      if (!this.takesPlain) return 0;
      const taken = this.keepRows(run, record, this.kernel.take(batch, record));
      if (taken > 0) this.changes.saw(false);
      return taken;
    }
    const { index } = this.events!;
    // In the log an event's row stands in the place of the event.
    const taken = this.keepRows(run, record, this.kernel.take(batch, record, index, end));
    if (taken > 0) this.changes.saw(true);
    return taken;
  }

  /** Takes the rows of `taken` records up to one that is at fault; how many. */
  private keepRows(run: Run, record: number, taken: number): number {
    const { batch, partition, result } = run;
    const hasOwn = this.schema.record.length > 0;
    for (let i = 0; i < taken; i++) {
      const at = record + i;
      const fault =
        (hasOwn ? pushRecordColumns(this.schema, batch, at, partition, result) : undefined) ??
        (result.writesKey?.[at] === 2 ? this.checkOwnKey(run, at) : undefined);
      if (fault === undefined) {
        result.rowOf[at] = result.rows++;
        continue;
      }
      // That record's own parts are at fault: it is read again alone, and so are some of those behind it.
      this.kernel?.putOff(at);
      this.truncate(run, at);
      return i;
    }
    return taken;
  }

  /** Takes back what is there of `record` and of those behind it. */
  private truncate({ result }: Run, record: number): void {
    for (const column of result.columns) column.truncate(Math.min(column.length, result.rows));
    for (const column of result.gone) column.truncate(Math.min(column.length, result.deletes));
    const { keys } = result;
    if (keys !== undefined) keys.text.length = record === 0 ? 0 : keys.words[(record - 1) * keyTextWords + 1]!;
    result.writesKey?.fill(0, record);
  }

  private decodeRecord(run: Run, record: number): string | undefined {
    const { batch, result } = run;
    const { changes } = this;
    const kind = changes.readSpans(
      batch.plain,
      batch.keyStart(record),
      batch.keyLength(record),
      batch.plain,
      batch.valueStart(record),
      batch.valueLength(record),
    );
    switch (kind) {
      case "upsert":
        return this.upsert(run, record);
      case "delete":
        return this.deletion(run, record);
      case "fault":
        return changes.message;
      case "truncate":
        if (this.key === undefined)
          return "a truncation deletes every row, and this table has no primary key by which a log could say so";
        result.needsTable = true;
        this.hole(result, record);
        return undefined;
      default:
        result.skipped ??= new Map();
        result.skipped.set(changes.why, (result.skipped.get(changes.why) ?? 0) + 1);
        this.hole(result, record);
        return undefined;
    }
  }

  private hole(result: ChangeBatch, record: number): void {
    result.rowOf[record] = isHole;
    result.holes++;
    this.endKey(result, record, result.keys?.text.length ?? 0);
  }

  private upsert(run: Run, record: number): string | undefined {
    const { batch, result, children, missing } = run;
    const { changes, rows, key } = this;
    if (changes.unchanged !== undefined) {
      if (this.key === undefined)
        return `column "${changes.unchanged[0]}": the source did not send its value, because it has not changed, and a table without a primary key has no row to take it from`;
      // What the table holds decides what the row is.
      result.needsTable = true;
      this.hole(result, record);
      return undefined;
    }
    const ownFault = pushRecordColumns(this.schema, batch, record, run.partition, result);
    if (ownFault !== undefined) return ownFault;
    const { rowBytes, rowStart, rowEnd } = changes;
    const hasOwnKey = key !== undefined && changes.key.end >= 0;
    if (hasOwnKey) {
      const fault = this.readOwnKey(changes.key.bytes, changes.key.start, changes.key.end);
      if (fault !== undefined) return fault;
    }
    const fill = hasOwnKey ? (field: number, child: Vector) => this.fillFromKey(field, child) : undefined;
    const prefix = registryPrefix(batch, record, rowBytes);
    const from = Math.max(rowStart, batch.valueStart(record) + prefix);
    const fault = rows.read(rowBytes, prefix > 0 ? from : rowStart, rowEnd, result, children, missing, fill);
    if (fault !== undefined) return prefix === 0 ? fault : behindPrefix(batch, record, fault);
    let isChanged = rows.changed;
    if (key !== undefined) {
      if (key.dropSigns((column) => children[key.fields[column]!]!, result.rows)) isChanged = true;
      this.writeKey(run, record);
      if (hasOwnKey) {
        const difference = this.difference(run);
        if (difference !== undefined) return difference;
      }
    }
    // Without a key the log is the table's history, and keeps the prefix.
    const keptPrefix = key === undefined ? prefix : 0;
    if (isChanged || !isWholeValue(batch, record, keptPrefix, rowBytes, rowStart, rowEnd)) {
      const { sink, newValues } = rewriteTarget(batch, record, result);
      newValues[record * 2] = sink.length;
      if (keptPrefix > 0) sink.copy(rowBytes, batch.valueStart(record), batch.valueStart(record) + keptPrefix);
      if (isChanged) rows.write(sink, children, result.rows);
      else sink.copy(rowBytes, rowStart, rowEnd);
      newValues[record * 2 + 1] = sink.length;
    }
    result.rowOf[record] = result.rows++;
    return undefined;
  }

  private deletion(run: Run, record: number): string | undefined {
    const { batch, result } = run;
    const { changes } = this;
    const key = this.key!;
    const at = result.deletes;
    const fault = key.read(changes.key.bytes, changes.key.start, changes.key.end, result.gone, at);
    if (fault !== undefined) return fault;
    const lacking = key.lacking(result.gone, at);
    if (lacking !== undefined) return `a delete needs the primary key, and the record's key has no "${lacking}"`;
    key.dropSigns((column) => result.gone[column]!, at);
    const { text } = result.keys!;
    key.write(text, (column) => result.gone[column]!, at);
    this.endKey(result, record, text.length);
    this.compareOwnKey(run, record);
    if (batch.valueLength(record) >= 0) rewriteTarget(batch, record, result).newValues[record * 2] = nullPart;
    if (this.hasSequence) this.keepSequence(run, record);
    result.rowOf[record] = isDelete;
    result.deletes++;
    return undefined;
  }

  private keepSequence({ batch, result }: Run, record: number): void {
    const { text, words } = result.keys!;
    const key = decodeUtf8(text.bytes, words[record * keyTextWords]!, words[record * keyTextWords + 1]!);
    const header = batch.headers(record).find((one) => one.key === sequenceHeader);
    result.sequences ??= new Map();
    result.sequences.set(key, header?.value ? new TextDecoder().decode(header.value) : undefined);
  }

  /** The text of what is wrong with it. */
  private readOwnKey(bytes: Uint8Array, start: number, end: number): string | undefined {
    for (const vector of this.ownKey) vector.truncate(0);
    return this.key!.read(bytes, start, end, this.ownKey, 0);
  }

  /** Gives a column of the key that the value lacks what the record's key says. */
  private fillFromKey(field: number, child: Vector): boolean {
    const key = this.key!;
    const column = key.fields.indexOf(field);
    if (column < 0 || !key.wasSeen(column)) return false;
    child.append(this.ownKey[column]!, 0, 1);
    return true;
  }

  private writeKey({ batch, result, children }: Run, record: number): void {
    const key = this.key!;
    const { text } = result.keys!;
    key.write(text, (column) => children[key.fields[column]!]!, result.rows);
    this.endKey(result, record, text.length);
    this.compareOwnKey({ batch, result }, record);
  }

  private endKey({ keys }: ChangeBatch, record: number, end: number): void {
    if (keys === undefined) return;
    const word = record * keyTextWords;
    const start = record === 0 ? 0 : keys.words[word - keyTextWords + 1]!;
    keys.words[word] = start;
    keys.words[word + 1] = end;
    keys.words[word + 2] = keyHash(keys.text.bytes, start, end);
  }

  /** Notes a record whose own key has other bytes than the table's. */
  private compareOwnKey({ batch, result }: Pick<Run, "batch" | "result">, record: number): void {
    const { text, words } = result.keys!;
    const start = words[record * keyTextWords]!;
    const length = words[record * keyTextWords + 1]! - start;
    const ownStart = batch.keyStart(record);
    let same = batch.keyLength(record) === length;
    for (let i = 0; same && i < length; i++) same = text.bytes[start + i] === batch.plain[ownStart + i];
    if (!same) writesKeyOf(result)[record] = 1;
  }

  /** A row that the kernel took, whose record has a key that must be read before it can be compared. */
  private checkOwnKey(run: Run, record: number): string | undefined {
    const { batch, result } = run;
    const kind = this.changes.readSpans(
      batch.plain,
      batch.keyStart(record),
      batch.keyLength(record),
      batch.plain,
      batch.valueStart(record),
      batch.valueLength(record),
    );
    if (kind !== "upsert") return kind === "fault" ? this.changes.message : kind;
    const { key } = this.changes;
    result.writesKey![record] = 1;
    if (key.end < 0) return undefined;
    return this.readOwnKey(key.bytes, key.start, key.end) ?? this.difference(run);
  }

  /** Says how the key of the record, last read, differs from that of row `rows`. */
  private difference({ result, children }: Run): string | undefined {
    const key = this.key!;
    const { scratch } = this;
    for (let column = 0; column < key.fields.length; column++) {
      if (!key.wasSeen(column)) continue;
      scratch.length = 0;
      const own = this.ownKey[column]!;
      if (!own.isNull(0)) key.dropSigns((at) => this.ownKey[at]!, 0);
      key.codec(column).writeOrNull(scratch, own, 0);
      const middle = scratch.length;
      key.codec(column).writeOrNull(scratch, children[key.fields[column]!]!, result.rows);
      const ownText = scratch.bytes.subarray(0, middle);
      const text = scratch.bytes.subarray(middle, scratch.length);
      if (sameBytes(ownText, text)) continue;
      const { name } = this.schema.fields[key.fields[column]!]!;
      return `column "${name}": the record's key says ${shown(ownText)} and its value ${shown(text)}`;
    }
    return undefined;
  }
}

function isJson({ type }: { type: string }): boolean {
  return parseType(type).kind === "json";
}

/** Undefined for a batch with a record for each of its offsets. */
function deltasOf(batch: RecordBatchView): Int32Array | undefined {
  if (batch.header.lastOffsetDelta + 1 === batch.count) return undefined;
  const deltas = new Int32Array(batch.count);
  for (let record = 0; record < batch.count; record++) deltas[record] = batch.offset(record) - batch.header.baseOffset;
  return deltas;
}

function writesKeyOf(result: ChangeBatch): Uint8Array {
  result.writesKey ??= new Uint8Array(result.records);
  return result.writesKey;
}

/** Length of the schema registry's prefix before a row that is part of the record's value. */
function registryPrefix(batch: RecordBatchView, record: number, bytes: Uint8Array): number {
  const isThere = batch.valueLength(record) >= registryPrefixBytes && batch.plain[batch.valueStart(record)] === 0;
  return isThere && bytes === batch.plain ? registryPrefixBytes : 0;
}

/** The row is the record's value behind `prefix` bytes, but for white space around it. */
function isWholeValue(
  batch: RecordBatchView,
  record: number,
  prefix: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (bytes !== batch.plain) return false;
  const valueStart = batch.valueStart(record) + prefix;
  const valueEnd = batch.valueStart(record) + batch.valueLength(record);
  if (end > valueEnd) return false;
  for (let at = valueStart; at < start; at++) if (!isSpace(bytes[at]!)) return false;
  for (let at = end; at < valueEnd; at++) if (!isSpace(bytes[at]!)) return false;
  return true;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

const shownMax = 60;

function shown(json: Uint8Array): string {
  const text = new TextDecoder().decode(json);
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
