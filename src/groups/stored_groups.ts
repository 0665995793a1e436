/**
 * Reads groups and their offsets back from one partition of the log: for each key the last record counts.
 */
import type { Logger } from "../base/log.ts";
import { GroupOffsets } from "./group_offsets.ts";
import { readGroupRecord } from "./group_records.ts";
import type { GroupSnapshot } from "./group_types.ts";
import type { OffsetsLog } from "./offsets_log.ts";

export interface StoredGroup {
  /** Undefined for a group that the log knows by its offsets alone. */
  snapshot: GroupSnapshot | undefined;
  offsets: GroupOffsets;
}

/**
 * By group id. A record that cannot be understood is logged and skipped: one bad record must not cost the others. Throws what
 * reading the log throws.
 */
export function readStoredGroups(log: OffsetsLog, partition: number, logger: Logger): Map<string, StoredGroup> {
  const groups = new Map<string, StoredGroup>();
  const groupOf = (groupId: string): StoredGroup => {
    const known = groups.get(groupId) ?? { snapshot: undefined, offsets: new GroupOffsets() };
    groups.set(groupId, known);
    return known;
  };
  let unreadable = 0;
  log.replay(partition, (keyed) => {
    try {
      const record = readGroupRecord(keyed);
      if (record.kind === "group") groupOf(record.groupId).snapshot = record.snapshot;
      else if (record.kind === "offset")
        groupOf(record.groupId).offsets.load(record.topic, record.partition, record.committed);
    } catch {
      unreadable++;
    }
  });
  if (unreadable > 0)
    logger.warn("skipped unreadable records of __consumer_offsets", { partition, records: unreadable });
  for (const [groupId, { snapshot, offsets }] of groups) {
    if (!snapshot && offsets.isEmpty) groups.delete(groupId);
  }
  return groups;
}
