/** Producers are no faster than their tables, but never wait without end. */
import { expect, test } from "bun:test";
import { ManualClock } from "../../src/base/clock.ts";
import { limits } from "../../src/base/limits.ts";
import { Room } from "../../src/tables/room.ts";

test("all who wait for room go on when there is some", async () => {
  const room = new Room(new ManualClock(), 1_000);
  let gone = 0;
  const waits = [room.wait(), room.wait()].map((wait) => wait.then(() => gone++));
  await Promise.resolve();
  expect(gone).toBe(0);
  room.open();
  await Promise.all(waits);
  expect(gone).toBe(2);
});

test("who finds no room goes on after the longest wait", async () => {
  const clock = new ManualClock();
  const room = new Room(clock, limits.applierThrottleMsMax);
  let gone = false;
  const wait = room.wait().then(() => {
    gone = true;
  });
  clock.advance(limits.applierThrottleMsMax - 1);
  await Promise.resolve();
  expect(gone).toBe(false);
  clock.advance(1);
  await wait;
  expect(gone).toBe(true);
});
