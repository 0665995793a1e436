/**
 * Explores one seed: random work on a node, and for every change of the disk on the way the recovery from a crash at that change. One of the
 * recovered lakes is worked on further, so that later rounds start from what crashes left.
 *
 * Invariant: all that happens follows from the seed, and what happens at a crash point from the seed and the point's name alone.
 */
import { ManualClock } from "../../src/base/clock.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";
import { Checks } from "./checks.ts";
import type { EngineImage } from "./engine_image.ts";
import { Model, type SentBatch } from "./model.ts";
import { lake, SimulatedNode } from "./node.ts";
import { modelAfter } from "./resumed_model.ts";
import { rest, seal, settle } from "./surroundings.ts";
import { Workload } from "./workload.ts";

const rounds = 3;
const startMs = 1_700_000_000_000;

/** A disk as a crash would leave it: `number` counts the changes of the run. */
interface CrashPoint {
  number: number;
  operation: string;
  path: string;
  disk: SimDisk;
}

export interface Found {
  /** Crashes that were recovered from, those during a recovery included. */
  points: number;
  duringRecovery: number;
  /** Recoveries in which DuckDB was opened and compared. */
  withSql: number;
  /** Of all changes of the disk, in order: two runs of a seed have the same. */
  trace: number;
  /** How often each kind of work was done. */
  work: Map<string, number>;
}

/** A check failed. The message names the point; `lines` is what the node logged there. */
export class CrashFault extends Error {
  override name = "CrashFault";
  readonly point: string;
  readonly lines: readonly string[];

  constructor(point: string, message: string, lines: readonly string[], cause: unknown) {
    super(message, { cause });
    this.point = point;
    this.lines = lines;
  }
}

export class Explorer {
  private readonly image: EngineImage;
  private readonly seed: number;
  private readonly only: string | undefined;
  private readonly share: number;
  private readonly clock = new ManualClock(startMs);
  readonly found: Found = { points: 0, duringRecovery: 0, withSql: 0, trace: 0, work: new Map() };

  /** `share`: the part of the crash points to recover from; `only`: the one point, as `<round>.<number>`. */
  constructor(image: EngineImage, seed: number, share: number, only?: string) {
    this.image = image;
    this.seed = seed;
    this.share = share;
    this.only = only;
  }

  async explore(): Promise<void> {
    const random = this.randomOf("seed");
    let disk = new SimDisk({ random, nowMs: () => this.clock.nowMs(), capacity: 1 << 28 });
    disk.makeDirectory(lake);
    disk.syncDirectory("/");
    let model = new Model();
    for (let round = 0; round < rounds; round++) {
      const worked = model;
      const points = await this.work(disk, worked, round);
      const next = this.randomOf(`next ${round}`).below(points.length);
      for (let i = 0; i < points.length; i++) {
        const point = points[i]!;
        const name = `${round}.${point.number}`;
        const goesOn = i === next && round < rounds - 1;
        const isWanted =
          this.only === undefined ? this.randomOf(`share ${name}`).chance(this.share) : this.only === name;
        if (!isWanted && !goesOn) continue;
        const resumed = await this.recover(point, worked, name, goesOn);
        if (resumed) [disk, model] = [resumed.disk, resumed.model];
        if (this.only === name) return;
        // Gives its memory back.
        points[i] = undefined as unknown as CrashPoint;
      }
    }
  }

  private randomOf(place: string): SeededRandom {
    return new SeededRandom(hashed(this.seed, place));
  }

  /** One process's work, and the crash points that it passes. */
  private async work(disk: SimDisk, model: Model, round: number): Promise<CrashPoint[]> {
    const points: CrashPoint[] = [];
    const random = this.randomOf(`work ${round}`);
    seal(this.clock, this.randomOf(`chance ${round}`));
    disk.beforeChange = (operation, path, fork) => {
      const number = disk.changes + 1;
      this.found.trace = hashed(this.found.trace, `${number} ${operation} ${path}`);
      points.push({ number, operation, path, disk: fork(this.randomOf(`disk ${round}.${number}`)) });
    };
    const lines: string[] = [];
    try {
      const { clock, image } = this;
      const node = await settle(SimulatedNode.open({ disk, clock, image }, lines), "the start");
      node.tables.start();
      const workload = new Workload(node, model, random);
      await workload.run(15 + random.below(20));
      const { recordsRemoved } = node.logs.compactor.stats;
      for (const [what, count] of [...workload.done, ["records compacted away", recordsRemoved] as const])
        this.found.work.set(what, (this.found.work.get(what) ?? 0) + count);
      if (random.chance(0.3)) await settle(node.close(), "the end");
      disk.beforeChange = undefined;
      node.abandon();
      await rest();
    } catch (error) {
      throw new CrashFault(`${round}.work`, `the work failed: ${(error as Error).message}`, lines, error);
    }
    return points;
  }

  /** Gives the lake and what it promises when the next round is to go on with it. */
  private async recover(
    point: CrashPoint,
    model: Model,
    name: string,
    goesOn: boolean,
  ): Promise<{ disk: SimDisk; model: Model } | undefined> {
    const random = this.randomOf(`recovery ${name}`);
    const what = `${name} (${point.operation} ${point.path})`;
    seal(this.clock, this.randomOf(`chance ${name}`));
    // A killed process loses nothing that it has written.
    const isKilled = random.chance(0.15);
    if (!isKilled) point.disk.restart();
    const withSql = goesOn || point.path.includes("duckdb") || random.chance(0.5);
    let again: SimDisk | undefined;
    let seen = 0;
    if (random.chance(0.4))
      point.disk.beforeChange = (_operation, _path, fork) => {
        // One of the recovery's own changes, each as likely as the others.
        if (random.below(++seen) === 0) again = fork(this.randomOf(`again ${name} ${seen}`));
      };
    const resumed = await this.check(point.disk, model, point.number, { what, withSql, goesOn, random });
    if (again) {
      again.restart();
      seal(this.clock, this.randomOf(`chance again ${name}`));
      this.found.duringRecovery++;
      const during = `${what}, then during the recovery`;
      await this.check(again, model, point.number, { what: during, withSql, goesOn: false, random });
    }
    return resumed;
  }

  private async check(
    disk: SimDisk,
    model: Model,
    at: number,
    { what, withSql, goesOn, random }: { what: string; withSql: boolean; goesOn: boolean; random: SeededRandom },
  ): Promise<{ disk: SimDisk; model: Model } | undefined> {
    const lines: string[] = [];
    const { clock, image } = this;
    this.found.points++;
    const checks = new Checks(model, at);
    let wrong: unknown;
    try {
      const foundEngine = (_node: SimulatedNode, engine: Parameters<Checks["lookAtTables"]>[0]) =>
        checks.lookAtTables(engine).catch((error: unknown) => {
          wrong ??= error;
        });
      const node = await settle(SimulatedNode.open({ disk, clock, image, foundEngine }, lines), "the start");
      checks.lookAt(node);
      await checks.lookAtGroups(node);
      if (withSql || checks.hasOpenCommit) {
        this.found.withSql++;
        await checks.lookAtRows(node);
        if (wrong) throw wrong;
      }
      disk.beforeChange = undefined;
      const places = await checks.repeatBatches(node);
      await checks.lookAtProducerIds(node);
      const resumed = goesOn ? await this.resume(node, checks, places, model, at, random) : undefined;
      node.abandon();
      await rest();
      return resumed;
    } catch (error) {
      throw new CrashFault(what, (wrong instanceof Error ? wrong : (error as Error)).message, lines, wrong ?? error);
    }
  }

  /** What the next round starts from: this lake after a clean stop, a kill, or a power cut. */
  private async resume(
    node: SimulatedNode,
    checks: Checks,
    places: ReadonlyMap<SentBatch, number>,
    model: Model,
    at: number,
    random: SeededRandom,
  ): Promise<{ disk: SimDisk; model: Model }> {
    const after = await modelAfter(model, checks, places, node, at);
    const end = random.below(3);
    if (end === 0) await settle(node.close(), "the end");
    const disk = node.disk.fork(this.randomOf(`resumed ${at}`));
    if (end === 1) disk.restart();
    return { disk, model: after };
  }
}

function hashed(start: number, text: string): number {
  let hash = start >>> 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
