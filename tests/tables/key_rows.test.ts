/** The kernel that writes rows' keys against the decoder without it: the same rows, keys, hashes, faults and log for random batches. */
import { expect, test } from "bun:test";
import { decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch } from "../../src/protocol/records/encode.ts";
import { encodeStream } from "../../src/tables/arrow/stream.ts";
import { batchToLog } from "../../src/tables/ingest.ts";
import { type ChangeBatch, keyTextWords } from "../../src/tables/keyed/change_batch.ts";
import { ChangeDecoder } from "../../src/tables/keyed/change_decoder.ts";
import { compileTable } from "../../src/tables/row_schema.ts";
import { Random, roundsFactor, seed } from "../hotpath/random.ts";

/** Values of each type as producers spell them; some are none of it. */
const spellings: Record<string, readonly string[]> = {
  BIGINT: ["0", "1", "-5", "12345678901234", '"7"', "1.0", "1e2", "-0", "null", "9223372036854775808"],
  "DECIMAL(10,2)": ["1", "1.5", "1.50", '"2.25"', "-3", "99999999999"],
  VARCHAR: ['"a"', '"user-17"', '"\\u0041"', '"q\\"q"', '""', "12", "true", '"é"', '"12"'],
  TIMESTAMP: ['"2026-01-02T03:04:05"', '"2026-01-02T03:04:05.500"', '"2026-01-02T03:04:05Z"', "1767225600000"],
  DATE: ['"2026-01-02"', "20000", '"2026-13-01"'],
  BOOLEAN: ["true", "false"],
  JSON: ['{"a":1}', '"x"', "[1]", '{"a": 1}', '{"a":"x\\" y"}', '{"a":"x\\"y"}', "12", "null"],
  DOUBLE: ["1.5", "-0.0", "0", "1e300"],
};
const types = Object.keys(spellings);

/** Whether the batch is accepted. */
function check(random: Random): boolean {
  const key = random.below(3) === 0 ? ["k", "id"] : ["k"];
  const columns = ["k", "id", "v"].map((name) => ({
    name,
    type: types[random.below(types.length)]!,
    notNull: key.includes(name),
  }));
  const definition = { schema: "main", name: "t", sql: "", columns, checks: [], unique: [], raw: false, key };
  const schema = compileTable(definition);
  const pick = <T>(values: readonly T[]): T => values[random.below(values.length)]!;
  const records = Array.from({ length: 1 + random.below(random.below(4) === 0 ? 60 : 5) }, () => {
    const texts = new Map(
      columns.map(({ name, type }) => [name, pick(spellings[type]!.slice(0, random.below(3) ? 3 : 99))]),
    );
    const own = `{${key.map((name) => `"${name}":${texts.get(name)}`).join(",")}}`;
    const first = texts.get("k")!;
    const given = [
      own,
      own,
      own.replaceAll(/[:,]/g, "$& "),
      ` ${own.replace("}", "\t\n}")}`,
      null,
      first,
      first.replace(/^"(.*)"$/, "$1"),
      `{"k":${pick(spellings[columns[0]!.type]!)}}`,
    ];
    const fields = [...texts].filter(() => random.below(12) > 0);
    if (random.below(20) === 0) fields.push(["other", '{"x":[1]}']);
    if (random.below(20) === 0) fields.reverse();
    const space = random.below(20) === 0 ? " " : "";
    const value = `{${fields.map(([name, text]) => `"${name}":${space}${text}`).join(`,${space}`)}}`;
    return { key: pick(given), value: random.below(15) === 0 ? null : value, timestamp: 1 };
  });
  const batch = { bytes: encodeBatch(records) };
  const view = decodeBatch(batch.bytes);
  const missing = schema.fields.map(() => ({ kind: "null" as const }));
  const [fast, slow] = [true, false].map((kernel) => {
    const decoded = new ChangeDecoder(schema, definition, { kernel }).decode(view, 0, missing);
    return describe(decoded, () => batchToLog({ ...batch, header: view.header }, view, decoded, 0));
  });
  expect(fast).toEqual(slow!);
  return fast!.rows !== undefined;

  function describe(decoded: ChangeBatch, log: () => Uint8Array) {
    const faults = decoded.faults.map(({ index, message }) => `${index}: ${message}`);
    if (decoded.faultCount > 0) return { faults, rows: undefined };
    const { text, words } = decoded.keys!;
    return {
      faults,
      rowOf: [...decoded.rowOf],
      keys: records.map((_record, i) => {
        const word = i * keyTextWords;
        return `${new TextDecoder().decode(text.bytes.subarray(words[word]!, words[word + 1]!))} ${words[word + 2]}`;
      }),
      rows: encodeStream(schema.arrowSchema, decoded.columns, decoded.rows),
      log: [...decodeBatch(log())].map((record) => [decoded.records, record.key, record.value]),
    };
  }
}

test(`rows of keyed tables, with and without the kernel (seed ${seed})`, () => {
  const random = new Random(seed);
  let accepted = 0;
  for (let round = 0; round < 1_500 * roundsFactor; round++) if (check(random)) accepted++;
  expect(accepted).toBeGreaterThan(200 * roundsFactor);
});
