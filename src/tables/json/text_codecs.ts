/** VARCHAR, JSON, BLOB, UUID, ENUM and INTERVAL. */
import { intervalText } from "../../sql/text_of_time.ts";
import type { ByteSink } from "../arrow/bytes.ts";
import type { ArrowType } from "../arrow/stream.ts";
import { BytesVector } from "../arrow/vectors.ts";
import { ValueCodec, writeJsonString } from "./codec.ts";
import { parseInterval } from "./intervals.ts";
import { refuseValue } from "./number_codecs.ts";
import { type JsonScanner, quote } from "./scan.ts";
import { decodeUtf8 } from "./utf8.ts";

abstract class BytesCodec extends ValueCodec {
  override newVector(capacity: number): BytesVector {
    return new BytesVector(capacity, capacity * 16);
  }

  override write(sink: ByteSink, vector: BytesVector, index: number): void {
    writeJsonString(sink, vector.data, vector.start(index), vector.end(index));
  }
}

export class VarcharCodec extends BytesCodec {
  override readonly arrow: ArrowType = { kind: "utf8" };
  override readonly needsCast = false;

  override read(scanner: JsonScanner, vector: BytesVector): boolean {
    if (scanner.peek() === quote) {
      if (!scanner.scanString()) return false;
      scanner.pushText(vector);
      return true;
    }
    const start = scanner.position;
    if (!scanner.skipValue()) return false;
    scanner.changed = true;
    pushCompact(scanner.bytes, start, scanner.position, vector);
    return true;
  }
}

/** Appends valid JSON text without the space between its tokens. */
function pushCompact(bytes: Uint8Array, start: number, end: number, vector: BytesVector): void {
  vector.reserve(end - start);
  const data = vector.data;
  let at = vector.used;
  let inText = false;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (inText) {
      data[at++] = byte;
      if (byte === 0x5c) data[at++] = bytes[++i]!;
      else if (byte === quote) inText = false;
    } else if (byte > 0x20) {
      data[at++] = byte;
      inText = byte === quote;
    }
  }
  vector.used = at;
  vector.finish();
}

/** JSON: the value's own text, space and all, so that what was produced can be read back unchanged. */
export class JsonCodec extends BytesCodec {
  override readonly arrow: ArrowType = { kind: "utf8" };
  override readonly needsCast = false;

  override read(scanner: JsonScanner, vector: BytesVector): boolean {
    const start = scanner.position;
    if (!scanner.skipValue()) return false;
    vector.pushBytes(scanner.bytes, start, scanner.position);
    return true;
  }

  override write(sink: ByteSink, vector: BytesVector, index: number): void {
    sink.copy(vector.data, vector.start(index), vector.end(index));
  }
}

const base64Value = new Int16Array(256).fill(-1);
const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
for (let i = 0; i < 64; i++) base64Value[base64Alphabet.charCodeAt(i)] = i;

export class BlobCodec extends BytesCodec {
  override readonly arrow: ArrowType = { kind: "binary" };
  override readonly needsCast = false;

  override read(scanner: JsonScanner, vector: BytesVector): boolean {
    const rule = "base64 text is expected";
    if (scanner.peek() !== quote) return refuseValue(scanner, rule);
    const start = scanner.position;
    if (!scanner.scanString()) return false;
    scanner.plainSpan();
    const { spanBytes: bytes, spanStart } = scanner;
    let end = scanner.spanEnd;
    if ((end - spanStart) % 4 !== 0) return scanner.refuse(start, `${rule}, padded with "=" to a multiple of 4`);
    if (end > spanStart && bytes[end - 1] === 0x3d) end -= bytes[end - 2] === 0x3d ? 2 : 1;
    vector.reserve(((end - spanStart) * 3) >> 2);
    const data = vector.data;
    let at = vector.used;
    let bits = 0;
    let count = 0;
    for (let i = spanStart; i < end; i++) {
      const value = base64Value[bytes[i]!]!;
      if (value < 0) return scanner.refuse(start, rule);
      bits = ((bits << 6) | value) & 0xffffff;
      count += 6;
      if (count >= 8) {
        count -= 8;
        data[at++] = bits >> count;
      }
    }
    // Bits that belong to no byte must be zero: otherwise two texts would mean the same bytes.
    if ((bits & ((1 << count) - 1)) !== 0)
      return scanner.refuse(start, `${rule}; its last character has bits that belong to no byte`);
    vector.used = at;
    vector.finish();
    return true;
  }

  override write(sink: ByteSink, vector: BytesVector, index: number): void {
    sink.byte(quote);
    writeBase64(sink, vector.data, vector.start(index), vector.end(index));
    sink.byte(quote);
  }
}

export function writeBase64(sink: ByteSink, bytes: Uint8Array, start: number, end: number): void {
  sink.reserve(Math.ceil((end - start) / 3) * 4);
  const sign = (value: number) => base64Alphabet.charCodeAt(value & 63);
  for (let i = start; i < end; i += 3) {
    const left = end - i;
    const bits = (bytes[i]! << 16) | (left > 1 ? bytes[i + 1]! << 8 : 0) | (left > 2 ? bytes[i + 2]! : 0);
    sink.byte(sign(bits >> 18));
    sink.byte(sign(bits >> 12));
    sink.byte(left > 1 ? sign(bits >> 6) : 0x3d);
    sink.byte(left > 2 ? sign(bits) : 0x3d);
  }
}

/** Types whose values are kept as text in one spelling, which DuckDB casts: `canonical` gives it, or undefined. */
abstract class SpelledCodec extends BytesCodec {
  override readonly arrow: ArrowType = { kind: "utf8" };
  override readonly needsCast = true;
  protected abstract readonly rule: string;
  protected abstract canonical(text: string): string | undefined;

  override read(scanner: JsonScanner, vector: BytesVector): boolean {
    if (scanner.peek() !== quote) return refuseValue(scanner, this.rule);
    const start = scanner.position;
    if (!scanner.scanString()) return false;
    const text = scanner.textValue();
    const spelled = this.canonical(text);
    if (spelled === undefined) return scanner.refuse(start, this.rule);
    if (spelled !== text) scanner.changed = true;
    vector.pushText(spelled);
    return true;
  }
}

/** Digits in groups of 8-4-4-4-12; as DuckDB, braces around them and missing dashes are accepted. */
export class UuidCodec extends SpelledCodec {
  protected override readonly rule = "the text of a UUID is expected";

  protected override canonical(text: string): string | undefined {
    const braced = text.startsWith("{") && text.endsWith("}") ? text.slice(1, -1) : text;
    const digits = braced.replaceAll("-", "").toLowerCase();
    if (!/^[0-9a-f]{32}$/.test(digits)) return undefined;
    const grouped = `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
    return braced.length === 32 || braced.toLowerCase() === grouped ? grouped : undefined;
  }
}

export class EnumCodec extends SpelledCodec {
  protected override readonly rule: string;
  private readonly values: ReadonlySet<string>;

  constructor(values: readonly string[]) {
    super();
    this.values = new Set(values);
    const shown = values.slice(0, 10).map((value) => JSON.stringify(value));
    this.rule = `one of ${shown.join(", ")}${values.length > 10 ? ", …" : ""} is expected`;
  }

  protected override canonical(text: string): string | undefined {
    return this.values.has(text) ? text : undefined;
  }
}

/**
 * Kept as counts of its three parts: DuckDB's cast does not read every clock time that it prints (none of 2,147,483,648 hours and more).
 */
export class IntervalCodec extends BytesCodec {
  override readonly arrow: ArrowType = { kind: "utf8" };
  override readonly needsCast = true;

  override read(scanner: JsonScanner, vector: BytesVector): boolean {
    const rule = 'the text of an interval is expected, such as "3 days 04:05:06" or "P3DT4H5M6S"';
    if (scanner.peek() !== quote) return refuseValue(scanner, rule);
    const start = scanner.position;
    if (!scanner.scanString()) return false;
    const text = scanner.textValue();
    const interval = parseInterval(text);
    if (interval === undefined) return scanner.refuse(start, rule);
    const { months, days, micros } = interval;
    if (intervalText(months, days, micros) !== text) scanner.changed = true;
    vector.pushText(`${months} months ${days} days ${micros} us`);
    return true;
  }

  override write(sink: ByteSink, vector: BytesVector, index: number): void {
    const [months, , days, , micros] = decodeUtf8(vector.data, vector.start(index), vector.end(index)).split(" ");
    sink.ascii(`"${intervalText(Number(months), Number(days), BigInt(micros!))}"`);
  }
}
