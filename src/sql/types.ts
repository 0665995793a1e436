/**
 * DuckDB's column types as a tree. `parseType` reads the text that DuckDB itself prints (duckdb_columns().data_type, DESCRIBE)
 * and the spellings that people type; `typeName` prints a text that DuckDB reads back as the same type.
 *
 * JSON is a type of its own here. In DuckDB-WASM, which has no JSON extension, it is stored as VARCHAR.
 */

/** Types without parameters, by their SQL name. */
export const simpleTypeNames = {
  boolean: "BOOLEAN",
  tinyint: "TINYINT",
  smallint: "SMALLINT",
  integer: "INTEGER",
  bigint: "BIGINT",
  hugeint: "HUGEINT",
  utinyint: "UTINYINT",
  usmallint: "USMALLINT",
  uinteger: "UINTEGER",
  ubigint: "UBIGINT",
  uhugeint: "UHUGEINT",
  bignum: "BIGNUM",
  float: "FLOAT",
  double: "DOUBLE",
  varchar: "VARCHAR",
  json: "JSON",
  blob: "BLOB",
  bit: "BIT",
  uuid: "UUID",
  date: "DATE",
  time: "TIME",
  time_ns: "TIME_NS",
  timetz: "TIME WITH TIME ZONE",
  timestamp: "TIMESTAMP",
  timestamp_s: "TIMESTAMP_S",
  timestamp_ms: "TIMESTAMP_MS",
  timestamp_ns: "TIMESTAMP_NS",
  timestamptz: "TIMESTAMP WITH TIME ZONE",
  interval: "INTERVAL",
  null: '"NULL"',
} as const;

export type SimpleKind = keyof typeof simpleTypeNames;

export interface NamedType {
  name: string;
  type: SqlType;
}

export type SqlType =
  | { kind: SimpleKind }
  | { kind: "decimal"; precision: number; scale: number }
  | { kind: "enum"; values: readonly string[] }
  | { kind: "list"; child: SqlType }
  | { kind: "array"; child: SqlType; size: number }
  | { kind: "struct"; fields: readonly NamedType[] }
  | { kind: "map"; key: SqlType; value: SqlType }
  | { kind: "union"; members: readonly NamedType[] }
  /** A type that this file does not know, such as one of a later DuckDB: kept as its text. */
  | { kind: "other"; text: string };

/** Other spellings of the simple types, as DuckDB accepts them (https://duckdb.org/docs/sql/data_types/overview). */
const aliases: Record<string, SimpleKind> = {
  bool: "boolean",
  logical: "boolean",
  int1: "tinyint",
  int2: "smallint",
  short: "smallint",
  int16: "smallint",
  int: "integer",
  int4: "integer",
  signed: "integer",
  integral: "integer",
  int32: "integer",
  int8: "bigint",
  long: "bigint",
  oid: "bigint",
  int64: "bigint",
  int128: "hugeint",
  uint8: "utinyint",
  uint16: "usmallint",
  uint32: "uinteger",
  uint64: "ubigint",
  uint128: "uhugeint",
  varint: "bignum",
  real: "float",
  float4: "float",
  float8: "double",
  text: "varchar",
  string: "varchar",
  char: "varchar",
  bpchar: "varchar",
  nvarchar: "varchar",
  bytea: "blob",
  binary: "blob",
  varbinary: "blob",
  bitstring: "bit",
  guid: "uuid",
  datetime: "timestamp",
  timestamp_us: "timestamp",
  timestamp_s: "timestamp_s",
  timestamp_ms: "timestamp_ms",
  timestamp_ns: "timestamp_ns",
  timestamptz: "timestamptz",
  timetz: "timetz",
};

const simpleKinds = new Map<string, SimpleKind>(Object.entries(aliases));
for (const kind of Object.keys(simpleTypeNames) as SimpleKind[]) simpleKinds.set(kind, kind);

/** Levels of LIST, STRUCT and MAP inside each other that a type may have; DuckDB itself has no limit. */
const typeDepthMax = 100;

/** Reads a type's text. A simple name that is not known gives kind `other`; text that is no type at all throws a SyntaxError. */
export function parseType(text: string): SqlType {
  const parser = new TypeParser(text);
  const type = parser.type(0);
  if (parser.token !== "") throw new SyntaxError(`"${text}" is not a type: unexpected ${parser.token}`);
  return type;
}

/** The type's text as DuckDB prints it, names quoted where they need it. */
export function typeName(type: SqlType): string {
  switch (type.kind) {
    case "decimal":
      return `DECIMAL(${type.precision},${type.scale})`;
    case "enum":
      return `ENUM(${type.values.map(quoteText).join(", ")})`;
    case "list":
      return `${typeName(type.child)}[]`;
    case "array":
      return `${typeName(type.child)}[${type.size}]`;
    case "struct":
      return `STRUCT(${type.fields.map(named).join(", ")})`;
    case "union":
      return `UNION(${type.members.map(named).join(", ")})`;
    case "map":
      return `MAP(${typeName(type.key)}, ${typeName(type.value)})`;
    case "other":
      return type.text;
    default:
      return simpleTypeNames[type.kind];
  }
}

function named(field: NamedType): string {
  return `${quoteIdentifier(field.name)} ${typeName(field.type)}`;
}

/** A SQL string literal. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A SQL identifier in double quotes, whatever its characters. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

class TypeParser {
  private readonly text: string;
  private position = 0;
  /** The token at hand: a word in lower case, a sign, or "" at the end. */
  token = "";
  /** What a quoted token holds, or a word as it was written. */
  private raw = "";
  private quoted: "" | '"' | "'" = "";

  constructor(text: string) {
    this.text = text;
    this.next();
  }

  type(depth: number): SqlType {
    if (depth > typeDepthMax) throw new SyntaxError(`a type may nest ${typeDepthMax} levels deep`);
    let type = this.baseType(depth);
    while (this.token === "[") {
      this.next();
      if (this.accept("]")) type = { kind: "list", child: type };
      else {
        type = { kind: "array", child: type, size: this.number() };
        this.expect("]");
      }
    }
    return type;
  }

  private baseType(depth: number): SqlType {
    if (this.quoted === "'" || this.token === "") throw this.unexpected();
    const word = this.quoted === '"' ? this.raw.toLowerCase() : this.token;
    const written = this.raw;
    if (!/^[a-z_]/.test(word)) throw this.unexpected();
    this.next();
    if (this.token === "(") {
      if (word === "struct" || word === "row") return { kind: "struct", fields: this.fields(depth) };
      if (word === "union") return { kind: "union", members: this.fields(depth) };
      if (word === "enum") return { kind: "enum", values: this.values() };
      if (word === "map") return this.map(depth);
      if (word === "decimal" || word === "numeric" || word === "dec") return this.decimal();
    }
    if (word === "decimal" || word === "numeric" || word === "dec") return { kind: "decimal", precision: 18, scale: 3 };
    if (word === "double" && this.accept("precision")) return { kind: "double" };
    if ((word === "timestamp" || word === "time") && (this.token === "with" || this.token === "without")) {
      const zone = this.token === "with";
      this.next();
      this.expect("time");
      this.expect("zone");
      return { kind: zone ? (word === "time" ? "timetz" : "timestamptz") : word };
    }
    const kind = simpleKinds.get(word);
    // VARCHAR(10), FLOAT(24): DuckDB accepts the length and ignores it.
    if (kind !== undefined && this.accept("(")) {
      this.number();
      this.expect(")");
    }
    return kind === undefined ? { kind: "other", text: written } : { kind };
  }

  private fields(depth: number): NamedType[] {
    const fields: NamedType[] = [];
    this.expect("(");
    do {
      const name = this.raw;
      if (this.token === "" || this.quoted === "'") throw this.unexpected();
      this.next();
      fields.push({ name, type: this.type(depth + 1) });
    } while (this.accept(","));
    this.expect(")");
    return fields;
  }

  private values(): string[] {
    const values: string[] = [];
    this.expect("(");
    do {
      if (this.quoted !== "'") throw this.unexpected();
      values.push(this.raw);
      this.next();
    } while (this.accept(","));
    this.expect(")");
    return values;
  }

  private map(depth: number): SqlType {
    this.expect("(");
    const key = this.type(depth + 1);
    this.expect(",");
    const value = this.type(depth + 1);
    this.expect(")");
    return { kind: "map", key, value };
  }

  private decimal(): SqlType {
    this.expect("(");
    const precision = this.number();
    const scale = this.accept(",") ? this.number() : 0;
    this.expect(")");
    return { kind: "decimal", precision, scale };
  }

  private number(): number {
    if (!/^[0-9]+$/.test(this.token)) throw this.unexpected();
    const value = Number(this.token);
    this.next();
    return value;
  }

  private accept(token: string): boolean {
    if (this.quoted !== "" || this.token !== token) return false;
    this.next();
    return true;
  }

  private expect(token: string): void {
    if (!this.accept(token)) throw this.unexpected();
  }

  private unexpected(): SyntaxError {
    return new SyntaxError(`"${this.text}" is not a type: unexpected ${this.token === "" ? "end" : this.raw}`);
  }

  private next(): void {
    const text = this.text;
    while (/\s/.test(text[this.position] ?? "")) this.position++;
    this.quoted = "";
    const sign = text[this.position];
    if (sign === undefined) {
      this.token = this.raw = "";
      return;
    }
    if (sign === '"' || sign === "'") {
      this.readQuoted(sign);
      return;
    }
    const word = /[\p{L}\p{N}_$.]+/uy;
    word.lastIndex = this.position;
    this.raw = word.exec(text)?.[0] ?? sign;
    this.token = this.raw.toLowerCase();
    this.position += this.raw.length;
  }

  private readQuoted(quote: '"' | "'"): void {
    let value = "";
    let at = this.position + 1;
    for (;;) {
      const end = this.text.indexOf(quote, at);
      if (end < 0) throw new SyntaxError(`"${this.text}" is not a type: unterminated ${quote}`);
      value += this.text.slice(at, end);
      if (this.text[end + 1] !== quote) {
        this.position = end + 1;
        break;
      }
      value += quote;
      at = end + 2;
    }
    this.quoted = quote;
    this.raw = value;
    this.token = quote + value;
  }
}

const integerTypes = new Set<SqlType["kind"]>([
  "tinyint",
  "smallint",
  "integer",
  "bigint",
  "hugeint",
  "utinyint",
  "usmallint",
  "uinteger",
  "ubigint",
  "uhugeint",
]);

/** Whether values of the type are whole numbers. */
export function isInteger(type: SqlType): boolean {
  return integerTypes.has(type.kind);
}
