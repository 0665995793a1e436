/**
 * Rows as text: a table for people, or JSON, NDJSON, CSV, Markdown and DuckDB's other output modes for programs.
 * Cells come as JSON texts (see http/row_text.ts), so numbers keep their digits in every mode.
 */
import { cellText, csvField, uniqueNames } from "../http/row_text.ts";
import { displayWidth, padStart, TableLayout } from "./table_layout.ts";

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
  /** Rows of a table mode until the widths are known. */
  #kept: string[][] = [];
  #layout: TableLayout | undefined;
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
        return this.#tableRow(cells);
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
      case "column":
      case "markdown":
        return this.#endOfTable();
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

  /** Keeps the first rows to see how wide the columns are, then prints as rows come: memory stays bounded. */
  #tableRow(cells: string[]): string {
    if (this.#layout) return this.#layout.line(this.#texts(cells));
    this.#kept.push(cells);
    return this.#kept.length < rowsForWidths ? "" : this.#begunTable();
  }

  #endOfTable(): string {
    const rest = this.#layout ? "" : this.#begunTable();
    return rest + (this.#layout?.foot() ?? "");
  }

  #begunTable(): string {
    if (this.#columns.length === 0) return "";
    const texts = this.#kept.map((cells) => this.#texts(cells));
    const right = this.#columns.map(({ type }, i) => isNumeric(type, this.#kept, i));
    this.#kept = [];
    const names = this.#columns.map(({ name }) => name);
    const layout = new TableLayout(this.#options, names, texts, right);
    this.#layout = layout;
    return `${layout.head()}${texts.map((row) => layout.line(row)).join("")}`;
  }

  #texts(cells: string[]): string[] {
    return cells.map((cell) => visible(this.#plain(cell)));
  }
}

/** Rows that decide how wide the columns of a table are; cells of later rows are cut to fit. */
const rowsForWidths = 10_000;

function isNumeric(type: string | undefined, rows: readonly string[][], column: number): boolean {
  if (type !== undefined) return /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/.test(type);
  return rows.length > 0 && rows.every((cells) => /^(-?[\d.]|null)/.test(cells[column] ?? "null"));
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

/** Control characters would break the lines of a table. */
function visible(text: string): string {
  return text
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t")
    .replaceAll(/[\u0000-\u001f\u007f]/g, "\ufffd");
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
