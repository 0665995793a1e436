/**
 * Sequences and macros that tables need for their defaults and CHECKs. DuckDB forgets such dependencies when it opens a database again,
 * and CASCADE would take tables away under their topics: so a drop is refused here, before DuckDB sees it.
 */
import { SqlError } from "../base/sql_error.ts";
import type { TableDefinition } from "../catalog/entries.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { nameOf, type Token, wordOf } from "../sql/tokens.ts";
import { qualifiedName } from "./create_table.ts";

/** `tokens`: a DROP VIEW, TYPE, MACRO or SEQUENCE. Throws SqlError 0A000 or 2BP01. */
export async function refuseNeededDrop(
  engine: SqlEngine,
  tokens: readonly Token[],
  definitions: Iterable<TableDefinition>,
): Promise<void> {
  const what = wordOf(tokens[1]);
  let at = 2;
  if (wordOf(tokens[at]) === "table") at++;
  if (wordOf(tokens[at]) === "if") at += 2;
  const { name, next } = qualifiedName(tokens, at);
  const cascade = tokens.slice(next).find((token) => wordOf(token) === "cascade");
  if (cascade !== undefined)
    throw new SqlError("0A000", "DROP … CASCADE is not available: drop what needs it first", cascade.start + 1);
  if (what === "view" || what === "type") return;
  const names = what === "sequence" ? namesSequence : callsFunction;
  for (const { schema, name: table, sql } of definitions)
    if (names(await engine.tokens(sql), name.toLowerCase()))
      throw new SqlError("2BP01", `table "${schema}"."${table}" needs ${what} ${name}`, tokens[at]!.start + 1);
}

/** As in `nextval('s')` and `nextval('main."s"')`. */
function namesSequence(tokens: readonly Token[], name: string): boolean {
  return tokens.some(({ kind, text }) => {
    if (kind !== "string") return false;
    const parts = text.slice(1, -1).replaceAll("''", "'").toLowerCase();
    return parts === name || parts.endsWith(`.${name}`) || parts.endsWith(`"${name}"`);
  });
}

function callsFunction(tokens: readonly Token[], name: string): boolean {
  return tokens.some((token, i) => {
    const isName = token.kind === "name" || token.kind === "keyword";
    return isName && tokens[i + 1]?.text === "(" && nameOf(token).toLowerCase() === name;
  });
}
