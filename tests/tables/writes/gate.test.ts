import { expect, test } from "bun:test";
import { ManualClock } from "../../../src/base/clock.ts";
import { limits } from "../../../src/base/limits.ts";
import { type Entry, Gate } from "../../../src/tables/writes/gate.ts";

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

test("an open gate lets batches in at once", () => {
  const gate = new Gate("t", new ManualClock());
  const first = gate.enter();
  const second = gate.enter();
  expect(first instanceof Promise || second instanceof Promise).toBe(false);
});

test("closing waits for those inside, keeps later ones out, and opening lets them in by arrival", async () => {
  const gate = new Gate("t", new ManualClock());
  const seen: string[] = [];
  const inside = gate.enter() as Entry;
  const closing = gate.close().then((open) => {
    seen.push("closed");
    return open;
  });
  const late = (gate.enter() as Promise<Entry>).then((entry) => {
    seen.push("late");
    return entry;
  });
  await turn();
  expect(seen).toEqual([]);
  inside.leave();
  const open = await closing;
  const second = gate.close().then((reopen) => {
    seen.push("closed again");
    return reopen;
  });
  const last = (gate.enter() as Promise<Entry>).then(() => seen.push("last"));
  await turn();
  expect(seen).toEqual(["closed"]);
  open();
  open();
  (await late).leave();
  (await second)();
  await last;
  expect(seen).toEqual(["closed", "late", "closed again", "last"]);
});

test("waits are bounded in time and number", async () => {
  const clock = new ManualClock();
  const gate = new Gate("t", clock);
  const open = await gate.close();
  const errors: string[] = [];
  const note = (error: Error & { sqlstate?: string; errorName?: string }) =>
    void errors.push(error.sqlstate ?? error.errorName ?? "");
  const waiting = [(gate.enter() as Promise<Entry>).catch(note), gate.close(10).catch(note)];
  for (let i = 2; i < limits.gateWaitersMax; i++) waiting.push((gate.enter() as Promise<Entry>).catch(note));
  expect(() => gate.enter()).toThrow(/wait already/);
  await gate.close().catch(note);
  clock.advance(limits.gateWaitMs);
  await Promise.all(waiting);
  expect(errors.filter((name) => name === "55P03").length).toBe(2);
  expect(errors.filter((name) => name === "REQUEST_TIMED_OUT").length).toBe(limits.gateWaitersMax - 1);
  open();
  expect(gate.enter() instanceof Promise).toBe(false);
});

test("a close that gave up no longer holds up those behind it", async () => {
  const clock = new ManualClock();
  const gate = new Gate("t", clock);
  const inside = gate.enter() as Entry;
  const closing = gate.close(10).catch((error) => error.sqlstate);
  const behind = gate.enter() as Promise<Entry>;
  clock.advance(10);
  expect(await closing).toBe("55P03");
  (await behind).leave();
  inside.leave();
});
