/** A node's HTTP API as the shell uses it. Failures are CliErrors, except SQL's own: SqlFailure. */
import type { BackupContents, TableSummary, TopicSummary } from "../http/services.ts";
import { CliError, UsageError } from "./io.ts";

export class SqlFailure extends Error {
  override name = "SqlFailure";
  readonly code: string;
  /** 1-based character in the statement. */
  readonly position: number | undefined;
  constructor(code: string, message: string, position?: number) {
    super(message);
    this.code = code;
    this.position = position;
  }
}

export interface SqlRows {
  columns: { name: string; type: string }[];
  /** Texts of JSON arrays, as they arrive. */
  rows: AsyncIterable<string[]>;
}

export class SqlClient {
  readonly url: string;
  /** From BEGIN to the end of its transaction. */
  #session: string | undefined;

  /** `host:port` and a bare URL both work. Throws UsageError. */
  constructor(text: string) {
    const url = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
    if (!URL.canParse(url)) throw new UsageError(`"${text}" is not a URL (for example http://127.0.0.1:8080)`);
    this.url = url.replace(/\/+$/, "");
  }

  get inSession(): boolean {
    return this.#session !== undefined;
  }

  /** `data`: what COPY … FROM STDIN reads. */
  async query(sql: string, signal?: AbortSignal, data?: string): Promise<SqlRows> {
    if (beginsTransaction(sql)) await this.#open();
    const response = await this.#request("/v1/sql", {
      method: "POST",
      body: JSON.stringify({ sql, session: this.#session, data }),
      headers: { accept: "application/vnd.rowlog.rows+ndjson", "content-type": "application/json" },
      signal,
    }).catch((error: unknown) => {
      // A session that is gone is of no use to the next statement.
      if (error instanceof SqlFailure && error.code === "08003") this.#session = undefined;
      throw error;
    });
    if (endsTransaction(sql)) await this.close();
    const lines = linesOf(response.body as unknown as AsyncIterable<Uint8Array>);
    const first = await lines.next();
    const pending = first.done ? [] : [...first.value];
    const head = pending.shift();
    if (head === undefined) throw new CliError(`${this.url} gave an empty answer; is it a Rowlog node?`);
    const { columns } = JSON.parse(head) as { columns: SqlRows["columns"] };
    return { columns, rows: rowLines(pending, lines) };
  }

  async #open(): Promise<void> {
    if (this.#session !== undefined) return;
    const response = await this.#request("/v1/sessions", { method: "POST" });
    this.#session = ((await response.json()) as { id: string }).id;
  }

  /** Rolls back what is open. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    // A session that is gone, or a node, has nothing to roll back.
    if (session !== undefined)
      await this.#request(`/v1/sessions/${session}`, { method: "DELETE" }).catch(() => undefined);
  }

  async tables(): Promise<TableSummary[]> {
    return (await this.#get<{ tables: TableSummary[] }>("/v1/tables")).tables;
  }

  async topics(): Promise<TopicSummary[]> {
    return (await this.#get<{ topics: TopicSummary[] }>("/v1/topics")).topics;
  }

  async groups(): Promise<{ group_id: string; state: string; members: number }[]> {
    return (await this.#get<{ groups: { group_id: string; state: string; members: number }[] }>("/v1/groups")).groups;
  }

  async makeBackup(): Promise<BackupContents> {
    return (await this.#request("/v1/backup", { method: "POST" })).json() as Promise<BackupContents>;
  }

  async removeBackup(): Promise<void> {
    await this.#request("/v1/backup", { method: "DELETE" });
  }

  async #get<T>(path: string): Promise<T> {
    return (await this.#request(path, {})).json() as Promise<T>;
  }

  async #request(path: string, options: RequestInit): Promise<Response> {
    let response: Response;
    try {
      // Bun ends a request after five minutes without bytes, unless told not to.
      response = await fetch(`${this.url}${path}`, { ...options, timeout: false } as RequestInit);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new CliError(
        `cannot reach ${this.url}: ${(error as Error).message}; start a node with "rowlog serve", or name one with --url`,
      );
    }
    if (response.ok) return response;
    const text = await response.text();
    let problem: { code?: string; detail?: string; position?: number };
    try {
      problem = JSON.parse(text);
    } catch {
      throw new CliError(`${this.url}${path} answered ${response.status}; is it a Rowlog node?`);
    }
    throw new SqlFailure(problem.code ?? String(response.status), problem.detail ?? text, problem.position);
  }
}

/** Which statements those are the node decides; this only decides whether a session is needed for what follows. */
function beginsTransaction(sql: string): boolean {
  return /^(begin|start)\b/i.test(withoutComments(sql));
}

function endsTransaction(sql: string): boolean {
  return /^(commit|end|rollback|abort)\b/i.test(withoutComments(sql));
}

/** Without those in front. */
function withoutComments(sql: string): string {
  return sql.replace(/^(\s+|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, "");
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() as string;
    if (lines.length > 0) yield lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}

/** Rows up to the closing line; an answer without one was cut off. */
async function* rowLines(pending: string[], lines: AsyncGenerator<string[]>): AsyncGenerator<string[]> {
  for (let chunk: string[] = pending; ; ) {
    const rows: string[] = [];
    for (const line of chunk) {
      if (line.startsWith("[")) rows.push(line);
      else {
        if (rows.length > 0) yield rows;
        const end = JSON.parse(line) as { error?: { code: string; detail: string } };
        if (end.error) throw new SqlFailure(end.error.code, end.error.detail);
        return;
      }
    }
    if (rows.length > 0) yield rows;
    const next = await lines.next();
    if (next.done) throw new CliError("the answer was cut off: the node stopped, or the connection broke");
    chunk = next.value;
  }
}
