/** Tables against logs: the rows that DuckDB has are the fold of the records up to its cursors. */
import { must } from "./findings.ts";
import type { Contents } from "./log_checks.ts";
import type { Shape } from "./model.ts";

export function tableQuery(name: string, shape: Shape): string {
  if (shape === "raw") return `SELECT coalesce(_key, '-'), _value, _partition, _offset FROM ${name}`;
  return `SELECT ${shape === "keyed" ? "id, " : ""}n, text FROM ${name}`;
}

/** `end`: for each partition, the offset up to which the table has the records. */
export function compareTable(
  what: string,
  shape: Shape,
  rows: readonly unknown[][],
  contents: readonly Contents[],
  end: (partition: number) => number,
): void {
  const wanted: string[] = [];
  contents.forEach((records, partition) => {
    const present = [...records.values()].filter(({ offset }) => offset < end(partition));
    present.sort((a, b) => a.offset - b.offset);
    if (shape === "raw")
      for (const { key, value, offset } of present) wanted.push(`${key ?? "-"} ${value} ${partition} ${offset}`);
    else if (shape === "keyed") wanted.push(...fold(present));
    else for (const { value } of present) wanted.push(rowText(value!));
  });
  const got = rows.map((row) => row.map(String).join(" "));
  wanted.sort();
  got.sort();
  must(got.join("\n") === wanted.join("\n"), () => {
    const [extra] = got.filter((row) => !wanted.includes(row));
    const [missing] = wanted.filter((row) => !got.includes(row));
    return `${what} has ${got.length} rows, its log ${wanted.length}; first missing: ${missing}; first extra: ${extra}`;
  });
}

/** The last record of each key. */
function fold(records: readonly { key: string | null; value: string | null }[]): string[] {
  const rows = new Map<string, string>();
  for (const { key, value } of records)
    if (value === null) rows.delete(key!);
    else rows.set(key!, `${(JSON.parse(key!) as { id: number }).id} ${rowText(value)}`);
  return [...rows.values()];
}

function rowText(value: string): string {
  const { n, text } = JSON.parse(value) as { n: number; text: string };
  return `${n} ${text}`;
}
