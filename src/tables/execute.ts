/**
 * Statements as users send them: cut apart, let through or refused one by one, run in order. Reads wait until the tables have everything that
 * was acknowledged before; the answer is that of the last statement.
 */
import { SqlError } from "../base/sql_error.ts";
import type { SqlEngine } from "../sql/engine.ts";
import type { ResultForm, SqlParameters } from "../sql/messages.ts";
import { bindParameters } from "../sql/parameters.ts";
import type { Statement } from "../sql/statements.ts";
import { quoteIdentifier } from "../sql/types.ts";
import { createStatement, parseCreateTableAs } from "./create_table_as.ts";
import { Definitions, reservedSchemas } from "./definitions.ts";
import { Reads } from "./reads.ts";
import { emptyResult, rowsResult, type SqlResult } from "./results.ts";
import { type Way, wayOf } from "./statement_gate.ts";
import type { Table } from "./table.ts";
import { topicName } from "./table_name.ts";
import type { Tables } from "./tables.ts";
import type { WriteAnswer } from "./writes/captured_write.ts";
import { insertsOf, parseCopy } from "./writes/copy.ts";
import { produceCall } from "./writes/produce_calls.ts";
import type { SqlSession } from "./writes/session.ts";
import { SqlSessions } from "./writes/sessions.ts";
import type { WriteTransaction } from "./writes/transaction.ts";
import { parseWrite, type WriteStatement } from "./writes/write_statement.ts";

export interface ExecuteOptions {
  params?: SqlParameters;
  timeoutMs?: number;
  /** Cancels what runs. */
  signal?: AbortSignal;
  /** How the rows of the last statement come; `json` when absent. */
  form?: ResultForm;
  /** What COPY … FROM STDIN reads. */
  data?: string;
  /** Of `SqlSessions.open`; absent: what the text begins ends with it. */
  session?: string;
}

export interface RunnerOptions {
  /** Milliseconds after which a transaction of a session is rolled back in which nothing happens. */
  idleMs?: number;
}

/** A statement on its way, with what is said to it. */
interface Running {
  engine: SqlEngine;
  session: SqlSession;
  statement: Statement;
  options: ExecuteOptions;
}

const idleMsByDefault = 10_000;

export class SqlRunner {
  readonly sessions: SqlSessions;
  private readonly tables: Tables;
  private readonly reads: Reads;
  private readonly definitions: Definitions;

  constructor(tables: Tables, { idleMs = idleMsByDefault }: RunnerOptions = {}) {
    this.tables = tables;
    this.reads = new Reads(tables);
    this.definitions = new Definitions(tables, this.reads);
    this.sessions = new SqlSessions({
      writes: tables.writes,
      engine: () => tables.engine(),
      clock: tables.clock,
      idleMs,
    });
  }

  /** Runs all statements of `text`; `params` go to the last one. Throws SqlError with positions in the whole text. */
  async execute(text: string, options: ExecuteOptions = {}): Promise<SqlResult> {
    if (options.session !== undefined)
      return await this.sessions.use(options.session, (session) => this.executeIn(session, text, options));
    const session = this.sessions.once();
    try {
      const result = await this.executeIn(session, text, options);
      if (!session.inTransaction) return result;
      result.close();
      throw new SqlError(
        "25000",
        "the text ends inside a transaction, which was rolled back: COMMIT in the same text, or use a session",
      );
    } finally {
      if (session.inTransaction) await session.end();
    }
  }

  private async executeIn(session: SqlSession, text: string, options: ExecuteOptions): Promise<SqlResult> {
    const engine = await this.tables.engine();
    const statements = await engine.statements(text);
    if (statements.length === 0) throw new SqlError("42601", "there is no statement to run");
    const ways = statements.map(wayOf);
    for (let i = 0; ; i++) {
      const statement = statements[i]!;
      const isLast = i === statements.length - 1;
      try {
        if (options.signal?.aborted) throw new SqlError("57014", "nobody waits for the answer");
        const given = isLast ? options : { ...options, params: undefined, form: undefined };
        const result = await this.runOne({ engine, session, statement, options: given }, ways[i]!);
        if (isLast) return result;
        for await (const _rows of result.rows());
      } catch (error) {
        throw inWholeText(error, text, statement);
      }
    }
  }

  private async runOne(running: Running, way: Way): Promise<SqlResult> {
    const { session, statement } = running;
    switch (way) {
      case "begin":
        session.begin();
        return emptyResult();
      case "commit":
        return emptyResult(await session.commit());
      case "rollback":
        await session.rollback();
        return emptyResult();
      case "write":
        refuseArrow(running.options);
        return await this.write(running);
      case "copy":
        refuseArrow(running.options);
        return await this.copy(running);
      case "read":
        return await this.read(running);
      default:
        session.refuseInTransaction(statement.words.slice(0, 2).join(" ").toUpperCase());
        return way === "create_table" ? await this.createTable(running) : await this.define(running, way);
    }
  }

  private async read(running: Running): Promise<SqlResult> {
    const { engine, session, statement, options } = running;
    // A look at the text saves most queries the question for their tokens.
    if (/produce/i.test(statement.text) && produceCall(await engine.tokens(statement.text)))
      return await this.select(running);
    const prepare = () => this.reads.prepare(engine, statement.text);
    if (session.inTransaction) return await session.read(statement.text, withoutSession(options), prepare);
    await prepare();
    return await engine.stream(statement.text, withoutSession(options));
  }

  /** A query with produce(). */
  private async select({ engine, session, statement, options }: Running): Promise<SqlResult> {
    if (statement.kind !== "select")
      throw new SqlError("0A000", "produce() can be called in a SELECT only, or in a statement that writes");
    refuseArrow(options);
    const bound = await bind(engine, statement.text, options.params);
    const work = (transaction: WriteTransaction) => transaction.select(bound.sql, limitsOf(options));
    return await this.written(session, work, () => this.reads.prepare(engine, statement.text)).catch(bound.fail);
  }

  private async write({ engine, session, statement, options }: Running): Promise<SqlResult> {
    const bound = await bind(engine, statement.text, options.params);
    try {
      const bare: Statement = { ...statement, text: bound.sql, offset: 0 };
      const tokens = await engine.tokens(bound.sql);
      const write = parseWrite(bare, tokens);
      const work = (transaction: WriteTransaction) => transaction.write(write, this.target(write), limitsOf(options));
      const named = write.verb === "insert" ? undefined : tokens;
      return await this.written(session, work, () => this.reads.prepare(engine, bound.sql, named));
    } catch (error) {
      return bound.fail(error);
    }
  }

  private async copy({ engine, session, statement, options }: Running): Promise<SqlResult> {
    const copy = parseCopy(await engine.tokens(statement.text));
    const { data } = options;
    if (data === undefined)
      throw new SqlError(
        "22023",
        "COPY … FROM STDIN reads the request's data, and there is none; `rowlog sql` sends a file or its standard input",
      );
    const table = this.target({ ...copy.target, position: copy.position });
    const work = async (transaction: WriteTransaction): Promise<WriteAnswer> => {
      let count = 0;
      if (copy.format === "json") {
        const rows = data.split("\n").filter((line) => line.trim() !== "");
        count = rows.length;
        await transaction.produceRows(table.topic, rows);
      } else
        for (const write of insertsOf(copy, data)) {
          const { rows } = await transaction.write(write, table, limitsOf(options)).catch(withoutPosition);
          count += Number(rows[0]!.slice(1, -1));
        }
      return { columns: [{ name: "Count", type: "BIGINT" }], rows: [`[${count}]`], produced: [] };
    };
    return await this.written(session, work, () => this.tables.barrier());
  }

  private async written(
    session: SqlSession,
    work: (transaction: WriteTransaction) => Promise<WriteAnswer>,
    prepare: () => Promise<void>,
  ): Promise<SqlResult> {
    const { answer, placements } = await session.write(work, prepare);
    return rowsResult(answer.columns, answer.rows, placements);
  }

  /** The table that a statement writes to. Throws SqlError. */
  private target({ schema, name, position }: Pick<WriteStatement, "schema" | "name" | "position">): Table {
    if (reservedSchemas.has(schema.toLowerCase()))
      throw new SqlError("42501", `schema ${schema} belongs to the node`, position);
    const wanted = topicName({ schema, name });
    const table = this.tables.table(wanted) ?? this.tables.find(wanted);
    if (table !== undefined) return table;
    const topic = this.tables.catalog.topic(wanted);
    if (topic === undefined)
      throw new SqlError("42P01", `there is no table "${wanted}" to write to (views cannot be written to)`, position);
    throw new SqlError(
      "42809",
      `"${wanted}" is a topic and no table: SELECT produce('${wanted}', key, value) writes to it`,
      position,
    );
  }

  private async createTable(running: Running): Promise<SqlResult> {
    const { engine, session, statement, options } = running;
    const create = parseCreateTableAs(statement.text, await engine.tokens(statement.text));
    if (create === undefined) return await this.define(running, "create_table");
    const bound = await bind(engine, create.query, options.params);
    await this.reads.prepare(engine, bound.sql);
    const text = await createStatement(engine, { ...create, query: bound.sql });
    const name = topicName(create.target);
    const before = this.tables.catalog.topic(name)?.id;
    await this.define({ ...running, statement: { ...statement, text } }, "create_table");
    const made = this.tables.catalog.topic(name);
    // IF NOT EXISTS, and it does.
    if (made === undefined || made.id === before) return emptyResult();
    const { schema } = create.target;
    const insert = `INSERT INTO ${quoteIdentifier(schema)}.${quoteIdentifier(create.target.name)} ${bound.sql}`;
    try {
      const given = { timeoutMs: options.timeoutMs, signal: options.signal };
      return await this.write({
        engine,
        session,
        statement: { ...statement, kind: "insert", text: insert },
        options: given,
      });
    } catch (error) {
      await this.tables.inOrder(() => this.definitions.deleteTable(name));
      if (!(error instanceof SqlError)) throw error;
      throw new SqlError(error.sqlstate, error.message);
    }
  }

  /** One at a time with transactions that write: a table does not change under them. */
  private async define({ engine, statement, options }: Running, way: Way): Promise<SqlResult> {
    const call = produceCall(await engine.tokens(statement.text));
    if (call !== undefined)
      throw new SqlError(
        "0A000",
        "produce() can be called by a statement only, not in what is defined",
        call.start + 1,
      );
    const endTurn = await this.tables.writes.takeTurn();
    this.reads.forgetViews();
    try {
      if (way === "create_table") await this.definitions.createTable(engine, statement);
      else if (way === "drop_table") await this.definitions.dropTable(engine, statement);
      else if (way === "alter_table") await this.definitions.alterTable(engine, statement);
      else await this.definitions.define(engine, statement, options);
      return emptyResult();
    } finally {
      // Also what was asked for while the statement ran.
      this.reads.forgetViews();
      endTurn();
    }
  }
}

/** Before anything is written. */
function refuseArrow({ form }: ExecuteOptions): void {
  if (form === "arrow")
    throw new SqlError("0A000", "what a statement that writes answers comes as JSON or CSV, not as Arrow");
}

/** Of an error in a statement that the user has not written. */
function withoutPosition(error: unknown): never {
  throw error instanceof SqlError ? new SqlError(error.sqlstate, error.message) : error;
}

function withoutSession({ params, timeoutMs, signal, form }: ExecuteOptions): Omit<ExecuteOptions, "session"> {
  return { params, timeoutMs, signal, form };
}

function limitsOf({ timeoutMs, signal }: ExecuteOptions): { timeoutMs?: number; signal?: AbortSignal } {
  return { timeoutMs, signal };
}

/** The text with its parameters in it, and what gives errors their place in the text without. */
async function bind(
  engine: SqlEngine,
  text: string,
  params: SqlParameters | undefined,
): Promise<{ sql: string; fail(error: unknown): never }> {
  const bound = params && bindParameters(text, await engine.tokens(text), params);
  return {
    sql: bound?.sql ?? text,
    fail(error) {
      if (bound === undefined || !(error instanceof SqlError) || error.position === undefined) throw error;
      throw new SqlError(error.sqlstate, error.message, bound.originalOffset(error.position - 1) + 1);
    },
  };
}

/** Positions of errors count in the statement; users count in what they sent. */
function inWholeText(error: unknown, text: string, statement: Statement): unknown {
  if (!(error instanceof SqlError) || error.position === undefined || statement.offset === 0) return error;
  const before = [...text.slice(0, statement.offset)].length;
  return new SqlError(error.sqlstate, error.message, error.position + before);
}
