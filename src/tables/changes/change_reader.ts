/**
 * What a produced record means for its table: a row, a delete, a truncation, nothing, or a fault.
 *
 * Plain JSON rows go through as they are. Change events (Debezium envelopes, and rows flattened by its ExtractNewRecordState) become rows that the
 * plain row rules read. The table's `format` says which a record is; `auto` looks at the value: an envelope is an object with `op` and
 * (`after` or `before`); a flattened row has `__deleted` or `__op`, or comes with a Connect schema. A table that has a column named op, before,
 * after or payload is never guessed at.
 *
 * Invariant: pure. What a record becomes depends on the record and the table, but for one thing: the key of a null value, which says nothing of its
 * kind, is read as that of the last value before it was.
 */
import type { TableDefinition } from "../../catalog/entries.ts";
import { JsonScanner, nullWord, openBrace, quote } from "../json/scan.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import { besideRows } from "./beside_rows.ts";
import type { Change, SkipReason } from "./change.ts";
import { Conversion, shown } from "./conversion.ts";
import { absent, EnvelopeScan, isNull, isObject, type Span } from "./envelope.ts";
import { Placeholder } from "./placeholder.ts";
import { Programs, type SchemaEntry } from "./programs.ts";
import { KeyReader, prefixLength, type RecordKey } from "./record_key.ts";

export type { Change, SkipReason } from "./change.ts";

export type ChangeKind = Change["kind"];

/** Columns by whose names a table is never taken for one of change events. */
const telling = ["op", "before", "after", "payload"];

export class ChangeReader {
  private readonly format: "json" | "debezium" | "auto";
  private readonly keyNames: readonly string[];
  private readonly columns: ReadonlySet<string>;
  private readonly programs: Programs;
  private readonly context: Conversion;
  private readonly scanner = new JsonScanner();
  private readonly inner = new EnvelopeScan();
  private readonly outer = new EnvelopeScan(this.inner);
  /** The last value was a change event. */
  private lastWasChange: boolean;

  // The change last read. Spans stay good for as long as somebody holds them.
  rowBytes: Uint8Array = new Uint8Array(0);
  rowStart = 0;
  rowEnd = 0;
  unchanged: string[] | undefined;
  /** What the record's key gives; for a delete, the key. */
  readonly key: KeyReader;
  why: SkipReason = "heartbeat";
  message = "";

  constructor(definition: Pick<TableDefinition, "columns" | "key" | "format" | "unavailableValue" | "raw">) {
    this.keyNames = definition.key ?? [];
    this.columns = new Set(definition.columns.map(({ name }) => name));
    const format = definition.format ?? "auto";
    const guessed = !definition.raw && !telling.some((name) => this.columns.has(name));
    this.format = format === "auto" && !guessed ? "json" : format;
    this.lastWasChange = this.format === "debezium";
    this.programs = new Programs(definition);
    this.context = new Conversion(new Placeholder(definition.unavailableValue));
    this.key = new KeyReader(this.keyNames, this.programs, this.context);
  }

  /** Tells of values that another reader took. */
  saw(isChange: boolean): void {
    if (this.format === "auto") this.lastWasChange = isChange;
  }

  /** False: every value is a plain row, whatever it looks like. */
  get interpretsValues(): boolean {
    return this.format !== "json";
  }

  read(key: Uint8Array | null, value: Uint8Array | null): Change {
    const none = this.rowBytes;
    const kind = this.readSpans(key ?? none, 0, key?.length ?? -1, value ?? none, 0, value?.length ?? -1);
    const given = this.key.end >= 0 ? this.key.bytes.subarray(this.key.start, this.key.end) : undefined;
    switch (kind) {
      case "upsert":
        return {
          kind,
          row: this.rowBytes.subarray(this.rowStart, this.rowEnd),
          ...(this.unchanged ? { unchanged: this.unchanged } : {}),
          ...(given ? { key: given } : {}),
        };
      case "delete":
        return { kind, key: given! };
      case "skip":
        return { kind, why: this.why };
      case "fault":
        return { kind, message: this.message };
      default:
        return { kind };
    }
  }

  /** As `read`, but nothing is made: the parts of the change are in this object's fields. A length is -1 for null. */
  readSpans(
    keyBytes: Uint8Array,
    keyStart: number,
    keyLength: number,
    valueBytes: Uint8Array,
    valueStart: number,
    valueLength: number,
  ): ChangeKind {
    this.unchanged = undefined;
    this.key.forget();
    this.context.fault = "";
    const key: RecordKey = { bytes: keyBytes, start: keyStart, length: keyLength };
    if (valueLength < 0) return this.tombstone(key);
    const end = valueStart + valueLength;
    if (this.format === "json") return this.plainRow(valueBytes, valueStart, end, key);
    const { scanner, outer } = this;
    scanner.reset(valueBytes, valueStart + prefixLength(valueBytes, valueStart, valueLength), end);
    scanner.skipSpace();
    const start = scanner.position;
    if (scanner.peek() !== openBrace) {
      if (scanner.peek() === nullWord[0] && this.isNullText()) return this.tombstone(key);
      return this.plainRow(valueBytes, valueStart, end, key);
    }
    if (!outer.read(scanner, this.context, this.programs, undefined)) return this.notRead(valueStart);
    const objectEnd = scanner.position;
    scanner.skipSpace();
    if (scanner.position < end) {
      scanner.syntax("the end of the value");
      return this.notRead(valueStart);
    }
    if (!outer.isWrapper) return this.interpret(outer, undefined, start, objectEnd, key);
    if (outer.schemaFault !== "") return this.fault(outer.schemaFault);
    const payload = outer.payload;
    scanner.position = payload.start;
    scanner.depth = 1;
    if (scanner.peek() === nullWord[0]) return this.tombstone(key);
    if (scanner.peek() !== openBrace) return this.plainRow(valueBytes, payload.start, payload.end, key);
    if (!outer.innerRead && !this.inner.read(scanner, this.context, this.programs, outer.schema))
      return this.notRead(valueStart);
    return this.interpret(this.inner, outer.schema, payload.start, payload.end, key);
  }

  /** The value is the text `null`: what Connect's JsonConverter makes of a null that a transform left, for tables with a key. */
  private isNullText(): boolean {
    const { scanner } = this;
    if (this.keyNames.length === 0 || !scanner.scanWord(nullWord)) return false;
    scanner.skipSpace();
    return scanner.position >= scanner.end;
  }

  /** What the object [start, end) is, whose top level `scan` has read. */
  private interpret(
    scan: EnvelopeScan,
    entry: SchemaEntry | undefined,
    start: number,
    end: number,
    key: RecordKey,
  ): ChangeKind {
    if (scan.has("op") && (scan.has("after") || scan.has("before"))) return this.envelope(scan, entry, key);
    const beside = besideRows(scan, entry, key, this.columns);
    if (beside !== undefined) {
      this.why = beside;
      return "skip";
    }
    if (scan.has("op") && scan.has("source") && !this.columns.has("source"))
      return this.fault('a change event needs a row in "after" or "before", and this one has neither');
    if (this.format === "debezium" && (scan.has("before") || scan.has("after")))
      return this.fault('a change event needs an "op", and this one has none');
    const isFlat =
      this.format === "debezium" ||
      entry?.schema !== undefined ||
      (scan.has("__deleted") && !this.columns.has("__deleted")) ||
      (scan.has("__op") && !this.columns.has("__op"));
    if (isFlat) return this.flattened(scan, entry, start, end, key);
    return this.plainRow(this.scanner.bytes, start, end, key);
  }

  private envelope(scan: EnvelopeScan, entry: SchemaEntry | undefined, key: RecordKey): ChangeKind {
    this.lastWasChange = true;
    const { bytes } = this.scanner;
    const { start, end } = scan.op;
    const op = end - start === 3 && bytes[start] === quote ? bytes[start + 1]! : 0;
    switch (op) {
      case 0x63: // c
      case 0x72: // r
      case 0x75: // u
        return this.upsert(scan, op, key, entry);
      case 0x64: // d
        return this.deletion(key, entry, scan.beforeIs === isObject ? scan.before : undefined, true);
      case 0x74: // t
        return "truncate";
      case 0x6d: // m
        this.why = "message";
        return "skip";
      default:
        return this.fault(
          `a change event's "op" is ${shown(bytes, start, end)}: c, r, u (rows), d (delete), t (truncate) and m (message) are known`,
        );
    }
  }

  private upsert(scan: EnvelopeScan, op: number, key: RecordKey, entry: SchemaEntry | undefined): ChangeKind {
    if (scan.afterIs !== isObject) return this.noRow(scan, op);
    if (scan.afterFault !== "") return this.fault(scan.afterFault);
    const row = scan.row!;
    if (row.found === 0)
      return this.fault("the row in \"after\" has none of this table's columns: it is another table's");
    this.rowBytes = scan.rowBytes;
    this.rowStart = scan.rowStart;
    this.rowEnd = scan.rowEnd;
    this.unchanged = row.unchanged;
    if (!this.key.read(key, true)) return this.fault(this.key.fault);
    if (scan.beforeIs === isObject && this.keyNames.length > 0 && !this.key.isWhole)
      return this.withoutKey(scan, entry, key);
    return "upsert";
  }

  private noRow(scan: EnvelopeScan, op: number): ChangeKind {
    const needs = `a change event with op "${String.fromCharCode(op)}" needs a row in "after"`;
    if (scan.afterIs === absent) return this.fault(`${needs}, which is missing`);
    if (scan.afterIs === isNull) return this.fault(`${needs}, which is null`);
    const { bytes } = this.scanner;
    const { start, end } = scan.after;
    const wayOut =
      bytes[start] === quote
        ? "; MongoDB's connector sends documents as text: its ExtractNewDocumentState transform makes rows of them"
        : "";
    return this.fault(`${needs}, which is ${shown(bytes, start, end)}: an object is expected${wayOut}`);
  }

  /** An update whose record key does not name the row must not move it to another key: that is a delete and an insert, as Debezium sends it. */
  private withoutKey(scan: EnvelopeScan, entry: SchemaEntry | undefined, key: RecordKey): ChangeKind {
    const { bytes } = this.scanner;
    const program = this.programs.keyInRow(entry, true);
    const textOf = (span: Span) =>
      this.key.readRow(bytes, span, program) ? decodeUtf8(this.key.bytes, this.key.start, this.key.end) : undefined;
    const old = textOf(scan.before);
    const now = textOf(scan.after);
    this.key.read(key, true);
    if (old === undefined || now === undefined || old === now) return "upsert";
    return this.fault(
      `an update changes the primary key from ${old} to ${now}, and ${this.key.reason(key)}: a change of key is a delete and an insert`,
    );
  }

  private flattened(
    scan: EnvelopeScan,
    entry: SchemaEntry | undefined,
    start: number,
    end: number,
    key: RecordKey,
  ): ChangeKind {
    this.lastWasChange = true;
    const isDelete = this.isFlatDelete(scan);
    if (isDelete === undefined) return "fault";
    if (isDelete) return this.deletion(key, entry, { start, end }, false);
    const { scanner, context, programs } = this;
    let program: Programs["row"];
    try {
      program = programs.flat(entry);
    } catch (error) {
      return this.badSchema(error);
    }
    scanner.position = start;
    scanner.depth = 0;
    context.fault = "";
    if (!program.read(scanner, context)) return this.notRead(start);
    const { splice } = context;
    this.rowBytes = splice.bytes;
    this.rowStart = splice.start;
    this.rowEnd = splice.end;
    this.unchanged = program.unchanged;
    return this.key.read(key, true) ? "upsert" : this.fault(this.key.fault);
  }

  /** Undefined with a fault. */
  private isFlatDelete(scan: EnvelopeScan): boolean | undefined {
    const { bytes } = this.scanner;
    if (scan.has("__deleted") && !this.columns.has("__deleted")) {
      const text = shown(bytes, scan.deleted.start, scan.deleted.end);
      if (text === '"true"' || text === "true") return true;
      if (text !== '"false"' && text !== "false" && text !== "null") {
        this.fault(`"__deleted" is ${text}: true or false is expected`);
        return undefined;
      }
    }
    if (!scan.has("__op") || this.columns.has("__op")) return false;
    return shown(bytes, scan.flatOp.start, scan.flatOp.end) === '"d"';
  }

  /** A delete of the row that the record's key names, else of the row that `row` shows. */
  private deletion(
    key: RecordKey,
    entry: SchemaEntry | undefined,
    row: Span | undefined,
    isEnvelope: boolean,
  ): ChangeKind {
    if (this.keyNames.length === 0) return this.fault("a delete needs a primary key, and this table has none");
    if (!this.key.read(key, true)) return this.fault(this.key.fault);
    if (this.key.isWhole) return "delete";
    const reason = this.key.reason(key);
    if (row !== undefined)
      try {
        if (this.key.readRow(this.scanner.bytes, row, this.programs.keyInRow(entry, isEnvelope))) return "delete";
        if (this.key.fault !== "") return this.fault(this.key.fault);
      } catch (error) {
        return this.badSchema(error);
      }
    const where = isEnvelope ? 'neither does "before"' : "neither does the row";
    return this.fault(
      `a delete needs the primary key (${this.keyNames.join(", ")}): ${reason}, ${row === undefined ? 'and "before" is no row' : where}`,
    );
  }

  private tombstone(key: RecordKey): ChangeKind {
    if (this.keyNames.length === 0)
      return this.fault("a null value deletes the row of its key, and this table has no primary key");
    if (!this.key.read(key, this.lastWasChange)) return this.fault(this.key.fault);
    if (this.key.isWhole) return "delete";
    return this.fault(
      `a null value deletes the row of its key (${this.keyNames.join(", ")}), and ${this.key.reason(key)}`,
    );
  }

  private plainRow(bytes: Uint8Array, start: number, end: number, key: RecordKey): ChangeKind {
    if (this.format === "auto") this.lastWasChange = false;
    this.rowBytes = bytes;
    this.rowStart = start;
    this.rowEnd = end;
    return this.key.read(key, this.format === "debezium") ? "upsert" : this.fault(this.key.fault);
  }

  private badSchema(error: unknown): "fault" {
    return this.fault(`the record's schema cannot be used: ${(error as Error).message}`);
  }

  private fault(message: string): "fault" {
    this.message = message;
    return "fault";
  }

  /** The value could not be read; positions in messages count from `start`. */
  private notRead(start: number): "fault" {
    const { syntaxError } = this.scanner;
    if (syntaxError === "") return this.fault(this.context.fault);
    return this.fault(syntaxError.replace(/at byte (\d+)/, (_all, at: string) => `at byte ${Number(at) - start}`));
  }
}
