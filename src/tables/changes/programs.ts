/** What a table makes of rows and keys, compiled once for records without a schema and once for each schema block that comes along. */
import { limits } from "../../base/limits.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import { parseType, type SqlType } from "../../sql/types.ts";
import type { JsonScanner } from "../json/scan.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import { isRecordColumn } from "../record_columns.ts";
import { compileConversion } from "./compile.ts";
import { type ConnectSchema, parseConnectSchema, SchemaCache } from "./connect_schema.ts";
import type { Convert } from "./conversion.ts";
import { KeyProgram } from "./key_program.ts";
import { RowProgram } from "./row_program.ts";

interface Column {
  name: string;
  type: SqlType;
}

/** What is made of one schema block, as far as it was needed. */
export interface SchemaEntry {
  schema: ConnectSchema | undefined;
  /** The fields of an envelope's `after`. */
  after?: RowProgram;
  /** The fields of the payload itself. */
  flat?: RowProgram;
  key?: KeyProgram;
  /** The key columns among those fields, of `after` and of the payload itself. */
  keyInAfter?: KeyProgram;
  keyInFlat?: KeyProgram;
}

export class Programs {
  private readonly columns: readonly Column[];
  private readonly keyColumns: readonly Column[];
  private readonly cache = new SchemaCache<SchemaEntry>();
  /** Rows of change events without a schema. */
  readonly row: RowProgram;
  /** Keys of plainly produced records. */
  readonly plainKey: KeyProgram;
  /** Keys of change events without a schema. */
  readonly key: KeyProgram;

  constructor(definition: Pick<TableDefinition, "columns" | "key">) {
    this.columns = definition.columns
      .filter(({ name }) => !isRecordColumn(name))
      .map(({ name, type }) => ({ name, type: parseType(type) }));
    this.keyColumns = (definition.key ?? []).map((key) => ({
      name: key,
      type: this.columns.find(({ name }) => name === key)?.type ?? { kind: "varchar" },
    }));
    this.row = new RowProgram(withoutSchema(this.columns));
    this.key = new KeyProgram(withoutSchema(this.keyColumns));
    this.plainKey = new KeyProgram(this.keyColumns.map(({ name }) => ({ name, convert: undefined })));
  }

  /**
   * Reads the schema block at the scanner's position. Undefined when the text is not JSON (the scanner says so) or no schema (`fault` says why).
   */
  schemaAt(scanner: JsonScanner): SchemaEntry | undefined {
    const start = scanner.position;
    const known = this.cache.find(scanner.bytes, start, scanner.end);
    if (known !== undefined) {
      scanner.position = start + known.text.length;
      return known.value;
    }
    if (!scanner.skipValue()) return undefined;
    const end = scanner.position;
    if (end - start > limits.changeSchemaBytesMax) {
      this.fault = `the schema block has ${end - start} bytes; at most ${limits.changeSchemaBytesMax} are read`;
      return undefined;
    }
    try {
      const schema = parseConnectSchema(decodeUtf8(scanner.bytes, start, end));
      const entry: SchemaEntry = { schema };
      if (schema !== undefined) this.cache.add(scanner.bytes, start, end, entry);
      return entry;
    } catch (error) {
      this.fault = `the schema block is no Connect schema: ${(error as Error).message}`;
      return undefined;
    }
  }
  fault = "";

  after(entry: SchemaEntry | undefined): RowProgram {
    if (entry?.schema === undefined) return this.row;
    entry.after ??= this.rowOf(rowStruct(entry.schema));
    return entry.after;
  }

  flat(entry: SchemaEntry | undefined): RowProgram {
    if (entry?.schema === undefined) return this.row;
    entry.flat ??= this.rowOf(entry.schema);
    return entry.flat;
  }

  /** `isChange`: the record is a change event, so that without a schema the rules for these hold. */
  keyOf(entry: SchemaEntry | undefined, isChange: boolean): KeyProgram {
    if (entry?.schema === undefined) return isChange ? this.key : this.plainKey;
    entry.key ??= this.keyProgram(entry.schema);
    return entry.key;
  }

  private keyProgram(schema: ConnectSchema | undefined): KeyProgram {
    return new KeyProgram(this.keyColumns.map(({ name, type }) => ({ name, convert: ofField(schema, name, type) })));
  }

  /** As `keyOf`, for the key columns inside of a row of that schema. */
  keyInRow(entry: SchemaEntry | undefined, isEnvelope: boolean): KeyProgram {
    if (entry?.schema === undefined) return this.key;
    if (isEnvelope) {
      entry.keyInAfter ??= this.keyProgram(rowStruct(entry.schema));
      return entry.keyInAfter;
    }
    entry.keyInFlat ??= this.keyProgram(entry.schema);
    return entry.keyInFlat;
  }

  private rowOf(schema: ConnectSchema | undefined): RowProgram {
    return new RowProgram(
      this.columns.map(({ name, type }) => ({
        name,
        convert: schema === undefined ? compileConversion(type, undefined) : ofField(schema, name, type),
      })),
    );
  }
}

function withoutSchema(columns: readonly Column[]) {
  return columns.map(({ name, type }) => ({ name, convert: compileConversion(type, undefined) }));
}

/** The struct of an envelope's `after`, else of its `before`. */
function rowStruct(schema: ConnectSchema): ConnectSchema | undefined {
  const field = (name: string) => schema.fields.find((one) => one.name === name)?.schema;
  return field("after") ?? field("before");
}

function ofField(schema: ConnectSchema | undefined, name: string, type: SqlType): Convert | undefined {
  // A key of one plain value has that value's schema.
  const own = schema?.type === "struct" ? schema.fields.find((field) => field.name === name)?.schema : schema;
  if (own === undefined)
    return (_scanner, context) => {
      context.fault = "the payload has this field and its schema does not";
      return 3;
    };
  return compileConversion(type, own);
}
