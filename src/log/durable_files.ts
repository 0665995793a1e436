/**
 * The files of one partition as they are durable at this moment, for a copy that is consistent with everything else of that moment: which
 * of them there are, and how many bytes of each count. What is appended later comes behind those bytes.
 */
import type { Disk } from "../platform/disk.ts";
import type { LogState } from "./log_state.ts";
import type { DurableEnd } from "./partition_writer.ts";
import { segmentName } from "./segment.ts";

export interface DurableFiles {
  /** Path of the partition's folder. */
  directory: string;
  startOffset: number;
  /** The offset behind the last record in the files. */
  endOffset: number;
  /** The name that each has in a copy, and the one that it has now. Indexes are left out: a start makes them anew. */
  files: { name: string; source: string; bytes: number }[];
}

export function durableFilesOf(disk: Disk, state: LogState, durable: DurableEnd): DurableFiles {
  const { directory, logStartOffset: startOffset, highWatermark: endOffset } = state;
  const files: DurableFiles["files"] = [];
  const add = (name: string, bytes?: number, source = name) => {
    const size = disk.stat(`${directory}/${source}`)?.size;
    if (size !== undefined) files.push({ name, source, bytes: bytes ?? size });
  };
  if (!state.exists) return { directory, startOffset, endOffset, files };
  for (const segment of state.segments) {
    const isLast = segment === durable.segment;
    if (segment.exists) {
      const name = `${segmentName(segment.baseOffset)}.log`;
      // A compacted segment that is about to take its place has another name.
      add(name, isLast ? durable.position : segment.written, name + segment.suffix);
      add(`${segmentName(segment.baseOffset)}.snapshot`);
    }
    if (isLast) break;
  }
  for (const name of ["partition.metadata", "leader-epoch-checkpoint"]) add(name);
  return { directory, startOffset, endOffset, files };
}
