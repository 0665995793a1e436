/**
 * Runs every face of the hot path on fixed inputs and prints one line for each with a hash of what came out: the same line in every
 * runtime, with and without WebAssembly. Started with `without-webassembly`, it takes that away before the module loads.
 */
import { createHash } from "node:crypto";
import process from "node:process";

if (process.argv.includes("without-webassembly")) {
  Object.defineProperty(globalThis, "WebAssembly", { value: undefined, configurable: true });
}
const { kernels } = await import("../../src/hotpath/kernels.ts");
const { crc32c } = await import("../../src/hotpath/crc32c.ts");
const { codecs, compress, decompress } = await import("../../src/hotpath/codecs.ts");
const { decodeBatch } = await import("../../src/protocol/records/decode.ts");
const { encodeBatch } = await import("../../src/protocol/records/encode.ts");
const { validateProduceBatch } = await import("../../src/protocol/records/validate.ts");
const { RowDecoder } = await import("../../src/tables/row_decoder.ts");
const { compileTable } = await import("../../src/tables/row_schema.ts");
const { encodeStream } = await import("../../src/tables/arrow/stream.ts");
const { Random } = await import("./random.ts");

const hash = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);
const say = (name: string, what: unknown) => console.log(`${name} ${what}`);

say("loaded", kernels.loaded);
const random = new Random(5);
for (const size of [0, 50, 700, 5000, 90_000]) {
  const bytes = random.bytes(size);
  say(`crc32c ${size}`, crc32c(bytes));
  for (const codec of [codecs.lz4, codecs.snappy]) {
    const packed = compress(codec, bytes);
    say(`codec ${codec} ${size}`, `${hash(packed)} ${hash(decompress(codec, packed, size))}`);
  }
  for (const codec of [codecs.gzip, codecs.zstd]) {
    say(`codec ${codec} ${size}`, hash(decompress(codec, compress(codec, bytes), Math.max(size, 1))));
  }
  for (const codec of [codecs.lz4, codecs.snappy, codecs.gzip, codecs.zstd]) {
    try {
      decompress(codec, bytes, 1000);
    } catch (error) {
      say(`codec ${codec} of noise ${size}`, (error as { fault?: string }).fault);
    }
  }
}
const rows = Array.from({ length: 500 }, (_, i) => ({
  key: i % 3 === 0 ? null : `k${i}`,
  value: `{"id":${i * 7},"name":"n\\u00e9 ${i}","amount":${i}.5,"ok":${i % 2 === 0},"seen":"2026-01-05T10:11:12.${i % 9}"}`,
  timestamp: 1_700_000_000_000 - i,
}));
const batch = encodeBatch(rows);
const options = {
  maxBytes: 1e6,
  timestampType: "CreateTime",
  nowMs: 1_700_000_000_000,
  beforeMaxMs: 1e300,
  afterMaxMs: 0,
} as const;
const { maxTimestamp, maxTimestampDelta, count } = validateProduceBatch(batch, options);
say("validate", JSON.stringify({ maxTimestamp, maxTimestampDelta, count, crc: hash(batch) }));
const view = decodeBatch(batch);
say(
  "decode",
  hash(view.records.map((record) => `${record.offset} ${record.timestamp} ${record.key} ${record.value}`).join()),
);
const columns = [
  ["id", "BIGINT"],
  ["name", "VARCHAR"],
  ["amount", "DECIMAL(10,2)"],
  ["ok", "BOOLEAN"],
  ["seen", "TIMESTAMP"],
].map(([name, type]) => ({ name: name!, type: type!, notNull: false }));
const schema = compileTable({ name: "t", columns });
const decoded = new RowDecoder(schema).decode(
  view,
  0,
  schema.fields.map(() => ({ kind: "null" as const })),
);
say("rows", hash(encodeStream(schema.arrowSchema, decoded.columns, decoded.rows)));
