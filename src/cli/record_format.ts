/**
 * How a record is printed: kcat's and rpk's format tokens in one grammar, their JSON forms, and kcat's plain form with
 * delimiters. A format is compiled once; printing a record appends byte chunks, because keys and values may be any bytes.
 */
import { Buffer } from "node:buffer";
import type { DecodedRecord } from "../protocol/records/decode.ts";

export interface PrintableRecord {
  record: DecodedRecord;
  topic: string;
  partition: number;
  brokerId: number;
  timestampType: "CreateTime" | "LogAppendTime";
}

export type Printer = (record: PrintableRecord, out: Uint8Array[]) => void;

export class FormatError extends Error {
  override name = "FormatError";
}

/** `nullText`: what a null key, value or header value prints as (kcat's -Z). Throws FormatError. */
export function compileFormat(format: string, nullText = ""): Printer {
  const printers: Printer[] = [];
  let literal: number[] = [];
  const flush = () => {
    if (literal.length === 0) return;
    const bytes = Uint8Array.from(literal);
    literal = [];
    printers.push((_record, out) => void out.push(bytes));
  };
  for (let at = 0; at < format.length; ) {
    const character = format[at] as string;
    if (character === "\\") {
      const escaped = readEscape(format, at);
      literal.push(...escaped.bytes);
      at = escaped.end;
    } else if (character === "%" && format[at + 1] === "%") {
      literal.push(0x25);
      at += 2;
    } else if (character === "%") {
      flush();
      const token = readToken(format, at);
      printers.push(tokenPrinter(token.letter, token.modifier, nullText));
      at = token.end;
    } else {
      const symbol = String.fromCodePoint(format.codePointAt(at) as number);
      literal.push(...Buffer.from(symbol));
      at += symbol.length;
    }
  }
  flush();
  return (record, out) => {
    for (const print of printers) print(record, out);
  };
}

/** A delimiter flag (`-K`, `-D`): the same escapes, no tokens. */
export function delimiterBytes(text: string): Uint8Array {
  const bytes: number[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] === "\\") {
      const escaped = readEscape(text, at);
      bytes.push(...escaped.bytes);
      at = escaped.end;
    } else {
      const symbol = String.fromCodePoint(text.codePointAt(at) as number);
      bytes.push(...Buffer.from(symbol));
      at += symbol.length;
    }
  }
  return Uint8Array.from(bytes);
}

const simpleEscapes: Record<string, number> = { n: 10, r: 13, t: 9, "0": 0, "\\": 92 };

function readEscape(text: string, at: number): { bytes: number[]; end: number } {
  const next = text[at + 1];
  const hex = next === "x" ? /^[0-9a-fA-F]{1,2}/.exec(text.slice(at + 2, at + 4))?.[0] : undefined;
  if (hex) return { bytes: [Number.parseInt(hex, 16)], end: at + 2 + hex.length };
  const simple = next === undefined ? undefined : simpleEscapes[next];
  if (simple !== undefined) return { bytes: [simple], end: at + 2 };
  return { bytes: [0x5c], end: at + 1 };
}

/** `%k`, `%k{hex}`, `%h{ %k=%v }`: the modifier's braces nest. */
function readToken(format: string, at: number): { letter: string; modifier: string | undefined; end: number } {
  const letter = format[at + 1];
  if (letter === undefined) throw new FormatError('the format ends with "%"; write %% for a percent sign');
  if (format[at + 2] !== "{") return { letter, modifier: undefined, end: at + 2 };
  let depth = 0;
  for (let i = at + 2; i < format.length; i++) {
    if (format[i] === "{") depth++;
    else if (format[i] === "}" && --depth === 0) return { letter, modifier: format.slice(at + 3, i), end: i + 1 };
  }
  throw new FormatError(`%${letter}{ has no closing }`);
}

function tokenPrinter(letter: string, modifier: string | undefined, nullText: string): Printer {
  const nullBytes = Buffer.from(nullText);
  const text = (bytes: (record: PrintableRecord) => Uint8Array | null): Printer => {
    const encode = textEncoding(letter, modifier);
    return (record, out) => {
      const value = bytes(record);
      out.push(value === null ? nullBytes : encode(value));
    };
  };
  const number = (value: (record: PrintableRecord) => number): Printer => {
    const encode = numberEncoding(letter, modifier);
    return (record, out) => void out.push(encode(value(record)));
  };
  switch (letter) {
    case "s":
    case "v":
      return text(({ record }) => record.value);
    case "k":
      return text(({ record }) => record.key);
    case "t":
      return text(({ topic }) => Buffer.from(topic));
    case "S":
    case "V":
      return number(({ record }) => record.value?.length ?? -1);
    case "K":
      return number(({ record }) => record.key?.length ?? -1);
    case "R": {
      const encode = numberEncoding("R", "big32");
      return ({ record }, out) => void out.push(encode(record.value?.length ?? -1));
    }
    case "p":
      return number(({ partition }) => partition);
    case "o":
      return number(({ record }) => record.offset);
    case "T":
      return number(({ record }) => record.timestamp);
    case "d":
      return timePrinter(modifier);
    case "H":
      return number(({ record }) => record.headers.length);
    case "h":
      return modifier === undefined ? headerList() : headerFormat(modifier, nullText);
    default:
      throw new FormatError(
        `%${letter} is not known; there are %s %v %k %S %V %K %R %t %p %o %T %d %h %H and %% (see rowlog consume --help)`,
      );
  }
}

/** kcat's: `name=value,name=value`, NULL for null. */
function headerList(): Printer {
  const [equals, comma, nothing] = [Buffer.from("="), Buffer.from(","), Buffer.from("NULL")];
  return ({ record }, out) => {
    record.headers.forEach(({ key, value }, index) => {
      if (index > 0) out.push(comma);
      out.push(Buffer.from(key), equals, value ?? nothing);
    });
  };
}

/** rpk's: the inner format once per header, where %k is its name and %v its value. */
function headerFormat(inner: string, nullText: string): Printer {
  const print = compileFormat(inner, nullText);
  return (record, out) => {
    for (const { key, value } of record.record.headers)
      print({ ...record, record: { ...record.record, key: Buffer.from(key), value, headers: [] } }, out);
  };
}

function textEncoding(letter: string, modifier: string | undefined): (bytes: Uint8Array) => Uint8Array {
  switch (modifier) {
    case undefined:
    case "ascii":
      return (bytes) => bytes;
    case "hex":
      return (bytes) => Buffer.from(Buffer.from(bytes).toString("hex"));
    case "base64":
      return (bytes) => Buffer.from(Buffer.from(bytes).toString("base64"));
    case "base64raw":
      return (bytes) => Buffer.from(Buffer.from(bytes).toString("base64").replaceAll("=", ""));
    case "json":
      return (bytes) => Buffer.from(JSON.stringify(Buffer.from(bytes).toString("utf8")));
    default:
      throw new FormatError(`%${letter}{${modifier}} is not known; text takes {hex}, {base64}, {base64raw} or {json}`);
  }
}

function numberEncoding(letter: string, modifier: string | undefined): (value: number) => Uint8Array {
  const match = /^(hex|big|little)(8|16|32|64)$|^(byte)$/.exec(modifier ?? "");
  if (modifier === undefined || modifier === "ascii") return (value) => Buffer.from(String(value));
  if (!match)
    throw new FormatError(
      `%${letter}{${modifier}} is not known; numbers take {hex64}, {big32}, {little16} … or {byte}`,
    );
  const bytes = Number(match[2] ?? 8) / 8;
  return (value) => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64BE(BigInt(value));
    const big = buffer.subarray(8 - bytes);
    if (match[1] === "hex") return Buffer.from(big.toString("hex"));
    return match[1] === "little" ? Uint8Array.from(big).reverse() : big;
  };
}

/** `%d` is milliseconds; `%d{iso}` and rpk's `%d{go[rfc3339]}` are text in UTC. */
function timePrinter(modifier: string | undefined): Printer {
  if (modifier === undefined) return ({ record }, out) => void out.push(Buffer.from(String(record.timestamp)));
  if (/^(iso|rfc3339|go\[(rfc3339|2006-01-02T15:04:05(\.9+)?Z07:00)\])$/i.test(modifier))
    return ({ record }, out) => void out.push(Buffer.from(new Date(record.timestamp).toISOString()));
  if (modifier === "s")
    return ({ record }, out) => void out.push(Buffer.from(String(Math.floor(record.timestamp / 1_000))));
  throw new FormatError(`%d{${modifier}} is not known; there are %d (milliseconds), %d{s} and %d{iso}`);
}

/** kcat's plain form: `key` + K + `value` + D. */
export function delimitedPrinter(
  keyDelimiter: Uint8Array | undefined,
  delimiter: Uint8Array,
  nullText: string,
): Printer {
  const nothing = Buffer.from(nullText);
  return ({ record }, out) => {
    if (keyDelimiter) out.push(record.key ?? nothing, keyDelimiter);
    out.push(record.value ?? nothing, delimiter);
  };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Text as JSON text; bytes that are no UTF-8 go into `<field>_base64`, so that nothing is lost. */
function textOrBase64(field: string, bytes: Uint8Array | null): Record<string, string | null> {
  if (bytes === null) return { [field]: null };
  try {
    return { [field]: utf8.decode(bytes) };
  } catch {
    return { [`${field}_base64`]: Buffer.from(bytes).toString("base64") };
  }
}

/** rpk's JSON: one line a record, or indented for people. */
export function rpkJsonPrinter(indent: boolean): Printer {
  return ({ record, topic, partition }, out) => {
    const body: Record<string, unknown> = { topic, ...(record.key === null ? {} : textOrBase64("key", record.key)) };
    Object.assign(body, textOrBase64("value", record.value));
    if (record.value !== null) body.value_size = record.value.length;
    if (record.headers.length > 0)
      body.headers = record.headers.map(({ key, value }) => ({ key, ...textOrBase64("value", value) }));
    Object.assign(body, { timestamp: record.timestamp, partition, offset: record.offset });
    out.push(Buffer.from(`${JSON.stringify(body, null, indent ? 2 : undefined)}\n`));
  };
}

/** kcat's envelope (-J); its headers are one list of names and values by turns. */
export function kcatJsonPrinter(): Printer {
  return ({ record, topic, partition, brokerId, timestampType }, out) => {
    const tstype = record.timestamp < 0 ? "unknown" : timestampType === "LogAppendTime" ? "logappend" : "create";
    const body: Record<string, unknown> = {
      topic,
      partition,
      offset: record.offset,
      tstype,
      ts: record.timestamp,
      broker: brokerId,
    };
    if (record.headers.length > 0)
      body.headers = record.headers.flatMap(({ key, value }) => [
        key,
        value === null ? null : Buffer.from(value).toString(),
      ]);
    Object.assign(body, textOrBase64("key", record.key), textOrBase64("payload", record.value));
    out.push(Buffer.from(`${JSON.stringify(body)}\n`));
  };
}
