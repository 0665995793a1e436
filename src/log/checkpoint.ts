/**
 * The store's checkpoint: how far each partition is known to be good and synced, so that a start after a crash scans only
 * what came later, and one after a clean stop scans nothing.
 *
 * `rowlog-checkpoint` is replaced while the node runs. A clean stop writes `rowlog-clean-stop` instead, whose offsets are
 * the log ends; the next start renames it to `rowlog-checkpoint` before it loads anything, so that the mark of the clean
 * stop cannot outlive it. Format: a line `rowlog checkpoint 1 <CRC32C of the rest, hex>`, then JSON.
 */
import type { Logger } from "../base/log.ts";
import { crc32c } from "../hotpath/crc32c.ts";
import { type Disk, replaceFile, replaceFileLater } from "../platform/disk.ts";
import { readText } from "./partition_files.ts";

export interface PartitionCheckpoint {
  topicId: string | undefined;
  logStartOffset: number;
  /** Everything before this offset is synced. */
  endOffset: number;
  /** The segment in which `endOffset` lies, the file position that belongs to it, and its synced index entries. */
  segmentBase: number;
  position: number;
  offsetEntries: number;
  timeEntries: number;
  /** Largest record time in that segment, or -1, and the last offset of its batch; with `isExact` or no later batch. */
  maxTimestamp: number;
  maxTimestampOffset: number;
  /** Bytes of all segments. */
  sizeBytes: number;
  /** The log ends at `endOffset`: a clean stop wrote this and nothing was loaded since. */
  isExact: boolean;
}

const runningName = "rowlog-checkpoint";
const cleanName = "rowlog-clean-stop";
const heading = "rowlog checkpoint 1 ";

/** In the order of the row: `<topic>-<partition>`, then the fields of PartitionCheckpoint. */
type Row = [string, string | null, number, number, number, number, number, number, number, number, number, boolean];

/** By `<topic>-<partition>`. */
export type Checkpoints = Map<string, PartitionCheckpoint>;

/** Reads what the last run left and takes the mark of a clean stop away; the caller syncs the folder before anything else. */
export function takeCheckpoint(disk: Disk, directory: string, logger: Logger): Checkpoints {
  const cleanPath = `${directory}/${cleanName}`;
  const clean = readText(disk, cleanPath);
  const text = clean ?? readText(disk, `${directory}/${runningName}`);
  if (clean !== undefined) disk.rename(cleanPath, `${directory}/${runningName}`);
  if (text === undefined) return new Map();
  const partitions = decode(text, clean !== undefined);
  if (partitions) return partitions;
  logger.warn("the checkpoint of the logs is damaged; all segments will be checked", { directory });
  return new Map();
}

export async function writeRunningCheckpoint(
  disk: Disk,
  directory: string,
  partitions: Readonly<Checkpoints>,
): Promise<void> {
  await replaceFileLater(disk, `${directory}/${runningName}`, encode(partitions));
}

/** The last thing that a clean stop writes. */
export function writeCleanStop(disk: Disk, directory: string, partitions: Readonly<Checkpoints>): void {
  replaceFile(disk, `${directory}/${cleanName}`, encode(partitions));
}

function encode(partitions: Readonly<Checkpoints>): Uint8Array {
  const rows: Row[] = [];
  for (const [name, one] of partitions)
    rows.push([
      name,
      one.topicId ?? null,
      one.logStartOffset,
      one.endOffset,
      one.segmentBase,
      one.position,
      one.offsetEntries,
      one.timeEntries,
      one.maxTimestamp,
      one.maxTimestampOffset,
      one.sizeBytes,
      one.isExact,
    ]);
  const body = new TextEncoder().encode(JSON.stringify(rows));
  const head = new TextEncoder().encode(`${heading}${crc32c(body).toString(16).padStart(8, "0")}\n`);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

function decode(text: string, isClean: boolean): Checkpoints | undefined {
  const end = text.indexOf("\n");
  if (end < 0 || !text.startsWith(heading)) return undefined;
  const body = text.slice(end + 1);
  if (crc32c(new TextEncoder().encode(body)).toString(16).padStart(8, "0") !== text.slice(heading.length, end))
    return undefined;
  const partitions: Checkpoints = new Map();
  for (const row of JSON.parse(body) as Row[])
    partitions.set(row[0], {
      topicId: row[1] ?? undefined,
      logStartOffset: row[2],
      endOffset: row[3],
      segmentBase: row[4],
      position: row[5],
      offsetEntries: row[6],
      timeEntries: row[7],
      maxTimestamp: row[8],
      maxTimestampOffset: row[9],
      sizeBytes: row[10],
      isExact: isClean && row[11],
    });
  return partitions;
}
