/** DATE, TIME and the timestamps. */
import { dateText, timestampText, timeText } from "../../sql/text_of_time.ts";
import type { ByteSink } from "../arrow/bytes.ts";
import type { ArrowType, TimeUnit } from "../arrow/stream.ts";
import { FixedVector } from "../arrow/vectors.ts";
import { ValueCodec } from "./codec.ts";
import { refuseValue } from "./number_codecs.ts";
import { scaledInteger } from "./numbers.ts";
import { asciiText, type JsonScanner, minus, quote } from "./scan.ts";
import { infiniteDate, infiniteTimestamp, TimeReader } from "./times.ts";

const reader = new TimeReader();

/** 1 for "infinity", -1 for "-infinity" as the whole of the last string, else 0. */
function infinitySign(scanner: JsonScanner): number {
  const length = scanner.textEnd - scanner.textStart;
  if (length !== 8 && length !== 9) return 0;
  const text = asciiText(scanner.bytes, scanner.textStart, scanner.textEnd);
  return text === "infinity" ? 1 : text === "-infinity" ? -1 : 0;
}

function isNumberStart(byte: number): boolean {
  return byte === minus || (byte >= 0x30 && byte <= 0x39);
}

/** The integer at the position; undefined with a fault when it is no integer. */
function readInteger(scanner: JsonScanner, rule: string): bigint | undefined {
  const start = scanner.position;
  if (!scanner.scanNumber()) return undefined;
  const integer = scaledInteger(scanner, 0);
  if (integer?.exact) return integer.value;
  scanner.refuse(start, rule);
  return undefined;
}

export class DateCodec extends ValueCodec {
  override readonly arrow: ArrowType = { kind: "date" };
  override readonly needsCast = false;

  override newVector(capacity: number): FixedVector {
    return new FixedVector(4, capacity);
  }

  override read(scanner: JsonScanner, vector: FixedVector): boolean {
    const rule = "an ISO 8601 date such as 2024-05-01, or an integer of days since 1970 is expected";
    const start = scanner.position;
    const byte = scanner.peek();
    let days: number;
    if (byte === quote) {
      if (!scanner.scanString()) return false;
      const sign = infinitySign(scanner);
      if (sign !== 0) {
        vector.pushWord(sign * infiniteDate);
        return true;
      }
      scanner.plainSpan();
      if (!reader.readDate(scanner.spanBytes, scanner.spanStart, scanner.spanEnd)) return scanner.refuse(start, rule);
      if (!reader.canonical) scanner.changed = true;
      days = reader.days;
    } else if (isNumberStart(byte)) {
      const integer = readInteger(scanner, rule);
      if (integer === undefined) return false;
      days = Number(integer);
      scanner.changed = true;
    } else return refuseValue(scanner, rule);
    // DuckDB's dates reach from 5877642 BC to 5881580.
    if (days <= -infiniteDate || days >= infiniteDate) return scanner.refuse(start, "the date is out of range");
    vector.pushWord(days);
    return true;
  }

  override write(sink: ByteSink, vector: FixedVector, index: number): void {
    sink.ascii(`"${dateText(vector.getWord(index))}"`);
  }
}

export class TimeCodec extends ValueCodec {
  override readonly arrow: ArrowType = { kind: "time", unit: "us" };
  override readonly needsCast = false;

  override newVector(capacity: number): FixedVector {
    return new FixedVector(8, capacity);
  }

  override read(scanner: JsonScanner, vector: FixedVector): boolean {
    const rule = "an ISO 8601 time such as 12:34:56.789 is expected";
    if (scanner.peek() !== quote) return refuseValue(scanner, rule);
    const start = scanner.position;
    if (!scanner.scanString()) return false;
    scanner.plainSpan();
    if (!reader.readTime(scanner.spanBytes, scanner.spanStart, scanner.spanEnd)) return scanner.refuse(start, rule);
    const micros = Math.floor(reader.nanos / 1000);
    if (!reader.canonical && micros !== 86400e6) scanner.changed = true;
    if (reader.fractionDigits > 6) scanner.changed = true;
    vector.pushLong(micros);
    return true;
  }

  override write(sink: ByteSink, vector: FixedVector, index: number): void {
    sink.ascii(`"${timeText(vector.getSafeLong(index) * 1000)}"`);
  }
}

const perSecond: Record<TimeUnit, number> = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };
const fractionDigitsOf: Record<TimeUnit, number> = { s: 0, ms: 3, us: 6, ns: 9 };
/** Days on either side of 1970 within which microseconds are exact in a double. */
const safeDays = 104_000;
const safeMillis = safeDays * 86_400_000;

export class TimestampCodec extends ValueCodec {
  override readonly arrow: ArrowType;
  override readonly needsCast = false;
  private readonly unit: TimeUnit;
  private readonly zoned: boolean;

  constructor(unit: TimeUnit, zoned: boolean) {
    super();
    this.unit = unit;
    this.zoned = zoned;
    this.arrow = zoned ? { kind: "timestamp", unit, zone: "UTC" } : { kind: "timestamp", unit };
  }

  override newVector(capacity: number): FixedVector {
    return new FixedVector(8, capacity);
  }

  override read(scanner: JsonScanner, vector: FixedVector): boolean {
    const rule =
      "an ISO 8601 timestamp such as 2024-05-01T12:34:56Z, or an integer of milliseconds since 1970 is expected";
    const start = scanner.position;
    const byte = scanner.peek();
    if (isNumberStart(byte)) {
      const millis = readInteger(scanner, rule);
      if (millis === undefined) return false;
      scanner.changed = true;
      return this.pushMillis(vector, millis) || scanner.refuse(start, "the timestamp is out of range");
    }
    if (byte !== quote) return refuseValue(scanner, rule);
    if (!scanner.scanString()) return false;
    const sign = infinitySign(scanner);
    if (sign !== 0) {
      vector.pushBigLong(sign > 0 ? infiniteTimestamp : -infiniteTimestamp);
      return true;
    }
    scanner.plainSpan();
    if (!reader.readTimestamp(scanner.spanBytes, scanner.spanStart, scanner.spanEnd))
      return scanner.refuse(start, rule);
    if (!reader.canonical || reader.hasZone !== this.zoned || reader.fractionDigits > fractionDigitsOf[this.unit])
      scanner.changed = true;
    return this.pushReading(vector) || scanner.refuse(start, "the timestamp is out of range");
  }

  /** As pushMillis for a number, without a bigint where a double is exact. */
  pushMillisNumber(vector: FixedVector, millis: number): boolean {
    if (this.unit === "ns" || Math.abs(millis) > safeMillis) return this.pushMillis(vector, BigInt(millis));
    if (this.unit === "us") vector.pushLong(millis * 1000);
    else vector.pushLong(this.unit === "ms" ? millis : Math.floor((millis + 500) / 1000));
    return true;
  }

  /** Appends milliseconds since 1970; false when they do not fit. */
  pushMillis(vector: FixedVector, millis: bigint): boolean {
    if (this.unit === "s") return this.pushInteger(vector, floorDivide(millis + 500n, 1000n));
    return this.pushInteger(vector, (millis * BigInt(perSecond[this.unit])) / 1000n);
  }

  private pushReading(vector: FixedVector): boolean {
    const { days, nanos } = reader;
    const zoneSeconds = reader.zoneMinutes * 60;
    if (this.unit !== "ns" && days < safeDays && days > -safeDays) {
      const seconds = days * 86400 - zoneSeconds;
      const micros = seconds * 1e6 + Math.floor(nanos / 1000);
      // As DuckDB casts: microseconds are cut off, the coarser units rounded half up.
      if (this.unit === "us") vector.pushLong(micros);
      else if (this.unit === "ms") vector.pushLong(Math.floor((micros + 500) / 1000));
      else vector.pushLong(Math.floor((micros + 500_000) / 1e6));
      return true;
    }
    const seconds = BigInt(days) * 86400n - BigInt(zoneSeconds);
    if (this.unit === "ns") return this.pushInteger(vector, seconds * 1_000_000_000n + BigInt(nanos));
    const micros = seconds * 1_000_000n + BigInt(Math.floor(nanos / 1000));
    if (this.unit === "us") return this.pushInteger(vector, micros);
    if (this.unit === "ms") return this.pushInteger(vector, floorDivide(micros + 500n, 1000n));
    return this.pushInteger(vector, floorDivide(micros + 500_000n, 1_000_000n));
  }

  private pushInteger(vector: FixedVector, value: bigint): boolean {
    // DuckDB's timestamps of every unit must also be dates that it can print: 290309 BC to 294247 in microseconds.
    const micros = (value * 1_000_000n) / BigInt(perSecond[this.unit]);
    if (micros >= infiniteTimestamp || micros < -9223372022400000000n) return false;
    if (value >= infiniteTimestamp || value <= -infiniteTimestamp) return false;
    vector.pushBigLong(value);
    return true;
  }

  override write(sink: ByteSink, vector: FixedVector, index: number): void {
    sink.ascii(`"${timestampText(vector.getLong(index), BigInt(perSecond[this.unit]), this.zoned ? "Z" : "")}"`);
  }
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}
