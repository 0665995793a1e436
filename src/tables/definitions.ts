/**
 * CREATE and DROP: of tables, which are topics, and of what lives in DuckDB alone (views, schemas, types, macros, sequences).
 *
 * Invariant: the catalog is the truth. DuckDB's table is made before the topic's event and removed after it.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { SqlError } from "../base/sql_error.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { topicNameFault } from "../catalog/names.ts";
import type { SqlEngine } from "../sql/engine.ts";
import type { Statement } from "../sql/statements.ts";
import { nameOf, type Token, wordOf } from "../sql/tokens.ts";
import { quoteText } from "../sql/types.ts";
import { type AlterPlan, parseAlterTable, planAlter } from "./alter_table.ts";
import { type CreateTable, parseCreateTable, qualifiedName } from "./create_table.ts";
import { describeTable, engineStatement } from "./describe.ts";
import { cellsOf, run } from "./engine_calls.ts";
import { alterationStatements, catchUpAlterations } from "./engine_tables.ts";
import { refuseNeededDrop } from "./needed_definitions.ts";
import type { Reads } from "./reads.ts";
import type { Table } from "./table.ts";
import { quotedTable, topicName } from "./table_name.ts";
import { tableOptions } from "./table_options.ts";
import type { Tables } from "./tables.ts";

/** Schemas of the node's own. */
export const reservedSchemas = new Set([
  "_rowlog",
  "_rowlog_describe",
  "_topics",
  "information_schema",
  "pg_catalog",
  "temp",
  "system",
]);

export class Definitions {
  private readonly tables: Tables;
  private readonly catalog: Catalog;
  private readonly reads: Reads;

  constructor(tables: Tables, reads: Reads) {
    this.tables = tables;
    this.catalog = tables.catalog;
    this.reads = reads;
  }

  /** A statement whose effect is DuckDB's alone. */
  async define(
    engine: SqlEngine,
    statement: Statement,
    options: { timeoutMs?: number; signal?: AbortSignal },
  ): Promise<void> {
    await this.checkDefinition(engine, statement);
    await engine.query(statement.text, options);
    // DuckDB 1.4 cannot replay every definition from its log (a type behind its own schema, say), and would then open no table
    // any more after a crash: definitions go into the database file at once.
    await engine.checkpoint();
  }

  private async checkDefinition(engine: SqlEngine, statement: Statement): Promise<void> {
    const tokens = await engine.tokens(statement.text);
    for (const token of tokens)
      if (token.kind === "name" && reservedSchemas.has(nameOf(token).toLowerCase()))
        throw new SqlError("42501", `${nameOf(token)} belongs to the node`, token.start + 1);
    if (statement.kind === "drop_macro") this.refuseOwnMacro(tokens);
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
      await this.reads.prepare(engine, statement.text);
  }

  private refuseOwnMacro(tokens: readonly Token[]): void {
    const own = tokens.find((token) => /^(produce|_rowlog_.*)$/i.test(nameOf(token)));
    if (own !== undefined) throw new SqlError("42501", `${nameOf(own)} belongs to the node`, own.start + 1);
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

  async createTable(engine: SqlEngine, statement: Statement): Promise<void> {
    const create = parseCreateTable(statement.text, await engine.tokens(statement.text));
    return await this.tables.inOrder(async () => {
      const topic = topicName(create);
      const fault = topicNameFault(topic);
      if (fault !== undefined)
        throw new SqlError("42602", `the table would be topic "${topic}". ${fault}`, create.namePosition);
      if (reservedSchemas.has(create.schema.toLowerCase()))
        throw new SqlError("42501", `schema ${create.schema} belongs to the node`, create.namePosition);
      if (await this.existsAlready(create, topic)) return;
      await this.checkDuckDbNames(engine, create);
      const options = tableOptions(create.options);
      const { partitions, configs } = options;
      const table = await describeTable(engine, create, options);
      await this.makeTable(engine, create, topic, table, partitions, configs);
      return;
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

  async dropTable(engine: SqlEngine, statement: Statement): Promise<void> {
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
    return;
  }

  /** While nothing is on its way into the table: each batch is read by exactly one version. */
  async alterTable(engine: SqlEngine, statement: Statement): Promise<void> {
    const { target, position, ifExists, action } = parseAlterTable(statement.text, await engine.tokens(statement.text));
    const name = this.existing(topicName(target));
    const table = name === undefined ? undefined : this.tables.table(name);
    if (table === undefined) {
      if (ifExists) return;
      throw new SqlError("42P01", `there is no table "${topicName(target)}"`, position);
    }
    await this.tables.inOrder(() =>
      this.tables.exclusive(table.topic, async () => {
        const plan = await planAlter(engine, table.definition, action, this.tables.logEnds(table.topic));
        if (plan !== undefined) await this.alter(engine, table, plan);
      }),
    );
  }

  /** DuckDB is asked first, whose rows may be against it; the catalog decides; then DuckDB commits, or at the latest at the next start. */
  private async alter(engine: SqlEngine, { topic, definition }: Table, plan: AlterPlan): Promise<void> {
    const session = await engine.openSession();
    try {
      await session.begin();
      const from = definition.alterations?.length ?? 0;
      for (const sql of alterationStatements(topic.id, plan.definition, from)) await session.collect(sql);
      await this.catalog.alterTable(topic.name, plan.definition);
      await session.commit().catch(() => catchUpAlterations(engine, { topic, definition: plan.definition }));
    } finally {
      await session.close().catch(() => undefined);
    }
    // Soon: a transaction that only reads may hold it up, and producers must not wait for that.
    engine.checkpoint().catch(() => undefined);
  }

  /** As DuckDB finds names: the exact one, else one that differs in case. */
  private existing(name: string): string | undefined {
    return this.catalog.topic(name) === undefined ? this.sameName(name) : name;
  }

  /** Resolves when the table is gone from DuckDB too. Within `inOrder`. */
  async deleteTable(name: string): Promise<void> {
    const table = this.tables.table(name);
    await this.catalog.deleteTopic(name);
    if (table !== undefined) await this.tables.forget(table);
  }
}
