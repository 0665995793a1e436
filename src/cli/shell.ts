/**
 * The interactive shell: lines until a semicolon make a statement, dot commands work at its beginning. History is kept in
 * ~/.rowlog_history (ROWLOG_HISTORY names another file; empty keeps none). Ctrl-C drops the line or cancels the running
 * statement, Ctrl-D leaves.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { dotCommand } from "./dot_commands.ts";
import type { Io } from "./io.ts";
import { CliError } from "./io.ts";
import { readScript, type SqlSession } from "./sql.ts";
import { isBlank, splitStatements } from "./sql_text.ts";

const prompt = "rowlog> ";
const continuation = "   ...> ";
const historyLinesMax = 1_000;

export async function shell(session: SqlSession, io: Io, readStartFile: boolean): Promise<number> {
  const startFile = `${homedir()}/.rowlogrc`;
  if (readStartFile && existsSync(startFile)) await session.script(readScript(startFile));
  if (io.outIsTerminal)
    await io.out(`Connected to ${session.client.url}. End statements with ;  .help lists commands, .exit leaves.\n`);
  const history = new History(io.environment.ROWLOG_HISTORY ?? `${homedir()}/.rowlog_history`);
  const words = new Words(session);
  const reader = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: io.inIsTerminal && io.outIsTerminal,
    prompt: io.outIsTerminal ? prompt : "",
    history: history.lines,
    historySize: historyLinesMax,
    removeHistoryDuplicates: true,
    completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
      words.complete(line).then((result) => done(null, result));
    },
  } as Parameters<typeof createInterface>[0]);
  await new Loop(session, io, reader, history).run();
  return 0;
}

class Loop {
  readonly #session: SqlSession;
  readonly #io: Io;
  readonly #reader: Interface;
  readonly #history: History;
  #pending = "";
  #queue: Promise<void> = Promise.resolve();
  /** The input has ended; statements that it held may still be waiting. */
  #closed = false;

  constructor(session: SqlSession, io: Io, reader: Interface, history: History) {
    this.#session = session;
    this.#io = io;
    this.#reader = reader;
    this.#history = history;
  }

  /** Ends with Ctrl-D, .exit, or the end of the input. */
  async run(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#reader.on("line", (line) => {
        // Lines that arrive while a statement runs wait for it.
        this.#queue = this.#queue
          .then(() => this.#line(line))
          .then((goOn) => (goOn ? undefined : this.#reader.close()));
      });
      this.#reader.on("SIGINT", () => this.#interrupted());
      this.#reader.on("close", () => {
        this.#closed = true;
        void this.#queue.then(resolve);
      });
      this.#ask();
    });
    if (!isBlank(this.#pending) && !this.#io.inIsTerminal) await this.#session.run(this.#pending.trim());
    if (this.#io.outIsTerminal) await this.#io.out("\n");
  }

  async #line(line: string): Promise<boolean> {
    if (isBlank(this.#pending) && /^\s*[.\\][a-z?]/i.test(line)) {
      this.#history.add(line.trim());
      if ((await this.#guarded(() => dotCommand(line.trim(), this.#session))) === "exit") return false;
      this.#ask();
      return true;
    }
    const { statements, rest } = splitStatements(`${this.#pending}${line}\n`);
    this.#pending = isBlank(rest) ? "" : rest;
    for (const statement of statements) {
      this.#history.add(`${statement};`);
      await this.#guarded(() => this.#session.run(statement));
    }
    this.#ask();
    return true;
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
    this.#session.interrupt = new AbortController();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      this.#io.err(`rowlog: ${error.message}\n`);
      return undefined;
    } finally {
      this.#session.interrupt = undefined;
    }
  }

  #interrupted(): void {
    if (this.#session.interrupt) {
      this.#session.interrupt.abort();
      return;
    }
    this.#pending = "";
    this.#io.err("^C (Ctrl-D leaves)\n");
    (this.#reader as Interface & { line: string; cursor: number }).line = "";
    (this.#reader as Interface & { line: string; cursor: number }).cursor = 0;
    this.#ask();
  }

  #ask(): void {
    if (!this.#io.outIsTerminal || this.#closed) return;
    this.#reader.setPrompt(this.#pending === "" ? prompt : continuation);
    this.#reader.prompt();
  }
}

/** Newest first in memory, as readline has it; oldest first in the file. A statement of several lines is one entry. */
class History {
  readonly lines: string[];
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    this.lines = this.#read();
  }

  add(entry: string): void {
    // A line comment would swallow what follows it, once the lines are joined.
    const line = entry.includes("--") ? entry.split("\n")[0] : entry.replaceAll(/\s*\n\s*/g, " ");
    if (line === undefined || line === "" || this.#path === "") return;
    const older = this.#read().reverse();
    if (older.at(-1) === line) return;
    try {
      writeFileSync(this.#path, `${[...older, line].slice(-historyLinesMax).join("\n")}\n`, { mode: 0o600 });
    } catch {
      // A history that cannot be kept is no reason to stop.
    }
  }

  #read(): string[] {
    try {
      return readFileSync(this.#path, "utf8").split("\n").filter(Boolean).reverse().slice(0, historyLinesMax);
    } catch {
      return [];
    }
  }
}

const keywords =
  "SELECT FROM WHERE GROUP BY ORDER LIMIT INSERT INTO VALUES CREATE TABLE DROP WITH PRIMARY KEY NOT NULL DEFAULT JOIN LEFT ON AS DISTINCT COUNT SUM AVG MIN MAX HAVING UNION ALL SHOW DESCRIBE EXPLAIN PARTITIONS".split(
    " ",
  );

/** Words for the tab key: keywords, tables and their columns. */
class Words {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  async complete(line: string): Promise<[string[], string]> {
    const word = /[\w.]*$/.exec(line)?.[0] ?? "";
    if (word === "") return [[], ""];
    const tables = await this.#session.client.tables().catch(() => []);
    const names = tables.flatMap((table) => [table.name, ...table.columns.map((column) => column.name)]);
    const upper = word === word.toUpperCase();
    const all = [...names, ...keywords.map((keyword) => (upper ? keyword : keyword.toLowerCase()))];
    const hits = [...new Set(all)].filter((name) => name.toLowerCase().startsWith(word.toLowerCase()));
    return [hits, word];
  }
}
