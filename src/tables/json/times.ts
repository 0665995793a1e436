/**
 * Dates and times: ISO 8601 text to numbers, in the proleptic Gregorian calendar with a year 0, as DuckDB counts.
 *
 * Zone-less text means UTC. A zone is applied, so what is stored is always UTC. Second 60 is refused; 24:00 is the day's end.
 */

const digit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** DuckDB's infinite dates and timestamps. */
export const infiniteDate = 2147483647;
export const infiniteTimestamp = 9223372036854775807n;

/** Days from 1970-01-01 (Howard Hinnant's days_from_civil). */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719468;
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function daysInMonth(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && leap ? 29 : monthDays[month - 1]!;
}

/** Reads one text at a time; the results stand in its fields. */
export class TimeReader {
  /** Days since 1970. */
  days = 0;
  /** Nanoseconds since midnight, up to 24 hours; exact in a double. */
  nanos = 0;
  fractionDigits = 0;
  hasTime = false;
  hasZone = false;
  /** Minutes east of UTC. */
  zoneMinutes = 0;
  /** The text is spelled as row JSON spells it (but for the number of fraction digits: zeros at their end mean nothing else). */
  canonical = true;

  private bytes: Uint8Array = new Uint8Array(0);
  private at = 0;
  private end = 0;

  /** `YYYY-MM-DD` alone or with a time behind `T` or a space; true when it is one. */
  readTimestamp(bytes: Uint8Array, start: number, end: number): boolean {
    this.begin(bytes, start, end);
    if (!this.date()) return false;
    if (this.at === this.end) {
      this.canonical = false;
      return true;
    }
    const separator = bytes[this.at];
    if (separator !== 0x54 && separator !== 0x74 && separator !== 0x20) return false;
    if (separator !== 0x54) this.canonical = false;
    this.at++;
    return this.time() && this.zone() && this.at === this.end;
  }

  readDate(bytes: Uint8Array, start: number, end: number): boolean {
    this.begin(bytes, start, end);
    return this.date() && this.at === this.end;
  }

  readTime(bytes: Uint8Array, start: number, end: number): boolean {
    this.begin(bytes, start, end);
    return this.time() && this.at === this.end;
  }

  private begin(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
    this.days = this.nanos = this.fractionDigits = this.zoneMinutes = 0;
    this.hasTime = this.hasZone = false;
    this.canonical = true;
  }

  private date(): boolean {
    const sign = this.bytes[this.at];
    const signed = this.at < this.end && (sign === 0x2b || sign === 0x2d);
    if (signed) this.at++;
    const first = this.at;
    let year = 0;
    while (this.at < this.end && this.at - first < 7 && digit(this.bytes[this.at])) {
      year = year * 10 + this.bytes[this.at]! - 0x30;
      this.at++;
    }
    const yearDigits = this.at - first;
    if (yearDigits < 4) return false;
    if (yearDigits > 4 !== (signed && sign === 0x2b) && !(signed && sign === 0x2d)) this.canonical = false;
    if (signed && sign === 0x2d) year = -year;
    if (!this.sign(0x2d)) return false;
    const month = this.two();
    if (month < 1 || month > 12 || !this.sign(0x2d)) return false;
    const day = this.two();
    if (day < 1 || day > daysInMonth(year, month)) return false;
    this.days = daysFromCivil(year, month, day);
    return true;
  }

  private time(): boolean {
    const hour = this.two();
    if (hour < 0 || hour > 24 || !this.sign(0x3a)) return false;
    const minute = this.two();
    if (minute < 0 || minute > 59) return false;
    let second = 0;
    let nanos = 0;
    if (this.at < this.end && this.bytes[this.at] === 0x3a) {
      this.at++;
      second = this.two();
      if (second < 0 || second > 59) return false;
      const point = this.at < this.end ? this.bytes[this.at] : 0;
      if (point === 0x2e || point === 0x2c) {
        if (point === 0x2c) this.canonical = false;
        this.at++;
        nanos = this.fraction();
        if (nanos < 0) return false;
      }
    } else this.canonical = false;
    if (hour === 24) this.canonical = false;
    this.nanos = (hour * 3600 + minute * 60 + second) * 1e9 + nanos;
    this.hasTime = true;
    return this.nanos <= 86400e9;
  }

  /** Digits past the ninth are read and dropped. */
  private fraction(): number {
    const first = this.at;
    let nanos = 0;
    let unit = 1e8;
    while (this.at < this.end && digit(this.bytes[this.at])) {
      nanos += (this.bytes[this.at]! - 0x30) * unit;
      unit = unit > 1 ? unit / 10 : 0;
      this.at++;
    }
    this.fractionDigits = this.at - first;
    if (this.fractionDigits === 0) return -1;
    return nanos;
  }

  private zone(): boolean {
    if (this.at === this.end) return true;
    const sign = this.bytes[this.at++]!;
    this.hasZone = true;
    if (sign === 0x5a) return true;
    this.canonical = false;
    if (sign === 0x7a) return true;
    if (sign !== 0x2b && sign !== 0x2d) return false;
    const hours = this.two();
    if (hours < 0 || hours > 23) return false;
    let minutes = 0;
    if (this.at < this.end) {
      if (this.bytes[this.at] === 0x3a) this.at++;
      minutes = this.two();
      if (minutes < 0 || minutes > 59) return false;
    }
    this.zoneMinutes = (hours * 60 + minutes) * (sign === 0x2d ? -1 : 1);
    return true;
  }

  private two(): number {
    const a = this.bytes[this.at]!;
    const b = this.bytes[this.at + 1]!;
    if (this.at + 2 > this.end || !digit(a) || !digit(b)) return -1;
    this.at += 2;
    return (a - 0x30) * 10 + b - 0x30;
  }

  private sign(byte: number): boolean {
    if (this.at >= this.end || this.bytes[this.at] !== byte) return false;
    this.at++;
    return true;
  }
}
