/**
 * `rowlog backup LAKE DIR`: copies a lake, of a running node too, and leaves checksums beside the copy. Interrupted, it goes on where it was;
 * on an earlier backup, it copies what has changed.
 *
 * Invariant: a backup with a manifest is complete and of one moment.
 */
import * as fs from "node:fs";
import { resolve } from "node:path";
import type { BackupContents } from "../http/services.ts";
import { type BackupFile, copyWithSum, partialPath, statSize, takeOver, writeManifest } from "./backup_files.ts";
import { CliError, type Io } from "./io.ts";
import { lakeFiles, nodeAddress, requireLake, tryLock } from "./lake_files.ts";
import { Progress } from "./progress.ts";
import { SqlClient } from "./sql_client.ts";
import { version } from "./version.ts";

export interface BackupFlags {
  url?: string;
}

type Source = Omit<BackupContents, "cluster_id"> & { cluster_id: string | null };

export async function backup(lake: string, directory: string, flags: BackupFlags, io: Io): Promise<number> {
  requireLake(lake);
  if (`${resolve(directory)}/`.startsWith(`${resolve(lake)}/`))
    throw new CliError(`the backup "${directory}" would be inside of the lake; choose another folder`);
  const lock = tryLock(lake);
  if (lock) {
    try {
      return await copy({ directory: lake, cluster_id: null, partitions: [], files: lakeFiles(lake) }, directory, io);
    } finally {
      lock.release();
    }
  }
  const url = flags.url ?? nodeAddress(lake) ?? io.environment.ROWLOG_URL;
  if (url === undefined)
    throw new CliError(`a node runs on "${lake}", but has not said where; give its HTTP address with --url`);
  const client = new SqlClient(url);
  const source = await client.makeBackup();
  if (!fs.existsSync(source.directory) || fs.realpathSync(source.directory) !== fs.realpathSync(`${lake}/backup`))
    throw new CliError(`${client.url} runs on another lake: its files are in "${source.directory}"`);
  try {
    return await copy(source, directory, io);
  } finally {
    await client.removeBackup();
  }
}

async function copy(source: Source, directory: string, io: Io): Promise<number> {
  fs.mkdirSync(directory, { recursive: true });
  const known = takeOver(directory);
  const progress = new Progress(io);
  const total = source.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  let copied = 0;
  const seen = (bytes: number) => {
    done += bytes;
    progress.update({ label: "backup", done, total, unit: "B" });
    if (io.signal.aborted) throw new CliError("interrupted; run it again to go on", 130);
  };
  const files: BackupFile[] = [];
  const partial = fs.openSync(partialPath(directory), "a");
  try {
    for (const { path, bytes } of source.files) {
      const from = `${source.directory}/${path}`;
      const inode = String(fs.statSync(from, { bigint: true }).ino);
      const before = known.get(path);
      if (before && before.bytes === bytes && before.source === inode && isWholeForGood(path)) {
        files.push(before);
        seen(bytes);
        continue;
      }
      const sha256 = await copyWithSum(from, `${directory}/lake/${path}`, bytes, seen);
      const file = { path, bytes, sha256, source: inode };
      fs.writeSync(partial, `${JSON.stringify(file)}\n`);
      files.push(file);
      copied += bytes;
    }
  } finally {
    progress.end();
    fs.closeSync(partial);
  }
  removeOthers(`${directory}/lake`, new Set(files.map(({ path }) => path)));
  const { cluster_id: clusterId, partitions } = source;
  writeManifest(directory, {
    format: 1,
    rowlog: version,
    clusterId,
    madeAt: new Date().toISOString(),
    partitions,
    files,
  });
  await io.out(`${files.length} files, ${total} bytes, of which ${copied} were copied now\n`);
  return 0;
}

/** Log files only grow: one of the same size is the same. DuckDB's files are written in place. */
function isWholeForGood(path: string): boolean {
  return path.endsWith(".log") || path.endsWith(".snapshot");
}

/** What an earlier backup had and this one has not. */
function removeOthers(root: string, wanted: ReadonlySet<string>, folder = ""): void {
  for (const entry of fs.readdirSync(`${root}/${folder}`, { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      removeOthers(root, wanted, path);
      if (fs.readdirSync(`${root}/${path}`).length === 0) fs.rmdirSync(`${root}/${path}`);
    } else if (!wanted.has(path)) fs.rmSync(`${root}/${path}`);
  }
}

/** True when everything that the manifest names is there with its size. */
export function isComplete(directory: string, files: readonly BackupFile[]): boolean {
  return files.every(({ path, bytes }) => statSize(`${directory}/lake/${path}`) === bytes);
}
