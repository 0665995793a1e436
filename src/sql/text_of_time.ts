/**
 * Dates, times and intervals as text. ISO 8601 in the proleptic Gregorian calendar with a year 0, as DuckDB counts; no zeros at the
 * end of a fraction; years outside 0000 to 9999 carry a sign. INTERVAL as DuckDB prints it.
 */
export function dateText(days: number): string {
  if (days === 2147483647) return "infinity";
  if (days === -2147483647) return "-infinity";
  return civilText(days);
}

/** `value` counts `perSecond`-ths of a second since 1970; `zone` is put behind. */
export function timestampText(value: bigint, perSecond: bigint, zone: string): string {
  if (value === 9223372036854775807n) return "infinity";
  if (value === -9223372036854775807n) return "-infinity";
  const perDay = 86400n * perSecond;
  let days = value / perDay;
  if (value % perDay < 0n) days -= 1n;
  const rest = Number(value - days * perDay) * (1e9 / Number(perSecond));
  return `${civilText(Number(days))}T${timeText(rest)}${zone}`;
}

/** Nanoseconds since midnight. */
export function timeText(nanos: number): string {
  const seconds = Math.floor(nanos / 1e9);
  const rest = nanos - seconds * 1e9;
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return rest === 0 ? clock : `${clock}.${String(rest).padStart(9, "0").replace(/0+$/, "")}`;
}

/** DuckDB's packed TIME WITH TIME ZONE: microseconds above 24 bits of (57,599 minus the zone's seconds east of UTC). */
export function zonedTimeText(packed: bigint): string {
  const micros = Number(packed >> 24n);
  const east = 57_599 - Number(packed & 0xffffffn);
  const seconds = Math.abs(east);
  let zone = `${east < 0 ? "-" : "+"}${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}`;
  if (seconds % 60 !== 0) zone += `:${two(seconds % 60)}`;
  return timeText(micros * 1000) + zone;
}

export function intervalText(months: number, days: number, micros: bigint): string {
  const parts: string[] = [];
  const add = (count: number, unit: string) => {
    if (count !== 0) parts.push(`${count} ${unit}${count === 1 || count === -1 ? "" : "s"}`);
  };
  add(Math.trunc(months / 12), "year");
  add(months % 12, "month");
  add(days, "day");
  if (micros !== 0n || parts.length === 0) {
    const magnitude = micros < 0n ? -micros : micros;
    const seconds = magnitude / 1_000_000n;
    const rest = magnitude % 1_000_000n;
    const clock = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n].map((part) =>
      part.toString().padStart(2, "0"),
    );
    const fraction = rest === 0n ? "" : `.${rest.toString().padStart(6, "0").replace(/0+$/, "")}`;
    parts.push(`${micros < 0n ? "-" : ""}${clock.join(":")}${fraction}`);
  }
  return parts.join(" ");
}

/** Howard Hinnant's civil_from_days (https://howardhinnant.github.io/date_algorithms.html). */
function civilText(days: number): string {
  const shifted = days + 719468;
  const era = Math.floor(shifted / 146097);
  const dayOfEra = shifted - era * 146097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const m = Math.floor((5 * dayOfYear + 2) / 153);
  const month = m < 10 ? m + 3 : m - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${yearText(year)}-${two(month)}-${two(dayOfYear - Math.floor((153 * m + 2) / 5) + 1)}`;
}

function yearText(year: number): string {
  const digits = String(Math.abs(year)).padStart(4, "0");
  return year < 0 ? `-${digits}` : year > 9999 ? `+${digits}` : digits;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
