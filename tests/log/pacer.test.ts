import { describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/clock.ts";
import { Pacer, Stopped } from "../../src/log/compaction/pacer.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("the pacer", () => {
  test("lets others have their turn after some bytes, or some milliseconds", async () => {
    const clock = new ManualClock(0);
    const pacer = new Pacer(clock, Number.POSITIVE_INFINITY, () => false);
    expect(pacer.spent(500_000)).toBeUndefined();
    const rest = pacer.spent(600_000);
    expect(rest).toBeInstanceOf(Promise);
    let othersHadTheirTurn = false;
    setImmediate(() => {
      othersHadTheirTurn = true;
    });
    await rest;
    await turn();
    expect(othersHadTheirTurn).toBe(true);
    clock.advance(2);
    expect(pacer.spent(1)).toBeUndefined();
    clock.advance(2);
    expect(pacer.spent(1)).toBeInstanceOf(Promise);
  });

  test("keeps to its rate, once the first second's bytes are used up", async () => {
    const clock = new ManualClock(0);
    const pacer = new Pacer(clock, 2_000_000, () => false);
    await pacer.spent(2_000_000);
    let isOver = false;
    const rest = pacer.spent(1_000_000 + 100_000)?.then(() => {
      isOver = true;
    });
    await turn();
    await turn();
    clock.advance(500);
    await turn();
    expect(isOver).toBe(false);
    clock.advance(100);
    await rest;
    expect(isOver).toBe(true);
  });

  test("ends the work when there is no point in it", async () => {
    let isStopped = false;
    const pacer = new Pacer(new ManualClock(0), Number.POSITIVE_INFINITY, () => isStopped);
    await pacer.rest();
    isStopped = true;
    const error = await pacer.rest().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Stopped);
  });
});
