/**
 * Runs of usual change events in a batch, found by a kernel: each one's row stands for its value in an index from which the row kernel reads.
 */
import { changeRows } from "../../hotpath/change_rows.ts";
import type { RecordBatchView } from "../../protocol/records/decode.ts";

/** Records that are looked at together: few at first, since a look costs a copy of their values. */
const windowMin = 16;
const windowMax = 4096;
/** Records that are not looked at after one that is no usual change event. */
const pauseMin = 16;
const pauseMax = 1024;

export class EventRows {
  /** As the batch's index, for the records of the run that `find` found. */
  index: Int32Array = new Int32Array(0);
  private end = 0;
  private nextTry = 0;
  private window = windowMin;
  private pause = pauseMin;

  /** Before the first record of a batch. */
  begin(batch: RecordBatchView): void {
    if (this.index.length < batch.fields.length) this.index = new Int32Array(batch.fields.length);
    this.end = this.nextTry = 0;
    this.window = windowMin;
    this.pause = pauseMin;
  }

  /** The record behind the run that `record` is in; `record` itself when it is none. Call for growing records. */
  find(batch: RecordBatchView, record: number): number {
    if (record < this.end) return this.end;
    if (record < this.nextTry) return record;
    const to = Math.min(batch.count, record + this.window);
    const found = changeRows(batch.plain, batch.fields, record, to, this.index);
    this.end = record + found;
    if (found === to - record) {
      this.window = Math.min(this.window * 4, windowMax);
      this.pause = pauseMin;
    } else {
      this.window = windowMin;
      this.nextTry = this.end + (found > 0 ? 0 : this.pause);
      if (found === 0) this.pause = Math.min(this.pause * 2, pauseMax);
    }
    return this.end;
  }
}
