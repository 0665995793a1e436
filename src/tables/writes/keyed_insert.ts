/**
 * INSERT into a keyed table. DuckDB's table of it has no index, which would cost every upsert several times its work; so the statement runs
 * on a small temporary table that has the key, the CHECKs, and of the rows only those that the new ones may meet. What it made of them then
 * goes into the table.
 */
import { SqlError } from "../../base/sql_error.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import type { EngineSession } from "../../sql/engine_session.ts";
import { quoteIdentifier } from "../../sql/types.ts";
import { quotedTable } from "../table_name.ts";
import type { InsertParts } from "./write_statement.ts";

/** DuckDB's statements for a table's temporary copies: everything behind the name. */
export interface TableShape {
  /** With PRIMARY KEY and CHECK. */
  constrained: string;
  /** Without. */
  plain: string;
}

const source = "_rowlog_source";

export class KeyedInsert {
  private readonly session: EngineSession;
  private readonly definition: TableDefinition;
  private readonly shape: TableShape;

  constructor(session: EngineSession, definition: TableDefinition, shape: TableShape) {
    this.session = session;
    this.definition = definition;
    this.shape = shape;
  }

  /** The temporary table: its own name is the table's, which CHECKs and ON CONFLICT may say. */
  get copy(): string {
    return `temp.main.${quoteIdentifier(this.definition.name)}`;
  }

  private get columns(): string {
    return this.definition.columns.map(({ name }) => quoteIdentifier(name)).join(", ");
  }

  /** Evaluates the rows to insert. Throws SqlError with positions in the statement. */
  async begin({ head, source: rows, sourceOffset }: InsertParts): Promise<void> {
    const text = `${head}INSERT INTO temp.main.${source} `;
    await this.run(`CREATE OR REPLACE TEMP TABLE ${source} ${this.shape.plain}`);
    try {
      await this.run(text + rows);
    } catch (error) {
      if (!(error instanceof SqlError)) throw error;
      const message = error.message.replaceAll(source, this.definition.name);
      const at = error.position;
      const moved = at !== undefined && at > [...head].length ? at - [...text].length + sourceOffset : at;
      throw new SqlError(error.sqlstate, message, moved !== undefined && moved > 0 ? moved : undefined);
    }
    const keys = this.definition.key!.map(quoteIdentifier);
    const list = keys.join(", ");
    await this.run(`CREATE OR REPLACE TEMP TABLE ${quoteIdentifier(this.definition.name)} ${this.shape.constrained}`);
    await this.run(
      `INSERT INTO ${this.copy} (${this.columns}) SELECT ${this.columns} FROM ${quotedTable(this.definition)} AS t SEMI JOIN temp.main.${source} AS s USING (${list})`,
    );
  }

  /** What is to run in the statement's place, up to its RETURNING. */
  statement({ or, alias, conflict }: InsertParts): string {
    return `INSERT ${or}INTO ${this.copy} ${alias}(${this.columns}) SELECT ${this.columns} FROM temp.main.${source} ${conflict}`;
  }

  /** Takes the changed rows over: those that the copy now has of the inserted keys. */
  async finish(): Promise<void> {
    const list = this.definition.key!.map(quoteIdentifier).join(", ");
    const table = quotedTable(this.definition);
    const rows = `${this.copy} AS c SEMI JOIN temp.main.${source} AS s USING (${list})`;
    const same = this.definition.key!.map(quoteIdentifier).map((name) => `t.${name} = c.${name}`);
    await this.run(`DELETE FROM ${table} AS t USING ${this.copy} AS c WHERE ${same.join(" AND ")}`);
    await this.run(`INSERT INTO ${table} (${this.columns}) SELECT ${this.columns} FROM ${rows}`);
    await this.run(`DROP TABLE ${this.copy}`);
    await this.run(`DROP TABLE temp.main.${source}`);
  }

  private async run(sql: string): Promise<void> {
    await this.session.collect(sql);
  }
}
