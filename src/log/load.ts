/** Loads a partition from its folder. */
import type { LogContext } from "./context.ts";
import type { LogState } from "./log_state.ts";
import { listSegments } from "./partition_files.ts";
import { Segment } from "./segment.ts";

export function loadPartition(context: LogContext, state: LogState): void {
  const { disk } = context;
  if (!disk.stat(state.directory)) {
    const first = new Segment(context.files, state.directory, 0);
    first.createdMs = context.clock.nowMs();
    state.segments.push(first);
    return;
  }
  state.exists = true;
  for (const base of listSegments(disk.list(state.directory))) {
    const path = `${state.directory}/${String(base).padStart(20, "0")}.log`;
    const stat = disk.stat(path)!;
    const segment = new Segment(context.files, state.directory, base, { size: stat.size, createdMs: stat.modifiedMs });
    state.segments.push(segment);
    state.logEndOffset = base;
    segment.loadMaxTimestamp();
  }
  if (state.segments.length === 0) {
    state.segments.push(new Segment(context.files, state.directory, 0));
    return;
  }
  state.active.walk(0, (header) => {
    state.logEndOffset = header.lastOffset + 1;
    return false;
  });
  state.highWatermark = state.logEndOffset;
  state.logStartOffset = state.segments[0]!.baseOffset;
}
