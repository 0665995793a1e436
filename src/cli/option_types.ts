/**
 * Kinds of option values: how each is read from text (a flag, an environment variable or a file gives the same text)
 * and how it is shown. Invariant: `parse(show(value))` is `value`; a refusal says what was expected, with an example.
 */

import { type Address, isWildcardHost, parseAddress, showAddress } from "../base/address.ts";

export { type Address, isWildcardHost, showAddress } from "../base/address.ts";

export interface OptionKind<T> {
  /** Placeholder in `--help`, for example `HOST:PORT`; empty for a switch. */
  placeholder: string;
  /** One line for the reference: what may be written. */
  accepts: string;
  /** Throws `OptionError` with what was expected. */
  parse(text: string): T;
  show(value: T): string;
}

export class OptionError extends Error {
  override name = "OptionError";
}

function requiredAddress(text: string): Address {
  const parsed = parseAddress(text);
  if (!parsed) throw new OptionError(`"${text}" is not HOST:PORT (for example 127.0.0.1:9092 or [::1]:9092)`);
  return parsed;
}

export const address: OptionKind<Address> = {
  placeholder: "HOST:PORT",
  accepts: "`host:port`, `[ipv6]:port`; an empty host or `0.0.0.0` listens on every interface; port 0 takes a free one",
  parse: (text) => {
    const { host, port } = requiredAddress(text);
    return { host: host === "" || host === "*" ? "0.0.0.0" : host, port };
  },
  show: showAddress,
};

/** An address that clients are told to dial: never a wildcard (case C66). */
export const dialableAddress: OptionKind<Address | undefined> = {
  placeholder: "HOST:PORT",
  accepts: "`host:port` that clients can reach, never `0.0.0.0`",
  parse: (text) => {
    const parsed = requiredAddress(text);
    if (isWildcardHost(parsed.host))
      throw new OptionError(`clients cannot dial "${text}"; give the name or address that they reach this machine by`);
    if (parsed.port === 0) throw new OptionError(`clients cannot dial port 0 of "${text}"; give the real port`);
    return parsed;
  },
  show: (value) => (value ? showAddress(value) : ""),
};

export const text: OptionKind<string> = {
  placeholder: "TEXT",
  accepts: "text",
  parse: (value) => {
    if (value === "") throw new OptionError("it must not be empty");
    return value;
  },
  show: (value) => value,
};

export function path(placeholder: string): OptionKind<string> {
  return { ...text, placeholder, accepts: "a path" };
}

/** True and false, and the spellings that people use for them. */
export const toggle: OptionKind<boolean> = {
  placeholder: "",
  accepts: "`true` or `false`",
  parse: (value) => {
    const word = value.trim().toLowerCase();
    if (["true", "1", "yes", "on"].includes(word)) return true;
    if (["false", "0", "no", "off"].includes(word)) return false;
    throw new OptionError(`"${value}" is neither true nor false`);
  },
  show: String,
};

export function choice<const T extends string>(...words: T[]): OptionKind<T> {
  return {
    placeholder: words.join("|"),
    accepts: words.map((word) => `\`${word}\``).join(" or "),
    parse: (value) => {
      const word = words.find((candidate) => candidate === value.trim().toLowerCase());
      if (word === undefined) throw new OptionError(`"${value}" is not one of ${words.join(", ")}`);
      return word;
    },
    show: (value) => value,
  };
}

export function integer(least: number, most: number): OptionKind<number> {
  return {
    placeholder: "N",
    accepts: `a whole number from ${least} to ${most}`,
    parse: (value) => {
      const number = /^[+-]?\d+$/.test(value.trim()) ? Number(value) : Number.NaN;
      if (!(number >= least && number <= most))
        throw new OptionError(`"${value}" is not a whole number from ${least} to ${most}`);
      return number;
    },
    show: String,
  };
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of `250ms`, `30s`, `1h30m`, `7d`; undefined when the text is no duration. A bare number is none. */
export function durationMs(value: string): number | undefined {
  const compact = value.trim().toLowerCase();
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(compact)) return undefined;
  let total = 0;
  for (const [, amount, unit] of compact.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    total += Number(amount) * unitMs[unit as keyof typeof unitMs];
  return Math.round(total);
}

export function showDuration(totalMs: number): string {
  for (const unit of ["d", "h", "m", "s"] as const)
    if (totalMs !== 0 && totalMs % unitMs[unit] === 0) return `${totalMs / unitMs[unit]}${unit}`;
  return `${totalMs}ms`;
}

/** A length of time, kept in milliseconds. */
export const duration: OptionKind<number> = {
  placeholder: "DURATION",
  accepts: "a duration: `250ms`, `30s`, `5m`, `1h30m`, `7d`",
  parse: (value) => {
    const total = durationMs(value);
    if (total === undefined) throw new OptionError(`"${value}" is not a duration (for example 30s, 5m or 1h30m)`);
    return total;
  },
  show: showDuration,
};

/** A length of time in a unit that the option's name fixes (`-secs`, `-ms`, `-minutes`): a bare number is in it. */
export function durationIn(unit: "ms" | "s" | "m", options: { unlimited?: boolean } = {}): OptionKind<number> {
  const words = { ms: "milliseconds", s: "seconds", m: "minutes" };
  const example = { ms: "500 or 1s", s: "3600 or 1h", m: "1440 or 1d" }[unit];
  const unlimited = options.unlimited ? ", or -1 for no limit" : "";
  return {
    placeholder: "N",
    accepts: `${words[unit]} (${example})${unlimited}`,
    parse: (value) => {
      if (options.unlimited && value.trim() === "-1") return -1;
      const number = /^\d+$/.test(value.trim()) ? Number(value) : undefined;
      const total = durationMs(value);
      const result = number ?? (total === undefined ? undefined : total / unitMs[unit]);
      if (result === undefined || !Number.isSafeInteger(result))
        throw new OptionError(`"${value}" is not a number of ${words[unit]} (for example ${example})${unlimited}`);
      return result;
    },
    show: String,
  };
}

const unitBytes: Record<string, number> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
};

/** Bytes: `10MiB`, `1GB`, `1048576`. */
export const size: OptionKind<number> = {
  placeholder: "SIZE",
  accepts: "a size: `1048576`, `10MiB`, `1GB`",
  parse: (value) => {
    const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(value.trim().toLowerCase());
    const unit = match ? unitBytes[match[2] ?? ""] : undefined;
    if (!match || unit === undefined)
      throw new OptionError(`"${value}" is not a size (for example 10MiB, 1GB or 1048576)`);
    return Math.round(Number(match[1]) * unit);
  },
  show: (value) => {
    for (const unit of ["TiB", "GiB", "MiB", "KiB"])
      if (value !== 0 && value % (unitBytes[unit.toLowerCase()] as number) === 0)
        return `${value / (unitBytes[unit.toLowerCase()] as number)}${unit}`;
    return String(value);
  },
};

/** A size within bounds, both inclusive. */
export function sizeBetween(least: number, most: number): OptionKind<number> {
  const [from, to] = [size.show(least), size.show(most)];
  return {
    ...size,
    accepts: `a size from ${from} to ${to}`,
    parse: (value) => {
      const bytes = size.parse(value);
      if (bytes < least || bytes > most) throw new OptionError(`"${value}" is not a size from ${from} to ${to}`);
      return bytes;
    },
  };
}

/** An option that may be absent; absent is `undefined`. */
export function optional<T>(kind: OptionKind<T>): OptionKind<T | undefined> {
  return { ...kind, show: (value) => (value === undefined ? "" : kind.show(value)) };
}
