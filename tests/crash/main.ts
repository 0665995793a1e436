/**
 * `bun run test:crash [--seeds N] [--from SEED] [--points N] [--share F] [--point ROUND.NUMBER] [--verbose]`: explores N seeds, or as many
 * as give the wanted number of crash points; of each seed's points all, or a random part F of them. Exit status 1 at the first fault, with the command that repeats it.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { EngineImage } from "./engine_image.ts";
import { CrashFault, Explorer } from "./explorer.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string" },
    points: { type: "string" },
    share: { type: "string" },
    point: { type: "string" },
    verbose: { type: "boolean" },
  },
});
const realNow = performance.now.bind(performance);
const from = Number(values.from ?? Date.now() % 1_000_000);
const pointsWanted = values.points === undefined ? Number.POSITIVE_INFINITY : Number(values.points);
const seeds = values.seeds === undefined ? (values.points === undefined ? 1 : 1_000_000) : Number(values.seeds);
const started = realNow();
const image = await EngineImage.load(new SimDisk({ random: new SeededRandom(0) }));
const work = new Map<string, number>();
const total = { seeds: 0, points: 0, duringRecovery: 0, withSql: 0 };

for (let seed = from; seed < from + seeds && total.points < pointsWanted; seed++) {
  const explorer = new Explorer(image, seed, Number(values.share ?? 1), values.point);
  try {
    await explorer.explore();
  } catch (error) {
    report(seed, error);
    process.exit(1);
  }
  const { found } = explorer;
  total.seeds++;
  for (const key of ["points", "duringRecovery", "withSql"] as const) total[key] += found[key];
  for (const [what, count] of found.work) work.set(what, (work.get(what) ?? 0) + count);
  if (values.verbose)
    console.log(`seed ${seed}: ${found.points} crash points, trace ${found.trace.toString(16)}, ${seconds()} s so far`);
}
console.log(
  `${total.points} crash points (${total.duringRecovery} during a recovery, ${total.withSql} with DuckDB) from ${total.seeds} seeds from ${from} on, ${seconds()} s: no fault`,
);
console.log([...work].map(([what, count]) => `${what}: ${count}`).join(", "));
process.exit(0);

function seconds(): string {
  return ((realNow() - started) / 1000).toFixed(1);
}

function report(seed: number, error: unknown): void {
  if (!(error instanceof CrashFault)) {
    console.error(`seed ${seed}: ${error instanceof Error ? error.stack : error}`);
    return;
  }
  console.error(`seed ${seed}, crash point ${error.point}: ${error.message}`);
  const name = error.point.split(" ")[0];
  const isWork = name?.endsWith("work");
  console.error(`repeat it with: bun run test:crash --seeds 1 --from ${seed}${isWork ? "" : ` --point ${name}`}`);
  if (!values.verbose) return;
  console.error((error.cause as Error)?.stack ?? "");
  for (const line of error.lines.slice(-40)) console.error(line);
}
