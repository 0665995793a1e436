/** What a query reads, and the wait until DuckDB has all of it that was acknowledged before. */
import type { Catalog } from "../catalog/catalog.ts";
import type { SqlEngine } from "../sql/engine.ts";
import { nameOf, type Token, wordOf } from "../sql/tokens.ts";
import { cellsOf } from "./engine_calls.ts";
import type { PlainTopics } from "./plain_topics.ts";
import type { Tables } from "./tables.ts";

/** What lists tables. A match in a text that does not costs some empty tables of topics, nothing else. */
const listing = /\bshow\b|information_schema|duckdb_(tables|columns)|pg_(tables|class|attribute)/i;

export class Reads {
  private readonly tables: Tables;
  private readonly catalog: Catalog;
  private readonly plain: PlainTopics;
  /** The texts of the queries of views, by their names in lower case; undefined: DuckDB has to be asked. */
  private views: Promise<Map<string, string[]>> | undefined;

  constructor(tables: Tables) {
    this.tables = tables;
    this.catalog = tables.catalog;
    this.plain = tables.plain;
  }

  /**
   * Makes visible what was acknowledged before now: in tables, and in the plain topics that the statement names. `tokens`: of a statement whose
   * tables DuckDB does not tell, which are all that change rows.
   */
  async prepare(engine: SqlEngine, text: string, tokens?: readonly Token[]): Promise<void> {
    if (listing.test(text)) await this.plain.list(engine);
    const names = await this.namesIn(engine, tokens ? namesOf(tokens) : await this.tableNames(engine, text));
    const topics = this.plain.find(names);
    const lower = new Set([...names].map((name) => name.toLowerCase()));
    await Promise.all([
      this.tables.barrier(({ definition }) => lower.has(definition.name.toLowerCase())),
      topics.length > 0 || this.plain.isStale ? this.plain.prepare(engine, topics) : undefined,
    ]);
  }

  /** The names that a statement reads, and those inside of views among them. */
  private async namesIn(engine: SqlEngine, read: readonly string[]): Promise<Set<string>> {
    const names = new Set<string>();
    for (let depth = 0; read.length > 0 && depth < 32; depth++) {
      const found: string[] = [];
      for (const name of read) {
        if (names.has(name)) continue;
        names.add(name);
        if (this.catalog.topic(name) === undefined) found.push(name);
      }
      const texts = found.length === 0 ? [] : await this.viewTexts(engine, found);
      read = (await Promise.all(texts.map((text) => this.tableNames(engine, text)))).flat();
    }
    return names;
  }

  /** Views may have changed, or are about to. */
  forgetViews(): void {
    this.views = undefined;
  }

  /** The texts of the queries of those names that are views. */
  private async viewTexts(engine: SqlEngine, names: readonly string[]): Promise<string[]> {
    this.views ??= readViews(engine);
    const asked = this.views;
    try {
      const views = await asked;
      return names.flatMap((name) => views.get(name.toLowerCase()) ?? []);
    } catch (error) {
      if (this.views === asked) this.views = undefined;
      throw error;
    }
  }

  private async tableNames(engine: SqlEngine, text: string): Promise<string[]> {
    try {
      return await engine.tableNames(text);
    } catch {
      // DuckDB cannot say before the tables exist: take every name in the text that is a topic's.
      return namesOf(await engine.tokens(text));
    }
  }
}

function namesOf(tokens: readonly Token[]): string[] {
  return tokens.filter((token) => token.kind === "name" || token.kind === "keyword").map(nameOf);
}

/** The texts of the queries of all views, by their names in lower case. */
async function readViews(engine: SqlEngine): Promise<Map<string, string[]>> {
  const rows = await cellsOf(engine, "SELECT lower(view_name), sql FROM duckdb_views() WHERE NOT internal");
  const texts = new Map<string, string[]>();
  for (const [name, sql] of rows as [string, string][]) {
    const tokens = await engine.tokens(sql);
    const as = tokens.find((token) => wordOf(token) === "as");
    if (as === undefined) continue;
    const text = sql.slice(as.start + 2).replace(/;\s*$/, "");
    texts.set(name, [...(texts.get(name) ?? []), text]);
  }
  return texts;
}
