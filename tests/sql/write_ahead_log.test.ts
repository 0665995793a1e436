/** How much of a log of DuckDB's counts. The entries are ones that DuckDB-WASM 1.32 wrote. */
import { expect, test } from "bun:test";
import { committedLength } from "../../src/sql/write_ahead_log.ts";

const commit = Buffer.from("0500000000000000e7fe7d722fed3d5e640064ffff", "hex");
const useTable = Buffer.from("1000000000000000a01f37098c80468e640019" + "6500046d61696e66000174ffff", "hex");
const header = Buffer.from("640062650002ffff", "hex");
const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));

test("whole transactions count, and nothing behind the last", () => {
  const whole = join(header, useTable, commit, useTable, commit);
  expect(committedLength(whole)).toBe(whole.length);
  const open = join(whole, useTable);
  expect(committedLength(open)).toBe(whole.length);
  for (let cut = 0; cut < whole.length; cut++) {
    const first = header.length + useTable.length + commit.length;
    expect(committedLength(whole.subarray(0, cut))).toBe(cut < header.length ? 0 : cut < first ? header.length : first);
  }
});

test("zeros, garbage and flipped bits end it", () => {
  const first = join(header, useTable, commit);
  expect(committedLength(join(first, new Uint8Array(100)))).toBe(first.length);
  expect(committedLength(join(first, new Uint8Array(100).fill(0xa5)))).toBe(first.length);
  for (let at = header.length + 16; at < header.length + useTable.length; at++) {
    const broken = join(first);
    broken[at]! ^= 0x10;
    expect(committedLength(broken)).toBe(header.length);
  }
  expect(committedLength(new Uint8Array(50))).toBe(0);
});

test("a log of another version is left alone", () => {
  const other = join(header, new Uint8Array(30));
  other[5] = 3;
  expect(committedLength(other)).toBe(other.length);
});
