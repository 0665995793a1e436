/**
 * Rows travel as the text of JSON arrays, written by the engine with exact digits; nothing here parses a number.
 * `splitRow` cuts such a text into the texts of its cells, from which CSV, objects and tables for people are made.
 */

/** Cells of `["a",1,{"b":2}]` as raw JSON texts. The input is JSON that we wrote: it is trusted to be well formed. */
export function splitRow(row: string): string[] {
  const cells: string[] = [];
  const end = row.length - 1;
  let start = 1;
  let depth = 0;
  for (let i = 1; i < end; i++) {
    switch (row.charCodeAt(i)) {
      case 0x22: // "
        i = stringEnd(row, i);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth++;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      case 0x2c: // ,
        if (depth === 0) {
          cells.push(row.slice(start, i).trim());
          start = i + 1;
        }
    }
  }
  if (end > 1) cells.push(row.slice(start, end).trim());
  return cells;
}

function stringEnd(text: string, open: number): number {
  for (let i = open + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5c) i++;
    else if (code === 0x22) return i;
  }
  return text.length;
}

/** A cell as people and CSV want it: text without quotes, everything else as its JSON; undefined for NULL. */
export function cellText(cell: string): string | undefined {
  if (cell === "null") return undefined;
  return cell.startsWith('"') ? (JSON.parse(cell) as string) : cell;
}

/** RFC 4180, with DuckDB's way to tell NULL (nothing) from empty text (`""`). */
export function csvField(cell: string): string {
  const text = cellText(cell);
  if (text === undefined) return "";
  return text === "" || /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Repeated column names get `_1`, `_2` … behind, as DuckDB names them in a subquery, so that no cell hides another. */
export function uniqueNames(names: readonly string[]): string[] {
  const used = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let i = 1; seen.has(unique) || (unique !== name && used.has(unique)); i++) unique = `${name}_${i}`;
    seen.add(unique);
    return unique;
  });
}

/** `keys`: the JSON texts of the names, made once per result. */
export function rowObject(keys: readonly string[], row: string): string {
  const cells = splitRow(row);
  let text = "{";
  for (let i = 0; i < keys.length; i++) text += `${i === 0 ? "" : ","}${keys[i]}:${cells[i]}`;
  return `${text}}`;
}
