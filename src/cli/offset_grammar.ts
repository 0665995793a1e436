/**
 * Where to start and stop reading, in the words of kcat and rpk together:
 * `beginning|start|oldest|earliest`, `end|newest|latest`, `stored`, `N`, `-N` (from the end), `+N` (from the start), `N:`, `:N`,
 * `A:B` (B not included), `:end`, `@T`, `@T:`, `@:T`, `@T1:T2`, `s@MS`, `e@MS`. T is milliseconds (13 digits), seconds (9 or 10),
 * a date, an RFC 3339 time, a duration ago (`-48h`), or `end`; after `@T1:` also a duration after it (`1h`).
 */
import { durationMs } from "./option_types.ts";

export type Start =
  | { kind: "beginning"; plus: number }
  | { kind: "end"; back: number }
  | { kind: "stored" }
  | { kind: "offset"; offset: number }
  | { kind: "time"; ms: number };

/** Where to stop: `end` is the end of the partition when reading starts; offsets and times are not included. */
export type Stop = { kind: "end" } | { kind: "offset"; offset: number } | { kind: "time"; ms: number };

export interface Range {
  start?: Start;
  stop?: Stop;
}

export class OffsetSyntaxError extends Error {
  override name = "OffsetSyntaxError";
}

/** Reads one `-o`; several of them add up (kcat's `-o s@… -o e@…`). Throws OffsetSyntaxError. */
export function parseOffset(text: string, nowMs: number = Date.now()): Range {
  const word = text.trim();
  const kcatTime = /^([se])@(.+)$/.exec(word);
  if (kcatTime) {
    const ms = timeMs(kcatTime[2] as string, nowMs);
    if (ms === undefined) throw invalid(text);
    return kcatTime[1] === "s" ? { start: { kind: "time", ms } } : { stop: { kind: "time", ms } };
  }
  const range = word.startsWith("@") ? timeRange(word.slice(1), nowMs) : offsetRange(word);
  if (!range) throw invalid(text);
  return range;
}

function invalid(text: string): OffsetSyntaxError {
  return new OffsetSyntaxError(
    `"${text}" is not an offset: try start, end, 42, -10 (last ten), 5:10, :end, @2026-01-31, @-1h, s@MILLISECONDS`,
  );
}

function offsetRange(word: string): Range | undefined {
  const start = startOf(word);
  if (start) return { start };
  const colon = word.indexOf(":");
  if (colon < 0) return undefined;
  const [left, right] = [word.slice(0, colon), word.slice(colon + 1)];
  const from = left === "" ? undefined : startOf(left);
  const to = right === "" ? undefined : stopOf(right);
  if ((left !== "" && !from) || (right !== "" && !to) || (left === "" && right === "")) return undefined;
  const range: Range = { start: from ?? { kind: "beginning", plus: 0 } };
  if (to) range.stop = to;
  return range;
}

function startOf(word: string): Start | undefined {
  if (/^(beginning|start|oldest|earliest)$/i.test(word)) return { kind: "beginning", plus: 0 };
  if (/^(end|newest|latest)$/i.test(word)) return { kind: "end", back: 0 };
  if (/^stored$/i.test(word)) return { kind: "stored" };
  if (!/^[+-]?\d{1,16}$/.test(word)) return undefined;
  const number = Math.abs(Number(word));
  if (word.startsWith("+")) return { kind: "beginning", plus: number };
  return word.startsWith("-") ? { kind: "end", back: number } : { kind: "offset", offset: number };
}

function stopOf(word: string): Stop | undefined {
  if (/^end$/i.test(word)) return { kind: "end" };
  return /^\d{1,16}$/.test(word) ? { kind: "offset", offset: Number(word) } : undefined;
}

/** A colon may also stand inside a time, so every colon is tried as the one between the two. */
function timeRange(word: string, nowMs: number): Range | undefined {
  const whole = timeMs(word, nowMs);
  if (whole !== undefined) return { start: { kind: "time", ms: whole } };
  for (let at = word.indexOf(":"); at >= 0; at = word.indexOf(":", at + 1)) {
    const [left, right] = [word.slice(0, at), word.slice(at + 1)];
    if (left === "" && right === "") return undefined;
    const from = left === "" ? undefined : timeMs(left, nowMs);
    if (left !== "" && from === undefined) continue;
    const start: Start = from === undefined ? { kind: "beginning", plus: 0 } : { kind: "time", ms: from };
    if (right === "") return { start };
    if (/^end$/i.test(right)) return { start, stop: { kind: "end" } };
    const after = from === undefined ? undefined : durationMs(right);
    const to = after === undefined ? timeMs(right, nowMs) : (from as number) + after;
    if (to !== undefined) return { start, stop: { kind: "time", ms: to } };
  }
  return undefined;
}

/** Milliseconds since 1970, or undefined when the text is no time. */
export function timeMs(text: string, nowMs: number): number | undefined {
  if (/^\d{13}$/.test(text)) return Number(text);
  if (/^\d{9,10}$/.test(text)) return Number(text) * 1_000;
  if (/^\d{1,16}$/.test(text)) return text.length > 10 ? Number(text) : undefined;
  if (/^now$/i.test(text)) return nowMs;
  const ago = text.startsWith("-") ? durationMs(text.slice(1)) : undefined;
  if (ago !== undefined) return nowMs - ago;
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i.test(text))
    return undefined;
  const iso = text.replace(" ", "T").replace(",", ".");
  // A time without a zone is UTC, as everywhere in Rowlog.
  const ms = Date.parse(/([zZ]|[+-]\d{2}:?\d{2})$/.test(iso) || !iso.includes("T") ? iso : `${iso}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}
