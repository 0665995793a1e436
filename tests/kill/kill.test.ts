/** 100 rounds of `kill -9`, or as many as ROWLOG_KILL_ROUNDS says (`bun run test kill --rounds 200`). ROWLOG_KILL_SEED repeats a run's moments. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { component } from "../../scripts/install-clients.ts";
import { KillRounds } from "./rounds.ts";

const count = Number(process.env.ROWLOG_KILL_ROUNDS || 100);
const seed = Number(process.env.ROWLOG_KILL_SEED || Math.floor(Math.random() * 2 ** 31));

describe.skipIf(!component("python").installed())(`kill -9, seed ${seed}`, () => {
  const rounds = new KillRounds(seed);

  beforeAll(() => rounds.start(), 120_000);
  afterAll(() => rounds.end());

  for (let number = 0; number < count; number++) {
    test(`round ${number}`, () => rounds.round(number), 240_000);
  }

  test("the load did something", () => {
    expect(rounds.records).toBeGreaterThan(count * 20);
    // SQL runs in the rounds behind those that waited for DuckDB.
    expect([rounds.sqlWork.commits > 0, rounds.sqlWork.reads > 0]).toEqual([count > 4, count > 4]);
  });
});
