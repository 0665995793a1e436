/**
 * `rowlog rebuild LAKE [TABLE…]`: makes tables anew from their logs, on a lake that no node runs on. A table whose log does not tell all of it
 * is refused by name and stays as it is.
 *
 * Invariant: interrupted at any moment, the next start (of a node, or of this) ends what was begun.
 */
import * as fs from "node:fs";
import { systemClock } from "../base/clock.ts";
import { createLogger, type Logger } from "../base/log.ts";
import { SqlError } from "../base/sql_error.ts";
import { Topics } from "../broker/topics.ts";
import { Catalog, type TopicEntry } from "../catalog/catalog.ts";
import { LogStore } from "../log/log_store.ts";
import { nodeDisk } from "../platform/node_disk.ts";
import { SqlEngine } from "../sql/engine.ts";
import { quoteText } from "../sql/types.ts";
import { quotedTable } from "../tables/table_name.ts";
import { Tables } from "../tables/tables.ts";
import { tablesFile } from "./backup_stage.ts";
import { unfoldedTables, whyIncomplete } from "./check_tables.ts";
import { CliError, type Io } from "./io.ts";
import { lockForOffline } from "./lake_files.ts";
import { Progress } from "./progress.ts";

export interface RebuildFlags {
  /** Puts DuckDB's file aside and makes all tables from their logs alone. */
  discardDatabase?: boolean;
}

export async function rebuild(lake: string, names: string[], flags: RebuildFlags, io: Io): Promise<number> {
  if (flags.discardDatabase && names.length > 0)
    throw new CliError("--discard-database makes all tables anew; name none", 2);
  const lock = lockForOffline(lake, "rebuild");
  try {
    if (flags.discardDatabase) await discard(lake, io);
    return await new Rebuild(lake, io).run(names, flags.discardDatabase === true);
  } finally {
    lock.release();
  }
}

async function discard(lake: string, io: Io): Promise<void> {
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  for (const name of fs.readdirSync(lake)) {
    if (!name.startsWith("tables.duckdb") || name.includes(".discarded-")) continue;
    fs.renameSync(`${lake}/${name}`, `${lake}/${name}.discarded-${stamp}`);
    await io.out(`${name} is now ${name}.discarded-${stamp}\n`);
  }
}

class Rebuild {
  private readonly lake: string;
  private readonly io: Io;
  private readonly logger: Logger;
  private engine: SqlEngine | undefined;
  private catalog!: Catalog;
  private logs!: LogStore;
  private topics!: Topics;

  constructor(lake: string, io: Io) {
    this.lake = lake;
    this.io = io;
    this.logger = createLogger({ level: "warn", format: "text", sink: (line) => io.err(`${line}\n`) });
  }

  async run(names: string[], all: boolean): Promise<number> {
    const { lake, logger } = this;
    const clock = systemClock;
    this.catalog = await Catalog.open(nodeDisk(), `${lake}/catalog`, clock, logger);
    this.logs = LogStore.open(nodeDisk(), `${lake}/log`, {
      durability: "sync",
      clock,
      logger,
      compaction: { enabled: false },
    });
    this.topics = new Topics(this.catalog, this.logs, { plain: new Map(), table: new Map() });
    try {
      const wanted = this.wanted(names);
      const { chosen, refused } = all ? await this.withoutDatabase(wanted) : await this.choose(wanted);
      if (chosen.length > 0) await this.makeAnew(chosen);
      return refused === 0 ? 0 : 1;
    } finally {
      await this.logs.close();
      this.catalog.close();
    }
  }

  private wanted(names: readonly string[]): TopicEntry[] {
    const tables = [...this.catalog.topics()].filter(({ table }) => table !== undefined);
    if (names.length === 0) return tables;
    return names.map((name) => {
      const topic = tables.find((one) => one.name === name);
      if (!topic)
        throw new CliError(
          `there is no table "${name}"; there are ${tables.map((one) => one.name).join(", ") || "none"}`,
        );
      return topic;
    });
  }

  private open(): Tables {
    const { catalog, topics, logger } = this;
    return new Tables({
      catalog,
      log: (topic, partition) => topics.log(topic, partition),
      startEngine: async () => {
        this.engine = await SqlEngine.start({ path: tablesFile(this.lake), logger });
        return this.engine;
      },
      clock: systemClock,
      logger,
    });
  }

  /** Brings the database up to the logs, and removes the tables that their logs can give. */
  private async choose(wanted: readonly TopicEntry[]): Promise<{ chosen: TopicEntry[]; refused: number }> {
    const tables = this.open();
    try {
      await tables.barrier();
      await tables.engine();
    } catch (error) {
      await tables.close().catch(() => undefined);
      if (!(error instanceof SqlError)) throw error;
      throw new CliError(
        `${error.message}; --discard-database puts the file aside and makes all tables from their logs alone: views, rows older than the logs, and what UPDATE and DELETE did to tables without a key are then lost`,
      );
    }
    const unfolded = await unfoldedTables(this.engine!);
    const chosen: TopicEntry[] = [];
    for (const topic of wanted) {
      const why = whyIncomplete(topic, (one, partition) => this.topics.log(one, partition), unfolded);
      if (why === undefined) chosen.push(topic);
      else this.io.err(`rowlog: table "${topic.name}" stays as it is: ${why}\n`);
    }
    if (chosen.length > 0) await this.engine!.apply({ inserts: [], cursors: [], statements: removal(chosen) });
    await tables.sync();
    await tables.close();
    return { chosen, refused: wanted.length - chosen.length };
  }

  private async withoutDatabase(wanted: TopicEntry[]): Promise<{ chosen: TopicEntry[]; refused: number }> {
    for (const topic of wanted) {
      const why = whyIncomplete(topic, (one, partition) => this.topics.log(one, partition), new Set());
      if (why !== undefined) this.io.err(`rowlog: table "${topic.name}" will lack rows: ${why}\n`);
    }
    return { chosen: wanted, refused: 0 };
  }

  private async makeAnew(chosen: readonly TopicEntry[]): Promise<void> {
    const tables = this.open();
    const progress = new Progress(this.io);
    const total = chosen.reduce((sum, topic) => sum + this.records(topic), 0);
    const timer = setInterval(() => {
      const left = tables.lags().reduce((sum, { records }) => sum + records, 0);
      progress.update({ label: "rebuild", done: Math.max(0, total - left), total, unit: "records" });
    }, 200);
    try {
      await tables.barrier();
      for (const topic of chosen) {
        const sql = `SELECT count(*) FROM ${quotedTable(topic.table!)}`;
        const [[rows]] = (await this.engine!.query(sql)).values() as [[number]];
        progress.end();
        await this.io.out(`table ${topic.name}: ${rows} rows from ${this.records(topic)} offsets\n`);
      }
      await tables.sync();
    } finally {
      clearInterval(timer);
      progress.end();
      await tables.close();
    }
  }

  private records(topic: TopicEntry): number {
    let records = 0;
    for (let partition = 0; partition < topic.partitions; partition++) {
      const log = this.topics.log(topic, partition);
      records += log.highWatermark - log.logStartOffset;
    }
    return records;
  }
}

/**
 * Removes tables from DuckDB, to be made anew. The database gets other producer ids for its outbox with that: batches of the old ones are
 * applied again to the tables that start from the beginning, and to no others, since those are past them.
 */
function removal(topics: readonly TopicEntry[]): string[] {
  return [
    ...topics.flatMap((topic) => [
      `DROP TABLE IF EXISTS ${quotedTable(topic.table!)}`,
      `DELETE FROM _rowlog.cursors WHERE topic_id = ${quoteText(topic.id)}`,
    ]),
    "DELETE FROM _rowlog.outbox_producers",
    "DELETE FROM _rowlog.outbox_sequences",
  ];
}
