/**
 * A consistent picture of a running node's lake, for `rowlog backup`: a folder `backup` in the lake with hard links to the log's files, a copy
 * of DuckDB's files and the catalog, and how many bytes of each file count.
 *
 * Invariants: everything is of one moment with respect to SQL commits (taken while no SQL writes), and the logs go at least as far as
 * DuckDB's cursors. Links keep what retention or compaction removes afterwards; appends only go behind the bytes that count.
 */
import * as fs from "node:fs";
import type { Catalog } from "../catalog/catalog.ts";
import type { BackupContents, BackupService } from "../http/services.ts";
import type { LogStore } from "../log/log_store.ts";
import { offsetCheckpointNames } from "../log/offset_checkpoint.ts";
import type { Tables } from "../tables/tables.ts";

export const stageName = "backup";

export interface StageParts {
  lake: string;
  catalog: Catalog;
  logs: LogStore;
  tables: Tables;
}

export class BackupStage implements BackupService {
  private readonly parts: StageParts;
  private readonly directory: string;
  private making: Promise<unknown> = Promise.resolve();

  /** Removes what an earlier run has left. */
  constructor(parts: StageParts) {
    this.parts = parts;
    this.directory = `${parts.lake}/${stageName}`;
    this.remove();
  }

  remove(): void {
    fs.rmSync(this.directory, { recursive: true, force: true });
  }

  /** Makes a new picture; one that was there goes. Throws SqlError when the engine or the turn to write cannot be had. */
  make(): Promise<BackupContents> {
    const made = this.making.then(() => this.makeNow());
    this.making = made.catch(() => undefined);
    return made;
  }

  private async makeNow(): Promise<BackupContents> {
    const { catalog, logs, tables } = this.parts;
    this.remove();
    fs.mkdirSync(`${this.directory}/log`, { recursive: true });
    fs.mkdirSync(`${this.directory}/catalog`);
    // Loads what was not used yet before the others are held up.
    for (const log of logs.partitions()) {
      log.open();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const hasDatabase = [...catalog.topics()].some(({ table }) => table) || fs.existsSync(tablesFile(this.parts.lake));
    const engine = hasDatabase ? await tables.engine() : undefined;
    const endTurn = await tables.writes.takeTurn();
    try {
      await engine?.copyTo(this.directory);
      // From here on without a pause: the logs and the catalog are of one moment.
      return this.link();
    } finally {
      endTurn();
    }
  }

  private link(): BackupContents {
    const { catalog, logs } = this.parts;
    const { directory } = this;
    const contents: BackupContents = { directory, cluster_id: catalog.clusterId, partitions: [], files: [] };
    const starts: string[] = [];
    for (const log of logs.partitions()) {
      const { topic, partition } = log;
      const durable = log.durableFiles();
      if (durable.files.length === 0) continue;
      const folder = `log/${topic}-${partition}`;
      fs.mkdirSync(`${directory}/${folder}`);
      for (const { name, source, bytes } of durable.files) {
        linkOrCopy(`${durable.directory}/${source}`, `${directory}/${folder}/${name}`);
        contents.files.push({ path: `${folder}/${name}`, bytes });
      }
      const { startOffset, endOffset } = durable;
      contents.partitions.push({ topic, partition, start_offset: startOffset, end_offset: endOffset });
      if (startOffset > 0) starts.push(`${topic} ${partition} ${startOffset}\n`);
    }
    const write = (path: string, content: Uint8Array | string) => {
      fs.writeFileSync(`${directory}/${path}`, content);
      contents.files.push({ path, bytes: fs.statSync(`${directory}/${path}`).size });
    };
    write(`log/${offsetCheckpointNames.starts}`, `0\n${starts.length}\n${starts.join("")}`);
    write("catalog/1.snapshot", catalog.exported());
    for (const name of fs.readdirSync(directory))
      if (name.startsWith("tables.duckdb"))
        contents.files.push({ path: name, bytes: fs.statSync(`${directory}/${name}`).size });
    return contents;
  }
}

export function tablesFile(lake: string): string {
  return `${lake}/tables.duckdb`;
}

/** File systems without hard links get a copy. */
function linkOrCopy(from: string, to: string): void {
  try {
    fs.linkSync(from, to);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK"].includes((error as NodeJS.ErrnoException).code ?? ""))
      throw error;
    fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE);
  }
}
