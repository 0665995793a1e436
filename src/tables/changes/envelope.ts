/**
 * Reads the top level of a record's value in one pass: finds what makes it an envelope, a wrapped payload, a row with metadata, or one of the
 * records that connectors send beside rows. An `after` is turned into a row on the way, because an envelope's `op` mostly comes last.
 */
import { type JsonScanner, nullWord, openBrace } from "../json/scan.ts";
import type { Conversion } from "./conversion.ts";
import { FieldNames } from "./field_names.ts";
import { readObject } from "./other_values.ts";
import type { Programs, SchemaEntry } from "./programs.ts";
import type { RowProgram } from "./row_program.ts";

export const absent = 0;
export const isNull = 1;
export const isObject = 2;
export const isOther = 3;
type Presence = 0 | 1 | 2 | 3;

const fields = [
  "before",
  "after",
  "source",
  "transaction",
  "op",
  "ts_ms",
  "ts_us",
  "ts_ns",
  "payload",
  "schema",
  "message",
  "__deleted",
  "__op",
  "status",
  "id",
  "event_count",
  "data_collections",
  "ddl",
  "databaseName",
  "tableChanges",
] as const;
export type EnvelopeField = (typeof fields)[number];

export const fieldBit = Object.fromEntries(fields.map((name, i) => [name, 1 << i])) as Record<EnvelopeField, number>;
const [before, after, , , op, , , , payload, schema, , deleted, flatOp] = fields.map((_, i) => i);

export class EnvelopeScan {
  /** Reads an object behind a schema right away, as the payload that it mostly is. */
  private readonly inner: EnvelopeScan | undefined;
  /** `inner` has read the payload. */
  innerRead = false;

  constructor(inner?: EnvelopeScan) {
    this.inner = inner;
  }

  private readonly names = new FieldNames(fields);
  /** The fields seen, by `fieldBit`. */
  seen = 0;
  /** Fields that are none of these. */
  others = 0;
  /** Text values are spans of the value with their quotes. */
  op: Span = { start: 0, end: 0 };
  deleted: Span = { start: 0, end: 0 };
  flatOp: Span = { start: 0, end: 0 };
  payload: Span = { start: 0, end: 0 };
  schema: SchemaEntry | undefined;
  /** Why "schema" is none; a plain row may have a field of that name. */
  schemaFault = "";
  beforeIs: Presence = absent;
  before: Span = { start: 0, end: 0 };
  afterIs: Presence = absent;
  /** Why `after` is no row of the table. */
  afterFault = "";
  after: Span = { start: 0, end: 0 };
  /** The program that read `after`. */
  row: RowProgram | undefined;
  /** The row that `after` holds. */
  rowBytes: Uint8Array = new Uint8Array(0);
  rowStart = 0;
  rowEnd = 0;

  has(field: EnvelopeField): boolean {
    return (this.seen & fieldBit[field]) !== 0;
  }

  /** Nothing but a payload, with or without a schema. */
  get isWrapper(): boolean {
    return this.others === 0 && (this.seen | fieldBit.schema) === (fieldBit.payload | fieldBit.schema);
  }

  /** Reads the object at the position. `entry`: the schema that was announced for it. False with a syntax error. */
  read(scanner: JsonScanner, context: Conversion, programs: Programs, entry: SchemaEntry | undefined): boolean {
    this.seen = this.others = 0;
    this.schema = undefined;
    this.schemaFault = "";
    this.innerRead = false;
    this.beforeIs = this.afterIs = absent;
    this.afterFault = "";
    return readObject(scanner, (position) => {
      const field = this.names.find(scanner, position);
      return scanner.nameEnd() && this.field(field, scanner, context, programs, entry);
    });
  }

  private field(
    field: number,
    scanner: JsonScanner,
    context: Conversion,
    programs: Programs,
    entry: SchemaEntry | undefined,
  ): boolean {
    if (field < 0) this.others++;
    else this.seen |= 1 << field;
    switch (field) {
      case after:
        return this.readAfter(scanner, context, programs, entry);
      case before:
        this.beforeIs = presence(scanner);
        return spanned(scanner, this.before);
      case op:
        return spanned(scanner, this.op);
      case payload:
        return this.readPayload(scanner, context, programs);
      case deleted:
        return spanned(scanner, this.deleted);
      case flatOp:
        return spanned(scanner, this.flatOp);
      case schema:
        // A payload that was read with another schema is read again.
        this.innerRead = false;
        this.schema = undefined;
        if (scanner.peek() !== openBrace) return scanner.skipValue();
        programs.fault = "";
        this.schema = programs.schemaAt(scanner);
        this.schemaFault = programs.fault;
        return scanner.syntaxError === "";
      default:
        return scanner.skipValue();
    }
  }

  private readPayload(scanner: JsonScanner, context: Conversion, programs: Programs): boolean {
    this.innerRead = false;
    if (this.inner === undefined || this.schema === undefined || scanner.peek() !== openBrace)
      return spanned(scanner, this.payload);
    this.payload.start = scanner.position;
    const { schema } = this;
    if (!this.inner.read(scanner, context, programs, schema)) return false;
    this.payload.end = scanner.position;
    this.innerRead = true;
    return true;
  }

  private readAfter(
    scanner: JsonScanner,
    context: Conversion,
    programs: Programs,
    entry: SchemaEntry | undefined,
  ): boolean {
    this.afterIs = presence(scanner);
    this.afterFault = "";
    const { position, depth } = scanner;
    if (this.afterIs === isNull) return scanner.scanWord(nullWord);
    if (this.afterIs !== isObject) return spanned(scanner, this.after);
    this.after.start = position;
    try {
      this.row = programs.after(entry);
    } catch (error) {
      this.afterFault = `the record's schema cannot be used: ${(error as Error).message}`;
      return spanned(scanner, this.after);
    }
    context.fault = "";
    if (this.row.read(scanner, context)) {
      const { splice } = context;
      this.rowBytes = splice.bytes;
      this.rowStart = splice.start;
      this.rowEnd = splice.end;
      this.after.end = scanner.position;
      return true;
    }
    if (scanner.syntaxError !== "") return false;
    this.afterFault = context.fault;
    // Its reader may have stopped anywhere inside of it.
    scanner.position = position;
    scanner.depth = depth;
    return spanned(scanner, this.after);
  }
}

export interface Span {
  start: number;
  end: number;
}

function presence(scanner: JsonScanner): Presence {
  const byte = scanner.peek();
  return byte === 0x6e ? isNull : byte === openBrace ? isObject : isOther;
}

function spanned(scanner: JsonScanner, span: Span): boolean {
  span.start = scanner.position;
  const read = scanner.skipValue();
  span.end = scanner.position;
  return read;
}
