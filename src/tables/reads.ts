/** What a query reads, and the wait until DuckDB has all of it that was acknowledged before. */
import type { Catalog } from "../catalog/catalog.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { nameOf, wordOf } from "../sql/tokens.ts";
import { quoteText } from "../sql/types.ts";
import { cellsOf } from "./engine_calls.ts";
import type { PlainTopics } from "./plain_topics.ts";
import type { Tables } from "./tables.ts";

/** What lists tables. A match in a text that does not costs some empty tables of topics, nothing else. */
const listing = /\bshow\b|information_schema|duckdb_(tables|columns)|pg_(tables|class|attribute)/i;

export class Reads {
  private readonly tables: Tables;
  private readonly catalog: Catalog;
  private readonly plain: PlainTopics;

  constructor(tables: Tables) {
    this.tables = tables;
    this.catalog = tables.catalog;
    this.plain = tables.plain;
  }

  /** Makes visible what was acknowledged before now: in tables, and in the plain topics that the statement names. */
  async prepare(engine: SqlEngine, text: string): Promise<void> {
    if (listing.test(text)) await this.plain.list(engine);
    const names = await this.namesIn(engine, text);
    const topics = this.plain.find(names);
    const lower = new Set([...names].map((name) => name.toLowerCase()));
    await Promise.all([
      this.tables.barrier(({ definition }) => lower.has(definition.name.toLowerCase())),
      topics.length > 0 || this.plain.isStale ? this.plain.prepare(engine, topics) : undefined,
    ]);
  }

  /** Names of tables that the statement reads, those inside of views too. */
  private async namesIn(engine: SqlEngine, text: string): Promise<Set<string>> {
    const names = new Set<string>();
    let texts = [text];
    for (let depth = 0; texts.length > 0 && depth < 32; depth++) {
      const found: string[] = [];
      for (const one of texts)
        for (const name of await this.tableNames(engine, one)) {
          if (names.has(name)) continue;
          names.add(name);
          if (this.catalog.topic(name) === undefined) found.push(name);
        }
      texts = found.length === 0 ? [] : await viewTexts(engine, found);
    }
    return names;
  }

  private async tableNames(engine: SqlEngine, text: string): Promise<string[]> {
    try {
      return await engine.tableNames(text);
    } catch {
      // DuckDB cannot say before the tables exist: take every name in the text that is a topic's.
      const tokens = await engine.tokens(text);
      return tokens.filter((token) => token.kind === "name" || token.kind === "keyword").map(nameOf);
    }
  }
}

/** The texts of the queries of those names that are views. */
async function viewTexts(engine: SqlEngine, names: readonly string[]): Promise<string[]> {
  const list = names.map((name) => quoteText(name.toLowerCase())).join(", ");
  const rows = await cellsOf(
    engine,
    `SELECT sql FROM duckdb_views() WHERE NOT internal AND lower(view_name) IN (${list})`,
  );
  const texts: string[] = [];
  for (const [sql] of rows) {
    const tokens = await engine.tokens(sql as string);
    const as = tokens.find((token) => wordOf(token) === "as");
    if (as !== undefined) texts.push((sql as string).slice(as.start + 2).replace(/;\s*$/, ""));
  }
  return texts;
}
