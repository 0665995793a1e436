/**
 * JSON objects whose fields go to known places: STRUCT values, and rows (row.ts), which follow the same rules.
 *
 * A field is found by its exact name; unknown ones are dropped; of a repeated field the last one counts, so a bad earlier one does no harm.
 */
import { ByteSink } from "../arrow/bytes.ts";
import { StructVector, type Vector } from "../arrow/vectors.ts";
import { type ValueCodec, writeJsonString } from "./codec.ts";
import { closeBrace, comma, type JsonScanner, nullWord, quote } from "./scan.ts";
import { decodeUtf8 } from "./utf8.ts";

export interface ObjectField {
  name: string;
  codec: ValueCodec;
}

interface PendingFault {
  path: string;
  fault: string;
  start: number;
  end: number;
}

/** Positions in an object for which the field that stood there last is remembered. */
const predictionsMax = 256;

export class ObjectReader {
  readonly fields: readonly ObjectField[];
  /** For each field, its name as JSON with the colon behind. */
  readonly labels: readonly Uint8Array[];
  private readonly codecs: readonly ValueCodec[];
  private readonly names: readonly Uint8Array[];
  private readonly byName = new Map<string, number>();
  /** The field that stood at each position of the last object: objects of one source mostly look alike. */
  private readonly predicted: Int32Array;
  /** The object in which each field was last seen, by its number. */
  private readonly seen: Float64Array;
  private objects = 0;
  private pending: Map<number, PendingFault> | undefined;

  constructor(fields: readonly ObjectField[]) {
    this.fields = fields;
    this.codecs = fields.map((field) => field.codec);
    this.names = fields.map((field) => new TextEncoder().encode(field.name));
    this.labels = this.names.map((name) => {
      const sink = new ByteSink(name.length + 3);
      writeJsonString(sink, name, 0, name.length);
      sink.byte(0x3a);
      return sink.take();
    });
    fields.forEach((field, index) => {
      this.byName.set(field.name, index);
    });
    this.predicted = new Int32Array(predictionsMax).fill(-1);
    this.seen = new Float64Array(fields.length);
  }

  wasSeen(field: number): boolean {
    return this.seen[field] === this.objects;
  }

  /**
   * Reads the object at the position (its opening brace is there) into value `index` of the children. Fields that it lacks are left for
   * the caller (`wasSeen`). False with a fault or syntax error set when it is refused.
   */
  read(scanner: JsonScanner, children: readonly Vector[], index: number): boolean {
    this.objects++;
    this.pending = undefined;
    if (!scanner.enter()) return false;
    scanner.skipSpace();
    if (scanner.peek() === closeBrace) scanner.position++;
    else {
      for (let position = 0; ; position++) {
        if (scanner.peek() !== quote) return scanner.syntax("a field name in quotes");
        if (!scanner.scanString()) return false;
        const field = this.find(scanner, position);
        if (!scanner.nameEnd()) return false;
        if (field < 0) {
          if (!scanner.skipValue()) return false;
          scanner.changed = true;
        } else if (!this.readField(scanner, field, children[field]!, index)) return false;
        scanner.skipSpace();
        const next = scanner.peek();
        if (next === closeBrace) {
          scanner.position++;
          break;
        }
        if (next !== comma) return scanner.syntax('"," or "}"');
        scanner.position++;
        scanner.skipSpace();
      }
    }
    scanner.depth--;
    return this.raise(scanner);
  }

  private readField(scanner: JsonScanner, field: number, child: Vector, index: number): boolean {
    if (this.seen[field] === this.objects) {
      child.truncate(index);
      scanner.changed = true;
      this.pending?.delete(field);
    } else this.seen[field] = this.objects;
    if (scanner.peek() === 0x6e) {
      if (!scanner.scanWord(nullWord)) return false;
      child.pushNull();
      return true;
    }
    const start = scanner.position;
    const depth = scanner.depth;
    if (this.codecs[field]!.read(scanner, child)) return true;
    if (scanner.syntaxError !== "") return false;
    this.pending ??= new Map();
    this.pending.set(field, {
      path: `.${this.fields[field]!.name}${scanner.faultPath}`,
      fault: scanner.fault,
      start: scanner.faultStart,
      end: scanner.faultEnd,
    });
    scanner.clearFault();
    // The value is passed over once more, because its reader may have stopped anywhere inside it.
    scanner.position = start;
    scanner.depth = depth;
    child.truncate(index);
    child.pushNull();
    return scanner.skipValue();
  }

  /** False when a field is at fault. */
  private raise(scanner: JsonScanner): boolean {
    const first = this.pending?.values().next().value;
    if (first === undefined) return true;
    scanner.fault = first.fault;
    scanner.faultPath = first.path;
    scanner.faultStart = first.start;
    scanner.faultEnd = first.end;
    return false;
  }

  /** The field whose name was just scanned, or -1. */
  private find(scanner: JsonScanner, position: number): number {
    const { bytes, textStart, textEnd } = scanner;
    if (position < predictionsMax && !scanner.textEscaped) {
      const guess = this.predicted[position]!;
      if (guess >= 0 && sameBytes(this.names[guess]!, bytes, textStart, textEnd)) return guess;
    }
    const name = scanner.textEscaped ? scanner.textValue() : decodeUtf8(bytes, textStart, textEnd);
    const field = this.byName.get(name) ?? -1;
    if (position < predictionsMax) this.predicted[position] = field;
    return field;
  }

  /** Writes the object at `index`: every field, in the fields' order, null ones too. */
  write(sink: ByteSink, children: readonly Vector[], index: number): void {
    sink.byte(0x7b);
    for (let i = 0; i < this.codecs.length; i++) {
      if (i > 0) sink.byte(0x2c);
      const label = this.labels[i]!;
      sink.copy(label, 0, label.length);
      this.codecs[i]!.writeOrNull(sink, children[i]!, index);
    }
    sink.byte(0x7d);
  }

  newChildren(capacity: number): Vector[] {
    return this.codecs.map((codec) => codec.newVector(capacity));
  }
}

function sameBytes(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return false;
  return true;
}

/** The STRUCT that an object's fields make. */
export function newStruct(reader: ObjectReader, capacity: number): StructVector {
  return new StructVector(reader.newChildren(capacity), capacity);
}
