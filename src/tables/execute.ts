/**
 * Statements as users send them: cut apart, let through or refused one by one, run in order. Reads wait until the tables have everything that
 * was acknowledged before; the answer is that of the last statement.
 */

import { KafkaError } from "../base/kafka_error.ts";
import { SqlError } from "../base/sql_error.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { topicNameFault } from "../catalog/names.ts";
import type { SqlEngine } from "../sql/engine.ts";
import type { ResultForm, SqlParameters } from "../sql/messages.ts";
import type { ResultStream } from "../sql/result.ts";
import type { Statement } from "../sql/statements.ts";
import { nameOf, type Token, wordOf } from "../sql/tokens.ts";
import { quoteText } from "../sql/types.ts";
import { type CreateTable, parseCreateTable, qualifiedName } from "./create_table.ts";
import { describeTable, engineStatement } from "./describe.ts";
import { cellsOf, run } from "./engine_calls.ts";
import { refuseNeededDrop } from "./needed_definitions.ts";
import type { PlainTopics } from "./plain_topics.ts";
import { wayOf } from "./statement_gate.ts";
import { tableOptions } from "./table_options.ts";
import { quotedTable, type Tables } from "./tables.ts";

export interface ExecuteOptions {
  params?: SqlParameters;
  timeoutMs?: number;
  /** Cancels what runs. */
  signal?: AbortSignal;
  /** How the rows of the last statement come; `json` when absent. */
  form?: ResultForm;
}

/** Schemas of the node's own. */
const reserved = new Set([
  "_rowlog",
  "_rowlog_describe",
  "_topics",
  "information_schema",
  "pg_catalog",
  "temp",
  "system",
]);

export class SqlRunner {
  private readonly tables: Tables;
  private readonly catalog: Catalog;
  private readonly plain: PlainTopics;

  constructor(tables: Tables) {
    this.tables = tables;
    this.catalog = tables.catalog;
    this.plain = tables.plain;
  }

  /** Runs all statements of `text`; `params` go to the last one. Throws SqlError with positions in the whole text. */
  async execute(text: string, options: ExecuteOptions = {}): Promise<ResultStream> {
    const engine = await this.tables.engine();
    const statements = await engine.statements(text);
    if (statements.length === 0) throw new SqlError("42601", "there is no statement to run");
    const ways = statements.map(wayOf);
    for (let i = 0; ; i++) {
      const statement = statements[i]!;
      const isLast = i === statements.length - 1;
      try {
        if (options.signal?.aborted) throw new SqlError("57014", "nobody waits for the answer");
        const result = await this.runOne(
          engine,
          statement,
          ways[i]!,
          isLast ? options : { ...options, params: undefined },
        );
        if (isLast) return result;
        for await (const _rows of result.rows());
      } catch (error) {
        throw inWholeText(error, text, statement);
      }
    }
  }

  private async runOne(
    engine: SqlEngine,
    statement: Statement,
    way: ReturnType<typeof wayOf>,
    options: ExecuteOptions,
  ): Promise<ResultStream> {
    if (way === "create_table") return await this.createTable(engine, statement);
    if (way === "drop_table") return await this.dropTable(engine, statement);
    if (way === "define") {
      await this.checkDefinition(engine, statement);
      await engine.query(statement.text, options);
      // DuckDB 1.4 cannot replay every definition from its log (a type behind its own schema, say), and would then open no table
      // any more after a crash: definitions go into the database file at once.
      await engine.checkpoint();
      return emptyResult();
    }
    await this.prepareRead(engine, statement.text);
    return await engine.stream(statement.text, options);
  }

  /** Makes visible what was acknowledged before now: in tables, and in the plain topics that the statement names. */
  private async prepareRead(engine: SqlEngine, text: string): Promise<void> {
    const names = await this.namesIn(engine, text);
    const topics = this.plain.find(names);
    const lower = new Set([...names].map((name) => name.toLowerCase()));
    await Promise.all([
      this.tables.barrier(({ definition }) => lower.has(definition.name.toLowerCase())),
      topics.length > 0 || this.plain.isStale ? this.plain.prepare(engine, topics) : undefined,
    ]);
  }

  /** Names of tables that the statement reads, those inside of views too. */
  private async namesIn(engine: SqlEngine, text: string): Promise<Set<string>> {
    const names = new Set<string>();
    let texts = [text];
    for (let depth = 0; texts.length > 0 && depth < 32; depth++) {
      const found: string[] = [];
      for (const one of texts)
        for (const name of await this.tableNames(engine, one)) {
          if (names.has(name)) continue;
          names.add(name);
          if (this.catalog.topic(name) === undefined) found.push(name);
        }
      texts = found.length === 0 ? [] : await viewTexts(engine, found);
    }
    return names;
  }

  private async tableNames(engine: SqlEngine, text: string): Promise<string[]> {
    try {
      return await engine.tableNames(text);
    } catch {
      // DuckDB cannot say before the tables exist: take every name in the text that is a topic's.
      const tokens = await engine.tokens(text);
      return tokens.filter((token) => token.kind === "name" || token.kind === "keyword").map(nameOf);
    }
  }

  private async checkDefinition(engine: SqlEngine, statement: Statement): Promise<void> {
    const tokens = await engine.tokens(statement.text);
    for (const token of tokens)
      if (token.kind === "name" && reserved.has(nameOf(token).toLowerCase()))
        throw new SqlError("42501", `${nameOf(token)} belongs to the node`, token.start + 1);
    if (statement.kind === "drop_schema") this.checkSchemaIsEmpty(tokens);
    if (statement.kind === "create_view") this.checkViewName(tokens);
    if (/^drop_(view|type|macro|sequence)$/.test(statement.kind))
      await refuseNeededDrop(
        engine,
        tokens,
        [...this.tables.all()].map(({ definition }) => definition),
      );
    // A view over a plain topic needs the topic's table when it is made.
    if (statement.kind === "create_view" || statement.kind === "create_macro")
      await this.prepareRead(engine, statement.text);
  }

  private checkSchemaIsEmpty(tokens: readonly Token[]): void {
    const names = new Set(tokens.map((token) => nameOf(token).toLowerCase()));
    for (const { definition } of this.tables.all())
      if (names.has(definition.schema.toLowerCase()))
        throw new SqlError(
          "2BP01",
          `schema ${definition.schema} has tables, such as ${definition.name}: drop them first`,
        );
    const cascade = tokens.find((token) => wordOf(token) === "cascade");
    if (cascade !== undefined)
      throw new SqlError(
        "0A000",
        "DROP SCHEMA … CASCADE is not available: drop what is in it first",
        cascade.start + 1,
      );
  }

  private checkViewName(tokens: readonly Token[]): void {
    let at = 1;
    while (wordOf(tokens[at]) !== "view") at++;
    at++;
    if (wordOf(tokens[at]) === "if") at += 3;
    const { schema, name } = qualifiedName(tokens, at);
    if (schema !== "main") return;
    const taken = this.sameName(name);
    if (taken !== undefined)
      throw new SqlError("42P07", `a topic "${taken}" exists, and the view would hide it`, tokens[at]!.start + 1);
  }

  /** A topic whose name differs from `name` in case at most. */
  private sameName(name: string): string | undefined {
    const lower = name.toLowerCase();
    for (const topic of this.catalog.topics()) if (topic.name.toLowerCase() === lower) return topic.name;
    return undefined;
  }

  private async createTable(engine: SqlEngine, statement: Statement): Promise<ResultStream> {
    const create = parseCreateTable(statement.text, await engine.tokens(statement.text));
    return await this.tables.inOrder(async () => {
      const topic = topicName(create);
      const fault = topicNameFault(topic);
      if (fault !== undefined)
        throw new SqlError("42602", `the table would be topic "${topic}". ${fault}`, create.namePosition);
      if (reserved.has(create.schema.toLowerCase()))
        throw new SqlError("42501", `schema ${create.schema} belongs to the node`, create.namePosition);
      if (await this.existsAlready(create, topic)) return emptyResult();
      await this.checkDuckDbNames(engine, create);
      const options = tableOptions(create.options);
      const { partitions, configs } = options;
      const table = await describeTable(engine, create, options);
      await this.makeTable(engine, create, topic, table, partitions, configs);
      return emptyResult();
    });
  }

  private async makeTable(
    engine: SqlEngine,
    create: CreateTable,
    name: string,
    table: Awaited<ReturnType<typeof describeTable>>,
    partitions: number,
    configs: ReadonlyMap<string, string>,
  ): Promise<void> {
    if (create.orReplace && this.catalog.topic(name) !== undefined) await this.deleteTable(name);
    await this.tables.settled();
    await run(engine, await engineStatement(engine, table));
    try {
      const topic = await this.catalog.createTopic({ name, partitions, configs, table });
      await engine.apply({ inserts: [], cursors: [{ topicId: topic.id, partition: 0, nextOffset: 0 }] });
    } catch (error) {
      await run(engine, `DROP TABLE IF EXISTS ${quotedTable(table)}`);
      if (error instanceof KafkaError) throw new SqlError("42P07", error.message, create.namePosition);
      throw error;
    }
  }

  /** True when IF NOT EXISTS makes this a no-op. */
  private async existsAlready(create: CreateTable, topic: string): Promise<boolean> {
    const taken = this.sameName(topic);
    if (taken === undefined) return false;
    const entry = this.catalog.topic(taken)!;
    if (taken !== topic)
      throw new SqlError(
        "42P07",
        `topic "${taken}" exists, and "${topic}" differs from it only in case`,
        create.namePosition,
      );
    if (entry.table === undefined)
      throw new SqlError(
        "42P07",
        `topic "${topic}" exists already and is no table; choose another name, or delete the topic`,
        create.namePosition,
      );
    const { schema, name } = entry.table;
    if (schema !== create.schema || name !== create.name)
      throw new SqlError(
        "42P07",
        `topic "${topic}" is that of table "${name}" in schema "${schema}"`,
        create.namePosition,
      );
    if (create.ifNotExists) return true;
    if (create.orReplace) return false;
    throw new SqlError("42P07", `table "${topic}" exists already`, create.namePosition);
  }

  private async checkDuckDbNames(engine: SqlEngine, { schema, name, namePosition }: CreateTable): Promise<void> {
    const schemas = await cellsOf(
      engine,
      `SELECT 1 FROM duckdb_schemas() WHERE database_name = 'rowlog' AND schema_name = ${quoteText(schema)}`,
    );
    if (schemas.length === 0)
      throw new SqlError("3F000", `there is no schema "${schema}"; make it with CREATE SCHEMA`, namePosition);
    const views = await cellsOf(
      engine,
      `SELECT 1 FROM duckdb_views() WHERE database_name = 'rowlog' AND schema_name = ${quoteText(schema)} AND lower(view_name) = lower(${quoteText(name)})`,
    );
    if (views.length > 0) throw new SqlError("42P07", `a view "${name}" exists already`, namePosition);
  }

  private async dropTable(engine: SqlEngine, statement: Statement): Promise<ResultStream> {
    const tokens = await engine.tokens(statement.text);
    let at = 2;
    const ifExists = wordOf(tokens[at]) === "if" && wordOf(tokens[at + 1]) === "exists";
    if (ifExists) at += 2;
    const target = qualifiedName(tokens, at);
    const position = tokens[at]!.start + 1;
    const behind = wordOf(tokens[target.next]);
    if (tokens[target.next] !== undefined && behind !== "cascade" && behind !== "restrict")
      throw new SqlError(
        "42601",
        `unexpected "${tokens[target.next]!.text}" behind the table; drop one at a time`,
        tokens[target.next]!.start + 1,
      );
    await this.tables.inOrder(async () => {
      const topic = this.existing(topicName(target));
      if (topic === undefined) {
        if (ifExists) return;
        throw new SqlError("42P01", `table "${topicName(target)}" does not exist`, position);
      }
      if (this.catalog.topic(topic)!.table === undefined)
        throw new SqlError("42809", `"${topic}" is a plain topic, not a table; delete the topic instead`, position);
      await this.deleteTable(topic);
    });
    return emptyResult();
  }

  /** As DuckDB finds names: the exact one, else one that differs in case. */
  private existing(name: string): string | undefined {
    return this.catalog.topic(name) === undefined ? this.sameName(name) : name;
  }

  /** Resolves when the table is gone from DuckDB too. Within `inOrder`. */
  private async deleteTable(name: string): Promise<void> {
    const table = this.tables.table(name);
    await this.catalog.deleteTopic(name);
    if (table !== undefined) await this.tables.forget(table);
  }
}

function topicName({ schema, name }: { schema: string; name: string }): string {
  return schema === "main" ? name : `${schema}.${name}`;
}

/** The texts of the queries of those names that are views. */
async function viewTexts(engine: SqlEngine, names: readonly string[]): Promise<string[]> {
  const list = names.map((name) => quoteText(name.toLowerCase())).join(", ");
  const rows = await cellsOf(
    engine,
    `SELECT sql FROM duckdb_views() WHERE NOT internal AND lower(view_name) IN (${list})`,
  );
  const texts: string[] = [];
  for (const [sql] of rows) {
    const tokens = await engine.tokens(sql as string);
    const as = tokens.find((token) => wordOf(token) === "as");
    if (as !== undefined) texts.push((sql as string).slice(as.start + 2).replace(/;\s*$/, ""));
  }
  return texts;
}

/** The answer of a statement that has none. */
function emptyResult(): ResultStream {
  return {
    columns: [],
    async *rows() {},
    async *arrow() {},
    close() {},
  };
}

/** Positions of errors count in the statement; users count in what they sent. */
function inWholeText(error: unknown, text: string, statement: Statement): unknown {
  if (!(error instanceof SqlError) || error.position === undefined || statement.offset === 0) return error;
  const before = [...text.slice(0, statement.offset)].length;
  return new SqlError(error.sqlstate, error.message, error.position + before);
}
