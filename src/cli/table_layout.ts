/** Tables for people: lines drawn with box characters, plain aligned columns, or Markdown. Widths are fixed at the start. */
export interface LayoutOptions {
  mode: string;
  header: boolean;
  /** Columns of the terminal; 0: as wide as needed. */
  width: number;
}

export class TableLayout {
  readonly #options: LayoutOptions;
  readonly #names: string[];
  readonly #right: readonly boolean[];
  readonly #widths: number[];
  /** Columns that were narrowed to the terminal: only there are cells cut. A late wide cell elsewhere moves its line instead. */
  readonly #cuts: boolean[];

  /** `rows`: the first rows, from which the widths come. `right`: columns that are aligned to the right. */
  constructor(options: LayoutOptions, names: readonly string[], rows: readonly string[][], right: readonly boolean[]) {
    this.#options = options;
    this.#right = right;
    this.#names = [...names];
    const widths = this.#names.map((name) =>
      Math.max(options.mode === "markdown" ? 3 : 1, displayWidth(this.#escaped(name))),
    );
    for (const row of rows)
      for (let i = 0; i < widths.length; i++)
        widths[i] = Math.max(widths[i] as number, displayWidth(this.#escaped(row[i] ?? "")));
    this.#widths = this.#isBox ? fit(widths, right, options.width) : widths;
    this.#cuts = widths.map((width, i) => (this.#widths[i] as number) < width);
  }

  head(): string {
    const names = this.#options.header || this.#options.mode === "markdown" ? this.line(this.#names) : "";
    if (this.#options.mode === "markdown") return names + this.#markdownRule();
    if (!this.#isBox) return names;
    return `${this.#rule("┌", "┬", "┐")}${names}${names === "" ? "" : this.#rule("├", "┼", "┤")}`;
  }

  line(cells: readonly string[]): string {
    const padded = this.#widths.map((width, i) => {
      const whole = this.#escaped(cells[i] ?? "");
      const text = this.#cuts[i] ? cut(whole, width) : whole;
      return this.#right[i] ? padStart(text, width) : padEnd(text, width);
    });
    if (this.#isBox) return `│ ${padded.join(" │ ")} │\n`;
    return this.#options.mode === "markdown" ? `| ${padded.join(" | ")} |\n` : `${padded.join("  ").trimEnd()}\n`;
  }

  foot(): string {
    return this.#isBox ? this.#rule("└", "┴", "┘") : "";
  }

  get #isBox(): boolean {
    return this.#options.mode !== "markdown" && this.#options.mode !== "column";
  }

  #escaped(text: string): string {
    return this.#options.mode === "markdown" ? text.replaceAll("|", "\\|") : text;
  }

  #rule(left: string, middle: string, right: string): string {
    return `${left}${this.#widths.map((width) => "─".repeat(width + 2)).join(middle)}${right}\n`;
  }

  #markdownRule(): string {
    const parts = this.#widths.map((width, i) =>
      this.#right[i] ? `${"-".repeat(width + 1)}:` : "-".repeat(width + 2),
    );
    return `|${parts.join("|")}|\n`;
  }
}

/** Narrows the widest columns of text until the table fits; no column below 8, and none of numbers. */
function fit(widths: number[], numeric: readonly boolean[], total: number): number[] {
  const fitted = [...widths];
  const over = () => fitted.reduce((sum, width) => sum + width + 3, 1) - total;
  while (total > 0 && over() > 0) {
    let widest = -1;
    for (let i = 0; i < fitted.length; i++)
      if (!numeric[i] && (fitted[i] as number) > (fitted[widest] ?? 8)) widest = i;
    if (widest < 0) break;
    fitted[widest] = Math.max(8, (fitted[widest] as number) - over());
  }
  return fitted;
}

function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const symbol of text) {
    used += displayWidth(symbol);
    if (used > width - 1) break;
    kept += symbol;
  }
  return `${kept}…`;
}

/** Columns on a terminal: wide (East Asian, emoji) count two, combining marks none. */
export function displayWidth(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
  let width = 0;
  for (const symbol of text) {
    const code = symbol.codePointAt(0) as number;
    if (/\p{M}/u.test(symbol) || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)) continue;
    width += isWide(code) ? 2 : 1;
  }
  return width;
}

function isWide(code: number): boolean {
  return (
    code >= 0x1100 &&
    (code <= 0x115f ||
      (code >= 0x2e80 && code <= 0xa4cf && code !== 0x303f) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) ||
      (code >= 0xfe30 && code <= 0xfe6f) ||
      (code >= 0xff00 && code <= 0xff60) ||
      (code >= 0xffe0 && code <= 0xffe6) ||
      (code >= 0x1f300 && code <= 0x1faff) ||
      (code >= 0x20000 && code <= 0x3fffd))
  );
}

function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}
