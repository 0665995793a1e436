/**
 * The forms of a SQL answer. Each is a generator of text chunks, pulled as fast as the client reads, so that a result of
 * any size needs no more memory than a chunk. A failure after the first byte cuts the connection (JSON, CSV, Arrow), or ends
 * NDJSON with an `{"error": …}` line: a cut-off answer never looks complete.
 */
import { problemOf } from "./problem.ts";
import { csvField, rowObject, splitRow, uniqueNames } from "./row_text.ts";
import type { SqlAnswer } from "./services.ts";

export const mediaTypes = {
  json: "application/json",
  ndjson: "application/x-ndjson",
  csv: "text/csv; charset=utf-8; header=present",
  arrow: "application/vnd.apache.arrow.stream",
  /** Lines: `{"columns": […]}`, then one JSON array per row, then `{"row_count": n}` or `{"error": …}`. For programs such as our shell. */
  rows: "application/vnd.rowlog.rows+ndjson",
} as const;

export type SqlFormat = keyof typeof mediaTypes;

/** The first type of the Accept header that we have, by its order and q; undefined when it names none. */
export function acceptedFormat(accept: string | undefined): SqlFormat | undefined {
  if (accept === undefined || accept.trim() === "") return "json";
  const ranges = accept.split(",").map((range, order) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith("q="));
    return { type, q: q ? Number(q.slice(2)) : 1, order };
  });
  ranges.sort((a, b) => b.q - a.q || a.order - b.order);
  for (const { type, q } of ranges) {
    const format = formatsByType[type];
    if (format !== undefined && q > 0) return format;
  }
  return undefined;
}

const formatsByType: Record<string, SqlFormat> = {
  "*/*": "json",
  "application/*": "json",
  "application/json": "json",
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
  "application/jsonl": "ndjson",
  "text/*": "csv",
  "text/csv": "csv",
  "application/vnd.apache.arrow.stream": "arrow",
  "application/vnd.rowlog.rows+ndjson": "rows",
};

/** Reads the first chunk before it returns, so that a failing statement is still a problem document and not a cut answer. */
export async function sqlResponse(answer: SqlAnswer, format: SqlFormat): Promise<Response> {
  const chunks = chunksOf(answer, format)[Symbol.asyncIterator]();
  let first: IteratorResult<string | Uint8Array>;
  try {
    first = await chunks.next();
  } catch (error) {
    answer.close();
    throw error;
  }
  return new Response(
    streamOf(
      first,
      chunks,
      once(() => answer.close()),
    ),
    { headers: { "content-type": mediaTypes[format] } },
  );
}

function chunksOf(answer: SqlAnswer, format: SqlFormat): AsyncIterable<string | Uint8Array> {
  switch (format) {
    case "json":
      return jsonChunks(answer);
    case "ndjson":
      return ndjsonChunks(answer);
    case "csv":
      return csvChunks(answer);
    case "arrow":
      return answer.arrow();
    case "rows":
      return rowsChunks(answer);
  }
}

async function* jsonChunks(answer: SqlAnswer): AsyncGenerator<string> {
  let text = `{"columns":${JSON.stringify(answer.columns)},"rows":[`;
  let count = 0;
  for await (const rows of answer.rows()) {
    if (rows.length === 0) continue;
    text += `${count === 0 ? "" : ","}${rows.join(",")}`;
    count += rows.length;
    if (text.length < chunkCharsMin) continue;
    yield text;
    text = "";
  }
  const written = answer.written === undefined ? "" : `,"written":${JSON.stringify(answer.written)}`;
  yield `${text}],"row_count":${count}${written}}\n`;
}

async function* ndjsonChunks(answer: SqlAnswer): AsyncGenerator<string> {
  const keys = uniqueNames(answer.columns.map((column) => column.name)).map((name) => JSON.stringify(name));
  let started = false;
  try {
    for await (const rows of answer.rows()) {
      if (rows.length === 0) continue;
      yield `${rows.map((row) => rowObject(keys, row)).join("\n")}\n`;
      started = true;
    }
    if (!started) yield "";
  } catch (error) {
    if (!started) throw error;
    const { code, detail } = problemOf(error);
    yield `${JSON.stringify({ error: { code, detail } })}\n`;
  }
}

async function* rowsChunks(answer: SqlAnswer): AsyncGenerator<string> {
  let text = `${JSON.stringify({ columns: answer.columns })}\n`;
  let started = false;
  let count = 0;
  try {
    for await (const rows of answer.rows()) {
      if (rows.length === 0) continue;
      yield `${text}${rows.join("\n")}\n`;
      text = "";
      started = true;
      count += rows.length;
    }
    yield `${text}${JSON.stringify({ row_count: count })}\n`;
  } catch (error) {
    if (!started) throw error;
    const { code, detail } = problemOf(error);
    yield `${JSON.stringify({ error: { code, detail } })}\n`;
  }
}

async function* csvChunks(answer: SqlAnswer): AsyncGenerator<string> {
  let text = `${answer.columns.map((column) => csvField(JSON.stringify(column.name))).join(",")}\r\n`;
  for await (const rows of answer.rows()) {
    for (const row of rows) text += `${splitRow(row).map(csvField).join(",")}\r\n`;
    if (text.length < chunkCharsMin) continue;
    yield text;
    text = "";
  }
  yield text;
}

/** Small chunks are joined up to this many characters: one write instead of many. */
const chunkCharsMin = 32 * 1024;

function once(close: () => void): () => void {
  let open = true;
  return () => {
    if (open) close();
    open = false;
  };
}

function streamOf(
  first: IteratorResult<string | Uint8Array>,
  chunks: AsyncIterator<string | Uint8Array>,
  close: () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let pending: IteratorResult<string | Uint8Array> | undefined = first;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = pending ?? (await chunks.next());
          pending = undefined;
          if (next.done) {
            close();
            controller.close();
          } else {
            controller.enqueue(typeof next.value === "string" ? encoder.encode(next.value) : next.value);
          }
        } catch (error) {
          close();
          controller.error(error);
        }
      },
      async cancel() {
        close();
        await chunks.return?.();
      },
    },
    { highWaterMark: 1 },
  );
}
