/** The small files of a partition's folder, in Kafka's formats, and what its folder holds. */
import { type Disk, DiskError } from "../platform/disk.ts";

/** `<topic>-<partition>` of a folder's name; nothing for other names. */
export function parseFolderName(name: string): { topic: string; partition: number } | undefined {
  const dash = name.lastIndexOf("-");
  if (dash < 1 || !/^\d{1,10}$/.test(name.slice(dash + 1))) return undefined;
  return { topic: name.slice(0, dash), partition: Number(name.slice(dash + 1)) };
}

/** Ending of a folder that is being deleted; whatever has it is removed at start. */
export const deletedEnding = "-delete";

const utf8 = new TextEncoder();

/** Kafka's partition.metadata (PartitionMetadata): the topic's id. */
export function partitionMetadata(topicId: string): Uint8Array {
  return utf8.encode(`version: 0\ntopic_id: ${topicId}\n`);
}

/** The topic id that a folder was made for; nothing when the file is absent or damaged. */
export function readTopicId(disk: Disk, directory: string): string | undefined {
  return /^topic_id: ([\w-]{22})$/m.exec(readText(disk, `${directory}/partition.metadata`) ?? "")?.[1];
}

/** Kafka's leader-epoch-checkpoint: version, number of entries, then epoch and start offset of each. */
export function leaderEpochCheckpoint(startOffset: number): Uint8Array {
  return utf8.encode(`0\n1\n0 ${startOffset}\n`);
}

/** The file as text; nothing when it is absent. */
export function readText(disk: Disk, path: string): string | undefined {
  try {
    return new TextDecoder().decode(disk.readFile(path));
  } catch (error) {
    if (error instanceof DiskError && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Base offsets of the segments in a folder, ascending. */
export function listSegments(names: readonly string[]): number[] {
  return names
    .filter((name) => /^\d{20}\.log$/.test(name))
    .map((name) => Number(name.slice(0, 20)))
    .sort((a, b) => a - b);
}
