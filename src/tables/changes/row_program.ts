/**
 * Reads the object that holds a row (an envelope's `after`, or a flattened row) in one pass: finds its columns, converts what has to be, and
 * notes the values that the source did not send.
 */
import { closeBrace, comma, type JsonScanner, nullWord, openBrace, openBracket, quote } from "../json/scan.ts";
import { type Conversion, type Convert, failed, keepValue, kept, type Outcome, unchanged } from "./conversion.ts";
import { FieldNames } from "./field_names.ts";

export class RowProgram {
  private readonly columns: readonly string[];
  private readonly converts: readonly (Convert | undefined)[];
  private readonly names: FieldNames;

  /** Of the row last read: the columns whose values were not sent; undefined when all were. */
  unchanged: string[] | undefined;
  /** How many fields of the row last read are columns. */
  found = 0;

  constructor(columns: readonly { name: string; convert: Convert | undefined }[]) {
    this.columns = columns.map(({ name }) => name);
    this.converts = columns.map(({ convert }) => convert);
    this.names = new FieldNames(this.columns);
  }

  /** Reads the object at the position into the context's splice. False with a syntax error, or with a fault; then the position is anywhere. */
  read(scanner: JsonScanner, context: Conversion): boolean {
    const { splice } = context;
    this.unchanged = undefined;
    this.found = 0;
    splice.begin(scanner.bytes, scanner.position);
    if (!scanner.enter()) return false;
    scanner.skipSpace();
    if (scanner.peek() === closeBrace) scanner.position++;
    else
      for (let position = 0; ; position++) {
        const nameStart = scanner.position;
        if (scanner.peek() !== quote) return scanner.syntax("a field name in quotes");
        if (!scanner.scanString()) return false;
        const column = this.names.find(scanner, position);
        if (!scanner.nameEnd()) return false;
        const outcome = this.value(scanner, context, column);
        if (outcome === failed) {
          if (column >= 0 && context.fault !== "") context.fault = `column "${this.columns[column]}": ${context.fault}`;
          return false;
        }
        const valueEnd = scanner.position;
        scanner.skipSpace();
        const next = scanner.peek();
        if (next !== comma && next !== closeBrace) return scanner.syntax('"," or "}"');
        if (column >= 0)
          this.note(context, column, outcome, nameStart, next === comma ? scanner.position : -1, valueEnd);
        scanner.position++;
        if (next === closeBrace) break;
        scanner.skipSpace();
      }
    scanner.depth--;
    splice.finish(scanner.position);
    return true;
  }

  private value(scanner: JsonScanner, context: Conversion, column: number): Outcome {
    if (column < 0) return keepValue(scanner);
    return convertValue(this.converts[column], scanner, context);
  }

  private note(
    context: Conversion,
    column: number,
    outcome: Outcome,
    nameStart: number,
    commaAt: number,
    valueEnd: number,
  ): void {
    this.found++;
    const name = this.columns[column]!;
    if (outcome === unchanged) {
      context.splice.leaveOut(nameStart, commaAt, valueEnd);
      this.unchanged ??= [];
      if (!this.unchanged.includes(name)) this.unchanged.push(name);
    } else if (this.unchanged?.includes(name)) {
      // Of a repeated field the last one counts.
      const rest = this.unchanged.filter((other) => other !== name);
      this.unchanged = rest.length > 0 ? rest : undefined;
    }
  }
}

/** Reads a column's value at the position: null, the placeholder, or what `convert` makes of it. */
export function convertValue(convert: Convert | undefined, scanner: JsonScanner, context: Conversion): Outcome {
  const byte = scanner.peek();
  if (byte === 0x6e) return scanner.scanWord(nullWord) ? kept : failed;
  if ((byte === quote || byte === openBracket || byte === openBrace) && context.placeholder.isHere(scanner))
    return scanner.skipValue() ? unchanged : failed;
  return convert === undefined ? keepValue(scanner) : convert(scanner, context);
}
