/** The main thread's end of a statement's result: read once, chunk by chunk, as fast as the reader wants. */
import { SqlError } from "../base/sql_error.ts";
import type { ProducedRecord, ResultColumn } from "./messages.ts";

export interface ResultStream {
  readonly columns: readonly ResultColumn[];
  /** Chunks of rows; each row is the text of one JSON array, by the one rule of row JSON. For results of the form `json`. */
  rows(): AsyncIterable<readonly string[]>;
  /** The result as an Arrow IPC stream. For results of the form `arrow`. */
  arrow(): AsyncIterable<Uint8Array>;
  /** Drops what was not read, and cancels the statement. Safe to call twice. */
  close(): void;
}

type Chunk = string | Uint8Array;

/** Chunks wait here until the reader comes; their number is bounded by the window that the engine was given. */
export class ResultQueue implements ResultStream {
  columns: readonly ResultColumn[] = [];
  /** What the statement made with produce(); known when the last row has been read. */
  produced: readonly ProducedRecord[] = [];
  private readonly chunks: Chunk[] = [];
  private schema: Uint8Array | undefined;
  private ended = false;
  private failure: SqlError | undefined;
  private wake: (() => void) | undefined;
  private readonly more: () => void;
  private readonly cancel: () => void;

  /** `more` asks the engine for a further chunk; `cancel` ends the statement. */
  constructor(more: () => void, cancel: () => void) {
    this.more = more;
    this.cancel = cancel;
  }

  begin(columns: readonly ResultColumn[], schema: Uint8Array | undefined): void {
    this.columns = columns;
    this.schema = schema;
  }

  push(chunk: Chunk): void {
    this.chunks.push(chunk);
    this.wake?.();
  }

  end(failure?: SqlError): void {
    if (this.ended) return;
    this.ended = true;
    this.failure = failure;
    this.wake?.();
  }

  async *rows(): AsyncGenerator<readonly string[]> {
    for await (const chunk of this.read()) yield (chunk as string).split("\n");
  }

  async *arrow(): AsyncGenerator<Uint8Array> {
    if (this.schema) yield this.schema;
    for await (const chunk of this.read()) yield chunk as Uint8Array;
    // The end mark of an IPC stream: continuation, and a message of no length.
    yield Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);
  }

  close(): void {
    if (!this.ended) this.cancel();
    this.end(new SqlError("57014", "the result was closed before its end"));
    this.chunks.length = 0;
  }

  private async *read(): AsyncGenerator<Chunk> {
    try {
      for (;;) {
        const chunk = this.chunks.shift();
        if (chunk !== undefined) {
          this.more();
          yield chunk;
        } else if (this.ended) {
          if (this.failure) throw this.failure;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.wake = resolve;
          });
          this.wake = undefined;
        }
      }
    } finally {
      this.close();
    }
  }
}

/** A result that was read whole. */
export class QueryResult {
  readonly columns: readonly ResultColumn[];
  /** Each row as the text of a JSON array. */
  readonly rows: readonly string[];

  constructor(columns: readonly ResultColumn[], rows: readonly string[]) {
    this.columns = columns;
    this.rows = rows;
  }

  /** All rows as the text of one JSON array of arrays. */
  rowsJson(): string {
    return `[${this.rows.join(",")}]`;
  }

  /** Rows by JSON.parse: for values that a double holds exactly. Ask SQL for text where it does not. */
  values(): unknown[][] {
    return this.rows.map((row) => JSON.parse(row) as unknown[]);
  }
}
