import { expect, test } from "bun:test";
import { ManualClock } from "../../src/base/clock.ts";
import { randomUuid, uuidBytes, uuidText, zeroUuid } from "../../src/base/uuid.ts";

test("timers fire in order of time, also those that timers set", () => {
  const clock = new ManualClock(1_000);
  const fired: string[] = [];
  clock.setTimer(20, () => fired.push(`b@${clock.monotonicMs()}`));
  clock.setTimer(10, () => {
    fired.push(`a@${clock.monotonicMs()}`);
    clock.setTimer(5, () => fired.push(`c@${clock.monotonicMs()}`));
  });
  clock.setTimer(12, () => fired.push("never")).cancel();
  clock.advance(20);
  expect(fired).toEqual(["a@10", "c@15", "b@20"]);
  expect(clock.nowMs()).toBe(1_020);
  expect(clock.pending).toBe(0);
});

test("the wall clock may step, monotonic time does not", () => {
  const clock = new ManualClock(1_000);
  clock.stepWall(-500);
  clock.advance(10);
  expect(clock.nowMs()).toBe(510);
  expect(clock.monotonicMs()).toBe(10);
});

test("ids keep their bytes in text, and none begins with a dash", () => {
  expect(uuidText(new Uint8Array(16))).toBe(zeroUuid);
  for (let round = 0; round < 1_000; round++) {
    const id = randomUuid();
    expect(id).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/);
    expect(uuidText(uuidBytes(id))).toBe(id);
  }
  expect(() => uuidBytes("short")).toThrow(TypeError);
});
