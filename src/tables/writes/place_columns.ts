/**
 * `_offset`, `_partition` and `_timestamp` of rows that SQL writes, and `_key` where the table has a key: the node fills them in with what the
 * records will have.
 */
import { SqlError } from "../../base/sql_error.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import type { EngineSession } from "../../sql/engine_session.ts";
import { parseType, quoteIdentifier, typeName } from "../../sql/types.ts";
import { storageType } from "../json/compile.ts";
import { quotedTable } from "../table_name.ts";
import { cellLiteral } from "./captured_write.ts";

interface Place {
  cells: readonly string[];
  partition: number;
  offset: number;
  timestampMs: number;
  key: Uint8Array | null;
}

export class PlaceColumns {
  private readonly session: EngineSession;
  private readonly definition: TableDefinition;
  private readonly places: Place[] = [];
  private readonly offsetAt: number;
  private readonly partitionAt: number;
  private readonly timestampAt: number;
  /** Of a keyed table only: others are given theirs. */
  private readonly keyAt: number;

  constructor(session: EngineSession, definition: TableDefinition) {
    this.session = session;
    this.definition = definition;
    const at = (name: string) => definition.columns.findIndex((column) => column.name === name);
    this.offsetAt = at("_offset");
    this.partitionAt = at("_partition");
    this.timestampAt = at("_timestamp");
    this.keyAt = definition.key === undefined ? -1 : at("_key");
  }

  get exist(): boolean {
    return this.offsetAt >= 0 || this.partitionAt >= 0 || this.timestampAt >= 0 || this.keyAt >= 0;
  }

  private get isKeyed(): boolean {
    return this.definition.key !== undefined;
  }

  /** What tells the rows of a statement from those before it. */
  async before(): Promise<string> {
    if (!this.exist || this.isKeyed) return "";
    const { rows } = await this.session.collect(`SELECT coalesce(max(rowid), -1) FROM ${quotedTable(this.definition)}`);
    return rows[0]!.slice(1, -1);
  }

  /** The place of a record is the log's to say. An UPDATE of a keyed table returns the place of the row before. */
  refuseGiven(cells: readonly string[]): void {
    if (this.isKeyed) return;
    for (const [at, name] of [
      [this.offsetAt, "_offset"],
      [this.partitionAt, "_partition"],
    ] as const)
      if (at >= 0 && cells[at] !== "null")
        throw new SqlError("428C9", `column ${name} tells where the record is, and cannot be given a value`);
  }

  add(place: Place): void {
    this.places.push(place);
  }

  /** `before`: what `before` said. */
  async fill(before: string): Promise<void> {
    if (this.places.length === 0) return;
    const sets: string[] = [];
    if (this.offsetAt >= 0) sets.push("_offset = s._o");
    if (this.partitionAt >= 0) sets.push("_partition = s._p");
    if (this.timestampAt >= 0) sets.push(`_timestamp = ${this.timeOf("s._t")}`);
    if (this.keyAt >= 0) sets.push("_key = s._k");
    const table = quotedTable(this.definition);
    const rows = this.isKeyed ? this.byKey() : this.byRow(table, before);
    await this.session.collect(`UPDATE ${table} AS t SET ${sets.join(", ")} FROM ${rows}`);
  }

  private timeOf(millis: string): string {
    const type = parseType(this.definition.columns[this.timestampAt]!.type);
    if (type.kind === "bigint") return millis;
    return `CAST(make_timestamp(${millis} * 1000) AS ${typeName(type)})`;
  }

  private values(): string {
    return this.places
      .map(({ offset, partition, timestampMs }, i) => `(${i}, ${offset}, ${partition}, ${timestampMs}::BIGINT)`)
      .join(", ");
  }

  /** Rows are numbered in the order in which they were put in. */
  private byRow(table: string, before: string): string {
    return (
      `(SELECT r, _o, _p, _t FROM (SELECT rowid AS r, row_number() OVER (ORDER BY rowid) - 1 AS n FROM ${table} WHERE rowid > ${before}) AS added` +
      ` JOIN (VALUES ${this.values()}) AS places(n, _o, _p, _t) USING (n)) AS s WHERE t.rowid = s.r`
    );
  }

  private byKey(): string {
    const key = this.definition.key!;
    const columns = key.map((name) => this.definition.columns.findIndex((column) => column.name === name));
    const keyType = this.keyAt < 0 ? "" : this.definition.columns[this.keyAt]!.type;
    const rows = this.places.map((place) => {
      const literals = columns.map((at) => {
        const type = parseType(this.definition.columns[at]!.type);
        return cellLiteral(place.cells[at]!, typeName(storageType(type)), type.kind === "blob");
      });
      const text = cellLiteral(JSON.stringify(new TextDecoder().decode(place.key ?? new Uint8Array(0))), "VARCHAR");
      const record = keyType === "BLOB" ? `encode(${text})` : text;
      return `(${literals.join(", ")}, ${place.offset}, ${place.partition}, ${place.timestampMs}::BIGINT, ${record})`;
    });
    const names = key.map((_name, i) => `k${i}`);
    const same = key.map((name, i) => `t.${quoteIdentifier(name)} = s.k${i}`);
    return `(VALUES ${rows.join(", ")}) AS s(${names.join(", ")}, _o, _p, _t, _k) WHERE ${same.join(" AND ")}`;
  }
}
