import { describe, expect, test } from "bun:test";
import { type Codec, codecNames } from "../../src/hotpath/codecs.ts";
import { replaceValuesTwin } from "../../src/hotpath/twins/replace_values.ts";
import { BatchHeader } from "../../src/protocol/records/batch.ts";
import { decodeBatch, decodeBatches } from "../../src/protocol/records/decode.ts";
import { encodeBatch, type RecordToEncode, recompress, withValues } from "../../src/protocol/records/encode.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const empty = new Uint8Array(0);

const records: RecordToEncode[] = [];
for (const key of [null, empty, bytes("k")]) {
  for (const value of [null, empty, bytes("value ".repeat(20))]) {
    for (const header of [null, empty, bytes("h")]) {
      const timestamp = 1_700_000_000_000 - records.length * 7;
      records.push({
        key,
        value,
        timestamp,
        headers: [
          { key: "a", value: header },
          { key: "", value: header },
          { key: "a", value: null },
        ],
      });
    }
  }
}

describe("encode and decode", () => {
  for (const [codec, name] of codecNames.entries()) {
    test(`${name}: null, empty and repeated parts stay apart (C34)`, () => {
      const batch = encodeBatch(records, {
        codec: codec as Codec,
        baseOffset: 40,
        producerId: 2n ** 40n + 3n,
        producerEpoch: 4,
        baseSequence: 5,
      });
      const view = decodeBatch(batch);
      expect(view.header.codecId).toBe(codec);
      expect(view.header.lastOffset).toBe(40 + records.length - 1);
      expect(view.header.producerId).toBe(2n ** 40n + 3n);
      expect(view.header.producerEpoch).toBe(4);
      expect(view.header.baseSequence).toBe(5);
      expect(view.header.maxTimestamp).toBe(1_700_000_000_000);
      const expected = records.map((record, i) => ({ ...record, offset: 40 + i }));
      expect(view.records as unknown).toEqual(expected as unknown);
    });
  }

  test("recompress keeps records, header fields and the CRC", () => {
    const batch = encodeBatch(records, { baseOffset: 3, producerId: 9n, producerEpoch: 1, baseSequence: 70 });
    let changed = batch;
    for (const codec of [3, 2, 4, 1, 0] as Codec[]) changed = recompress(changed, codec);
    expect(changed).toEqual(batch);
  });

  test("other values for some records leave all else as it is", () => {
    for (const codec of [0, 3] as Codec[]) {
      const view = decodeBatch(encodeBatch(records, { codec, producerId: 9n, producerEpoch: 1, baseSequence: 70 }));
      const values = bytes(`new value of one, ${"long ".repeat(9000)}`);
      const spans = new Int32Array(records.length * 2).fill(-1);
      spans.set([0, 9], 2 * 4);
      spans.set([3, 3], 2 * 5);
      spans.set([0, values.length], 2 * 20);
      const expected = records.map((record, i) => {
        return spans[i * 2]! < 0 ? record : { ...record, value: values.subarray(spans[i * 2]!, spans[i * 2 + 1]!) };
      });
      const changed = withValues(view, spans, values, codec);
      expect(changed).toEqual(encodeBatch(expected, { codec, producerId: 9n, producerEpoch: 1, baseSequence: 70 }));
      const twin = replaceValuesTwin(view.plain, view.fields, view.count, spans, values);
      expect(Buffer.compare(twin, decodeBatch(changed).plain)).toBe(0);
    }
  });

  test("gaps and an emptied batch keep their span of offsets", () => {
    const gaps = encodeBatch(
      [
        { value: "a", offset: 12 },
        { value: "b", offset: 19 },
      ],
      { baseOffset: 10, lastOffsetDelta: 15 },
    );
    expect(decodeBatch(gaps).records.map((record) => record.offset)).toEqual([12, 19]);
    expect(new BatchHeader(gaps).lastOffset).toBe(25);
    const none = encodeBatch([], { baseOffset: 5, lastOffsetDelta: 4 });
    expect([...decodeBatches(none)].map((view) => [view.count, view.header.lastOffset])).toEqual([[0, 9]]);
  });

  test("setters renew the CRC only where it covers", () => {
    const batch = encodeBatch([{ value: "a", timestamp: 5 }]);
    const header = new BatchHeader(batch);
    header.baseOffset = 2 ** 40 + 1;
    header.partitionLeaderEpoch = 7;
    expect(header.isCrcValid).toBe(true);
    header.setMaxTimestamp("LogAppendTime", 1_800_000_000_123);
    expect(header.isCrcValid).toBe(true);
    const [record] = decodeBatch(batch).records;
    expect(record).toMatchObject({ offset: 2 ** 40 + 1, timestamp: 1_800_000_000_123 });
  });
});
