/**
 * One statement that changes a table, run on a session's transaction so that the changed rows come back with it: as records for the table's
 * log, and as the answer that the user asked for.
 */
import { SqlError } from "../../base/sql_error.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import type { EngineSession } from "../../sql/engine_session.ts";
import { cellSeparator, type ProducedRecord, type ResultColumn } from "../../sql/messages.ts";
import { parseType, quoteIdentifier, typeName } from "../../sql/types.ts";
import { storageType } from "../json/compile.ts";
import { quotedTable } from "../table_name.ts";
import { KeyedInsert, type TableShape } from "./keyed_insert.ts";
import type { RowRecords } from "./row_records.ts";
import type { InsertParts, WriteStatement } from "./write_statement.ts";

export interface RunOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** A row as it is after the statement, or the key of one that is gone: JSON texts of the columns, or of the key's. */
export type Change = { kind: "upsert"; cells: string[] } | Gone;

interface Gone {
  kind: "delete";
  key: string[];
  /** Of a table with sequence_by: the JSON text of the row's sequence, where it is known. */
  sequence?: string;
}

export interface WriteAnswer {
  columns: readonly ResultColumn[];
  /** Each row as the text of a JSON array. */
  rows: string[];
  produced: readonly ProducedRecord[];
}

export interface CapturedWrite {
  changes: Change[];
  /** Rows of a table without a key were changed or removed, which no record tells. */
  rowsOnly: boolean;
  answer: WriteAnswer;
}

const oldKeys = "temp._rowlog_old_keys";

export class WriteRun {
  private readonly session: EngineSession;
  private readonly definition: TableDefinition;
  private readonly write: WriteStatement;
  private readonly options: RunOptions;
  private readonly records: RowRecords;
  private readonly key: readonly string[];
  private readonly shape: () => Promise<TableShape>;
  private readonly hasLocalRows: boolean;

  /** `hasLocalRows`: the transaction has changed the table before. */
  constructor(
    session: EngineSession,
    records: RowRecords,
    write: WriteStatement,
    options: RunOptions,
    table: { definition: TableDefinition; shape: () => Promise<TableShape>; hasLocalRows: boolean },
  ) {
    this.session = session;
    this.definition = table.definition;
    this.shape = table.shape;
    this.hasLocalRows = table.hasLocalRows;
    this.write = write;
    this.options = options;
    this.records = records;
    this.key = table.definition.key ?? [];
  }

  /** Throws SqlError with positions in the statement. */
  async run(): Promise<CapturedWrite> {
    const { verb, insert, body } = this.write;
    if (this.key.length === 0) {
      const tells = verb === "insert" || verb === "merge" || (verb === "update" && this.definition.checks.length > 0);
      if (!tells) return await this.runRowsOnly();
      const captured = await this.runCaptured(body);
      return verb === "update" ? { ...captured, changes: [], rowsOnly: captured.changes.length > 0 } : captured;
    }
    if (insert === undefined) return await this.runOnKeyed();
    return isPlainValues(insert) ? await this.insertValues() : await this.insertIntoKeyed(insert);
  }

  /** The user's own statement, and a look whether its keys were free: two statements where `KeyedInsert` needs nine. */
  private async insertValues(): Promise<CapturedWrite> {
    const captured = await this.runCaptured(this.write.body);
    if (captured.changes.length > 0) await this.refuseTakenKeys(captured.changes);
    return captured;
  }

  /** Each key of the inserted rows is to have one row in the table. */
  private async refuseTakenKeys(inserted: readonly Change[]): Promise<void> {
    const list = this.keyList();
    const tuple = (values: string) => (this.key.length === 1 ? values : `(${values})`);
    const keys = inserted.map((change) =>
      tuple(
        this.keyCellsOf(change)
          .map((cell, i) => this.literal(i, cell))
          .join(", "),
      ),
    );
    const repeated = await this.repeatedKey(`WHERE ${tuple(list)} IN (${keys.join(", ")})`);
    if (repeated === undefined) return;
    const taken = (JSON.parse(repeated) as unknown[]).join(", ");
    throw new SqlError("23505", `PRIMARY KEY or UNIQUE constraint violation: duplicate key "${taken}"`);
  }

  /** A key that several rows of the table have, as the text of a JSON array. `where`: of which rows. */
  private async repeatedKey(where = ""): Promise<string | undefined> {
    const list = this.keyList();
    const { rows } = await this.session.collect(
      `SELECT ${list} FROM ${this.table()} ${where} GROUP BY ${list} HAVING count(*) > 1 LIMIT 1`,
    );
    return rows[0];
  }

  private async insertIntoKeyed(parts: InsertParts): Promise<CapturedWrite> {
    const insert = new KeyedInsert(this.session, this.definition, await this.shape());
    await insert.begin(parts);
    const captured = await this.runCaptured(insert.statement(parts));
    captured.changes = await this.withoutRepeats(captured.changes, insert.copy);
    await insert.finish();
    return captured;
  }

  private async runOnKeyed(): Promise<CapturedWrite> {
    const { verb, body } = this.write;
    const comparesKeys = this.mayTakeKeysAway();
    if (comparesKeys)
      await this.session.collect(
        `CREATE OR REPLACE TEMP TABLE _rowlog_old_keys AS SELECT ${this.keyList()} FROM ${this.table()}`,
      );
    const isDelete = verb === "delete" || verb === "truncate";
    const captured = isDelete && comparesKeys ? await this.deleteLocal() : await this.runCaptured(body);
    if (!isDelete && (comparesKeys || verb === "merge")) await this.refuseRepeatedKeys();
    captured.changes = await this.withoutRepeats(captured.changes, this.table());
    if (!comparesKeys) return captured;
    const kept = captured.changes.filter(({ kind }) => kind === "upsert");
    captured.changes = [...(await this.vanishedKeys()), ...kept];
    return captured;
  }

  /** DuckDB's DELETE … RETURNING leaves out rows that the same transaction put in; so they are read before. */
  private async deleteLocal(): Promise<CapturedWrite> {
    const { body, returning } = this.write;
    let answer: WriteAnswer | undefined;
    if (returning !== undefined) {
      if (this.write.from === undefined)
        throw new SqlError(
          "0A000",
          "DELETE with USING or WITH cannot return rows that the same transaction has changed: leave RETURNING out, or COMMIT before",
        );
      const rest = this.write.from;
      const { columns, rows, produced } = await this.collect(`SELECT ${returning} ${rest}`, this.answerTypes(), 0);
      answer = { columns, rows: rows.map(rowText), produced };
    }
    const { columns, rows, produced } = await this.collect(body, [], 0);
    return { changes: [], rowsOnly: false, answer: answer ?? { columns, rows: rows.map(rowText), produced } };
  }

  private async refuseRepeatedKeys(): Promise<void> {
    const repeated = await this.repeatedKey();
    if (repeated === undefined) return;
    const names = this.key.join(", ");
    throw new SqlError(
      "23505",
      `duplicate key: several rows of "${this.definition.name}" would have (${names}) = (${repeated.slice(1, -1)})`,
    );
  }

  private table(): string {
    return quotedTable(this.definition);
  }

  private keyList(): string {
    return this.key.map(quoteIdentifier).join(", ");
  }

  /** Whether keys may go that RETURNING does not tell of. */
  private mayTakeKeysAway(): boolean {
    const { verb, sets } = this.write;
    if (verb === "delete" || verb === "truncate") return this.hasLocalRows;
    if (verb === "merge" && this.hasLocalRows) return true;
    return sets === undefined || this.key.some((name) => sets.has(name.toLowerCase()));
  }

  /** The user's own statement as it is. */
  private async runRowsOnly(): Promise<CapturedWrite> {
    const { body, returning } = this.write;
    const sql = returning === undefined ? body : `${body} RETURNING ${returning}`;
    const types = returning === undefined ? [] : this.answerTypes();
    const { columns, rows, produced } = await this.collect(sql, types, 0);
    const changed = returning === undefined ? rows[0]?.[0] !== "0" : rows.length > 0;
    const rowsOnly = changed || this.hasLocalRows;
    return { changes: [], rowsOnly, answer: { columns, rows: rows.map(rowText), produced } };
  }

  /** `body`: the statement without RETURNING, or what stands for it. */
  private async runCaptured(body: string): Promise<CapturedWrite> {
    const { verb, returning } = this.write;
    const keyOnly = verb === "delete" || verb === "truncate";
    const sequenceAt = this.records.columns.findIndex(({ name }) => name === this.definition.sequenceBy);
    const keyPlaces = sequenceAt < 0 ? this.records.keyPlaces : [...this.records.keyPlaces, sequenceAt];
    const captured = keyOnly ? keyPlaces.map((place) => this.records.columns[place]!) : this.records.columns;
    const names = captured.map(({ name }) => quoteIdentifier(name));
    const types = captured.map(({ type }) => type);
    if (verb === "merge") {
      names.unshift("merge_action");
      types.unshift("VARCHAR");
    }
    const checksAt = names.length;
    if (!keyOnly)
      for (const check of this.definition.checks) {
        names.push(`(${check}) IS FALSE`);
        types.push("BOOLEAN");
      }
    const insertion = `${names.join(", ")}${returning === undefined ? "" : ", "}`;
    const sql = `${body} RETURNING ${insertion}${returning ?? ""}`;
    const all = returning === undefined ? types : [...types, ...this.answerTypes()];
    const { columns, rows, produced } = await this.collect(sql, all, insertion.length);
    this.refuseFalseChecks(rows, checksAt);
    const changes: Change[] = [];
    let rowsOnly = false;
    for (const row of rows) {
      const action = verb === "merge" ? row[0] : undefined;
      const cells = row.slice(action === undefined ? 0 : 1, checksAt);
      if (keyOnly) changes.push(gone(cells.slice(0, this.key.length), cells[this.key.length]));
      else if (this.key.length === 0 && action !== undefined && action !== '"INSERT"') rowsOnly = true;
      else if (action === '"DELETE"') changes.push(gone(this.keyCells(cells), cells[sequenceAt]));
      else changes.push({ kind: "upsert", cells });
    }
    const answer: WriteAnswer =
      returning === undefined
        ? { columns: [{ name: "Count", type: "BIGINT" }], rows: [`[${rows.length}]`], produced }
        : { columns: columns.slice(names.length), rows: rows.map((row) => rowText(row.slice(names.length))), produced };
    return { changes, rowsOnly, answer };
  }

  private refuseFalseChecks(rows: readonly string[][], checksAt: number): void {
    const { checks, name } = this.definition;
    for (const row of rows)
      for (let i = 0; i < checks.length; i++)
        if (row[checksAt + i] === "true") throw new SqlError("23514", `table "${name}": CHECK (${checks[i]}) is false`);
  }

  /** `RETURNING *` gives columns whose types are known; those of expressions are DuckDB's to tell. */
  private answerTypes(): string[] {
    if (this.write.returning !== "*" || this.write.verb === "merge" || (this.definition.generated ?? []).length > 0)
      return [];
    return this.definition.columns.map(({ type }) => typeName(storageType(parseType(type))));
  }

  private async collect(
    sql: string,
    types: readonly string[],
    inserted: number,
  ): Promise<{ columns: readonly ResultColumn[]; rows: string[][]; produced: readonly ProducedRecord[] }> {
    try {
      const { columns, rows, produced } = await this.session.collect(sql, {
        ...this.options,
        form: "cells",
        types,
        produces: true,
      });
      return { columns, rows: rows.map((row) => row.split(cellSeparator)), produced };
    } catch (error) {
      throw this.atHome(error, inserted);
    }
  }

  /** Positions count in the statement that was run; users count in what they sent. */
  private atHome(error: unknown, inserted: number): unknown {
    if (!(error instanceof SqlError) || error.position === undefined) return error;
    const { body, returning, returningOffset, verb } = this.write;
    const begin = [...`${body} RETURNING `].length;
    if (
      verb === "truncate" ||
      (error.position > begin && (returning === undefined || error.position <= begin + inserted))
    )
      return new SqlError(error.sqlstate, error.message);
    if (error.position <= begin) return error;
    // A list of RETURNING begins behind one space here.
    return new SqlError(error.sqlstate, error.message, error.position - begin - inserted + returningOffset + 1);
  }

  private keyCells(cells: readonly string[]): string[] {
    return this.records.keyPlaces.map((place) => cells[place]!);
  }

  private keyCellsOf(change: Change): string[] {
    return change.kind === "delete" ? change.key : this.keyCells(change.cells);
  }

  private keyOf(change: Change): string {
    return this.keyCellsOf(change).join(cellSeparator);
  }

  /**
   * A statement may change one key several times; what DuckDB returns then need not end with what the table has. Such keys are looked up.
   */
  private async withoutRepeats(changes: Change[], table: string): Promise<Change[]> {
    const seen = new Set<string>();
    const repeated = new Map<string, string[]>();
    for (const change of changes) {
      const key = this.keyOf(change);
      if (seen.has(key)) repeated.set(key, this.keyCellsOf(change));
      seen.add(key);
    }
    if (repeated.size === 0) return changes;
    const kept = changes.filter((change) => !repeated.has(this.keyOf(change)));
    const types = this.records.columns.map(({ type }) => type);
    const columns = this.records.columns.map(({ name }) => quoteIdentifier(name)).join(", ");
    for (const key of repeated.values()) {
      const { rows } = await this.session.collect(`SELECT ${columns} FROM ${table} WHERE ${this.equals(key)}`, {
        form: "cells",
        types,
      });
      if (rows.length === 0) kept.push({ kind: "delete", key });
      else kept.push({ kind: "upsert", cells: rows[0]!.split(cellSeparator) });
    }
    return kept;
  }

  private equals(key: readonly string[]): string {
    return this.key.map((name, i) => `${quoteIdentifier(name)} = ${this.literal(i, key[i]!)}`).join(" AND ");
  }

  /** A key's value as SQL, from its JSON text. */
  private literal(place: number, cell: string): string {
    const type = parseType(this.records.columns[this.records.keyPlaces[place]!]!.type);
    return cellLiteral(cell, typeName(storageType(type)), type.kind === "blob");
  }

  /** Keys that the table had before the statement, and has no more. */
  private async vanishedKeys(): Promise<Change[]> {
    const types = this.records.keyPlaces.map((place) => this.records.columns[place]!.type);
    const list = this.keyList();
    const { rows } = await this.session.collect(
      `SELECT ${list} FROM ${oldKeys} EXCEPT SELECT ${list} FROM ${this.table()}`,
      {
        form: "cells",
        types,
      },
    );
    await this.session.collect(`DROP TABLE ${oldKeys}`);
    return rows.map((row) => ({ kind: "delete", key: row.split(cellSeparator) }));
  }
}

/** Rows out of VALUES for a table as it stands: no ON CONFLICT, OR REPLACE, WITH. */
function isPlainValues({ head, or, source, conflict }: InsertParts): boolean {
  return head.trim() === "" && or === "" && conflict === "" && /^\s*(\([^()]*\)\s*)?values\b/i.test(source);
}

function gone(key: string[], sequence: string | undefined): Gone {
  return { kind: "delete", key, ...(sequence === undefined ? {} : { sequence }) };
}

/** A scalar's JSON text as a SQL expression of the type. */
export function cellLiteral(cell: string, type: string, isBlob = false): string {
  const text = cell.startsWith('"') ? (JSON.parse(cell) as string) : cell;
  const pieces = text.split("\0").map((piece) => `'${piece.replaceAll("'", "''")}'`);
  const quoted = pieces.length === 1 ? pieces[0]! : `(${pieces.join(" || chr(0) || ")})`;
  return isBlob ? `from_base64(${quoted})` : `CAST(${quoted} AS ${type})`;
}

function rowText(cells: readonly string[]): string {
  return `[${cells.join(",")}]`;
}
