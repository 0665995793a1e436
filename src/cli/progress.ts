/**
 * A bar for long work, on standard error and only when that is a terminal: never in a pipe, never in a log.
 * Nothing is drawn in the first half second, so short work leaves no trace.
 */
import type { Io } from "./io.ts";

export interface ProgressState {
  label: string;
  done: number;
  /** Undefined: unknown, then a count and a rate are shown. */
  total?: number;
  unit: string;
}

export class Progress {
  readonly #io: Io;
  readonly #on: boolean;
  readonly #started = performance.now();
  #drawnAt = 0;
  #drawn = false;

  constructor(io: Io, enabled = true) {
    this.#io = io;
    this.#on = enabled && io.errIsTerminal && io.environment.TERM !== "dumb";
  }

  /** Cheap to call often: draws at most ten times a second. */
  update(state: ProgressState): void {
    if (!this.#on) return;
    const now = performance.now();
    if (now - this.#started < 500 || now - this.#drawnAt < 100) return;
    this.#drawnAt = now;
    this.#drawn = true;
    this.#io.err(`\r\u001b[2K${progressText(state, (now - this.#started) / 1000, this.#io.width)}`);
  }

  /** Removes the bar. */
  end(): void {
    if (this.#drawn) this.#io.err("\r\u001b[2K");
    this.#drawn = false;
  }
}

export function progressText({ label, done, total, unit }: ProgressState, seconds: number, width: number): string {
  if (done === 0) return `${label} ${seconds.toFixed(1)} s`.slice(0, width - 1);
  const rate = seconds > 0 ? done / seconds : 0;
  const speed = `${count(rate)} ${unit}/s`;
  if (total === undefined || total <= 0) return `${label} ${count(done)} ${unit}, ${speed}`.slice(0, width - 1);
  const share = Math.min(1, done / total);
  const left = rate > 0 ? Math.ceil((total - done) / rate) : 0;
  const tail = ` ${String(Math.floor(share * 100)).padStart(3)} % ${speed}, ${left} s left`;
  const room = Math.max(5, Math.min(40, width - label.length - tail.length - 4));
  const full = Math.floor(share * room);
  return `${label} [${"#".repeat(full)}${"-".repeat(room - full)}]${tail}`;
}

function count(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toFixed(1)}G`;
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  return value >= 1e4 ? `${(value / 1e3).toFixed(1)}k` : String(Math.round(value));
}
