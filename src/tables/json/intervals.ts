/**
 * INTERVAL text as DuckDB reads it (`1 year 2 months 3 days 04:05:06.789`), plus ISO 8601 durations (`P1DT2H`), which Postgres
 * tools and JavaScript libraries write.
 */

export interface Interval {
  months: number;
  days: number;
  micros: bigint;
}

type Unit = readonly [months: number, days: number, micros: number];

const second = 1_000_000;
const units = new Map<string, Unit>();
const define = (unit: Unit, ...names: string[]) => {
  for (const name of names) units.set(name, unit);
};
// The spellings of DuckDB's cast (common/enums/date_part_specifier).
define([12000, 0, 0], "millennium", "millennia", "millenniums", "millenium", "mil", "mils");
define([1200, 0, 0], "century", "centuries", "cent", "c");
define([120, 0, 0], "decade", "decades", "dec", "decs");
define([12, 0, 0], "year", "years", "y", "yr", "yrs");
define([3, 0, 0], "quarter", "quarters");
define([1, 0, 0], "month", "months", "mon", "mons");
define([0, 7, 0], "week", "weeks", "w");
define([0, 1, 0], "day", "days", "d", "dayofmonth");
define([0, 0, 3600 * second], "hour", "hours", "h", "hr", "hrs");
define([0, 0, 60 * second], "minute", "minutes", "m", "min", "mins");
define([0, 0, second], "second", "seconds", "s", "sec", "secs");
define([0, 0, 1000], "millisecond", "milliseconds", "ms", "msec", "msecs");
define([0, 0, 1], "microsecond", "microseconds", "us", "usec", "usecs");

/** Undefined when the text is no interval or does not fit. */
export function parseInterval(text: string): Interval | undefined {
  const sum = { months: 0, days: 0, micros: 0n };
  const whole = /^\s*([+-]?)P(?=.)/.test(text) ? parseDuration(text.trim(), sum) : parseUnits(text, sum);
  if (!whole) return undefined;
  const fits =
    Math.abs(sum.months) <= 0x7fffffff &&
    Math.abs(sum.days) <= 0x7fffffff &&
    // DuckDB's cast cannot read the least of them.
    sum.micros !== -(2n ** 63n) &&
    sum.micros === BigInt.asIntN(64, sum.micros);
  return fits ? sum : undefined;
}

function parseUnits(text: string, sum: Interval): boolean {
  let rest = text.trim().toLowerCase().replace(/^@\s*/, "");
  let ago = false;
  if (/\sago$/.test(rest)) {
    ago = true;
    rest = rest.slice(0, -3).trimEnd();
  }
  if (rest === "") return false;
  while (rest !== "") {
    const clock = /^([+-]?)(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?(?:\s+|$)/.exec(rest);
    if (clock) {
      if (Number(clock[3]) > 59 || Number(clock[4] ?? 0) > 59) return false;
      const fraction = BigInt((clock[5] ?? "").slice(0, 6).padEnd(6, "0"));
      const seconds = BigInt(clock[2]!) * 3600n + BigInt(clock[3]!) * 60n + BigInt(clock[4] ?? 0);
      const micros = seconds * 1_000_000n + fraction;
      sum.micros += clock[1] === "-" ? -micros : micros;
      rest = rest.slice(clock[0].length);
      continue;
    }
    const part = /^([+-]?)(\d+)(?:\.(\d*))?\s*([a-z]+)(?=[\s\d+-]|$)\s*/.exec(rest);
    const unit = part && units.get(part[4]!);
    if (!unit) return false;
    addUnit(sum, unit, part[1] === "-", part[2]!, part[3] ?? "");
    rest = rest.slice(part[0].length);
  }
  if (ago) {
    sum.months = -sum.months;
    sum.days = -sum.days;
    sum.micros = -sum.micros;
  }
  return true;
}

const durationUnits = { Y: [12, 0, 0], M: [1, 0, 0], W: [0, 7, 0], D: [0, 1, 0] } as const satisfies Record<
  string,
  Unit
>;
const clockUnits = { H: [0, 0, 3600 * second], M: [0, 0, 60 * second], S: [0, 0, second] } as const satisfies Record<
  string,
  Unit
>;

function parseDuration(text: string, sum: Interval): boolean {
  const match = /^([+-]?)P((?:[+-]?\d+(?:[.,]\d+)?[YMWD])*)(?:T((?:[+-]?\d+(?:[.,]\d+)?[HMS])+))?$/.exec(text);
  if (!match || (match[2] === "" && match[3] === undefined)) return false;
  const negative = match[1] === "-";
  for (const [part, table] of [
    [match[2]!, durationUnits],
    [match[3] ?? "", clockUnits],
  ] as const)
    for (const item of part.matchAll(/([+-]?)(\d+)(?:[.,](\d+))?([A-Z])/g)) {
      const unit = (table as Record<string, Unit>)[item[4]!]!;
      addUnit(sum, unit, (item[1] === "-") !== negative, item[2]!, item[3] ?? "");
    }
  return true;
}

/** A fraction flows down: of a year into months, of a month into days of 30, of a day into microseconds, as DuckDB does. */
function addUnit(sum: Interval, unit: Unit, negative: boolean, whole: string, fraction: string): void {
  const sign = negative ? -1 : 1;
  const count = Number(whole);
  const part = fraction === "" ? 0 : Number(`0.${fraction}`);
  if (unit[0] !== 0) {
    const months = part * unit[0];
    sum.months += sign * (count * unit[0] + Math.trunc(months));
    addDays(sum, sign * (months - Math.trunc(months)) * 30);
  } else if (unit[1] !== 0) {
    sum.days += sign * count * unit[1];
    addDays(sum, sign * part * unit[1]);
  } else {
    const micros = BigInt(whole) * BigInt(unit[2]) + BigInt(Math.round(part * unit[2]));
    sum.micros += negative ? -micros : micros;
  }
}

function addDays(sum: Interval, days: number): void {
  const whole = Math.trunc(days);
  sum.days += whole;
  sum.micros += BigInt(Math.round((days - whole) * 86400 * second));
}
