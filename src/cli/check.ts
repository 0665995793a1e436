/**
 * `rowlog check LAKE`: reads a lake that no node runs on, every batch, index and producer snapshot, and compares each table with its log.
 * Exit status 1 on any difference. Nothing in the lake is changed.
 */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { systemClock } from "../base/clock.ts";
import { createLogger } from "../base/log.ts";
import { Catalog, type TopicEntry } from "../catalog/catalog.ts";
import { topicSettings } from "../catalog/topic_settings.ts";
import { takeCheckpoint } from "../log/checkpoint.ts";
import { OffsetCheckpoint, offsetCheckpointNames } from "../log/offset_checkpoint.ts";
import { parseFolderName, readTopicId } from "../log/partition_files.ts";
import type { Disk } from "../platform/disk.ts";
import { nodeDisk } from "../platform/node_disk.ts";
import { OverlayDisk } from "../platform/overlay_disk.ts";
import { type CheckSink, type Counts, PartitionCheck } from "./check_log.ts";
import { checkTables } from "./check_tables.ts";
import { CliError, type Io } from "./io.ts";
import { lakeFiles, lockForOffline } from "./lake_files.ts";
import { Progress } from "./progress.ts";

export interface CheckFlags {
  /** False: logs only. */
  tables: boolean;
  scratch?: string;
}

/** Bytes between two looks at the outside. */
const pauseBytes = 8 * 1024 * 1024;

export async function check(lake: string, flags: CheckFlags, io: Io): Promise<number> {
  const lock = lockForOffline(lake, "check");
  const scratch = fs.mkdtempSync(`${flags.scratch ?? tmpdir()}/rowlog-check-`);
  try {
    return await new LakeCheck(lake, scratch, io).run(flags.tables);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
    lock.release();
  }
}

class LakeCheck {
  private readonly lake: string;
  private readonly scratch: string;
  private readonly io: Io;
  private readonly progress: Progress;
  private readonly disk: Disk = new OverlayDisk(nodeDisk());
  private readonly total: Counts = { batches: 0, records: 0, bytes: 0 };
  private readonly lines: string[] = [];
  private faults = 0;
  private partitions = 0;

  constructor(lake: string, scratch: string, io: Io) {
    this.lake = lake;
    this.scratch = scratch;
    this.io = io;
    this.progress = new Progress(io);
  }

  async run(withTables: boolean): Promise<number> {
    const catalog = await this.openCatalog();
    if (catalog === undefined) return await this.end(0);
    const sink = this.sink();
    await this.checkLogs(catalog, sink);
    // Logs that are damaged give other tables: that would only be the same fault again.
    let tables = 0;
    if (withTables && this.faults === 0) tables = await checkTables({ ...this.parts(), catalog, sink });
    else if (withTables) sink.note("the tables are not compared, since their logs are damaged");
    return await this.end(tables);
  }

  private parts() {
    return { disk: this.disk, lake: this.lake, scratch: this.scratch };
  }

  private async openCatalog(): Promise<Catalog | undefined> {
    const logger = createLogger({ level: "warn", format: "text", sink: (line) => this.lines.push(`note: ${line}`) });
    try {
      return await Catalog.open(this.disk, `${this.lake}/catalog`, systemClock, logger);
    } catch (error) {
      this.fault((error as Error).message);
      return undefined;
    }
  }

  private sink(): CheckSink {
    const total = lakeFiles(this.lake)
      .filter(({ path }) => path.endsWith(".log"))
      .reduce((sum, { bytes }) => sum + bytes, 0);
    let done = 0;
    let paused = 0;
    return {
      fault: (what) => this.fault(what),
      note: (what) => void this.lines.push(`note: ${what}`),
      seen: (bytes) => {
        done += bytes;
        const label = bytes > 0 ? "check" : "tables";
        this.progress.update({ label, done, total, unit: "B" });
        if (this.io.signal.aborted) throw new CliError("interrupted", 130);
        if (done - paused < pauseBytes) return undefined;
        paused = done;
        return new Promise((resolve) => setImmediate(resolve));
      },
    };
  }

  private fault(what: string): void {
    this.faults++;
    this.lines.push(`fault: ${what}`);
  }

  private async checkLogs(catalog: Catalog, sink: CheckSink): Promise<void> {
    const { disk, lake } = this;
    const directory = `${lake}/log`;
    if (!disk.stat(directory)) return;
    const logger = createLogger({ level: "warn", format: "text", sink: (line) => this.lines.push(`note: ${line}`) });
    const checkpoints = takeCheckpoint(disk, directory, logger);
    const starts = OffsetCheckpoint.open(disk, directory, offsetCheckpointNames.starts, noBallast);
    for (const topic of [...catalog.topics()].sort((a, b) => (a.name < b.name ? -1 : 1)))
      for (let partition = 0; partition < topic.partitions; partition++) {
        const name = `${topic.name}-${partition}`;
        const checkpoint = checkpoints.get(name);
        const isOwn = checkpoint?.topicId === undefined || checkpoint.topicId === topic.id;
        const one = new PartitionCheck(
          {
            disk,
            name,
            directory: `${directory}/${name}`,
            checkpoint: isOwn ? checkpoint : undefined,
            startOffset: Math.max(starts.get(topic.name, partition), isOwn ? (checkpoint?.logStartOffset ?? 0) : 0),
            compacted: topicSettings(topic.configs, tableDefaults(topic)).log.compacted,
          },
          sink,
        );
        await one.run();
        if (one.counts.batches > 0) this.partitions++;
        for (const key of ["batches", "records", "bytes"] as const) this.total[key] += one.counts[key];
      }
    this.findLeftovers(catalog, directory, sink);
  }

  private findLeftovers(catalog: Catalog, directory: string, sink: CheckSink): void {
    for (const name of this.disk.list(directory)) {
      const folder = parseFolderName(name);
      if (!folder || !this.disk.stat(`${directory}/${name}`)?.isDirectory) continue;
      const topic = catalog.topic(folder.topic);
      const id = readTopicId(this.disk, `${directory}/${name}`);
      if (topic && folder.partition < topic.partitions && (id === undefined || id === topic.id)) continue;
      sink.note(`log/${name} belongs to no topic; the next start removes it`);
    }
  }

  private async end(tables: number): Promise<number> {
    this.progress.end();
    const { partitions, total, faults } = this;
    for (const line of this.lines) await this.io.out(`${line}\n`);
    await this.io.out(
      `${partitions} partitions with records, ${total.batches} batches, ${total.records} records, ${total.bytes} bytes; ${tables} tables compared; ${faults} faults\n`,
    );
    return faults === 0 ? 0 : 1;
  }
}

/** cleanup.policy of keyed tables where it is not set. */
function tableDefaults(topic: TopicEntry): ReadonlyMap<string, string> {
  return topic.table?.key ? new Map([["cleanup.policy", "compact"]]) : new Map();
}

const noBallast = { spend: (write: () => Promise<void>) => write() } as Parameters<typeof OffsetCheckpoint.open>[3];
