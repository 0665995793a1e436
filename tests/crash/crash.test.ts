/** 500 crash points of a few seeds that differ from day to day; ROWLOG_TEST_SEED repeats a run, ROWLOG_TEST_CRASH_POINTS asks for more. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const seed = process.env.ROWLOG_TEST_SEED ?? String(Math.floor(Date.now() / 86_400_000));
const points = process.env.ROWLOG_TEST_CRASH_POINTS ?? "500";

test(`${points} crash points, seed ${seed}`, () => {
  const program = fileURLToPath(new URL("main.ts", import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [program, "--from", seed, "--points", points, "--share", "0.2"],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) console.error(stderr);
  expect([status, stdout]).toEqual([0, expect.stringContaining("no fault")]);
}, 600_000);
