/**
 * `rowlog sql`: runs SQL from -c, -f or standard input, or starts the interactive shell (shell.ts).
 * Results go to standard output, errors to standard error; the exit code is 1 when a statement failed.
 */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { cellText, splitRow } from "../http/row_text.ts";
import { type Copy, copyOf, piecesOf, readCopyFile } from "./copy_command.ts";
import { CliError, type Io, UsageError } from "./io.ts";
import { Progress } from "./progress.ts";
import { SqlClient, SqlFailure } from "./sql_client.ts";
import { isBlank, splitStatements } from "./sql_text.ts";
import { defaultTextOptions, type OutputMode, outputModes, RowPrinter, type TextOptions } from "./table_text.ts";

export interface SqlFlags extends Partial<Record<OutputMode, boolean>> {
  url?: string;
  command?: string[];
  file?: string;
  format?: OutputMode;
  cmd?: string;
  init?: string;
  noheader?: boolean;
  nullvalue?: string;
  separator?: string;
  bail?: boolean;
  echo?: boolean;
  timer?: boolean;
  batch?: boolean;
  interactive?: boolean;
  stdin?: boolean;
  progress?: boolean;
}

export async function sql(flags: SqlFlags, io: Io): Promise<number> {
  const session = new SqlSession(flags, io);
  try {
    return await runSession(session, flags, io);
  } finally {
    await session.client.close();
  }
}

async function runSession(session: SqlSession, flags: SqlFlags, io: Io): Promise<number> {
  if (flags.cmd !== undefined) await session.script(flags.cmd);
  if (flags.init !== undefined) await session.script(readScript(flags.init));
  if (flags.command !== undefined) {
    session.bail = true;
    for (const text of flags.command) await session.script(text);
    return session.exitCode;
  }
  if (flags.file !== undefined) {
    await session.script(flags.file === "-" ? await readAll(io) : readScript(flags.file));
    return session.exitCode;
  }
  if (flags.interactive || (io.inIsTerminal && io.outIsTerminal && !flags.batch)) {
    const { shell } = await import("./shell.ts");
    return shell(session, io, flags.init === undefined);
  }
  if (flags.stdin === false) return session.exitCode;
  await session.script(await readAll(io));
  return session.exitCode;
}

/** What a run of statements shares: the node, the output options, the outcome. */
export class SqlSession {
  readonly client: SqlClient;
  readonly options: TextOptions;
  readonly io: Io;
  readonly progress: boolean;
  bail: boolean;
  echo: boolean;
  timer: boolean;
  exitCode = 0;
  /** `.output FILE`; undefined: standard output. */
  outputPath: string | undefined;
  /** Aborted by Ctrl-C while a statement runs in the shell. */
  interrupt: AbortController | undefined;

  constructor(flags: SqlFlags, io: Io) {
    const mode = flags.format ?? outputModes.find((name) => flags[name] === true) ?? "table";
    this.client = new SqlClient(flags.url ?? io.environment.ROWLOG_URL ?? "http://127.0.0.1:8080");
    this.options = { ...defaultTextOptions, mode, width: io.outIsTerminal ? io.width : 0 };
    this.options.header = flags.noheader !== true;
    if (flags.nullvalue !== undefined) this.options.nullText = flags.nullvalue;
    this.options.separator = flags.separator?.replaceAll("\\t", "\t");
    this.io = io;
    this.bail = flags.bail === true;
    this.echo = flags.echo === true;
    this.timer = flags.timer === true;
    this.progress = flags.progress !== false;
  }

  /** Runs dot commands and statements of a text, one after the other. False when one failed and the rest was left out. */
  async script(text: string): Promise<boolean> {
    let pending = "";
    for (const line of text.split(/\r?\n/)) {
      if (isBlank(pending) && /^\s*[.\\][a-z?]/i.test(line)) {
        pending = "";
        const { dotCommand } = await import("./dot_commands.ts");
        const outcome = await dotCommand(line.trim(), this);
        if (outcome === "exit") return false;
        if (outcome === "failed") this.exitCode = 1;
        if (outcome === "failed" && this.bail) return false;
        continue;
      }
      pending += `${line}\n`;
      if (!line.includes(";")) continue;
      const { statements, rest } = splitStatements(pending);
      pending = rest;
      for (const statement of statements) if (!(await this.run(statement)) && this.bail) return false;
    }
    return isBlank(pending) || (await this.run(pending.trim())) || !this.bail;
  }

  /** Runs one statement and prints its rows. False when it failed; the failure has been printed. */
  async run(statement: string): Promise<boolean> {
    if (this.io.signal.aborted) throw new CliError("", 130);
    if (this.echo) await this.write(`${statement};\n`);
    const started = performance.now();
    try {
      const copy = copyOf(statement);
      if (copy === undefined) await this.#print(statement);
      else await this.#copy(copy);
    } catch (error) {
      this.exitCode = 1;
      if (this.io.signal.aborted) throw new CliError("", 130);
      if (this.interrupt?.signal.aborted) this.io.err("cancelled\n");
      else if (error instanceof SqlFailure) this.io.err(failureText(error, statement));
      else throw error;
      return false;
    } finally {
      if (this.timer) this.io.err(`Run Time (s): real ${((performance.now() - started) / 1000).toFixed(3)}\n`);
    }
    return true;
  }

  async write(text: string): Promise<void> {
    if (text === "") return;
    if (this.outputPath === undefined) await this.io.out(text);
    else appendFileSync(this.outputPath, text);
  }

  /** `.output FILE` begins the file anew; no name goes back to standard output. */
  output(path: string | undefined): void {
    if (path !== undefined) writeFileSync(path, "");
    this.outputPath = path;
  }

  async #print(statement: string): Promise<void> {
    const progress = new Progress(this.io, this.progress);
    let received = 0;
    const timer = setInterval(() => progress.update({ label: "running", done: received, unit: "rows" }), 200);
    try {
      const signals = [this.io.signal, ...(this.interrupt ? [this.interrupt.signal] : [])];
      const { columns, rows } = await this.client.query(statement, AbortSignal.any(signals));
      if (isPlan(columns) && drawn.has(this.options.mode)) return await this.#printPlan(rows);
      const printer = new RowPrinter(columns, this.options);
      let begun = false;
      for await (const chunk of rows) {
        received += chunk.length;
        progress.end();
        let text = begun ? "" : printer.begin();
        begun = true;
        for (const row of chunk) text += printer.row(splitRow(row));
        await this.write(text);
      }
      // CREATE and the like have no rows and nothing to show; a SELECT without rows shows its columns.
      const isCommand = !begun && columns.every(({ name }) => name === "Count" || name === "Success");
      progress.end();
      if (!isCommand) await this.write(`${begun ? "" : printer.begin()}${printer.end()}`);
    } finally {
      clearInterval(timer);
      progress.end();
    }
  }

  async #copy(copy: Copy): Promise<void> {
    const text = copy.path === undefined ? await readAll(this.io) : readCopyFile(copy.path);
    const pieces = [...piecesOf(text, copy.header, copyPieceChars)];
    const run = async (sql: string, data?: string) => {
      const { rows } = await this.client.query(sql, this.io.signal, data);
      for await (const _rows of rows);
    };
    if (pieces.length === 1) return await run(copy.sql, pieces[0]);
    // A transaction of the user's takes them as it takes all statements.
    const own = !this.client.inSession;
    if (own) await run("BEGIN");
    try {
      for (const piece of pieces) await run(copy.sql, piece);
      if (own) await run("COMMIT");
    } finally {
      if (own) await this.client.close();
    }
  }

  async #printPlan(rows: AsyncIterable<readonly string[]>): Promise<void> {
    for await (const chunk of rows)
      for (const row of chunk) await this.write(`${cellText(splitRow(row)[1] ?? "")?.trimEnd() ?? ""}\n`);
  }
}

/** Characters that one request of COPY has; a request may have 16 MiB. */
const copyPieceChars = 3 * 1024 * 1024;

/** Modes for people: a plan is a drawing of its own there, not a cell. */
const drawn = new Set<OutputMode>(["table", "duckbox", "box", "column"]);

function isPlan(columns: readonly { name: string }[]): boolean {
  return columns.length === 2 && columns[0]?.name === "explain_key" && columns[1]?.name === "explain_value";
}

/** The code, the message, and the line of the statement with a mark under the place. */
export function failureText(error: SqlFailure, statement: string): string {
  let text = `rowlog: ${error.code}: ${error.message}\n`;
  if (error.position !== undefined && error.position >= 1 && error.position <= statement.length + 1) {
    const before = statement.slice(0, error.position - 1);
    const start = before.lastIndexOf("\n") + 1;
    const end = statement.indexOf("\n", start);
    const line = statement.slice(start, end < 0 ? undefined : end);
    text += `  ${line}\n  ${" ".repeat(before.length - start)}^\n`;
  }
  return text;
}

export function readScript(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CliError(`cannot read ${path}: ${(error as Error).message}`);
  }
}

async function readAll(io: Io): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  try {
    for await (const chunk of io.input()) text += decoder.decode(chunk, { stream: true });
    return text + decoder.decode();
  } catch {
    throw new UsageError("standard input is not UTF-8 text");
  }
}
