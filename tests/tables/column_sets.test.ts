import { expect, test } from "bun:test";
import { limits } from "../../src/base/limits.ts";
import type { BytesVector, FixedVector } from "../../src/tables/arrow/vectors.ts";
import { ColumnSets } from "../../src/tables/column_sets.ts";
import { compileTable } from "../../src/tables/row_schema.ts";

const columns = [
  { name: "n", type: "BIGINT", notNull: false },
  { name: "_offset", type: "BIGINT", notNull: false },
  { name: "s", type: "VARCHAR", notNull: false },
];

test("columns that are given back are used again, empty; given twice or of another table, they are not", () => {
  const { sets } = compileTable({ name: "t", columns });
  const first = sets.take(2);
  expect(first.children).toEqual([first.columns[0]!, first.columns[2]!]);
  const [n, , s] = first.columns as [FixedVector, FixedVector, BytesVector];
  for (let i = 0; i < 5; i++) {
    n.pushNull();
    s.pushText("text");
  }
  sets.give(first.columns);
  sets.give(first.columns);
  const second = sets.take(1);
  expect(second.columns).toBe(first.columns);
  expect(sets.take(1).columns).not.toBe(first.columns);
  n.pushLong(7);
  s.pushText("a");
  expect([n.length, n.isNull(0), n.getLong(0), s.length, s.used, s.end(0)]).toEqual([1, false, 7n, 1, 1, 1]);
  const other = compileTable({ name: "t", columns });
  other.sets.give(second.columns);
  expect(other.sets.take(1).columns).not.toBe(second.columns);
});

test("spare columns are let go of when nobody needs them, and beyond a bound they are not kept", () => {
  const { sets } = compileTable({ name: "t", columns });
  const one = sets.take(1);
  const two = sets.take(1);
  sets.give(one.columns);
  sets.give(two.columns);
  ColumnSets.trim();
  // One of the two is needed until the next trim.
  sets.give(sets.take(1).columns);
  ColumnSets.trim();
  const kept = sets.take(1).columns;
  expect([one.columns, two.columns]).toContain(kept);
  expect([one.columns, two.columns]).not.toContain(sets.take(1).columns);
  const text = (kept[2] as BytesVector).data.length;
  expect(text).toBeLessThan(limits.spareColumnBytesMax);
  (kept[2] as BytesVector).pushBytes(new Uint8Array(limits.spareColumnBytesMax + 1), 0, limits.spareColumnBytesMax + 1);
  sets.give(kept);
  expect(sets.take(1).columns).not.toBe(kept);
});

test("a table that gets rows takes the room of those that get none", () => {
  const half = new Uint8Array(limits.spareColumnBytesMax / 2 + 1);
  const tables = [1, 2].map(() => compileTable({ name: "t", columns }).sets);
  const given = tables.map((sets) => {
    const taken = sets.take(1).columns;
    (taken[2] as BytesVector).pushBytes(half, 0, half.length);
    sets.give(taken);
    return taken;
  });
  expect(tables[1]!.take(1).columns).toBe(given[1]!);
  expect(tables[0]!.take(1).columns).not.toBe(given[0]!);
});
