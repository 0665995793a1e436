/** BOOLEAN, the integers, FLOAT, DOUBLE and DECIMAL. */
import { doubleText, floatText } from "../../sql/row_json.ts";
import type { ByteSink } from "../arrow/bytes.ts";
import type { ArrowType } from "../arrow/stream.ts";
import { BytesVector, FixedVector } from "../arrow/vectors.ts";
import { ValueCodec } from "./codec.ts";
import { decimalText, exactPowersOfTen, nearestDouble, sameNumber, scaledInteger } from "./numbers.ts";
import { asciiText, falseWord, type JsonScanner, minus, quote, trueWord } from "./scan.ts";

export class BooleanCodec extends ValueCodec {
  override readonly arrow: ArrowType = { kind: "bool" };
  override readonly needsCast = false;

  override newVector(capacity: number): FixedVector {
    return new FixedVector(0, capacity);
  }

  override read(scanner: JsonScanner, vector: FixedVector): boolean {
    const byte = scanner.peek();
    if (byte === 0x74) {
      if (!scanner.scanWord(trueWord)) return false;
      vector.pushByte(1);
      return true;
    }
    if (byte === 0x66) {
      if (!scanner.scanWord(falseWord)) return false;
      vector.pushByte(0);
      return true;
    }
    return refuseValue(scanner, "true or false is expected");
  }

  override write(sink: ByteSink, vector: FixedVector, index: number): void {
    sink.ascii(vector.bytes[index] === 0 ? "false" : "true");
  }
}

/** Skips the value at the position and refuses it. */
export function refuseValue(scanner: JsonScanner, rule: string): false {
  const start = scanner.position;
  if (!scanner.skipValue()) return false;
  return scanner.refuse(start, rule);
}

/** Reads a number, or text that holds one; false with a fault for anything else. */
function readNumber(scanner: JsonScanner, rule: string): boolean {
  const byte = scanner.peek();
  if (byte === minus || (byte >= 0x30 && byte <= 0x39)) return scanner.scanNumber();
  if (byte !== quote) return refuseValue(scanner, rule);
  const start = scanner.position;
  if (!scanner.scanString()) return false;
  if (!scanner.numberInText()) return scanner.refuse(start, rule);
  scanner.changed = true;
  return true;
}

export interface IntegerShape {
  name: string;
  width: 1 | 2 | 4 | 8 | 16;
  min: bigint;
  max: bigint;
}

/** Integers of up to 64 bits, staged as they are; the 128-bit ones as their digits. */
export class IntegerCodec extends ValueCodec {
  override readonly arrow: ArrowType;
  override readonly needsCast: boolean;
  private readonly shape: IntegerShape;
  private readonly min: number;
  private readonly max: number;
  private readonly rule: string;

  constructor(shape: IntegerShape) {
    super();
    this.shape = shape;
    this.needsCast = shape.width === 16;
    this.arrow =
      shape.width === 16
        ? { kind: "utf8" }
        : { kind: "int", bits: (shape.width * 8) as 8 | 16 | 32 | 64, signed: shape.min < 0n };
    // Compared only with numbers of up to 15 digits, so rounding at the 64-bit ends does no harm.
    this.min = Number(shape.min);
    this.max = Number(shape.max);
    this.rule = "an integral number is expected";
  }

  override newVector(capacity: number): FixedVector | BytesVector {
    return this.shape.width === 16 ? new BytesVector(capacity) : new FixedVector(this.shape.width, capacity);
  }

  override read(scanner: JsonScanner, vector: FixedVector | BytesVector): boolean {
    const start = scanner.position;
    if (!readNumber(scanner, this.rule)) return false;
    if (scanner.digits <= 15 && scanner.fractionDigits === 0 && !scanner.hasExponent) {
      let value = scanner.mantissa;
      if (scanner.negative) {
        if (value === 0) scanner.changed = true;
        else value = -value;
      }
      if (value < this.min || value > this.max) return this.outOfRange(scanner, start);
      this.push(vector, value);
      return true;
    }
    const integer = scaledInteger(scanner, 0);
    if (integer === undefined) return this.outOfRange(scanner, start);
    if (!integer.exact) return scanner.refuse(start, "a fraction does not fit an integer");
    if (integer.value < this.shape.min || integer.value > this.shape.max) return this.outOfRange(scanner, start);
    if (scanner.fractionDigits > 0 || scanner.hasExponent || (scanner.negative && integer.value === 0n))
      scanner.changed = true;
    if (vector instanceof BytesVector) vector.pushText(integer.value.toString());
    else if (this.shape.width === 8) vector.pushBigLong(integer.value);
    else this.push(vector, Number(integer.value));
    return true;
  }

  private push(vector: FixedVector | BytesVector, value: number): void {
    if (vector instanceof BytesVector) vector.pushText(String(value));
    else if (this.shape.width === 8) vector.pushLong(value);
    else if (this.shape.width === 4) vector.pushWord(value);
    else if (this.shape.width === 2) vector.pushShort(value);
    else vector.pushByte(value);
  }

  private outOfRange(scanner: JsonScanner, start: number): false {
    return scanner.refuse(start, `the range is ${this.shape.min} to ${this.shape.max}`);
  }

  override write(sink: ByteSink, vector: FixedVector | BytesVector, index: number): void {
    if (vector instanceof BytesVector) {
      sink.copy(vector.data, vector.start(index), vector.end(index));
      return;
    }
    const signed = this.shape.min < 0n;
    switch (this.shape.width) {
      case 8: {
        const safe = vector.getSafeLong(index);
        if (safe >= 0 || (signed && safe < 0)) sink.ascii(String(safe));
        else sink.ascii(String(signed ? vector.getLong(index) : vector.getUnsignedLong(index)));
        break;
      }
      case 4:
        sink.ascii(String(signed ? vector.getWord(index) : vector.getUnsignedWord(index)));
        break;
      case 2:
        sink.ascii(String(signed ? vector.getShort(index) : vector.getUnsignedShort(index)));
        break;
      default:
        sink.ascii(String(signed ? vector.getByte(index) : vector.getUnsignedByte(index)));
    }
  }
}

const notFinite: Record<string, number> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

export class FloatCodec extends ValueCodec {
  override readonly arrow: ArrowType;
  override readonly needsCast = false;
  private readonly bits: 32 | 64;

  constructor(bits: 32 | 64) {
    super();
    this.bits = bits;
    this.arrow = { kind: "float", bits };
  }

  override newVector(capacity: number): FixedVector {
    return new FixedVector(this.bits === 32 ? 4 : 8, capacity);
  }

  override read(scanner: JsonScanner, vector: FixedVector): boolean {
    const start = scanner.position;
    const byte = scanner.peek();
    if (byte === quote) {
      if (!scanner.scanString()) return false;
      const special =
        notFinite[asciiText(scanner.bytes, scanner.textStart, Math.min(scanner.textEnd, scanner.textStart + 10))];
      if (special !== undefined) {
        this.push(vector, special);
        return true;
      }
      if (!scanner.numberInText()) return scanner.refuse(start, this.rule());
      scanner.changed = true;
    } else if (byte === minus || (byte >= 0x30 && byte <= 0x39)) {
      if (!scanner.scanNumber()) return false;
    } else return refuseValue(scanner, this.rule());
    const nearest = nearestDouble(scanner);
    const value = this.bits === 32 ? Math.fround(nearest) : nearest;
    if (!Number.isFinite(value)) return scanner.refuse(start, `the number is out of range of a ${this.bits}-bit float`);
    if (scanner.digits > (this.bits === 32 ? 6 : 15) && !scanner.changed) {
      const stored = this.bits === 32 ? floatText(value) : doubleText(value);
      if (!sameNumber(scanner.numberText(), stored)) scanner.changed = true;
    } else if (value === 0 && scanner.mantissa !== 0) scanner.changed = true;
    this.push(vector, value);
    return true;
  }

  private rule(): string {
    return 'a number, or one of "NaN", "Infinity", "-Infinity" is expected';
  }

  private push(vector: FixedVector, value: number): void {
    if (this.bits === 32) vector.pushFloat(value);
    else vector.pushDouble(value);
  }

  override write(sink: ByteSink, vector: FixedVector, index: number): void {
    sink.ascii(this.bits === 32 ? floatText(vector.getFloat(index)) : doubleText(vector.getDouble(index)));
  }
}

export class DecimalCodec extends ValueCodec {
  override readonly arrow: ArrowType;
  override readonly needsCast = false;
  private readonly precision: number;
  private readonly scale: number;
  private readonly bound: bigint;

  constructor(precision: number, scale: number) {
    super();
    this.precision = precision;
    this.scale = scale;
    this.bound = 10n ** BigInt(precision);
    this.arrow = { kind: "decimal", precision, scale };
  }

  override newVector(capacity: number): FixedVector {
    return new FixedVector(16, capacity);
  }

  override read(scanner: JsonScanner, vector: FixedVector): boolean {
    const start = scanner.position;
    if (!readNumber(scanner, "a number is expected (DECIMAL cannot hold NaN or infinity)")) return false;
    const shift = this.scale - scanner.fractionDigits;
    if (!scanner.hasExponent && shift >= 0 && scanner.digits + shift <= 15) {
      const unscaled = scanner.mantissa * exactPowersOfTen[shift]!;
      if (scanner.digits + shift > this.precision && unscaled >= Number(this.bound))
        return this.tooLarge(scanner, start);
      if (scanner.negative && unscaled === 0) scanner.changed = true;
      vector.pushWide(scanner.negative && unscaled !== 0 ? -unscaled : unscaled);
      return true;
    }
    const number = scaledInteger(scanner, this.scale);
    if (number === undefined || number.value >= this.bound || number.value <= -this.bound)
      return this.tooLarge(scanner, start);
    if (!number.exact || scanner.hasExponent || (scanner.negative && number.value === 0n)) scanner.changed = true;
    vector.pushBigWide(number.value);
    return true;
  }

  private tooLarge(scanner: JsonScanner, start: number): false {
    return scanner.refuse(start, `at most ${this.precision - this.scale} digits may stand before the decimal point`);
  }

  override write(sink: ByteSink, vector: FixedVector, index: number): void {
    sink.ascii(decimalText(vector.getWide(index), this.scale));
  }
}
