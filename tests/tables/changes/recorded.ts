/** Recorded change events, a reader for a table of given columns, and rows as the table would store them. */
import { readFileSync } from "node:fs";
import type { TableDefinition } from "../../../src/catalog/entries.ts";
import { ByteSink } from "../../../src/tables/arrow/bytes.ts";
import { type Change, ChangeReader } from "../../../src/tables/changes/change_reader.ts";
import { JsonScanner } from "../../../src/tables/json/scan.ts";
import { compileTable } from "../../../src/tables/row_schema.ts";

export interface RecordedEvent {
  topic: string;
  key: string | null;
  value: string | null;
  headers: [string, string][];
}

const folder = new URL("../../vectors/debezium/", import.meta.url);

/** The records of one file, of one topic when `topic` (its end) is given. */
export function recorded(file: string, topic = ""): RecordedEvent[] {
  return readFileSync(new URL(`${file}.jsonl`, folder), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as RecordedEvent)
    .filter((event) => event.topic.endsWith(topic));
}

export interface TableOptions {
  key?: string[];
  format?: TableDefinition["format"];
  placeholder?: string;
}

/** `columns`: name and type pairs, such as `{ id: "INTEGER" }`. */
export function definitionOf(columns: Record<string, string>, options: TableOptions = {}): TableDefinition {
  return {
    schema: "main",
    name: "t",
    sql: "",
    columns: Object.entries(columns).map(([name, type]) => ({ name, type, notNull: false })),
    checks: [],
    unique: [],
    key: options.key ?? ["id"],
    ...(options.format ? { format: options.format } : {}),
    ...(options.placeholder ? { unavailableValue: options.placeholder } : {}),
    raw: false,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A change with its bytes as text. */
export type ReadChange =
  | { kind: "upsert"; row: string; unchanged?: string[]; key?: string }
  | { kind: "delete"; key: string }
  | { kind: "truncate" }
  | { kind: "skip"; why: string }
  | { kind: "fault"; message: string };

/** Reads records as a table of these columns does. */
export class TestTable {
  private readonly columns: Record<string, string>;
  private readonly definition: TableDefinition;
  private readonly reader: ChangeReader;

  constructor(columns: Record<string, string>, options: TableOptions = {}) {
    this.columns = columns;
    // A keyless table is written as an empty key.
    this.definition = definitionOf(columns, options);
    if (options.key?.length === 0) delete this.definition.key;
    this.reader = new ChangeReader(this.definition);
  }

  change(key: string | Uint8Array | null, value: string | Uint8Array | null): Change {
    const bytes = (text: string | Uint8Array | null) => (typeof text === "string" ? encoder.encode(text) : text);
    return this.reader.read(bytes(key), bytes(value));
  }

  read(key: string | Uint8Array | null, value: string | Uint8Array | null): ReadChange {
    const change = this.change(key, value);
    if (change.kind === "upsert")
      return {
        kind: "upsert",
        row: decoder.decode(change.row),
        ...(change.unchanged ? { unchanged: change.unchanged } : {}),
        ...(change.key ? { key: decoder.decode(change.key) } : {}),
      };
    return change.kind === "delete" ? { kind: "delete", key: decoder.decode(change.key) } : change;
  }

  /** The row's values as JSON texts by column, as the table stores them; throws where the plain row rules refuse it. */
  stored(row: string): Record<string, string> {
    const { reader } = compileTable(this.definition);
    const scanner = new JsonScanner();
    const bytes = encoder.encode(row);
    scanner.reset(bytes, 0, bytes.length);
    const children = reader.newChildren(1);
    if (!reader.read(scanner, children, 0))
      throw new Error(`${scanner.syntaxError}${scanner.faultPath}: ${scanner.fault}`);
    const values: Record<string, string> = {};
    Object.keys(this.columns).forEach((name, i) => {
      if (!reader.wasSeen(i)) return;
      const sink = new ByteSink();
      reader.fields[i]!.codec.writeOrNull(sink, children[i]!, 0);
      values[name] = decoder.decode(sink.view());
    });
    return values;
  }
}
