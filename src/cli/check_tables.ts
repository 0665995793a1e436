/**
 * Compares each table with the fold of its log: the tables as DuckDB has them, caught up, against tables made anew from the logs alone.
 * Both run on a disk that keeps every change in memory, the new ones in a folder of their own.
 */
import { systemClock } from "../base/clock.ts";
import { silentLogger } from "../base/log.ts";
import { Topics } from "../broker/topics.ts";
import type { Catalog, TopicEntry } from "../catalog/catalog.ts";
import { LogStore } from "../log/log_store.ts";
import type { Disk } from "../platform/disk.ts";
import { SqlEngine } from "../sql/engine.ts";
import { spawnInProcess } from "../sql/in_process.ts";
import { cellsOf } from "../tables/engine_calls.ts";
import { quotedTable } from "../tables/table_name.ts";
import { Tables } from "../tables/tables.ts";
import { tablesFile } from "./backup_stage.ts";
import type { CheckSink } from "./check_log.ts";

export interface TablesToCheck {
  disk: Disk;
  lake: string;
  catalog: Catalog;
  /** An empty folder on the real disk, for the tables made anew. */
  scratch: string;
  sink: CheckSink;
}

/** Gives how many tables were compared. */
export async function checkTables({ disk, lake, catalog, scratch, sink }: TablesToCheck): Promise<number> {
  const clock = systemClock;
  const logger = silentLogger;
  const logs = LogStore.open(disk, `${lake}/log`, {
    durability: "os",
    clock,
    logger,
    compaction: { enabled: false },
  });
  const topics = new Topics(catalog, logs, { plain: new Map(), table: new Map() });
  const log = (topic: TopicEntry, partition: number) => topics.log(topic, partition);
  const open = (startEngine: () => Promise<SqlEngine>) => new Tables({ catalog, log, startEngine, clock, logger });
  const wanted = [...catalog.topics()].filter(({ table }) => table !== undefined);
  let engine: SqlEngine | undefined;
  let anew: SqlEngine | undefined;
  const stored = open(async () => {
    engine = await SqlEngine.start({ path: tablesFile(lake), logger, spawn: spawnInProcess(disk) });
    return engine;
  });
  // The first also appends what SQL had committed and not logged, so the second starts after it.
  try {
    await stored.engine();
  } catch (error) {
    sink.fault(`tables.duckdb cannot be opened: ${(error as Error).message}`);
    return 0;
  }
  await stored.barrier();
  const rebuilt = open(async () => {
    anew = await SqlEngine.start({ path: `${scratch}/tables.duckdb`, logger });
    return anew;
  });
  await rebuilt.barrier();
  const unfolded = await unfoldedTables(engine!);
  let compared = 0;
  for (const topic of wanted) {
    const why = whyIncomplete(topic, log, unfolded);
    if (why !== undefined) {
      sink.note(`table ${topic.name} is not compared: ${why}`);
      continue;
    }
    compared++;
    await compareTable(engine!, anew!, topic, sink);
    await sink.seen(0);
  }
  await rebuilt.close();
  return compared;
}

/** Topic ids of tables that SQL has changed without records: UPDATE and DELETE on tables without a key. */
export async function unfoldedTables(engine: SqlEngine): Promise<Set<string>> {
  return new Set((await cellsOf(engine, "SELECT topic_id FROM _rowlog.unfolded")).map(([id]) => id as string));
}

/** Why a table cannot be made from its log alone; undefined when it can. */
export function whyIncomplete(
  topic: TopicEntry,
  log: (topic: TopicEntry, partition: number) => { readonly logStartOffset: number },
  unfolded: ReadonlySet<string>,
): string | undefined {
  if (unfolded.has(topic.id)) return "SQL has updated or deleted rows of it, which its log does not tell";
  for (let partition = 0; partition < topic.partitions; partition++) {
    const { logStartOffset } = log(topic, partition);
    if (logStartOffset > 0)
      return `its log no longer has the records before offset ${logStartOffset} of partition ${partition}`;
  }
  return undefined;
}

async function compareTable(stored: SqlEngine, anew: SqlEngine, topic: TopicEntry, sink: CheckSink): Promise<void> {
  const name = quotedTable(topic.table!);
  // The sum of the rows' hashes does not depend on their order, and counts repeated rows.
  const sum = `SELECT count(*), coalesce(sum(hash(t)), 0)::VARCHAR FROM ${name} t`;
  const [[left], [right]] = await Promise.all([cellsOf(stored, sum), cellsOf(anew, sum)]);
  if (left!.join() === right!.join()) return;
  sink.fault(`table ${topic.name} is not the fold of its log: it has ${left![0]} rows, its log gives ${right![0]}`);
  const [extra, missing] = await differences(stored, anew, name);
  for (const row of extra) sink.fault(`table ${topic.name} has a row that its log does not give: ${row}`);
  for (const row of missing) sink.fault(`table ${topic.name} lacks a row that its log gives: ${row}`);
}

const rowsShownMax = 3;
/** Rows of a differing table that are looked through for examples. */
const rowsComparedMax = 500_000;

async function differences(stored: SqlEngine, anew: SqlEngine, name: string): Promise<[string[], string[]]> {
  const texts = `SELECT t::VARCHAR FROM (SELECT * FROM ${name}) t ORDER BY hash(t) LIMIT ${rowsComparedMax}`;
  const counts = new Map<string, number>();
  const add = async (engine: SqlEngine, by: number) => {
    for (const [text] of await cellsOf(engine, texts)) {
      const count = (counts.get(text as string) ?? 0) + by;
      if (count === 0) counts.delete(text as string);
      else counts.set(text as string, count);
    }
  };
  await add(stored, 1);
  await add(anew, -1);
  const shown = (sign: number) =>
    [...counts]
      .filter(([, count]) => count * sign > 0)
      .map(([text]) => text.slice(0, 200))
      .slice(0, rowsShownMax);
  return [shown(1), shown(-1)];
}
