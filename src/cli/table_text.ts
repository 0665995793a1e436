/**
 * Rows as text: a table for people, or JSON, NDJSON, CSV, Markdown and DuckDB's other output modes for programs.
 * Cells come as JSON texts (see http/row_text.ts), so numbers keep their digits in every mode.
 */
import { cellText, csvField, uniqueNames } from "../http/row_text.ts";

export const outputModes = [
  "table",
  "duckbox",
  "box",
  "column",
  "json",
  "ndjson",
  "jsonlines",
  "csv",
  "tabs",
  "list",
  "line",
  "markdown",
  "html",
  "insert",
  "quote",
  "trash",
] as const;

export type OutputMode = (typeof outputModes)[number];

export interface TextOptions {
  mode: OutputMode;
  header: boolean;
  /** Undefined: as the mode has it, nothing in csv, list and tabs, otherwise NULL. */
  nullText: string | undefined;
  /** Between the fields of `list` and `csv`. */
  separator: string | undefined;
  /** Columns of the terminal; longer lines are cut in table modes. 0: never cut. */
  width: number;
}

export const defaultTextOptions: TextOptions = {
  mode: "table",
  header: true,
  nullText: undefined,
  separator: undefined,
  width: 0,
};

export interface TextColumn {
  name: string;
  type?: string;
}

/** True when the mode needs all rows before the first line: column widths. */
export function needsAllRows(mode: OutputMode): boolean {
  return ["table", "duckbox", "box", "column", "markdown"].includes(mode);
}

/**
 * Turns chunks of rows into text. Streaming modes give text as rows come; table modes keep the rows and give everything at
 * the end.
 */
export class RowPrinter {
  readonly #columns: readonly TextColumn[];
  readonly #options: TextOptions;
  readonly #keys: string[];
  readonly #kept: string[][] = [];
  #count = 0;

  constructor(columns: readonly TextColumn[], options: TextOptions) {
    this.#columns = columns;
    this.#options = options;
    this.#keys = uniqueNames(columns.map(({ name }) => name)).map((name) => JSON.stringify(name));
  }

  /** Text in front of the first row. */
  begin(): string {
    const { mode, header } = this.#options;
    const names = this.#columns.map(({ name }) => JSON.stringify(name));
    switch (mode) {
      case "json":
        return "[";
      case "csv":
        return header ? `${names.map((name) => this.#csv(name)).join(this.#options.separator ?? ",")}\n` : "";
      case "tabs":
        return header ? `${names.map((name) => this.#plain(name)).join("\t")}\n` : "";
      case "list":
        return header ? `${names.map((name) => this.#plain(name)).join(this.#options.separator ?? "|")}\n` : "";
      case "html":
        return header ? `<tr>${names.map((name) => `<th>${escapeHtml(this.#plain(name))}</th>`).join("")}</tr>\n` : "";
      default:
        return "";
    }
  }

  /** `cells`: JSON texts, one per column. */
  row(cells: string[]): string {
    const first = this.#count++ === 0;
    const { separator } = this.#options;
    switch (this.#options.mode) {
      case "json":
        return `${first ? "" : ",\n"}${this.#object(cells)}`;
      case "ndjson":
      case "jsonlines":
        return `${this.#object(cells)}\n`;
      case "csv":
        return `${cells.map((cell) => this.#csv(cell)).join(separator ?? ",")}\n`;
      case "tabs":
        return `${cells.map((cell) => this.#plain(cell)).join("\t")}\n`;
      case "list":
        return `${cells.map((cell) => this.#plain(cell)).join(separator ?? "|")}\n`;
      case "line":
        return this.#line(cells, first);
      case "html":
        return `<tr>${cells.map((cell) => `<td>${escapeHtml(this.#plain(cell))}</td>`).join("")}</tr>\n`;
      case "insert":
        return `INSERT INTO "table"(${this.#columns.map(({ name }) => `"${name.replaceAll('"', '""')}"`).join(",")}) VALUES(${cells.map(sqlLiteral).join(",")});\n`;
      case "quote":
        return `${cells.map(sqlLiteral).join(",")}\n`;
      case "trash":
        return "";
      default:
        this.#kept.push(cells);
        return "";
    }
  }

  /** Text behind the last row. */
  end(): string {
    switch (this.#options.mode) {
      case "json":
        return "]\n";
      case "table":
      case "duckbox":
      case "box":
        return this.#box();
      case "column":
        return this.#column();
      case "markdown":
        return this.#markdown();
      default:
        return "";
    }
  }

  #object(cells: string[]): string {
    let text = "{";
    for (let i = 0; i < cells.length; i++) text += `${i === 0 ? "" : ","}${this.#keys[i]}:${cells[i]}`;
    return `${text}}`;
  }

  #plain(cell: string): string {
    return cellText(cell) ?? this.#nullText();
  }

  #nullText(): string {
    const { nullText, mode } = this.#options;
    return nullText ?? (["csv", "list", "tabs"].includes(mode) ? "" : "NULL");
  }

  #csv(cell: string): string {
    const { separator } = this.#options;
    if (cell === "null") return this.#nullText();
    const field = csvField(cell);
    const needs = separator !== undefined && !field.startsWith('"') && field.includes(separator);
    return needs ? `"${field}"` : field;
  }

  #line(cells: string[], first: boolean): string {
    const widest = Math.max(...this.#columns.map(({ name }) => displayWidth(name)));
    const lines = cells.map((cell, i) => `${padStart(this.#columns[i]?.name ?? "", widest)} = ${this.#plain(cell)}\n`);
    return `${first ? "" : "\n"}${lines.join("")}`;
  }

  #widths(texts: string[][], least: number): number[] {
    return this.#columns.map(({ name }, i) =>
      Math.max(least, displayWidth(name), ...texts.map((row) => displayWidth(row[i] ?? ""))),
    );
  }

  #texts(): string[][] {
    return this.#kept.map((cells) => cells.map((cell) => visible(this.#plain(cell))));
  }

  #alignRight(column: number): boolean {
    const type = this.#columns[column]?.type;
    if (type !== undefined) return /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/.test(type);
    return this.#kept.every((cells) => /^(-?[\d.]|null)/.test(cells[column] ?? "null")) && this.#kept.length > 0;
  }

  #box(): string {
    if (this.#columns.length === 0) return "";
    const texts = this.#texts();
    const widths = fit(this.#widths(texts, 1), this.#options.width);
    const rule = (left: string, middle: string, right: string) =>
      `${left}${widths.map((width) => "─".repeat(width + 2)).join(middle)}${right}\n`;
    const line = (cells: string[]) =>
      `│ ${cells.map((cell, i) => this.#pad(cut(cell, widths[i] as number), i, widths[i] as number)).join(" │ ")} │\n`;
    const head = this.#options.header ? `${line(this.#columns.map(({ name }) => name))}${rule("├", "┼", "┤")}` : "";
    return `${rule("┌", "┬", "┐")}${head}${texts.map(line).join("")}${rule("└", "┴", "┘")}`;
  }

  #column(): string {
    const texts = this.#texts();
    const widths = this.#widths(texts, 1);
    const line = (cells: string[]) =>
      `${cells
        .map((cell, i) => this.#pad(cell, i, widths[i] as number))
        .join("  ")
        .trimEnd()}\n`;
    const head = this.#options.header ? line(this.#columns.map(({ name }) => name)) : "";
    return `${head}${texts.map(line).join("")}`;
  }

  #markdown(): string {
    if (this.#columns.length === 0) return "";
    const escaped = (text: string) => text.replaceAll("|", "\\|");
    const texts = this.#texts().map((row) => row.map(escaped));
    const names = this.#columns.map(({ name }) => escaped(name));
    const widths = this.#columns.map((_column, i) =>
      Math.max(3, displayWidth(names[i] as string), ...texts.map((row) => displayWidth(row[i] as string))),
    );
    const line = (cells: string[]) =>
      `| ${cells.map((cell, i) => this.#pad(cell, i, widths[i] as number)).join(" | ")} |\n`;
    const rule = `|${widths.map((width, i) => (this.#alignRight(i) ? `${"-".repeat(width + 1)}:` : "-".repeat(width + 2))).join("|")}|\n`;
    return `${line(names)}${rule}${texts.map(line).join("")}`;
  }

  #pad(text: string, column: number, width: number): string {
    return this.#alignRight(column) ? padStart(text, width) : padEnd(text, width);
  }
}

/** All at once: for small lists such as topics and groups. Values are plain JavaScript values. */
export function printRows(columns: TextColumn[], rows: unknown[][], options: TextOptions): string {
  const printer = new RowPrinter(columns, options);
  return (
    printer.begin() +
    rows.map((row) => printer.row(row.map((value) => JSON.stringify(value ?? null)))).join("") +
    printer.end()
  );
}

/** Narrows the widest columns until the table fits; no column below 8. */
function fit(widths: number[], total: number): number[] {
  if (total <= 0) return widths;
  const fitted = [...widths];
  const used = () => fitted.reduce((sum, width) => sum + width + 3, 1);
  while (used() > total) {
    const widest = fitted.indexOf(Math.max(...fitted));
    if ((fitted[widest] as number) <= 8) break;
    fitted[widest] = Math.max(8, (fitted[widest] as number) - (used() - total));
  }
  return fitted;
}

function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  for (const symbol of text) {
    if (displayWidth(kept + symbol) > width - 1) break;
    kept += symbol;
  }
  return `${kept}…`;
}

/** Control characters would break the lines of a table. */
function visible(text: string): string {
  return text
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t")
    .replaceAll(/[\u0000-\u001f\u007f]/g, "\ufffd");
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

function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function sqlLiteral(cell: string): string {
  const text = cellText(cell);
  if (text === undefined) return "NULL";
  return cell.startsWith('"') || cell.startsWith("{") || cell.startsWith("[")
    ? `'${text.replaceAll("'", "''")}'`
    : text;
}
