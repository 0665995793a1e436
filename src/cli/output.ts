/** Small lists (topics, groups, offsets) in the format that `--format` asks for. */
import type { Io } from "./io.ts";
import { defaultTextOptions, printRows, type TextColumn } from "./table_text.ts";

export const listFormats = ["table", "json", "ndjson", "csv", "markdown"] as const;
export type ListFormat = (typeof listFormats)[number];

/** Tables are plain aligned columns, as rpk and kafka-*.sh print them: easy to cut with awk. */
export async function printList(io: Io, format: ListFormat, columns: string[], rows: unknown[][]): Promise<void> {
  const names: TextColumn[] = columns.map((name) => ({
    name: format === "table" ? name.toUpperCase().replaceAll("_", "-") : name,
  }));
  const mode = format === "table" ? "column" : format;
  await io.out(printRows(names, rows, { ...defaultTextOptions, mode, nullText: format === "csv" ? "" : "-" }));
}
