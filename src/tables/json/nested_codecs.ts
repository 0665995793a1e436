/** LIST, ARRAY, STRUCT and MAP. They recurse, as deep as the column's type does. */
import { ByteSink } from "../arrow/bytes.ts";
import type { ArrowType } from "../arrow/stream.ts";
import { ListVector, StructVector, type Vector } from "../arrow/vectors.ts";
import { ValueCodec, writeJsonString } from "./codec.ts";
import { refuseValue } from "./number_codecs.ts";
import { newStruct, type ObjectField, ObjectReader } from "./objects.ts";
import { closeBrace, closeBracket, comma, type JsonScanner, nullWord, openBrace, openBracket, quote } from "./scan.ts";

const keySink = new ByteSink();
const keyDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A LIST, or an ARRAY when `size` is given. */
export class ListCodec extends ValueCodec {
  override readonly arrow: ArrowType;
  override readonly needsCast: boolean;
  private readonly child: ValueCodec;
  private readonly size: number | undefined;

  constructor(child: ValueCodec, size?: number) {
    super();
    this.child = child;
    this.size = size;
    this.arrow = { kind: "list", child: { name: "item", type: child.arrow } };
    this.needsCast = child.needsCast || size !== undefined;
  }

  override newVector(capacity: number): ListVector {
    return new ListVector(this.child.newVector(capacity), capacity);
  }

  override read(scanner: JsonScanner, vector: ListVector): boolean {
    const start = scanner.position;
    if (scanner.peek() !== openBracket) return refuseValue(scanner, "an array is expected");
    if (!scanner.enter()) return false;
    const child = vector.child;
    let count = 0;
    scanner.skipSpace();
    if (scanner.peek() === closeBracket) scanner.position++;
    else {
      for (; ; count++) {
        if (scanner.peek() === 0x6e) {
          if (!scanner.scanWord(nullWord)) return false;
          child.pushNull();
        } else if (!this.child.read(scanner, child)) {
          if (scanner.syntaxError === "") scanner.faultPath = `[${count}]${scanner.faultPath}`;
          return false;
        }
        scanner.skipSpace();
        const next = scanner.peek();
        if (next === closeBracket) break;
        if (next !== comma) return scanner.syntax('"," or "]"');
        scanner.position++;
        scanner.skipSpace();
      }
      scanner.position++;
      count++;
    }
    scanner.depth--;
    if (this.size !== undefined && count !== this.size)
      return scanner.refuse(start, `an array of ${this.size} values is expected, this one has ${count}`);
    vector.finish();
    return true;
  }

  override write(sink: ByteSink, vector: ListVector, index: number): void {
    const start = vector.offsets[index]!;
    const end = vector.offsets[index + 1]!;
    sink.byte(openBracket);
    for (let i = start; i < end; i++) {
      if (i > start) sink.byte(comma);
      this.child.writeOrNull(sink, vector.child, i);
    }
    sink.byte(closeBracket);
  }
}

export class StructCodec extends ValueCodec {
  override readonly arrow: ArrowType;
  override readonly needsCast: boolean;
  private readonly reader: ObjectReader;

  constructor(fields: readonly ObjectField[]) {
    super();
    this.reader = new ObjectReader(fields);
    this.arrow = { kind: "struct", children: fields.map(({ name, codec }) => ({ name, type: codec.arrow })) };
    this.needsCast = fields.some(({ codec }) => codec.needsCast);
  }

  override newVector(capacity: number): StructVector {
    return newStruct(this.reader, capacity);
  }

  override read(scanner: JsonScanner, vector: StructVector): boolean {
    if (scanner.peek() !== openBrace) return refuseValue(scanner, "an object is expected");
    const { children } = vector;
    const index = vector.length;
    if (!this.reader.read(scanner, children, index)) return false;
    for (let i = 0; i < children.length; i++) {
      if (this.reader.wasSeen(i)) continue;
      children[i]!.pushNull();
      scanner.changed = true;
    }
    vector.finish();
    return true;
  }

  override write(sink: ByteSink, vector: StructVector, index: number): void {
    this.reader.write(sink, vector.children, index);
  }
}

/** A MAP is an object whose field names are the keys; of a repeated key the last one counts, at its own place. */
export class MapCodec extends ValueCodec {
  override readonly arrow: ArrowType;
  override readonly needsCast: boolean;
  private readonly key: ValueCodec;
  private readonly value: ValueCodec;

  constructor(key: ValueCodec, value: ValueCodec) {
    super();
    this.key = key;
    this.value = value;
    this.arrow = mapArrow(key.arrow, value.arrow);
    this.needsCast = key.needsCast || value.needsCast;
  }

  override newVector(capacity: number): ListVector {
    const entries = new StructVector([this.key.newVector(capacity), this.value.newVector(capacity)], capacity);
    return new ListVector(entries, capacity);
  }

  override read(scanner: JsonScanner, vector: ListVector): boolean {
    if (scanner.peek() !== openBrace) return refuseValue(scanner, "an object is expected");
    const start = scanner.position;
    const entries = vector.child as StructVector;
    const first = entries.length;
    if (!this.readEntries(scanner, entries, undefined)) return false;
    const last = this.repeatedKeys(entries, first);
    if (last !== undefined) {
      entries.truncate(first);
      scanner.position = start;
      scanner.changed = true;
      if (!this.readEntries(scanner, entries, last)) return false;
    }
    vector.finish();
    return true;
  }

  /** `wanted`: the entries to keep, by their place in the object; all when absent. */
  private readEntries(scanner: JsonScanner, entries: StructVector, wanted: ReadonlySet<number> | undefined): boolean {
    if (!scanner.enter()) return false;
    scanner.skipSpace();
    if (scanner.peek() === closeBrace) scanner.position++;
    else {
      for (let place = 0; ; place++) {
        if (scanner.peek() !== quote) return scanner.syntax("a field name in quotes");
        if (wanted === undefined || wanted.has(place)) {
          if (!this.readEntry(scanner, entries)) return false;
        } else if (!scanner.scanString() || !scanner.nameEnd() || !scanner.skipValue()) return false;
        scanner.skipSpace();
        const next = scanner.peek();
        scanner.position++;
        if (next === closeBrace) break;
        if (next !== comma) {
          scanner.position--;
          return scanner.syntax('"," or "}"');
        }
        scanner.skipSpace();
      }
    }
    scanner.depth--;
    return true;
  }

  private readEntry(scanner: JsonScanner, entries: StructVector): boolean {
    const keys = entries.children[0]!;
    const values = entries.children[1]!;
    const index = entries.length;
    if (!this.key.read(scanner, keys)) {
      if (scanner.syntaxError === "") scanner.faultPath = ".key";
      return false;
    }
    if (!scanner.nameEnd()) return false;
    if (scanner.peek() === 0x6e) {
      if (!scanner.scanWord(nullWord)) return false;
      values.pushNull();
    } else if (!this.value.read(scanner, values)) {
      if (scanner.syntaxError === "")
        scanner.faultPath = `[${JSON.stringify(this.keyText(keys, index))}]${scanner.faultPath}`;
      return false;
    }
    entries.finish();
    return true;
  }

  /** Undefined when no key repeats, else the places of the last entry of each key. */
  private repeatedKeys(entries: StructVector, first: number): Set<number> | undefined {
    const count = entries.length - first;
    if (count < 2) return undefined;
    const last = new Map<string, number>();
    for (let i = 0; i < count; i++) last.set(this.keyText(entries.children[0]!, first + i), i);
    return last.size === count ? undefined : new Set(last.values());
  }

  private keyText(keys: Vector, index: number): string {
    return keyDecoder.decode(this.keyBytes(keys, index).view());
  }

  private keyBytes(keys: Vector, index: number): ByteSink {
    keySink.length = 0;
    this.key.write(keySink, keys, index);
    return keySink;
  }

  override write(sink: ByteSink, vector: ListVector, index: number): void {
    const entries = vector.child as StructVector;
    const start = vector.offsets[index]!;
    const end = vector.offsets[index + 1]!;
    sink.byte(openBrace);
    for (let i = start; i < end; i++) {
      if (i > start) sink.byte(comma);
      const text = this.keyBytes(entries.children[0]!, i);
      // Keys that are numbers, say, become text, as every name in JSON is.
      if (text.bytes[0] === quote) sink.copy(text.bytes, 0, text.length);
      else writeJsonString(sink, text.bytes, 0, text.length);
      sink.byte(0x3a);
      this.value.writeOrNull(sink, entries.children[1]!, i);
    }
    sink.byte(closeBrace);
  }
}

export function mapArrow(key: ArrowType, value: ArrowType): ArrowType {
  const children = [
    { name: "key", type: key, required: true },
    { name: "value", type: value },
  ];
  return { kind: "map", child: { name: "entries", type: { kind: "struct", children }, required: true } };
}
