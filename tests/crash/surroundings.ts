/**
 * Time and chance of the whole process out of one seed, so that a run repeats itself exactly: ids, DuckDB's own random numbers, the ends of
 * timeouts. Nothing in an exploring process may wait for the real clock.
 */
import type { ManualClock } from "../../src/base/clock.ts";
import type { SeededRandom } from "../../src/platform/sim/random.ts";

let clock: ManualClock | undefined;
let random: SeededRandom | undefined;

/** From here on the process's time is `newClock`'s and its random numbers are `newRandom`'s. */
export function seal(newClock: ManualClock, newRandom: SeededRandom): void {
  if (clock === undefined) replaceGlobals();
  clock = newClock;
  random = newRandom;
}

function replaceGlobals(): void {
  Date.now = () => clock!.nowMs();
  performance.now = () => clock!.monotonicMs();
  Math.random = () => random!.fraction();
  const fill = <T extends ArrayBufferView | null>(view: T): T => {
    if (view === null) return view;
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = random!.below(256);
    return view;
  };
  crypto.getRandomValues = fill as typeof crypto.getRandomValues;
  crypto.randomUUID = () => {
    const hex = [...fill(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
}

const turnsMax = 20_000;
/** Turns of the event loop after which the simulated time moves on, for what waits for a timer. */
const turnsPerStep = 60;

/** Waits for a promise by letting the event loop turn, and time pass when it seems to be waited for. Throws when it never settles. */
export async function settle<T>(promise: Promise<T>, what: string): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  promise.then(end, end);
  for (let turn = 1; !isOver; turn++) {
    if (turn > turnsMax) throw new Error(`it never ends: ${what}`);
    await nextTurn();
    if (turn % turnsPerStep === 0) clock!.advance(100);
  }
  return await promise;
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Lets everything that is under way come to a rest. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
}
