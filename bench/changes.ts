/**
 * The change reader alone: CPU time a record for Debezium's events of a table of five columns, with and without schemas, beside plain rows and
 * the time of only passing over the same bytes. Usage: bun bench/changes.ts
 */
import { ChangeReader } from "../src/tables/changes/change_reader.ts";
import { JsonScanner } from "../src/tables/json/scan.ts";

const count = 20_000;
const rounds = 8;
const column = (name: string, type: string) => ({ name, type, notNull: false });
const columns = [
  column("id", "BIGINT"),
  column("name", "VARCHAR"),
  column("amount", "DECIMAL(10,2)"),
  column("flag", "BOOLEAN"),
  column("seen", "TIMESTAMP WITH TIME ZONE"),
];

const decimal = `"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2","connect.decimal.precision":"10"}`;
const rowFields = `"fields":[{"type":"int64","optional":false,"field":"id"},{"type":"string","optional":true,"field":"name"},{"type":"bytes","optional":true,${decimal},"field":"amount"},{"type":"boolean","optional":true,"field":"flag"},{"type":"string","optional":true,"name":"io.debezium.time.ZonedTimestamp","version":1,"field":"seen"}]`;
const struct = (field: string) =>
  `{"type":"struct",${rowFields},"optional":true,"name":"b.public.t.Value","field":"${field}"}`;
const sourceFields = Array.from(
  { length: 16 },
  (_, i) => `{"type":"int64","optional":true,"field":"source_field_${i}"}`,
);
const source = `{"type":"struct","fields":[${sourceFields}],"optional":false,"name":"io.debezium.connector.postgresql.Source","version":1,"field":"source"}`;
const schema = `{"type":"struct","fields":[${struct("before")},${struct("after")},${source}],"optional":false,"name":"b.public.t.Envelope","version":2}`;
const keySchema = `{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"}],"optional":false,"name":"b.public.t.Key"}`;

/** Key and value of record `i`, in each form. */
function record(i: number): Record<string, [key: string, value: string]> {
  const id = 1_000_000 + i;
  const amount = Buffer.from([0, (i >> 8) & 127, i & 255, 7]).toString("base64");
  const row = (decimalText: string) =>
    `{"id":${id},"name":"name number ${id}","amount":${decimalText},"flag":${i % 2 === 0},"seen":"2024-02-29T10:34:56.${String(i).padStart(6, "0")}Z"}`;
  const block = `{"version":"3.6.1.Final","connector":"postgresql","name":"b","ts_ms":1795980657550,"snapshot":"false","db":"b","sequence":"[null,\\"72025456\\"]","ts_us":1795980657550823,"ts_ns":1795980657550823000,"schema":"public","table":"t","txId":857,"lsn":72025456,"xmin":null,"origin":null,"origin_lsn":null}`;
  const envelope = `{"before":null,"after":${row(`"${amount}"`)},"source":${block},"transaction":null,"op":"c","ts_ms":1795980657727,"ts_us":1795980657727233,"ts_ns":1795980657727233195}`;
  const key = `{"id":${id}}`;
  return {
    "plain rows": [key, row(String(i / 100))],
    envelopes: [key, envelope],
    "envelopes with schemas": [
      `{"schema":${keySchema},"payload":${key}}`,
      `{"schema":${schema},"payload":${envelope}}`,
    ],
  };
}

function batchOf(form: string): { bytes: Uint8Array; spans: Int32Array } {
  const parts: Buffer[] = [];
  const spans = new Int32Array(count * 4);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const [key, value] = record(i)[form]!.map((text) => Buffer.from(text)) as [Buffer, Buffer];
    spans.set([at, key.length, at + key.length, value.length], i * 4);
    at += key.length + value.length;
    parts.push(key, value);
  }
  return { bytes: new Uint8Array(Buffer.concat(parts)), spans };
}

/** Microseconds of CPU time a record, of the fastest round. */
function measure(pass: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    for (let i = 0; i < 5; i++) pass();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / (5 * count));
  }
  return best;
}

console.log("form                     bytes   µs/record   records/s of one core   skipping alone, µs");
for (const form of Object.keys(record(0))) {
  const { bytes, spans } = batchOf(form);
  const reader = new ChangeReader({ columns, key: ["id"], raw: false });
  const read = measure(() => {
    for (let i = 0; i < spans.length; i += 4) {
      const kind = reader.readSpans(bytes, spans[i]!, spans[i + 1]!, bytes, spans[i + 2]!, spans[i + 3]!);
      if (kind !== "upsert") throw new Error(reader.message);
    }
  });
  const scanner = new JsonScanner();
  const skip = measure(() => {
    for (let i = 0; i < spans.length; i += 4) {
      scanner.reset(bytes, spans[i + 2]!, spans[i + 2]! + spans[i + 3]!);
      scanner.skipValue();
    }
  });
  const size = Math.round(bytes.length / count);
  const rate = Math.round(1e6 / read).toLocaleString("en");
  console.log(
    `${form.padEnd(24)} ${String(size).padStart(5)}   ${read.toFixed(2).padStart(9)}   ${rate.padStart(21)}   ${skip.toFixed(2)}`,
  );
}
