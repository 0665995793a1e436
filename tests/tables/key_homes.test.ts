/** The memory of keys' partitions: exact over many keys, whatever they look like. */
import { expect, test } from "bun:test";
import { keyHash } from "../../src/tables/keyed/key_hash.ts";
import { KeyHomes } from "../../src/tables/keyed/key_homes.ts";

test("200,000 keys keep their first partition, and marks are told apart", () => {
  const homes = new KeyHomes();
  const encoder = new TextEncoder();
  const keyOf = (n: number) => {
    const bytes = encoder.encode(`{"id":${n},"name":"user ${n % 1_000}"}`);
    return [bytes, 0, bytes.length, keyHash(bytes, 0, bytes.length)] as const;
  };
  for (let n = 0; n < 200_000; n++) homes.settle(...keyOf(n), n % 31);
  expect(homes.size).toBe(200_000);
  for (let n = 0; n < 200_000; n++) homes.settle(...keyOf(n), 30);
  expect(homes.size).toBe(200_000);
  let wrong = 0;
  for (let n = 0; n < 200_000; n++) if (homes.home(...keyOf(n)) !== n % 31) wrong++;
  for (let n = 200_000; n < 300_000; n++) if (homes.home(...keyOf(n)) !== -1) wrong++;
  expect(wrong).toBe(0);
  expect([homes.mark(...keyOf(5), true), homes.mark(...keyOf(5), true), homes.mark(...keyOf(6), true)]).toEqual([
    true,
    false,
    true,
  ]);
  homes.unstored();
  expect(homes.mark(...keyOf(5), true)).toBe(true);
  expect(homes.home(...keyOf(5))).toBe(5);
});
