/**
 * The face of the record walk: see `twins/walk.ts` for what it checks and finds.
 */
import { fieldsPerRecord, type WalkOutput, type WalkSummary, walkTwin } from "./twins/walk.ts";

export { fieldsPerRecord, type WalkOutput, type WalkSummary, walkFaults } from "./twins/walk.ts";

/**
 * Walks `count` records in `bytes[start, end)`; `baseHigh`, `baseLow` are the halves of the base timestamp. With `dense`,
 * offset deltas must be 0, 1, 2, … Never throws for what the bytes hold: the summary names the fault.
 */
export function walkRecords(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
  baseHigh: number,
  baseLow: number,
  dense: boolean,
): WalkSummary {
  return walkTwin(bytes, start, end, count, baseHigh, baseLow, dense, undefined);
}

/** As `walkRecords`, and says where each record's parts are. `count` must not exceed `end - start` (a record takes 7 bytes or more). */
export function indexRecords(
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
  baseHigh: number,
  baseLow: number,
  dense: boolean,
): { summary: WalkSummary; output: WalkOutput } {
  const output = { fields: new Int32Array(count * fieldsPerRecord), timestamps: new Float64Array(count) };
  return { summary: walkTwin(bytes, start, end, count, baseHigh, baseLow, dense, output), output };
}
