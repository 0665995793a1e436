/** Records that come behind a long transaction are applied together, and at once when somebody reads. */
import { expect, test } from "bun:test";
import type { Clock } from "../../src/base/clock.ts";
import { limits } from "../../src/base/limits.ts";
import { Pace } from "../../src/tables/pace.ts";

test("what comes after a long transaction waits, for a bounded time, unless it is awaited or much", () => {
  let now = 1_000;
  const pace = new Pace({ monotonicMs: () => now } as Clock);
  expect(pace.isOn(false, 0)).toBe(false);
  pace.took(limits.applierPaceMsMin - 1);
  expect(pace.isOn(false, 0)).toBe(false);
  pace.took(100);
  expect(pace.isOn(false, 0)).toBe(true);
  expect(pace.isOn(true, 0)).toBe(false);
  expect(pace.isOn(false, limits.applierThrottleBytes)).toBe(false);
  now += 199;
  expect(pace.isOn(false, 0)).toBe(true);
  now += 1;
  expect(pace.isOn(false, 0)).toBe(false);
  pace.took(1e9);
  now += limits.applierPaceMsMax;
  expect(pace.isOn(false, 0)).toBe(false);
});
