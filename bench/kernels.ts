/**
 * Rates of the hot path's kernels beside their twins and other libraries, in MB of plain data per CPU second (so that a busy
 * machine disturbs little): `bun bench/kernels.ts`, `deno run -A bench/kernels.ts`. Each figure is the best of several
 * short runs. The figures behind docs/decisions/0002-codecs.md.
 */
import process from "node:process";
import * as zlib from "node:zlib";
import * as zstd from "@bokuweb/zstd-wasm";
import * as fflate from "fflate";
import { createCRC32 } from "hash-wasm";
import lz4js from "lz4js";
import snappyjs from "snappyjs";
import { codecs, compress, decompress } from "../src/hotpath/codecs.ts";
import { crc32c } from "../src/hotpath/crc32c.ts";
import { crc32cTwin } from "../src/hotpath/twins/crc32c.ts";
import { lz4DecodeTwin } from "../src/hotpath/twins/lz4_decode.ts";
import { lz4EncodeTwin } from "../src/hotpath/twins/lz4_encode.ts";
import { snappyDecodeTwin, snappyEncodeTwin } from "../src/hotpath/twins/snappy.ts";
import { walkTwin } from "../src/hotpath/twins/walk.ts";
import { indexRecords, walkRecords } from "../src/hotpath/walk.ts";
import { BatchHeader, batchHeaderBytes } from "../src/protocol/records/batch.ts";
import { decodeBatch } from "../src/protocol/records/decode.ts";
import { encodeBatch } from "../src/protocol/records/encode.ts";
import { validateProduceBatch } from "../src/protocol/records/validate.ts";
import { RowDecoder } from "../src/tables/row_decoder.ts";
import { compileTable } from "../src/tables/row_schema.ts";

const runMs = Number(process.argv[2] ?? 60);
const runs = 5;

/** MB per CPU second of a call that handles `bytes`. */
function rate(bytes: number, call: () => unknown): string {
  for (let i = 0; i < 3; i++) call();
  let best = 0;
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage();
    const end = performance.now() + runMs;
    let calls = 0;
    do {
      call();
      calls++;
    } while (performance.now() < end);
    const { user, system } = process.cpuUsage(before);
    best = Math.max(best, (calls * bytes) / Math.max(1, user + system));
  }
  return best >= 100 ? best.toFixed(0) : best.toFixed(1);
}

function line(name: string, bytes: number, calls: Record<string, () => unknown>): void {
  const figures = Object.entries(calls).map(([who, call]) => `${who} ${rate(bytes, call)}`);
  console.log(`${name.padEnd(28)} ${figures.join("   ")}`);
}

const rows: string[] = [];
for (let size = 0, i = 0; size < 768 * 1024; i++) {
  const row = `{"id":${i},"user":"user-${(i * 7919) % 1000}","amount":${(i * 31) % 9973}.${i % 100},"text":"row ${i * 17} of the test"}`;
  rows.push(row);
  size += row.length + 1;
}
const plain = new TextEncoder().encode(rows.join("\n"));
const megabyte = new Uint8Array(1 << 20).map((_, i) => (i * i * 31 + 7) >> 3);

const crcOracle = await createCRC32(0x82f63b78);
for (const size of [1 << 20, 65536, 16384, 4096, 1024, 256]) {
  const bytes = megabyte.subarray(0, size);
  line(`crc32c ${size}`, size, {
    kernel: () => crc32c(bytes),
    twin: () => crc32cTwin(bytes, 0, size),
    "hash-wasm": () => crcOracle.init().update(bytes).digest("binary"),
  });
}

const lz4 = compress(codecs.lz4, plain);
const lz4Other = lz4js.compress(plain);
line("lz4 decompress", plain.length, {
  kernel: () => decompress(codecs.lz4, lz4, 1 << 24),
  "kernel, of lz4js": () => decompress(codecs.lz4, lz4Other, 1 << 24),
  twin: () => lz4DecodeTwin(lz4, 1 << 24, false),
  lz4js: () => lz4js.decompress(lz4Other, plain.length),
});
line(`lz4 compress ${ratio(lz4)}`, plain.length, {
  kernel: () => compress(codecs.lz4, plain),
  twin: () => lz4EncodeTwin(plain),
  [`lz4js ${ratio(lz4Other)}`]: () => lz4js.compress(plain),
});
const snappy = compress(codecs.snappy, plain);
const snappyOther = snappyjs.compress(plain);
line("snappy decompress", plain.length, {
  kernel: () => decompress(codecs.snappy, snappy, 1 << 24),
  "kernel, raw": () => decompress(codecs.snappy, snappyOther, 1 << 24),
  twin: () => snappyDecodeTwin(snappy, 1 << 24),
  snappyjs: () => snappyjs.uncompress(snappyOther),
});
line(`snappy compress ${ratio(snappy)}`, plain.length, {
  kernel: () => compress(codecs.snappy, plain),
  twin: () => snappyEncodeTwin(plain),
  [`snappyjs ${ratio(snappyOther)}`]: () => snappyjs.compress(plain),
});
const gzip = compress(codecs.gzip, plain);
line("gzip decompress", plain.length, {
  ours: () => decompress(codecs.gzip, gzip, 1 << 24),
  fflate: () => fflate.gunzipSync(gzip),
});
line(`gzip compress ${ratio(gzip)}`, plain.length, {
  "node:zlib": () => zlib.gzipSync(plain),
  "node:zlib level 1": () => zlib.gzipSync(plain, { level: 1 }),
  fflate: () => fflate.gzipSync(plain),
});
await zstd.init();
const zstandard = compress(codecs.zstd, plain);
line("zstd decompress", plain.length, {
  ours: () => decompress(codecs.zstd, zstandard, 1 << 24),
  "zstd-wasm": () => zstd.decompress(zstandard),
});
line(`zstd compress ${ratio(zstandard)}`, plain.length, {
  "node:zlib": () => zlib.zstdCompressSync(plain),
  "zstd-wasm": () => zstd.compress(plain, 3),
});

for (const [bytes, count] of [
  [1024, 1000],
  [100, 8000],
  [100, 10],
] as const) {
  const value = megabyte.subarray(0, bytes);
  const batch = encodeBatch(
    Array.from({ length: count }, (_, i) => ({ key: `key-${i}`, value, timestamp: 1_700_000_000_000 + i })),
  );
  const records = batch.subarray(batchHeaderBytes);
  const header = new BatchHeader(batch);
  const [high, low] = [header.baseTimestampHigh, header.baseTimestampLow];
  line(`walk ${count} of ${bytes}`, records.length, {
    kernel: () => walkRecords(records, 0, records.length, count, high, low, true),
    twin: () => walkTwin(records, 0, records.length, count, high, low, true, undefined),
    index: () => indexRecords(records, 0, records.length, count, high, low, true),
  });
  const options = {
    maxBytes: 1 << 24,
    timestampType: "CreateTime",
    nowMs: 1_700_000_001_000,
    beforeMaxMs: 1e300,
    afterMaxMs: 3_600_000,
  } as const;
  line(`batch ${count} of ${bytes}`, batch.length, {
    validate: () => validateProduceBatch(batch, options),
    decode: () => decodeBatch(batch).records.length,
    encode: () => encodeBatch(Array.from({ length: count }, () => ({ value }))),
  });
}

const columns = [
  ["id", "BIGINT"],
  ["user", "VARCHAR"],
  ["amount", "DECIMAL(10,2)"],
  ["text", "VARCHAR"],
].map(([name, type]) => ({ name: name!, type: type!, notNull: false }));
for (const [name, more] of [
  ["rows kept", 0],
  ["rows with a missing column", 1],
] as const) {
  const table = [...columns, { name: "note", type: "VARCHAR", notNull: false }].slice(0, columns.length + more);
  const schema = compileTable({ name: "t", columns: table });
  const missing = schema.fields.map(() => ({ kind: "null" }) as const);
  const values = rows.map((value) => ({ value }));
  const view = decodeBatch(encodeBatch(values));
  const [kernel, twin] = [new RowDecoder(schema), new RowDecoder(schema, { kernel: false })];
  line(name, view.plain.length, {
    kernel: () => kernel.decode(view, 0, missing),
    twin: () => twin.decode(view, 0, missing),
    "JSON.parse": () => values.map(({ value }) => JSON.parse(value)),
  });
}

function ratio(bytes: Uint8Array): string {
  return `(${((100 * bytes.length) / plain.length).toFixed(0)} %)`;
}
