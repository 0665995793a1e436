import { describe, expect, test } from "bun:test";
import { type Codec, codecNames } from "../../src/hotpath/codecs.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { type DecodedRecord, decodeBatch } from "../../src/protocol/records/decode.ts";
import { encodeBatch, type RecordToEncode } from "../../src/protocol/records/encode.ts";
import { emptied, nullPart, type RecordChanges, rewriteRecords } from "../../src/protocol/records/rewrite.ts";

const utf8 = new TextEncoder();

function randomRecords(random: SeededRandom, count: number): RecordToEncode[] {
  const part = () =>
    random.below(5) === 0 ? null : utf8.encode("x".repeat(random.below(random.below(4) === 0 ? 300 : 9)));
  return Array.from({ length: count }, () => ({
    key: part(),
    value: part(),
    timestamp: 1_700_000_000_000 + random.below(2_000_000) - 1_000_000,
    headers: Array.from({ length: random.below(3) }, (_, i) => ({ key: `h${i}`, value: part() })),
  }));
}

/** What rewriteRecords must give, worked out record by record. */
function expected(records: readonly DecodedRecord[], changes: RecordChanges): DecodedRecord[] {
  const part = (old: Uint8Array | null, spans: Int32Array | undefined, i: number) => {
    const begin = spans?.[i * 2] ?? -1;
    return begin === -1 ? old : begin === nullPart ? null : changes.bytes!.subarray(begin, spans![i * 2 + 1]);
  };
  return records
    .map((record, i) => ({
      ...record,
      key: part(record.key, changes.keys, i),
      value: part(record.value, changes.values, i),
    }))
    .filter((_, i) => !changes.dropped?.[i]);
}

describe("rewriting a batch", () => {
  for (const [codec, name] of codecNames.entries())
    test(`${name}: keys, values and holes, at random`, () => {
      const random = new SeededRandom(71 + codec);
      const bytes = utf8.encode("0123456789".repeat(100));
      for (let round = 0; round < 60; round++) {
        const count = 1 + random.below(40);
        const options = { baseOffset: 1000 + round, producerId: 7n, producerEpoch: 2, baseSequence: 30 };
        const view = decodeBatch(encodeBatch(randomRecords(random, count), { ...options, codec: codec as Codec }));
        const spans = () => {
          if (random.below(3) === 0) return undefined;
          const made = new Int32Array(count * 2);
          for (let i = 0; i < count; i++) {
            const begin = random.below(900);
            const kind = random.below(3);
            made.set(kind === 0 ? [-1, -1] : kind === 1 ? [nullPart, 0] : [begin, begin + random.below(100)], i * 2);
          }
          return made;
        };
        const dropped = new Uint8Array(count).map(() => random.below(2));
        dropped[random.below(count)] = 0;
        const changes: RecordChanges = {
          bytes,
          keys: spans(),
          values: spans(),
          ...(random.below(4) > 0 && { dropped }),
          ...(random.below(2) > 0 && { deleteHorizonMs: 1_900_000_000_000 }),
        };
        const changed = decodeBatch(rewriteRecords(view, changes, codec as Codec));
        const wanted = expected(view.records, changes);
        expect(changed.records).toEqual(wanted);
        const { header } = changed;
        expect(header.recordCount).toBe(wanted.length);
        expect(header.lastOffset).toBe(view.header.lastOffset);
        expect(header.baseSequence).toBe(30);
        expect(header.producerId).toBe(7n);
        expect(header.maxTimestamp).toBe(Math.max(...wanted.map((record) => record.timestamp)));
        expect(header.hasDeleteHorizon).toBe(changes.deleteHorizonMs !== undefined);
        if (changes.deleteHorizonMs !== undefined) expect(header.baseTimestamp).toBe(changes.deleteHorizonMs);
        expect(header.isCrcValid).toBe(true);
      }
    });

  test("a batch of which nothing is left keeps its offsets, its producer and its time", () => {
    const options = { codec: 3 as Codec, baseOffset: 40, producerId: 9n, producerEpoch: 1, baseSequence: 70 };
    const view = decodeBatch(
      encodeBatch(
        [
          { value: "a", timestamp: 5 },
          { value: "b", timestamp: 3 },
        ],
        options,
      ),
    );
    for (const batch of [rewriteRecords(view, { dropped: new Uint8Array([1, 1]) }, 3), emptied(view.header)]) {
      const header = new BatchHeader(batch);
      expect(batch.length).toBe(61);
      expect([header.codecId, header.recordCount, header.baseOffset, header.lastOffset]).toEqual([0, 0, 40, 41]);
      expect([header.producerId, header.producerEpoch, header.baseSequence]).toEqual([9n, 1, 70]);
      expect([header.maxTimestamp, header.latestRecordTime, header.baseTimestamp]).toEqual([5, -1, -1]);
      expect(header.isCrcValid).toBe(true);
      expect(decodeBatch(batch).records).toEqual([]);
    }
  });

  test("append times stay those of the batch", () => {
    const batch = encodeBatch([{ value: "a" }, { value: "b" }], { timestampType: "LogAppendTime", timestamp: 99 });
    const changed = decodeBatch(
      rewriteRecords(decodeBatch(batch), { dropped: new Uint8Array([0, 1]), deleteHorizonMs: 500 }, 0),
    );
    expect(changed.header.maxTimestamp).toBe(99);
    expect(changed.records.map(({ timestamp }) => timestamp)).toEqual([99]);
  });
});
